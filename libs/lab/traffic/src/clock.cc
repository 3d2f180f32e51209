// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/clock.h"

#include <time.h>

#include <cstdint>
#include <limits>

namespace merlon::lab {
namespace {

constexpr base::Nanos kFirstCalibration = 20'000'000;
constexpr int kReadings = 8;

base::Nanos read_clock(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return base::Nanos{t.tv_sec} * base::kNanosPerSecond + t.tv_nsec;
}

struct Reading {
  std::uint64_t tsc = 0;
  base::Nanos time = 0;
};

// Both clocks at one moment: of some tries the one during which the least time passed, so that an
// interrupt between the two reads does not count.
Reading read_both(clockid_t id) noexcept {
  Reading best;
  std::uint64_t width = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t before = base::read_tsc();
    const base::Nanos time = read_clock(id);
    const std::uint64_t after = base::read_tsc();
    if (after - before >= width) continue;
    width = after - before;
    best = {before + width / 2, time};
  }
  return best;
}

double ratio(const Reading& from, const Reading& to) noexcept {
  return static_cast<double>(to.time - from.time) / static_cast<double>(to.tsc - from.tsc);
}

const Reading& first_reading() {
  static const Reading kFirst = [] {
    const Reading r = read_both(CLOCK_MONOTONIC_RAW);
    while (read_clock(CLOCK_MONOTONIC_RAW) - r.time < kFirstCalibration) {
    }
    return r;
  }();
  return kFirst;
}

}  // namespace

Clock Clock::start(base::Nanos lead) {
  const Reading& first = first_reading();
  const Reading now = read_both(CLOCK_MONOTONIC_RAW);
  Clock c;
  c.nanos_per_tick_ = ratio(first, now);
  c.started_tsc_ = now.tsc;
  c.started_raw_ = now.time;
  c.origin_ =
      base::read_tsc() + static_cast<std::uint64_t>(static_cast<double>(lead) / c.nanos_per_tick_);
  return c;
}

Clock Clock::manual(const base::Nanos* time) noexcept {
  Clock c;
  c.manual_ = time;
  return c;
}

double Clock::drift_ppm() const noexcept {
  if (manual_ != nullptr) return 0;
  const Reading now = read_both(CLOCK_MONOTONIC_RAW);
  const auto raw = static_cast<double>(now.time - started_raw_);
  const double ours = static_cast<double>(now.tsc - started_tsc_) * nanos_per_tick_;
  return raw > 0 ? (ours - raw) / raw * 1e6 : 0;
}

void StampOffset::refresh() noexcept {
  if (clock_.is_manual()) return;
  base::Nanos width = std::numeric_limits<base::Nanos>::max();
  for (int i = 0; i < 3; ++i) {
    const base::Nanos before = clock_.now();
    const base::Nanos wall = read_clock(CLOCK_REALTIME);
    const base::Nanos after = clock_.now();
    if (after - before >= width) continue;
    width = after - before;
    offset_ = wall - (before + width / 2);
  }
}

}  // namespace merlon::lab
