// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time as workers see it: two clocks by one read of the time stamp counter. The wall clock goes
// into events and decides schedules; it may step, when somebody sets it. Sessions age by the steady
// one, so that a step neither ends them nor keeps them for ever. Worker-owned; a nanosecond or two.
#include <algorithm>
#include <cstdint>

#include "merlon/base/time.h"

namespace merlon::engine {

// CLOCK_MONOTONIC: never steps, starts anywhere.
base::Nanos steady_now() noexcept;

// Where the two times come from, asked once per interval; the counter fills the time between.
struct ClockSources {
  base::Nanos (*wall)() noexcept = base::wall_clock_now;
  base::Nanos (*steady)() noexcept = steady_now;
  base::Nanos interval = base::kNanosPerSecond;
};

class Clock {
 public:
  // With `replay` both times are what it points to, which the driver sets from the capture.
  explicit Clock(const base::Nanos* replay = nullptr, const ClockSources& sources = {});

  // Sets both for the turn that begins; `tsc` as read_tsc() has just given it.
  void read(std::uint64_t tsc = base::read_tsc()) noexcept {
    if (replay_ != nullptr) {
      wall_ = steady_ = *replay_;
      return;
    }
    const auto ticks = static_cast<std::int64_t>(tsc - base_tsc_);
    auto passed = static_cast<base::Nanos>(static_cast<double>(ticks) * nanos_per_tick_);
    if (passed >= sources_.interval) [[unlikely]] {
      follow(tsc);
      passed = 0;
    }
    const base::Nanos wall = base_wall_ + passed;
    // Back by a hair when the counter was ahead; what is more is somebody's doing.
    if (wall > wall_ || wall < wall_ - base::kNanosPerSecond) wall_ = wall;
    steady_ = std::max(steady_, base_steady_ + passed);
  }
  [[nodiscard]] base::Nanos wall() const noexcept { return wall_; }
  [[nodiscard]] base::Nanos steady() const noexcept { return steady_; }
  [[nodiscard]] bool is_replay() const noexcept { return replay_ != nullptr; }

 private:
  void follow(std::uint64_t tsc) noexcept;

  const base::Nanos* replay_;
  ClockSources sources_;
  double nanos_per_tick_ = 0;
  std::uint64_t base_tsc_ = 0;
  base::Nanos base_wall_ = 0, base_steady_ = 0;
  base::Nanos wall_ = 0, steady_ = 0;
};

}  // namespace merlon::engine
