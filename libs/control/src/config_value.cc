// SPDX-License-Identifier: Apache-2.0
#include "config_value.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>

#include "merlon/base/address.h"
#include "schema_index.h"

namespace merlon::control {

using base::Errc;
using base::Error;
using base::Result;

namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array kTimeUnits{Unit{"d", 86'400'000'000'000},
                                Unit{"h", 3'600'000'000'000},
                                Unit{"m", 60'000'000'000},
                                Unit{"s", 1'000'000'000},
                                Unit{"ms", 1'000'000},
                                Unit{"us", 1'000},
                                Unit{"ns", 1}};
constexpr std::array kSizeUnits{Unit{"TiB", std::int64_t{1} << 40},
                                Unit{"GiB", std::int64_t{1} << 30},
                                Unit{"MiB", std::int64_t{1} << 20},
                                Unit{"KiB", std::int64_t{1} << 10},
                                Unit{"T", 1'000'000'000'000},
                                Unit{"G", 1'000'000'000},
                                Unit{"M", 1'000'000},
                                Unit{"k", 1'000}};

Error bad(std::string message, std::string hint = {}) {
  return Error{.code = Errc::kInvalidValue, .message = std::move(message), .hint = std::move(hint)};
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Long values are cut in messages.
std::string_view shown(std::string_view text) noexcept { return text.substr(0, 60); }

// A fixed number of digits at the front.
bool take_digits(std::string_view& text, std::size_t count, int& value) noexcept {
  if (text.size() < count) return false;
  value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}
bool take(std::string_view& text, char c) noexcept {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// sign hh:mm
bool take_offset(std::string_view& text, int& minutes) noexcept {
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return false;
  const bool is_negative = text.front() == '-';
  text.remove_prefix(1);
  int h = 0, m = 0;
  if (!take_digits(text, 2, h) || !take(text, ':') || !take_digits(text, 2, m) || h > 14 || m > 59)
    return false;
  minutes = (h * 60 + m) * (is_negative ? -1 : 1);
  return true;
}

Result<std::string> canonical_bool(std::string_view text, bool is_plain) {
  if (text == "true" || text == "false") {
    if (is_plain) return std::string(text);
    return bad(fmt::format("\"{}\" in quotes is a text, not true or false", text),
               "remove the quotes");
  }
  for (const std::string_view yes :
       {"yes", "on", "y", "True", "TRUE", "Yes", "YES", "On", "ON", "1"})
    if (text == yes) return bad(fmt::format("\"{}\" is not true or false", text), "write true");
  for (const std::string_view no :
       {"no", "off", "n", "False", "FALSE", "No", "NO", "Off", "OFF", "0"})
    if (text == no) return bad(fmt::format("\"{}\" is not true or false", text), "write false");
  return bad(fmt::format("\"{}\" is not true or false", shown(text)));
}

Result<std::string> canonical_number(const Key& key, std::string_view text, bool is_plain) {
  if (key.type == KeyType::kInteger && !is_plain && !text.empty() && is_digit(text[0]))
    return bad(fmt::format("\"{}\" in quotes is a text, not a number", shown(text)),
               "remove the quotes");
  const Result<std::int64_t> value = key.type == KeyType::kInteger    ? parse_integer(text)
                                     : key.type == KeyType::kDuration ? parse_duration(text)
                                                                      : parse_size(text);
  if (!value) return value.error();
  if (*value < key.min || *value > key.max)
    return bad(fmt::format("{} is out of range ({})", text, format_range(key)));
  return key.type == KeyType::kInteger    ? fmt::format("{}", *value)
         : key.type == KeyType::kDuration ? format_duration(*value)
                                          : format_size(*value);
}

Result<std::string> canonical_text_value(const Key& key, std::string_view text) {
  if (text.empty()) return bad("an empty text", "leave the key out or give it a value");
  if (key.type == KeyType::kPath && text.size() > 4096) return bad("longer than 4096 bytes");
  if (key.type == KeyType::kText && text.size() > static_cast<std::size_t>(key.max))
    return bad(fmt::format("{} bytes are too long (at most {})", text.size(), key.max));
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && !(c == '\n' && key.type == KeyType::kText)) ||
        c == 0x7f)
      return bad("a control character in the text", "remove it");
  return std::string(text);
}

// The nearest choice, or the house's word for another's.
std::string meant_choice(std::string_view text, const std::vector<std::string_view>& choices) {
  static constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
      {"allow", "permit"}, {"accept", "permit"}, {"pass", "permit"},  {"deny", "drop"},
      {"block", "drop"},   {"discard", "drop"},  {"refuse", "reject"}};
  for (const auto& [other, ours] : kOtherWords)
    if (text == other && std::find(choices.begin(), choices.end(), ours) != choices.end())
      return fmt::format("did you mean \"{}\"?", ours);
  return did_you_mean(text, choices);
}

Result<std::string> canonical_id(std::string_view text) {
  if (is_id(text)) return std::string(text);
  if (text.size() > 63)
    return bad(fmt::format("a name of {} characters is too long (at most 63)", text.size()));
  return bad(fmt::format("\"{}\" is not a name", shown(text)),
             "a letter, then letters, digits, \"_\", \"-\" or \".\"");
}

Result<std::string> canonical_name(const Key& key, std::string_view text) {
  std::string_view name = text;
  if (take(name, '!') && !key.can_negate)
    return bad(fmt::format("\"{}\" can't be negated here", shown(name)),
               key.path.starts_with("policy.rules[]") ? "put a rule for it before this one"
                                                      : "remove the \"!\"");
  if (name.empty() || name.size() > 256)
    return bad(fmt::format("\"{}\" is not a name", shown(text)));
  for (const char c : name)
    if (c == ' ' || c == '\t' || c == '\n' || static_cast<unsigned char>(c) < 0x20)
      return bad(fmt::format("\"{}\" contains a space", shown(text)),
                 "several names are written [one, two]");
  return std::string(text);
}

}  // namespace

Result<std::int64_t> parse_integer(std::string_view text) {
  std::string_view digits = text;
  const bool is_negative = take(digits, '-');
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    const bool has_separator = !digits.empty() && is_digit(digits[0]) &&
                               digits.find_first_not_of("0123456789_,") == std::string_view::npos;
    return bad(fmt::format("\"{}\" is not a whole number", shown(text)),
               has_separator ? "write the digits alone" : "");
  }
  if (digits.size() > 1 && digits[0] == '0') {
    const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
    return bad(fmt::format("\"{}\" has a leading zero", shown(text)),
               fmt::format("write {}{}", is_negative ? "-" : "", shown(digits.substr(first))));
  }
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size())
    return bad(fmt::format("{} is out of range", shown(text)), "");
  return value;
}

Result<std::int64_t> parse_duration(std::string_view text) {
  constexpr std::string_view kHint = "write it like 250ms, 30s, 5m, 2h4m or 1d";
  std::string_view left = text;
  std::int64_t sum = 0, last_factor = std::numeric_limits<std::int64_t>::max();
  if (text.empty()) return bad("an empty duration", std::string(kHint));
  if (text.find_first_not_of("0123456789") == std::string_view::npos)
    return bad(fmt::format("the duration \"{}\" has no unit", shown(text)),
               fmt::format("write {}s for seconds", shown(text)));
  while (!left.empty()) {
    const std::size_t digits = std::min(left.find_first_not_of("0123456789"), left.size());
    const Result<std::int64_t> number = parse_integer(left.substr(0, digits));
    std::string_view rest = left.substr(digits);
    const std::string_view name =
        rest.substr(0, std::min(rest.find_first_of("0123456789"), rest.size()));
    std::int64_t factor = 0;
    for (const Unit& unit : kTimeUnits)
      if (unit.name == name) factor = unit.factor;
    if (!number && digits != 0) return number.error();
    if (!number || factor == 0 || factor >= last_factor)
      return bad(fmt::format("\"{}\" is not a duration", shown(text)), std::string(kHint));
    if (*number > (std::numeric_limits<std::int64_t>::max() - sum) / factor)
      return bad(fmt::format("the duration {} is too long", shown(text)));
    sum += *number * factor;
    last_factor = factor;
    left = rest.substr(name.size());
  }
  return sum;
}

Result<std::int64_t> parse_size(std::string_view text) {
  constexpr std::string_view kHint = "write it like 10k, 1M or 64MiB";
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view name = text.substr(digits);
  const Result<std::int64_t> number = parse_integer(text.substr(0, digits));
  if (!number)
    return digits == 0 ? bad(fmt::format("\"{}\" is not a size", shown(text)), std::string(kHint))
                       : number.error();
  std::int64_t factor = name.empty() || name == "B" ? 1 : 0;
  for (const Unit& unit : kSizeUnits)
    if (name == unit.name ||
        (unit.name.size() == 1 && name.size() == 2 && name[0] == unit.name[0] && name[1] == 'B'))
      factor = unit.factor;
  if (factor == 0) return bad(fmt::format("\"{}\" is not a size", shown(text)), std::string(kHint));
  if (*number > std::numeric_limits<std::int64_t>::max() / factor)
    return bad(fmt::format("the size {} is too large", shown(text)));
  return *number * factor;
}

Result<base::Nanos> parse_time(std::string_view text) {
  const Error error = bad(fmt::format("\"{}\" is not a date or time", shown(text)),
                          "write it like 2026-12-31 or 2026-12-31T23:59:59Z");
  std::string_view left = text;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, offset = 0;
  if (!take_digits(left, 4, year) || !take(left, '-') || !take_digits(left, 2, month) ||
      !take(left, '-') || !take_digits(left, 2, day))
    return error;
  if (!left.empty()) {
    if (!take(left, 'T') || !take_digits(left, 2, hour) || !take(left, ':') ||
        !take_digits(left, 2, minute))
      return error;
    if (take(left, ':') && !take_digits(left, 2, second)) return error;
    if (!take(left, 'Z') && !take_offset(left, offset))
      return bad(fmt::format("the time \"{}\" has no time zone", shown(text)),
                 "add Z for UTC, or a distance such as +03:00");
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!left.empty() || !date.ok() || hour > 23 || minute > 59 || second > 59 || year < 1970 ||
      year > 2200)
    return error;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute - offset) * 60 + second) * base::kNanosPerSecond;
}

Result<std::int64_t> parse_clock(std::string_view text) {
  int hour = 0, minute = 0;
  std::string_view left = text;
  if (!take_digits(left, 2, hour) || !take(left, ':') || !take_digits(left, 2, minute) ||
      !left.empty() || minute > 59 || hour * 60 + minute > 1440)
    return bad(fmt::format("\"{}\" is not a time of day", shown(text)),
               "write it like \"08:00\", at most \"24:00\"");
  return std::int64_t{hour * 60 + minute};
}

Result<std::int64_t> parse_utc_offset(std::string_view text) {
  int minutes = 0;
  std::string_view left = text;
  if (!take_offset(left, minutes) || !left.empty())
    return bad(fmt::format("\"{}\" is not a distance from UTC", shown(text)),
               "write it like \"+03:00\" or \"-05:30\"");
  return std::int64_t{minutes};
}

bool is_id(std::string_view text) noexcept {
  if (text.empty() || text.size() > 63 || !is_letter(text[0])) return false;
  for (const char c : text)
    if (!is_letter(c) && !is_digit(c) && c != '_' && c != '-' && c != '.') return false;
  return true;
}

bool is_pci_address(std::string_view text) noexcept {
  constexpr std::string_view kForm = "xxxx:xx:xx.x";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const char c = text[i];
    const bool is_hex = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (kForm[i] == 'x' ? !is_hex : c != kForm[i]) return false;
  }
  return text.back() >= '0' && text.back() <= '7';
}

