// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long control waits for a worker: as long as it gets on. control-only.
#include <cstdint>

#include "merlon/engine/clock.h"

namespace merlon::engine {

class Patience {
 public:
  explicit Patience(base::Nanos limit) : limit_(limit), since_(steady_now()) {}

  // False when `progress` has been the same for longer than the limit.
  bool lasts(std::uint32_t progress) {
    const base::Nanos now = steady_now();
    if (progress != seen_) {
      seen_ = progress;
      since_ = now;
    }
    return now - since_ < limit_;
  }

 private:
  const base::Nanos limit_;
  base::Nanos since_;
  std::uint32_t seen_ = 0;
};

}  // namespace merlon::engine
