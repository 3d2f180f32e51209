// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/receiver.h"

#include "frame_template.h"
#include "merlon/lab_traffic/recognise.h"

namespace merlon::lab {
namespace {

constexpr base::Nanos kRefreshEvery = 50'000'000;

// Frames without tag that we sent ourselves come from the first client; attacks have a network of
// their own and are told before.
bool is_from_capture(const base::Byte* frame, std::uint32_t size) noexcept {
  if (size < 14) return false;
  return (base::load_be<std::uint64_t>(frame + 6) >> 16) == kClientMac;
}

}  // namespace

Receiver::Receiver(const Clock& clock, unsigned time_shift, std::uint16_t trial)
    : clock_(clock),
      time_shift_(time_shift),
      trial_(trial),
      stamps_(clock),
      burst_(std::make_unique<packet::Burst>()) {}

void Receiver::add(const Ear& ear) { ears_.push_back(ear); }

unsigned Receiver::turn() noexcept {
  const base::Nanos began = clock_.now();
  unsigned total = 0;
  for (const Ear& ear : ears_) {
    packet::Burst& burst = *burst_;
    burst.count = 0;
    ear.port->receive(ear.queue, burst, packet::Burst::kCapacity);
    if (burst.count == 0) continue;
    const base::Nanos now = clock_.now();
    if (ear.has_kernel_stamps && now >= next_refresh_) {
      stamps_.refresh();
      next_refresh_ = now + kRefreshEvery;
    }
    for (unsigned i = 0; i < burst.count; ++i) take(ear, i, now);
    ear.port->release(ear.queue, burst.handle.data(), burst.count);
    total += burst.count;
  }
  if (total == 0) last_empty_look_.store(began, std::memory_order_relaxed);
  return total;
}

void Receiver::take(const Ear& ear, unsigned index, base::Nanos now) noexcept {
  const packet::Burst& burst = *burst_;
  FrameTag tag;
  ++use_.frames;
  const FrameKind kind =
      recognise(base::ByteSpan(burst.data[index], burst.captured[index]), trial_, tag);
  switch (kind) {
    case FrameKind::kCorrupted:
      ++use_.corrupted;
      return;
    case FrameKind::kStale:
      ++use_.stale;
      return;
    case FrameKind::kAttack:
      ++use_.attack;
      return;
    case FrameKind::kForeign:
      ++(is_from_capture(burst.data[index], burst.captured[index]) ? use_.unmeasured
                                                                   : use_.foreign);
      return;
    case FrameKind::kMeasured:
      break;
  }
  if (((tag.flags & FrameTag::kIsReverse) != 0) != ear.is_reverse) {
    ++use_.returned;
    return;
  }
  last_arrival_.store(now, std::memory_order_relaxed);
  const bool is_stamped = ear.has_kernel_stamps && burst.time[index] != 0;
  const base::Nanos time = is_stamped ? stamps_.to_trial(burst.time[index]) : now;
  // The middle of the unit that the tag's time stands for.
  const base::Nanos sent =
      (base::Nanos{tag.time} << time_shift_) + ((base::Nanos{1} << time_shift_) >> 1);
  ear.arriving->received(tag, time, sent, burst.length[index] + kFcsSize);
}

}  // namespace merlon::lab