std::string format_duration(std::int64_t nanoseconds) {
  if (nanoseconds == 0) return "0s";
  std::string out;
  for (const Unit& unit : kTimeUnits) {
    if (nanoseconds / unit.factor == 0) continue;
    out += fmt::format("{}{}", nanoseconds / unit.factor, unit.name);
    nanoseconds %= unit.factor;
  }
  return out;
}

std::string format_size(std::int64_t bytes) {
  if (bytes != 0)
    for (const Unit& unit : kSizeUnits)
      if (bytes % unit.factor == 0) return fmt::format("{}{}", bytes / unit.factor, unit.name);
  return fmt::format("{}", bytes);
}

std::string format_time(base::Nanos time) {
  const std::string stamp = base::format_timestamp(time);
  const std::string day = stamp.substr(0, 10), clock = stamp.substr(11, 8);
  return clock == "00:00:00" ? day : day + "T" + clock + "Z";
}

std::string format_clock(std::int64_t minute) {
  return fmt::format("{:02}:{:02}", minute / 60, minute % 60);
}

std::string format_range(const Key& key) {
  switch (key.type) {
    case KeyType::kInteger:
      return key.min == key.max ? fmt::format("{} only", key.min)
                                : fmt::format("{} to {}", key.min, key.max);
    case KeyType::kDuration:
      return fmt::format("{} to {}", format_duration(key.min), format_duration(key.max));
    case KeyType::kSize:
      return fmt::format("{} to {}", format_size(key.min), format_size(key.max));
    default:
      return {};
  }
}

