// SPDX-License-Identifier: Apache-2.0
#include "merlon/engine/clock.h"

#include <time.h>

namespace merlon::engine {

base::Nanos steady_now() noexcept {
  timespec ts{};
  ::clock_gettime(CLOCK_MONOTONIC, &ts);
  return base::Nanos{ts.tv_sec} * base::kNanosPerSecond + ts.tv_nsec;
}

Clock::Clock(const base::Nanos* replay, const ClockSources& sources)
    : replay_(replay), sources_(sources) {
  if (replay_ != nullptr) return;
  nanos_per_tick_ = 1e9 / base::TscClock::frequency();
  follow(base::read_tsc());
}

void Clock::follow(std::uint64_t tsc) noexcept {
  base_tsc_ = tsc;
  base_wall_ = sources_.wall();
  base_steady_ = sources_.steady();
}

}  // namespace merlon::engine
