// SPDX-License-Identifier: Apache-2.0
#pragma once
// The trial's clock: nanoseconds since the trial's start, from the TSC, or from a variable that a
// test moves. Calibrated against CLOCK_MONOTONIC_RAW: over 20 ms at the first use in the process,
// then over all the time since. A value; threads of one trial hold copies and agree. Cost: 10 to 20
// ns.
#include <cstdint>

#include "merlon/base/time.h"

namespace merlon::lab {

class Clock {
 public:
  // On the TSC. now() is negative until `lead` has passed.
  static Clock start(base::Nanos lead);
  // Reads `*time`, which must outlive the clock.
  static Clock manual(const base::Nanos* time) noexcept;

  [[nodiscard]] base::Nanos now() const noexcept {
    if (manual_ != nullptr) return *manual_;
    const auto ticks = static_cast<std::int64_t>(base::read_tsc() - origin_);
    return static_cast<base::Nanos>(static_cast<double>(ticks) * nanos_per_tick_);
  }
  [[nodiscard]] bool is_manual() const noexcept { return manual_ != nullptr; }
  // How far this clock has gone from CLOCK_MONOTONIC_RAW since its start, in parts per million of
  // the time elapsed; 0 for a manual clock.
  [[nodiscard]] double drift_ppm() const noexcept;

 private:
  const base::Nanos* manual_ = nullptr;
  std::uint64_t origin_ = 0;
  double nanos_per_tick_ = 1;
  std::uint64_t started_tsc_ = 0;
  base::Nanos started_raw_ = 0;
};

// Turns the kernel's receive stamps (CLOCK_REALTIME) into trial time. refresh() now and then
// follows what adjusts the wall clock. worker-owned.
class StampOffset {
 public:
  explicit StampOffset(const Clock& clock) noexcept : clock_(clock) { refresh(); }
  void refresh() noexcept;
  [[nodiscard]] base::Nanos to_trial(base::Nanos stamp) const noexcept { return stamp - offset_; }

 private:
  Clock clock_;
  base::Nanos offset_ = 0;  // wall clock minus trial time
};

}  // namespace merlon::lab