Result<std::string> canonical_value(const Key& key, std::string_view text, bool is_plain) {
  switch (key.type) {
    case KeyType::kBool:
      return canonical_bool(text, is_plain);
    case KeyType::kInteger:
    case KeyType::kDuration:
    case KeyType::kSize:
      return canonical_number(key, text, is_plain);
    case KeyType::kChoice: {
      const std::vector<std::string_view> choices = split_words(key.choices);
      for (const std::string_view choice : choices)
        if (text == choice) return std::string(text);
      std::string list;
      for (const std::string_view c : choices)
        list += fmt::format("{}{}", list.empty() ? "" : ", ", c);
      return bad(fmt::format("\"{}\" is not one of {}", shown(text), list),
                 meant_choice(text, choices));
    }
    case KeyType::kId:
      return canonical_id(text);
    case KeyType::kName:
      return canonical_name(key, text);
    case KeyType::kTime: {
      const auto time = parse_time(text);
      return time ? Result<std::string>(format_time(*time)) : time.error();
    }
    case KeyType::kClock: {
      const auto minute = parse_clock(text);
      return minute ? Result<std::string>(format_clock(*minute)) : minute.error();
    }
    case KeyType::kRange: {
      const auto range = base::parse_address_range(text);
      return range ? Result<std::string>(range->to_string()) : range.error();
    }
    case KeyType::kPciAddress:
      if (is_pci_address(text)) return std::string(text);
      return bad(fmt::format("\"{}\" is not a PCI address", shown(text)),
                 "write it like \"0000:01:00.0\" (domain:bus:device.function)");
    default:
      return canonical_text_value(key, text);
  }
}

}  // namespace merlon::control
