// SPDX-License-Identifier: Apache-2.0
#pragma once
// Takes what arrives, tells what it is and enters it into the ledgers. One thread; no allocation,
// no lock, no system call but the port's (and none of those on AF_PACKET's ring).
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "merlon/io/port.h"
#include "merlon/lab_traffic/clock.h"
#include "merlon/lab_traffic/ledger.h"
#include "merlon/packet/burst.h"

namespace merlon::lab {

// A port to listen on.
struct Ear {
  io::Port* port = nullptr;
  unsigned queue = 0;
  Ledger* arriving = nullptr;      // of the direction that ends here
  bool is_reverse = false;         // that direction is b to a
  bool has_kernel_stamps = false;  // burst.time is filled
};

struct ReceiverUse {
  std::uint64_t frames = 0;  // all
  std::uint64_t corrupted = 0;
  std::uint64_t foreign = 0, stale = 0, returned = 0;  // together: unexpected
  std::uint64_t unmeasured = 0;                        // of a capture, without tag
  std::uint64_t attack = 0;
};

class Receiver {
 public:
  Receiver(const Clock& clock, unsigned time_shift, std::uint16_t trial);

  void add(const Ear& ear);  // before the first turn

  // Reads a burst from each port; returns the frames read.
  unsigned turn() noexcept;

  // Trial time at which the last frame of ours was read; 0 before the first.
  [[nodiscard]] base::Nanos last_arrival() const noexcept {
    return last_arrival_.load(std::memory_order_relaxed);  // any thread
  }
  // Trial time of the last look that found every port empty. Silence is what somebody listened to:
  // frames may wait while this thread is kept from its core.
  [[nodiscard]] base::Nanos last_empty_look() const noexcept {
    return last_empty_look_.load(std::memory_order_relaxed);  // any thread
  }
  [[nodiscard]] const ReceiverUse& use() const noexcept { return use_; }

 private:
  void take(const Ear& ear, unsigned index, base::Nanos now) noexcept;

  const Clock clock_;
  const unsigned time_shift_;
  const std::uint16_t trial_;
  StampOffset stamps_;
  base::Nanos next_refresh_ = 0;
  std::vector<Ear> ears_;
  std::unique_ptr<packet::Burst> burst_;
  ReceiverUse use_;
  std::atomic<base::Nanos> last_arrival_{0}, last_empty_look_{0};
};

}  // namespace merlon::lab
