// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/session_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "merlon/client/words.h"

namespace merlon::client {
namespace {

using base::Errc;
using base::Error;
using Problem = base::Result<void>;

constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxWords = 32;
constexpr std::size_t kMaxName = 128;

Problem set(std::optional<base::AddressRange>& field, std::string_view value) {
  auto range = base::parse_address_range(value);
  if (!range) return range.error();
  field = *range;
  return {};
}

Problem set(std::optional<std::uint16_t>& field, std::string_view value, std::uint64_t last) {
  auto number = parse_number(value, last);
  if (!number) return number.error();
  field = static_cast<std::uint16_t>(*number);
  return {};
}

Problem set(std::optional<std::uint64_t>& field, base::Result<std::uint64_t> value) {
  if (!value) return value.error();
  field = *value;
  return {};
}

Problem set_name(std::string& field, std::string_view value) {
  if (value.size() > kMaxName)
    return Error{Errc::kInvalidValue, fmt::format("a name has at most {} letters", kMaxName)};
  for (const char c : value)
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f)
      return Error{Errc::kInvalidValue, "a name can't hold control characters"};
  field = value;
  return {};
}

struct Key {
  std::string_view name;
  Problem (*parse)(SessionFilter& f, std::string_view value);
};

constexpr Key kKeys[] = {
    {"src", [](SessionFilter& f, std::string_view v) { return set(f.source, v); }},
    {"dst", [](SessionFilter& f, std::string_view v) { return set(f.destination, v); }},
    {"addr", [](SessionFilter& f, std::string_view v) { return set(f.address, v); }},
    {"sport", [](SessionFilter& f, std::string_view v) { return set(f.source_port, v, 65535); }},
    {"dport",
     [](SessionFilter& f, std::string_view v) { return set(f.destination_port, v, 65535); }},
    {"port", [](SessionFilter& f, std::string_view v) { return set(f.port, v, 65535); }},
    {"vlan", [](SessionFilter& f, std::string_view v) { return set(f.vlan, v, 4094); }},
    {"proto",
     [](SessionFilter& f, std::string_view v) -> Problem {
       auto protocol = parse_protocol(v);
       if (!protocol) return protocol.error();
       f.protocol = *protocol;
       return {};
     }},
    {"id", [](SessionFilter& f, std::string_view v) { return set(f.id, parse_number(v, ~0ULL)); }},
    {"older",
     [](SessionFilter& f, std::string_view v) { return set(f.older_ms, parse_duration_ms(v)); }},
    {"idle",
     [](SessionFilter& f, std::string_view v) { return set(f.idle_ms, parse_duration_ms(v)); }},
    {"state", [](SessionFilter& f, std::string_view v) { return set_name(f.state, v); }},
    {"rule", [](SessionFilter& f, std::string_view v) { return set_name(f.rule, v); }},
    {"zone", [](SessionFilter& f, std::string_view v) { return set_name(f.zone, v); }},
    {"from", [](SessionFilter& f, std::string_view v) { return set_name(f.from_zone, v); }},
    {"to", [](SessionFilter& f, std::string_view v) { return set_name(f.to_zone, v); }},
    {"in", [](SessionFilter& f, std::string_view v) { return set_name(f.in_port, v); }},
};

Error at(Error error, std::string_view text, std::string_view part) {
  const auto begin = static_cast<unsigned>(part.data() - text.data());
  error.where = {"filter", 1, begin + 1, begin + 1 + static_cast<unsigned>(part.size())};
  return error;
}

Problem parse_word(SessionFilter& filter, std::string_view text, std::string_view word,
                   std::uint32_t& seen) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos)
    return at({Errc::kInvalidValue,
               fmt::format("\"{}\" is not of the form key=value", printable(word.substr(0, 64))),
               {},
               "for example src=10.0.0.0/8 port=443 state=established"},
              text, word);
  const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
  const auto* key = std::ranges::find(kKeys, name, &Key::name);
  if (key == std::end(kKeys)) {
    std::vector<std::string> names;
    for (const Key& k : kKeys) names.emplace_back(k.name);
    std::string hint = did_you_mean(name, names);
    if (hint.empty()) hint = fmt::format("keys are {}", fmt::join(names, ", "));
    return at({Errc::kUnknownKey,
               fmt::format("unknown key \"{}\" in a session filter", printable(name.substr(0, 64))),
               {},
               std::move(hint)},
              text, name);
  }
  const std::uint32_t bit = 1U << (key - std::begin(kKeys));
  if ((seen & bit) != 0)
    return at({Errc::kDuplicate, fmt::format("key \"{}\" is given twice", name)}, text, name);
  seen |= bit;
  if (value.empty())
    return at({Errc::kInvalidValue, fmt::format("key \"{}\" has no value", name)}, text, word);
  if (auto problem = key->parse(filter, value); !problem) return at(problem.error(), text, value);
  return {};
}

}  // namespace

bool SessionFilter::is_empty() const noexcept {
  return !source && !destination && !address && !source_port && !destination_port && !port &&
         !vlan && !protocol && !id && !older_ms && !idle_ms && state.empty() && rule.empty() &&
         zone.empty() && from_zone.empty() && to_zone.empty() && in_port.empty();
}

base::Result<SessionFilter> parse_session_filter(std::string_view text) {
  if (text.size() > kMaxText)
    return Error{Errc::kInvalidValue,
                 fmt::format("a session filter has at most {} bytes", kMaxText)};
  SessionFilter filter;
  std::uint32_t seen = 0;
  std::size_t words = 0, begin = 0;
  while ((begin = text.find_first_not_of(' ', begin)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (++words > kMaxWords)
      return Error{Errc::kInvalidValue,
                   fmt::format("a session filter has at most {} words", kMaxWords)};
    auto problem = parse_word(filter, text, text.substr(begin, end - begin), seen);
    if (!problem) return problem.error();
    begin = end;
  }
  return filter;
}

std::string to_string(const SessionFilter& f) {
  std::string out;
  const auto add = [&out](std::string_view key, const std::string& value) {
    if (!out.empty()) out += ' ';
    out += fmt::format("{}={}", key, value);
  };
  if (f.source) add("src", f.source->to_string());
  if (f.destination) add("dst", f.destination->to_string());
  if (f.address) add("addr", f.address->to_string());
  if (f.source_port) add("sport", std::to_string(*f.source_port));
  if (f.destination_port) add("dport", std::to_string(*f.destination_port));
  if (f.port) add("port", std::to_string(*f.port));
  if (f.vlan) add("vlan", std::to_string(*f.vlan));
  if (f.protocol) add("proto", protocol_name(*f.protocol));
  if (f.id) add("id", std::to_string(*f.id));
  if (f.older_ms) add("older", fmt::format("{}ms", *f.older_ms));
  if (f.idle_ms) add("idle", fmt::format("{}ms", *f.idle_ms));
  if (!f.state.empty()) add("state", f.state);
  if (!f.rule.empty()) add("rule", f.rule);
  if (!f.zone.empty()) add("zone", f.zone);
  if (!f.from_zone.empty()) add("from", f.from_zone);
  if (!f.to_zone.empty()) add("to", f.to_zone);
  if (!f.in_port.empty()) add("in", f.in_port);
  return out;
}

}  // namespace merlon::client
