// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/schedule.h"

#include <algorithm>
#include <cmath>

namespace merlon::lab::tcp {

Schedule::Schedule(double rate, double ramp_up_s, double sustain_s, double ramp_down_s) noexcept
    : rate_(rate),
      up_s_(ramp_up_s),
      sustain_s_(sustain_s),
      down_s_(ramp_down_s),
      in_up_(rate * ramp_up_s / 2),
      in_sustain_(rate * sustain_s),
      total_(static_cast<std::uint64_t>(in_up_ + in_sustain_ + rate * ramp_down_s / 2)) {}

// The inverse of the number started by time t: r t^2 / 2u in ramp-up, linear in sustain, mirrored
// in ramp-down.
base::Nanos Schedule::start_of(std::uint64_t n) const noexcept {
  const auto k = static_cast<double>(n);
  double seconds = 0;
  if (k < in_up_) {
    seconds = std::sqrt(2 * up_s_ * k / rate_);
  } else if (k < in_up_ + in_sustain_) {
    seconds = up_s_ + (k - in_up_) / rate_;
  } else {
    const double in_down = k - in_up_ - in_sustain_;
    const double left = std::max(0.0, down_s_ * down_s_ - 2 * down_s_ * in_down / rate_);
    seconds = up_s_ + sustain_s_ + down_s_ - std::sqrt(left);
  }
  return static_cast<base::Nanos>(seconds * 1e9);
}

}  // namespace merlon::lab::tcp
