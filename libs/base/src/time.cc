// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/time.h"

#include <time.h>

#include <algorithm>
#include <cstring>

namespace merlon::base {
namespace {

Nanos read_clock(clockid_t id) noexcept {
  timespec ts{};
  clock_gettime(id, &ts);
  return static_cast<Nanos>(ts.tv_sec) * kNanosPerSecond + ts.tv_nsec;
}

// 20 ms against CLOCK_MONOTONIC_RAW give the frequency within some parts per million, enough for
// timers in milliseconds; TscClock re-anchors to the wall clock each second, so the error does not
// add up.
double calibrate() noexcept {
  const Nanos t0 = read_clock(CLOCK_MONOTONIC_RAW);
  const std::uint64_t c0 = read_tsc();
  Nanos t1;
  do {
    t1 = read_clock(CLOCK_MONOTONIC_RAW);
  } while (t1 - t0 < 20'000'000);
  const std::uint64_t c1 = read_tsc();
  return static_cast<double>(c1 - c0) * 1e9 / static_cast<double>(t1 - t0);
}

// Civil date from days since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date
// Algorithms").
struct Civil {
  unsigned year, month, day;
};
Civil civil_from_days(std::int64_t z) noexcept {
  z += 719468;
  const std::int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const auto doe = static_cast<unsigned>(z - era * 146097);
  const unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const unsigned mp = (5 * doy + 2) / 153;
  const unsigned month = mp < 10 ? mp + 3 : mp - 9;
  const auto year =
      static_cast<unsigned>(static_cast<std::int64_t>(yoe) + era * 400) + (month <= 2 ? 1 : 0);
  return {year, month, doy - (153 * mp + 2) / 5 + 1};
}

void put(char* out, unsigned value, unsigned digits) noexcept {
  for (unsigned i = digits; i-- > 0; value /= 10) out[i] = static_cast<char>('0' + value % 10);
}

}  // namespace

double TscClock::frequency() noexcept {
  static const double kFrequency = calibrate();
  return kFrequency;
}

TscClock::TscClock()
    : base_tsc_(read_tsc()),
      base_time_(read_clock(CLOCK_REALTIME)),
      nanos_per_tick_(1e9 / frequency()) {}

Nanos TscClock::now() noexcept {
  const std::uint64_t tsc = read_tsc();
  Nanos t = base_time_ + static_cast<Nanos>(static_cast<double>(tsc - base_tsc_) * nanos_per_tick_);
  if (t - base_time_ > kNanosPerSecond) {
    base_tsc_ = tsc;
    base_time_ = read_clock(CLOCK_REALTIME);
    t = base_time_;
  }
  last_ = std::max(last_, t);
  return last_;
}

Nanos wall_clock_now() noexcept { return read_clock(CLOCK_REALTIME); }

void format_timestamp_to(Nanos time, char* out) noexcept {
  constexpr std::int64_t kDay = 86'400 * kNanosPerSecond;
  std::int64_t days = time / kDay;
  std::int64_t rest = time % kDay;
  if (rest < 0) {
    rest += kDay;
    --days;
  }
  const Civil date = civil_from_days(days);
  const auto seconds = static_cast<unsigned>(rest / kNanosPerSecond);
  std::memcpy(out, "0000-00-00T00:00:00.000000+0000", 31);
  put(out, date.year, 4);
  put(out + 5, date.month, 2);
  put(out + 8, date.day, 2);
  put(out + 11, seconds / 3600, 2);
  put(out + 14, seconds / 60 % 60, 2);
  put(out + 17, seconds % 60, 2);
  put(out + 20, static_cast<unsigned>(rest % kNanosPerSecond / 1000), 6);
}

std::string format_timestamp(Nanos time) {
  std::string s(31, ' ');
  format_timestamp_to(time, s.data());
  return s;
}

}  // namespace merlon::base
