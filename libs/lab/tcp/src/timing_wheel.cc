// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/timing_wheel.h"

#include <algorithm>

namespace merlon::lab::tcp {

TimingWheel::TimingWheel(Connection* table, std::uint32_t count, base::Nanos now) noexcept
    : table_(table), tick_(tick_of(now)) {
  heads_.fill(kNone);
  for (std::uint32_t i = 0; i < count; ++i) table_[i].wheel_tick = kNone;
}

void TimingWheel::arm(std::uint32_t index, base::Nanos deadline) noexcept {
  Connection& c = table_[index];
  // A slot is looked at when it is over, so an entry is never early by more than the horizon's cut.
  const std::uint64_t tick = std::clamp(tick_of(deadline), tick_, tick_ + kSlots - 1);
  // Ticks are compared within the ring's horizon; what is linked lies in [tick_, tick_ + kSlots).
  const auto place = static_cast<std::uint32_t>(tick % kSlots);
  if (c.wheel_tick != kNone) {
    const std::uint32_t from = static_cast<std::uint32_t>(tick_ % kSlots);
    const std::uint32_t have = (c.wheel_tick - from) % kSlots, want = (place - from) % kSlots;
    if (have <= want) return;
    unlink(index);
  }
  c.wheel_tick = place;
  c.wheel_previous = kNone;
  c.wheel_next = heads_[place];
  if (c.wheel_next != kNone) table_[c.wheel_next].wheel_previous = index;
  heads_[place] = index;
}

void TimingWheel::unlink(std::uint32_t index) noexcept {
  Connection& c = table_[index];
  if (c.wheel_previous != kNone)
    table_[c.wheel_previous].wheel_next = c.wheel_next;
  else
    heads_[c.wheel_tick] = c.wheel_next;
  if (c.wheel_next != kNone) table_[c.wheel_next].wheel_previous = c.wheel_previous;
  c.wheel_tick = kNone;
}

}  // namespace merlon::lab::tcp
