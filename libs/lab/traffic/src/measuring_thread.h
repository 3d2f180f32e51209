// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the sender's and the receiver's threads have in common: a core, an identity towards DPDK,
// the account of what they used, and a watch on how long they were kept from running.
#include <algorithm>

#include "merlon/base/time.h"
#include "merlon/lab_model/trial.h"
#include "merlon/lab_traffic/clock.h"
#include "merlon/lab_traffic/receiver.h"
#include "merlon/lab_traffic/sender.h"

namespace merlon::lab {

// The longest time between two looks at the clock that the thread did not spend in a port or asleep
// by its own wish. worker-owned.
class GapWatch {
 public:
  explicit GapWatch(const Clock& clock) noexcept : clock_(clock), last_(clock.now()) {}
  // `excused`: time since the last look that was somebody else's by right.
  void look(base::Nanos excused = 0) noexcept {
    const base::Nanos now = clock_.now();
    longest_ = std::max(longest_, now - last_ - excused);
    last_ = now;
  }
  void skip() noexcept { last_ = clock_.now(); }
  [[nodiscard]] base::Nanos longest() const noexcept { return longest_; }

 private:
  const Clock clock_;
  base::Nanos last_;
  base::Nanos longest_ = 0;
};

// What a measuring thread leaves behind.
struct ThreadReport {
  ProcessUse use;
  base::Nanos longest_gap = 0;
  bool is_pinned = false;
};

struct ThreadPlace {
  int core = -1;         // -1: wherever the system puts it
  bool is_dpdk = false;  // touches DPDK's ports
};

// Both run on the calling thread until done, and fill `report`.
void run_sender(Sender& sender, const Clock& clock, const ThreadPlace& place,
                const std::atomic<bool>& stop, ThreadReport& report);
// Sleeps between reads when `may_sleep`: kernel stamps tell when a frame came, so the receiver need
// not hold a core; 100 us at a time fills a few hundred slots of the ring at most.
void run_receiver(Receiver& receiver, const Clock& clock, const ThreadPlace& place, bool may_sleep,
                  const std::atomic<bool>& stop, ThreadReport& report);

}  // namespace merlon::lab
