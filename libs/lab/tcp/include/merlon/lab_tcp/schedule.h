// SPDX-License-Identifier: Apache-2.0
#pragma once
// When connections start: a rate that rises linearly, stands, and falls linearly (RFC 9411
// section 4.3.4). Values only; any thread. Times are nanoseconds from the start of ramp-up.
#include <cstdint>

#include "merlon/base/time.h"

namespace merlon::lab::tcp {

class Schedule {
 public:
  Schedule() = default;
  Schedule(double rate, double ramp_up_s, double sustain_s, double ramp_down_s) noexcept;

  // Connections in all.
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  // When number n (from 0) is to start. Cost: a square root in the ramps.
  [[nodiscard]] base::Nanos start_of(std::uint64_t n) const noexcept;

 private:
  double rate_ = 0, up_s_ = 0, sustain_s_ = 0, down_s_ = 0;
  double in_up_ = 0, in_sustain_ = 0;  // connections of these phases
  std::uint64_t total_ = 0;
};

}  // namespace merlon::lab::tcp
