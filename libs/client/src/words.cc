// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace merlon::client {
namespace {

using base::Errc;
using base::Error;

// Optimal string alignment distance; words are cut at 64 letters, so the cost is bounded.
unsigned edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kMax = 64;
  a = a.substr(0, kMax);
  b = b.substr(0, kMax);
  std::array<unsigned, kMax + 1> before{}, last{}, now{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<unsigned>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const unsigned replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

struct ProtocolWord {
  std::string_view name;
  std::uint8_t number;
};
constexpr ProtocolWord kProtocols[] = {{"icmp", 1}, {"ipip", 4},    {"tcp", 6},
                                       {"udp", 17}, {"gre", 47},    {"esp", 50},
                                       {"ah", 51},  {"icmpv6", 58}, {"sctp", 132}};

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 64) return {};
  const std::string* best = nullptr;
  unsigned best_distance = static_cast<unsigned>(std::max<std::size_t>(1, word.size() / 3)) + 1;
  for (const std::string& candidate : candidates) {
    const unsigned distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr && word.size() >= 2)
    for (const std::string& candidate : candidates)
      if (candidate.starts_with(word)) return candidate;
  return best == nullptr ? std::string() : *best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string best = closest(word, candidates);
  return best.empty() ? std::string() : fmt::format("did you mean \"{}\"?", best);
}

base::Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t last) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = !text.empty() && end == text.data() + text.size() &&
                         (text.size() == 1 || text.front() != '0') &&
                         problem != std::errc::invalid_argument;
  if (!is_number)
    return Error{Errc::kInvalidValue, fmt::format("\"{}\" is not a number", printable(text))};
  if (problem == std::errc::result_out_of_range || value > last)
    return Error{Errc::kInvalidValue, fmt::format("{} is out of range (0 to {})", text, last)};
  return value;
}

base::Result<std::uint64_t> parse_duration_ms(std::string_view text) {
  constexpr std::uint64_t kMax = 10ULL * 365 * 86'400'000;
  constexpr std::pair<std::string_view, std::uint64_t> kUnits[] = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  const Error bad{Errc::kInvalidValue,
                  fmt::format("\"{}\" is not a duration", printable(text.substr(0, 64))),
                  {},
                  "write a number and a unit: 250ms, 10s, 5m, 2h, 1d"};
  if (text.empty()) return bad;
  std::uint64_t total = 0, last_factor = ~std::uint64_t{0};
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > 15) return bad;
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + digits, value);
    text.remove_prefix(digits);
    const std::size_t letters = std::min(text.find_first_of("0123456789"), text.size());
    const auto* unit = std::ranges::find(kUnits, text.substr(0, letters),
                                         &std::pair<std::string_view, std::uint64_t>::first);
    if (unit == std::end(kUnits) || unit->second >= last_factor) return bad;
    if (value > kMax / unit->second || total + value * unit->second > kMax)
      return Error{Errc::kInvalidValue, "a duration is at most 10 years"};
    last_factor = unit->second;
    total += value * unit->second;
    text.remove_prefix(letters);
  }
  return total;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

base::Result<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return Error{Errc::kInvalidValue, "\"%\" in an address needs two hexadecimal digits"};
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

base::Result<QueryWords> parse_query(std::string_view text) {
  QueryWords words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto key = percent_decode(pair.substr(0, equals));
    if (!key) return key.error();
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())));
    if (!value) return value.error();
    if (words.size() == 32) return Error{Errc::kInvalidValue, "more than 32 query words"};
    if (!words.emplace(*key, *value).second)
      return Error{Errc::kDuplicate,
                   fmt::format("query word \"{}\" is given twice", printable(*key))};
  }
  return words;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters too; some terminals obey them.
    const bool is_c1 = c == 0xc2 && i + 1 < text.size() &&
                       static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                       static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c < 0x20 || c == 0x7f || is_c1)
      out += fmt::format("\\x{:02x}", c);
    else
      out += text[i];
    if (is_c1) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
  }
  return out;
}

base::Result<std::uint8_t> parse_protocol(std::string_view text) {
  for (const auto& p : kProtocols)
    if (p.name == text) return p.number;
  if (auto number = parse_number(text, 255)) return static_cast<std::uint8_t>(*number);
  std::vector<std::string> names;
  for (const auto& p : kProtocols) names.emplace_back(p.name);
  std::string hint = did_you_mean(text, names);
  if (hint.empty()) hint = "one of tcp, udp, icmp, icmpv6, sctp, gre, esp, ah, ipip or 0 to 255";
  return Error{Errc::kInvalidValue,
               fmt::format("\"{}\" is not a protocol", printable(text.substr(0, 64))),
               {},
               std::move(hint)};
}

std::string protocol_name(std::uint8_t protocol) {
  for (const auto& p : kProtocols)
    if (p.number == protocol) return std::string(p.name);
  return std::to_string(protocol);
}

bool has_ports(std::uint8_t protocol) noexcept {
  return protocol == 6 || protocol == 17 || protocol == 132;
}

}  // namespace merlon::client
