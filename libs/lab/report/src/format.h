// SPDX-License-Identifier: Apache-2.0
#pragma once
// Figures as people read them: units, three to four significant digits, names of measured values in
// both languages. Unit symbols are international ones and digits the same in both languages.
// control-only.
#include <cstdint>
#include <string>
#include <string_view>

#include "merlon/lab_model/run.h"

namespace merlon::lab::report {

// How a value is shown. The comment is the unit it is stored in.
enum class Unit : std::uint8_t {
  kNone,
  kCount,    // things
  kPps,      // frames per second
  kBps,      // bits per second
  kRatio,    // 0..1, shown in per cent
  kPercent,  // already in per cent
  kSeconds,
  kMilliseconds,
  kMicroseconds,
  kNanoseconds,
  kCycles,
  kPerSecond,     // events per second
  kPerCpuSecond,  // packets per CPU second
  kMib,
  kBytes,
  kHertz,
};

// What is known of a value by its name: unit, which way is better, title.
enum class Better : std::uint8_t { kHigher, kLower, kNeither };

struct ValueInfo {
  Unit unit = Unit::kNone;
  Better better = Better::kNeither;
  Text title;
};

// By exact name for the laboratory's own values, else by the suffix of the name ("_us", "_pps",
// "_ratio").
ValueInfo value_info(std::string_view name);

// "412.3 kpps", "12.1 us" (with the micro sign), "0.013 %". Not a number or infinite: an en dash.
std::string quantity(double value, Unit unit);
// The digits alone: three to four significant ones, an exponent only beyond 1e-4..1e7.
std::string digits(double value);
// A ratio with the digits that decide near 1: "1.034", "0.0187", "12.4".
std::string ratio_text(double value);
// "1 234 567" with narrow no-break spaces.
std::string grouped(std::uint64_t value);
std::string grouped(std::int64_t value);
// A loss ratio of `lost` out of `total`; none lost is told with its upper bound 3/n (95 %).
std::string loss_text(std::uint64_t lost, std::uint64_t total);
// "2026-11-30 21:04:05 UTC"; an en dash for 0.
std::string utc_time(double unix_seconds);
std::string duration_text(double seconds);

}  // namespace merlon::lab::report
