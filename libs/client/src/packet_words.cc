// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/packet_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "merlon/client/words.h"

namespace merlon::client {
namespace {

using base::Errc;
using base::Error;

struct FlagWord {
  std::string_view name;
  std::uint8_t bit;
};
constexpr FlagWord kFlags[] = {{"fin", 1}, {"syn", 2},  {"rst", 4},
                               {"psh", 8}, {"ack", 16}, {"urg", 32}};

struct IcmpWord {
  std::string_view name;
  std::uint8_t protocol, type;
};
constexpr IcmpWord kIcmp[] = {{"echo-request", 1, 8},    {"echo-reply", 1, 0},
                              {"echo-request", 58, 128}, {"echo-reply", 58, 129},
                              {"unreachable", 1, 3},     {"unreachable", 58, 1},
                              {"time-exceeded", 1, 11},  {"time-exceeded", 58, 3}};

struct Endpoint {
  base::IpAddress address{};
  std::optional<std::uint16_t> port;
};

Error at_word(Error error, std::size_t index) {
  error.where = {"words", 1, static_cast<unsigned>(index + 1), 0};
  return error;
}

base::Result<Endpoint> parse_endpoint(const std::string& word) {
  std::string_view address = word, port;
  bool has_port = false;
  if (word.starts_with('[')) {
    const std::size_t close = word.find(']');
    if (close == std::string::npos || (close + 1 < word.size() && word[close + 1] != ':'))
      return Error{Errc::kInvalidValue,
                   fmt::format("\"{}\" is not [ADDRESS]:PORT", printable(word))};
    address = std::string_view(word).substr(1, close - 1);
    has_port = close + 1 < word.size();
    if (has_port) port = std::string_view(word).substr(close + 2);
  } else if (std::ranges::count(word, ':') == 1) {
    has_port = true;
    address = std::string_view(word).substr(0, word.find(':'));
    port = std::string_view(word).substr(word.find(':') + 1);
  }
  auto parsed = base::parse_address(address);
  if (!parsed) return parsed.error();
  Endpoint result{*parsed, std::nullopt};
  if (has_port) {
    auto number = parse_number(port, 65535);
    if (!number) return Error{Errc::kInvalidValue, fmt::format("port {}", number.error().message)};
    result.port = static_cast<std::uint16_t>(*number);
  }
  return result;
}

base::Result<void> set_number(std::uint16_t& field, std::string_view value, std::uint64_t last) {
  auto number = parse_number(value, last);
  if (!number) return number.error();
  field = static_cast<std::uint16_t>(*number);
  return {};
}

// "syn", "syn,ack", "type=8", "echo-reply", "vlan=10", ...
base::Result<void> parse_option(PacketWords& p, std::string_view word, bool& has_type) {
  std::uint16_t number = 0;
  const bool is_icmp = p.protocol == 1 || p.protocol == 58;
  if (word.starts_with("vlan=")) return set_number(p.vlan, word.substr(5), 4094);
  if (word.starts_with("length=")) return set_number(p.length, word.substr(7), 65535);
  if (is_icmp && (word.starts_with("type=") || word.starts_with("code="))) {
    auto done = set_number(number, word.substr(5), 255);
    if (!done) return done;
    has_type = has_type || word[0] == 't';
    (word[0] == 't' ? p.icmp_type : p.icmp_code) = static_cast<std::uint8_t>(number);
    return {};
  }
  for (const auto& icmp : kIcmp)
    if (icmp.name == word && icmp.protocol == p.protocol) {
      p.icmp_type = icmp.type;
      has_type = true;
      return {};
    }
  while (p.protocol == 6 && !word.empty()) {
    const std::size_t end = std::min(word.find(','), word.size());
    const auto* flag = std::ranges::find(kFlags, word.substr(0, end), &FlagWord::name);
    if (flag == std::end(kFlags)) break;
    p.tcp_flags = static_cast<std::uint8_t>(p.tcp_flags | flag->bit);
    word.remove_prefix(std::min(end + 1, word.size()));
    if (word.empty()) return {};
  }
  return Error{
      Errc::kInvalidValue,
      fmt::format("\"{}\" is not known for {}", printable(word), protocol_name(p.protocol)),
      {},
      p.protocol == 6 ? "flags are syn, ack, fin, rst, psh, urg; also vlan=N, length=N"
      : is_icmp       ? "type=N, code=N, echo-request, echo-reply; also vlan=N, length=N"
                      : "vlan=N, length=N"};
}

// Source, destination and protocol of both forms.
template <class Target>
base::Result<void> parse_tuple(Target& target, std::span<const std::string> words,
                               std::size_t first_index) {
  auto source = parse_endpoint(words[0]);
  if (!source) return at_word(source.error(), first_index);
  auto destination = parse_endpoint(words[1]);
  if (!destination) return at_word(destination.error(), first_index + 1);
  auto protocol = parse_protocol(words[2]);
  if (!protocol) return at_word(protocol.error(), first_index + 2);
  if (source->address.is_v4() != destination->address.is_v4())
    return at_word({Errc::kInvalidValue, "source and destination are of different IP versions"},
                   first_index + 1);
  if (!has_ports(*protocol) && (source->port || destination->port))
    return at_word({Errc::kInvalidValue, fmt::format("{} has no ports", protocol_name(*protocol))},
                   first_index + 2);
  target.source = source->address;
  target.destination = destination->address;
  target.source_port = source->port.value_or(0);
  target.destination_port = destination->port.value_or(0);
  target.protocol = *protocol;
  if (has_ports(*protocol) && !destination->port)
    return at_word({Errc::kInvalidValue,
                    fmt::format("{} needs a destination port", protocol_name(*protocol)),
                    {},
                    fmt::format("for example {}", endpoint(destination->address, 443, true))},
                   first_index + 1);
  return {};
}

}  // namespace

base::Result<PacketWords> parse_packet_words(std::span<const std::string> words) {
  if (words.size() < 4)
    return Error{Errc::kInvalidValue,
                 "a packet needs IN SRC[:PORT] DST[:PORT] PROTO",
                 {},
                 "for example packet lan 10.0.0.5:40000 192.0.2.9:23 tcp"};
  PacketWords p;
  p.in = words[0];
  if (auto tuple = parse_tuple(p, words.subspan(1, 3), 1); !tuple) return tuple.error();
  // A client's usual port, where the words name none.
  if (has_ports(p.protocol) && p.source_port == 0) p.source_port = 40'000;
  bool has_type = false;
  for (std::size_t i = 4; i < words.size(); ++i)
    if (auto done = parse_option(p, words[i], has_type); !done) return at_word(done.error(), i);
  if (p.protocol == 6 && p.tcp_flags == 0) p.tcp_flags = 2;
  if (!has_type && p.protocol == 1) p.icmp_type = 8;
  if (!has_type && p.protocol == 58) p.icmp_type = 128;
  return p;
}

base::Result<SessionWords> parse_session_words(std::span<const std::string> words) {
  SessionWords s;
  if (words.size() == 1) {
    auto id = parse_number(words[0], ~0ULL);
    if (!id) return at_word({Errc::kInvalidValue, "session " + id.error().message}, 0);
    s.id = *id;
    return s;
  }
  if (words.size() != 3)
    return Error{Errc::kInvalidValue,
                 "a session is an ID or SRC:PORT DST:PORT PROTO",
                 {},
                 "for example session 10.0.0.5:40000 192.0.2.9:443 tcp"};
  if (auto tuple = parse_tuple(s, words, 0); !tuple) return tuple.error();
  return s;
}

std::string endpoint(const base::IpAddress& address, std::uint16_t port, bool has_port) {
  const std::string text = address.to_string();
  if (!has_port) return text;
  return address.is_v4() ? fmt::format("{}:{}", text, port) : fmt::format("[{}]:{}", text, port);
}

std::string to_string(const PacketWords& p) {
  const bool ports = has_ports(p.protocol);
  std::string out =
      fmt::format("{} {} {} {}", p.in, endpoint(p.source, p.source_port, ports),
                  endpoint(p.destination, p.destination_port, ports), protocol_name(p.protocol));
  if (p.protocol == 6) {
    std::vector<std::string_view> flags;
    for (const auto& f : kFlags)
      if ((p.tcp_flags & f.bit) != 0) flags.push_back(f.name);
    out += fmt::format(" {}", fmt::join(flags, ","));
  }
  if (p.protocol == 1 || p.protocol == 58)
    out += fmt::format(" type={} code={}", p.icmp_type, p.icmp_code);
  if (p.vlan != 0) out += fmt::format(" vlan={}", p.vlan);
  if (p.length != 0) out += fmt::format(" length={}", p.length);
  return out;
}

std::string explain_text(const nlohmann::json& answer) {
  std::string out;
  const auto steps = answer.find("steps");
  if (steps != answer.end() && steps->is_array()) {
    for (const auto& step : *steps) {
      std::string head = step.value("stage", std::string());
      const auto lines = step.find("text");
      if (lines == step.end() || !lines->is_array()) continue;
      for (const auto& line : *lines) {
        if (!line.is_string()) continue;
        out += fmt::format("{:<9} {}\n", head, printable(line.get_ref<const std::string&>()));
        head.clear();
      }
    }
  }
  const auto verdict = answer.find("verdict");
  if (verdict != answer.end() && verdict->is_object()) {
    std::string action = verdict->value("action", std::string());
    std::ranges::transform(action, action.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    out += fmt::format("{:<9} {}", "verdict", printable(action));
    if (const auto reason = verdict->find("reason");
        reason != verdict->end() && reason->is_string())
      out += fmt::format("  {}", printable(reason->get_ref<const std::string&>()));
    out += '\n';
  }
  return out;
}

}  // namespace merlon::client
