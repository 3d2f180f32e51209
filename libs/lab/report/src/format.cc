// SPDX-License-Identifier: Apache-2.0
#include "format.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <ctime>

#include "merlon/lab_model/statistics.h"

namespace merlon::lab::report {
namespace {

constexpr std::string_view kNarrowSpace = "\u202f";
constexpr std::string_view kDash = "\u2013";

struct Scaled {
  double value;
  std::string_view prefix;
};

// Steps of 1,000 upwards only: rates of less than one are shown as they are.
Scaled scale_up(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 0.9995e9) return {value / 1e9, "G"};
  if (magnitude >= 0.9995e6) return {value / 1e6, "M"};
  if (magnitude >= 0.9995e3) return {value / 1e3, "k"};
  return {value, ""};
}

std::string scaled_quantity(double value, std::string_view unit) {
  const Scaled s = scale_up(value);
  return fmt::format("{}\u00a0{}{}", digits(s.value), s.prefix, unit);
}

std::string time_quantity(double seconds) {
  const double magnitude = std::fabs(seconds);
  if (magnitude == 0) return "0\u00a0s";
  if (magnitude < 0.9995e-6) return digits(seconds * 1e9) + "\u00a0ns";
  if (magnitude < 0.9995e-3) return digits(seconds * 1e6) + "\u00a0µs";
  if (magnitude < 0.9995) return digits(seconds * 1e3) + "\u00a0ms";
  return digits(seconds) + "\u00a0s";
}

std::string group_digits(std::string text) {
  std::string out;
  const std::size_t start = !text.empty() && text[0] == '-' ? 1 : 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > start && (text.size() - i) % 3 == 0) out.append(kNarrowSpace);
    out.push_back(text[i]);
  }
  return out;
}

}  // namespace

std::string digits(double value) {
  if (!std::isfinite(value)) return std::string(kDash);
  if (value == 0) return "0";
  const double magnitude = std::fabs(value);
  if (magnitude < 0.99995e-4 || magnitude >= 1e7) return fmt::format("{:.2e}", value);
  if (magnitude >= 1000) return group_digits(fmt::format("{:.0f}", value));
  std::string text = magnitude >= 99.95    ? fmt::format("{:.1f}", value)
                     : magnitude >= 9.995  ? fmt::format("{:.2f}", value)
                     : magnitude >= 0.9995 ? fmt::format("{:.3f}", value)
                                           : fmt::format("{:.3g}", value);
  if (text.find('.') != std::string::npos && text.find('e') == std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string ratio_text(double value) {
  if (!std::isfinite(value)) return std::string(kDash);
  return value >= 0.1 && value < 10 ? fmt::format("{:.3f}", value) : digits(value);
}

std::string grouped(std::uint64_t value) { return group_digits(std::to_string(value)); }
std::string grouped(std::int64_t value) { return group_digits(std::to_string(value)); }

std::string quantity(double value, Unit unit) {
  if (!std::isfinite(value)) return std::string(kDash);
  switch (unit) {
    case Unit::kNone:
    case Unit::kCount:
    case Unit::kCycles:  // titles say what they are cycles of
      return digits(value);
    case Unit::kPps:
      return scaled_quantity(value, "pps");
    case Unit::kBps:
      return scaled_quantity(value, "bit/s");
    case Unit::kRatio:
      return digits(value * 100) + "\u00a0%";
    case Unit::kPercent:
      return digits(value) + "\u00a0%";
    case Unit::kSeconds:
      return time_quantity(value);
    case Unit::kMilliseconds:
      return time_quantity(value * 1e-3);
    case Unit::kMicroseconds:
      return time_quantity(value * 1e-6);
    case Unit::kNanoseconds:
      return time_quantity(value * 1e-9);
    case Unit::kPerSecond:
      return scaled_quantity(value, "/s");
    case Unit::kPerCpuSecond:
      return scaled_quantity(value, "/CPU·s");
    case Unit::kMib:
      return digits(value) + "\u00a0MiB";
    case Unit::kBytes:
      return digits(value) + "\u00a0B";
    case Unit::kHertz:
      return scaled_quantity(value, "Hz");
  }
  return digits(value);
}

std::string loss_text(std::uint64_t lost, std::uint64_t total) {
  if (total == 0) return std::string(kDash);
  if (lost == 0)
    return fmt::format("0 (<\u00a0{})", quantity(zero_event_bound(total), Unit::kRatio));
  return quantity(static_cast<double>(lost) / static_cast<double>(total), Unit::kRatio);
}

std::string utc_time(double unix_seconds) {
  if (!(unix_seconds > 0) || unix_seconds > 253402300799.0) return std::string(kDash);
  const auto whole = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  const std::size_t length =
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text.data(), length};
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e12)) return std::string(kDash);
  if (seconds < 120) return time_quantity(seconds);
  const auto minutes = static_cast<std::uint64_t>(seconds / 60);
  const auto rest = static_cast<std::uint64_t>(seconds) % 60;
  if (minutes < 120) return fmt::format("{}\u00a0min {}\u00a0s", minutes, rest);
  return fmt::format("{}\u00a0h {}\u00a0min", minutes / 60, minutes % 60);
}

}  // namespace merlon::lab::report
