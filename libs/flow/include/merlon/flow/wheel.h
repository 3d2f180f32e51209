// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ageing wheel: two rings of 1,024 slots (64 ms and 65.5 s wide) of doubly linked lists
// threaded through the owner's nodes. worker-owned. link, unlink and each due node cost O(1); empty
// time is skipped by bitmap.
//
// Never early, at most 64 ms late when advance() is called often and its budget suffices. Order is
// by slot, then first in first out: equal input gives equal order. Deadlines beyond 18 hours are
// parked at the far end and asked again. Serial arithmetic throughout: ticks may wrap; a deadline
// is at most 12 days away.
#include <array>
#include <bit>
#include <cstdint>

#include "merlon/base/time.h"

namespace merlon::flow {

// Node has std::uint32_t wheel_next, wheel_prev and std::uint16_t wheel_slot.
template <class Node>
class Wheel {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::uint16_t kUnlinked = 0xffff;
  static constexpr unsigned kSlotShift = 6;

  void attach(Node* nodes) noexcept {
    nodes_ = nodes;
    heads_.fill({kNone, kNone});
  }

  // Parks an unlinked node until `deadline`.
  void link(std::uint32_t n, base::Ticks deadline, base::Ticks now) noexcept {
    if (count_ == 0) position_ = now >> kSlotShift;
    std::uint32_t distance = (((deadline + kSlotMask) >> kSlotShift) - position_) & kPositionMask;
    if (distance > kPositionMask / 2) distance = 0;  // already due
    if (distance > kFarthest) distance = kFarthest;
    const std::uint32_t slot = position_ + distance;
    append(n, distance < kRing ? slot % kRing : kRing + (slot / kRing) % kRing);
    ++count_;
  }

  void unlink(std::uint32_t n) noexcept {
    Node& node = nodes_[n];
    Head& head = heads_[node.wheel_slot];
    (node.wheel_prev == kNone ? head.first : nodes_[node.wheel_prev].wheel_next) = node.wheel_next;
    (node.wheel_next == kNone ? head.last : nodes_[node.wheel_next].wheel_prev) = node.wheel_prev;
    if (head.first == kNone) busy_[node.wheel_slot / 64] &= ~(1ULL << (node.wheel_slot % 64));
    node.wheel_slot = kUnlinked;
    --count_;
  }

  // Calls due(n) for at most `budget` nodes whose slot has passed; n is unlinked before and due()
  // may link it again with a deadline after `now`. Returns the budget left; 0 means that more may
  // wait.
  template <class Due>
  unsigned advance(base::Ticks now, unsigned budget, Due&& due) noexcept {
    const std::uint32_t now_slot = now >> kSlotShift;
    if (count_ == 0 || ((now_slot - position_) & kPositionMask) > kPositionMask / 2) return budget;
    for (;;) {
      if (position_ % kRing == 0 && !drain(kRing + (position_ / kRing) % kRing, budget, due))
        return 0;
      if (!drain(position_ % kRing, budget, due)) return 0;
      const std::uint32_t left = (now_slot - position_) & kPositionMask;
      if (left == 0) return budget;
      const std::uint32_t step = next_busy(position_ % kRing);
      position_ = (position_ + (step < left ? step : left)) & kPositionMask;
    }
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  static constexpr std::uint32_t kRing = 1024;
  static constexpr base::Ticks kSlotMask = (1U << kSlotShift) - 1;
  static constexpr std::uint32_t kPositionMask = 0xffffffffU >> kSlotShift;
  static constexpr std::uint32_t kFarthest = (kRing - 2) * kRing;
  struct Head {
    std::uint32_t first, last;
  };

  void append(std::uint32_t n, std::uint32_t slot) noexcept {
    Head& head = heads_[slot];
    Node& node = nodes_[n];
    node.wheel_slot = static_cast<std::uint16_t>(slot);
    node.wheel_next = kNone;
    node.wheel_prev = head.last;
    (head.last == kNone ? head.first : nodes_[head.last].wheel_next) = n;
    head.last = n;
    busy_[slot / 64] |= 1ULL << (slot % 64);
  }

  template <class Due>
  bool drain(std::uint32_t slot, unsigned& budget, Due& due) noexcept {
    while (heads_[slot].first != kNone) {
      if (budget == 0) return false;
      --budget;
      const std::uint32_t n = heads_[slot].first;
      if (nodes_[n].wheel_next != kNone) __builtin_prefetch(&nodes_[nodes_[n].wheel_next]);
      unlink(n);
      due(n);
    }
    return true;
  }

  // Slots from `at` to the next busy one of the fine ring or to the ring's end, where the coarse
  // ring is asked.
  [[nodiscard]] std::uint32_t next_busy(std::uint32_t at) const noexcept {
    for (std::uint32_t s = at + 1; s < kRing; s = (s | 63) + 1) {
      const std::uint64_t word = busy_[s / 64] >> (s % 64);
      if (word != 0) return s + static_cast<std::uint32_t>(std::countr_zero(word)) - at;
    }
    return kRing - at;
  }

  Node* nodes_ = nullptr;
  std::uint32_t position_ = 0;  // the next slot to look at, in units of 64 ms
  std::uint32_t count_ = 0;
  std::array<std::uint64_t, 2 * kRing / 64> busy_{};
  std::array<Head, 2 * kRing> heads_{};
};

}  // namespace merlon::flow
