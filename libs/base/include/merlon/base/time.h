// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time as the data path sees it. Nanos counts nanoseconds since the Unix epoch; Ticks counts
// milliseconds since the engine's start and wraps after 49 days, so ticks are compared only through
// ticks_after() and ticks_between(). A replay feeds both from the capture's stamps, a live run from
// the TSC.
#include <cstdint>
#include <string>

namespace merlon::base {

using Nanos = std::int64_t;
using Ticks = std::uint32_t;

inline constexpr Nanos kNanosPerTick = 1'000'000;
inline constexpr Nanos kNanosPerSecond = 1'000'000'000;

// True when a is later than b, for distances under 24 days (serial number arithmetic, RFC 1982
// section 3.2).
constexpr bool ticks_after(Ticks a, Ticks b) noexcept {
  return static_cast<std::int32_t>(a - b) > 0;
}

// Milliseconds from `from` to `to`; 0 when `to` is earlier.
constexpr Ticks ticks_between(Ticks from, Ticks to) noexcept {
  const auto d = static_cast<std::int32_t>(to - from);
  return d > 0 ? static_cast<Ticks>(d) : 0;
}

// The EVE form, UTC: 2026-08-22T10:11:12.123456+0000.
std::string format_timestamp(Nanos time);
// Writes the same 31 characters to `out` (no terminator); for the event writer's hot loop.
void format_timestamp_to(Nanos time, char* out) noexcept;

// Wall clock now; control code only.
Nanos wall_clock_now() noexcept;

// Reads the time-stamp counter and converts with a calibration done once per process against
// CLOCK_REALTIME; monotonic per instance. Worker-owned.
class TscClock {
 public:
  TscClock();
  Nanos now() noexcept;
  // TSC ticks per second, as calibrated.
  static double frequency() noexcept;

 private:
  std::uint64_t base_tsc_;
  Nanos base_time_;
  Nanos last_ = 0;
  double nanos_per_tick_;
};

inline std::uint64_t read_tsc() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  std::uint64_t v;
  asm volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
#endif
}

}  // namespace merlon::base
