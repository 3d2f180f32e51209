// SPDX-License-Identifier: Apache-2.0
#pragma once
// A token bucket by ticks, for drop events and rejects. worker-owned, 24 bytes, integer arithmetic
// only: tokens are kept in thousandths, of which each millisecond brings `rate`.
#include <algorithm>
#include <cstdint>

#include "merlon/base/time.h"

namespace merlon::telemetry {

class TokenBucket {
 public:
  // `per_second` tokens flow in, at most `burst` are kept (0: as many as come in one second);
  // starts full. A rate of 0 refuses everything.
  explicit TokenBucket(std::uint32_t per_second, std::uint32_t burst = 0) noexcept
      : rate_(per_second),
        limit_(per_second == 0 ? 0 : std::uint64_t{1000} * (burst != 0 ? burst : per_second)),
        tokens_(limit_) {}

  // Takes one token if there is one. Time that goes backwards adds nothing.
  bool take(base::Ticks now) noexcept {
    if (!has_started_) {
      has_started_ = true;
      last_ = now;
    }
    const base::Ticks passed = base::ticks_between(last_, now);
    if (passed != 0) {
      last_ = now;
      tokens_ = std::min(limit_, tokens_ + std::uint64_t{passed} * rate_);
    }
    if (tokens_ < 1000) return false;
    tokens_ -= 1000;
    return true;
  }

 private:
  std::uint32_t rate_;
  base::Ticks last_ = 0;
  std::uint64_t limit_, tokens_;
  bool has_started_ = false;
};

}  // namespace merlon::telemetry
