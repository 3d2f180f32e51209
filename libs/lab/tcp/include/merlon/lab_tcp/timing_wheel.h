// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timers of a table of connections: one ring of 1,024 slots of 2^20 ns (1.07 s in all). An entry
// stands where its connection is to be looked at next; a deadline that moves away leaves it there,
// and what is found early is put further on. worker-owned. Cost: nothing for a later deadline, two
// list operations for an earlier one.
#include <array>
#include <cstdint>

#include "merlon/lab_tcp/connection.h"

namespace merlon::lab::tcp {

class TimingWheel {
 public:
  static constexpr unsigned kSlots = 1024;
  static constexpr unsigned kTickBits = 20;  // nanoseconds, as a power of two

  // The table must be of zeroed connections; all are taken out of the wheel.
  TimingWheel(Connection* table, std::uint32_t count, base::Nanos now) noexcept;

  // Makes sure that `index` is looked at not later than a tick after `deadline`.
  void arm(std::uint32_t index, base::Nanos deadline) noexcept;

  // Calls look(index) for each entry due, which is out of the wheel then; look() may arm() it
  // again. At most `limit` entries a call; false when some are left.
  template <class Look>
  bool advance(base::Nanos now, unsigned limit, Look&& look) {
    const std::uint64_t end = tick_of(now);
    while (tick_ < end) {
      const unsigned slot = tick_ % kSlots;
      while (heads_[slot] != kNone) {
        if (limit-- == 0) return false;
        const std::uint32_t index = heads_[slot];
        unlink(index);
        look(index);
      }
      ++tick_;
    }
    return true;
  }

 private:
  static std::uint64_t tick_of(base::Nanos t) noexcept {
    return static_cast<std::uint64_t>(t) >> kTickBits;
  }
  void unlink(std::uint32_t index) noexcept;

  Connection* table_;
  std::uint64_t tick_;  // the next to be looked at
  std::array<std::uint32_t, kSlots> heads_;
};

}  // namespace merlon::lab::tcp
