// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/drop_ring.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace merlon::telemetry {
namespace {

constexpr std::uint32_t kMaxPerReason = 4096;
constexpr std::size_t kInfoWords = 7;
constexpr std::size_t kDataWords = kDropBytes / 8;

// The fixed part of a slot as it lies in the words.
struct Packed {
  std::int64_t time;
  std::uint64_t packet_number, flow_id;
  std::uint32_t length, rule;
  std::uint32_t generation;
  std::uint16_t in_port, out_port;
  std::uint16_t captured;
  std::uint8_t reason, worker, is_would_drop, reserved[3];
  std::uint64_t reserved_word;
};
static_assert(sizeof(Packed) == kInfoWords * 8);

}  // namespace

struct alignas(64) DropRing::Slot {
  std::atomic<std::uint64_t> sequence{0};  // 2n after the n-th write, 2n-1 during it
  std::array<std::atomic<std::uint64_t>, kInfoWords + kDataWords> words{};
};

DropRing::DropRing(std::uint32_t packets_per_reason)
    : count_(std::min(packets_per_reason, kMaxPerReason)),
      slots_(std::make_unique<Slot[]>(std::size_t{count_} * base::kDropReasonCount)) {
  static_assert(sizeof(Slot) == 256);
}
DropRing::~DropRing() = default;

std::size_t DropRing::memory_size(std::uint32_t packets_per_reason) noexcept {
  return std::size_t{std::min(packets_per_reason, kMaxPerReason)} * base::kDropReasonCount *
         sizeof(Slot);
}

void DropRing::write(const DropInfo& info, const base::Byte* data, std::size_t captured) noexcept {
  if (count_ == 0) return;
  const auto reason = static_cast<std::size_t>(info.reason);
  std::uint32_t& next = next_[reason];
  Slot& slot = slots_[reason * count_ + next];
  next = next + 1 == count_ ? 0 : next + 1;
  const std::size_t size = std::min(captured, kDropBytes);

  const Packed packed{info.time,
                      info.packet_number,
                      info.flow_id,
                      info.length,
                      info.rule,
                      info.generation,
                      info.in_port,
                      info.out_port,
                      static_cast<std::uint16_t>(size),
                      static_cast<std::uint8_t>(info.reason),
                      info.worker,
                      static_cast<std::uint8_t>(info.is_would_drop),
                      {},
                      0};
  std::array<std::uint64_t, kInfoWords> head;
  std::memcpy(head.data(), &packed, sizeof packed);

  const std::uint64_t sequence = slot.sequence.load(std::memory_order_relaxed);
  slot.sequence.store(sequence + 1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kInfoWords; ++i)
    slot.words[i].store(head[i], std::memory_order_release);
  const std::size_t whole = size / 8;
  for (std::size_t i = 0; i < whole; ++i)
    slot.words[kInfoWords + i].store(base::load_raw<std::uint64_t>(data + 8 * i),
                                     std::memory_order_release);
  if (const std::size_t rest = size % 8; rest != 0) {
    std::uint64_t last = 0;
    std::memcpy(&last, data + 8 * whole, rest);
    slot.words[kInfoWords + whole].store(last, std::memory_order_release);
  }
  slot.sequence.store(sequence + 2, std::memory_order_release);
}

void DropRing::collect(base::DropReason reason, std::vector<DroppedPacket>& out) const {
  const std::size_t first = out.size();
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Slot& slot = slots_[static_cast<std::size_t>(reason) * count_ + i];
    const std::uint64_t before = slot.sequence.load(std::memory_order_acquire);
    if (before == 0 || before % 2 != 0) continue;
    std::array<std::uint64_t, kInfoWords + kDataWords> words;
    for (std::size_t k = 0; k < words.size(); ++k)
      words[k] = slot.words[k].load(std::memory_order_acquire);
    if (slot.sequence.load(std::memory_order_relaxed) != before) continue;

    Packed packed;
    std::memcpy(&packed, words.data(), sizeof packed);
    DroppedPacket& d = out.emplace_back();
    d.info = {packed.time,
              packed.packet_number,
              packed.flow_id,
              packed.length,
              packed.rule,
              packed.generation,
              packed.in_port,
              packed.out_port,
              static_cast<base::DropReason>(packed.reason),
              packed.worker,
              packed.is_would_drop != 0};
    d.ordinal = (before / 2 - 1) * count_ + i;
    d.captured = std::min<std::uint16_t>(packed.captured, kDropBytes);
    std::memcpy(d.bytes.data(), words.data() + kInfoWords, d.captured);
  }
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
            [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
}

std::vector<DroppedPacket> collect_drops(std::span<const DropRing* const> rings,
                                         std::optional<base::DropReason> reason,
                                         std::size_t limit) {
  std::vector<DroppedPacket> all;
  for (const DropRing* ring : rings)
    for (unsigned r = 0; r < base::kDropReasonCount; ++r)
      if (!reason || static_cast<unsigned>(*reason) == r)
        ring->collect(static_cast<base::DropReason>(r), all);
  const auto key = [](const DroppedPacket& d) {
    return std::tuple(d.info.time, d.info.packet_number, d.info.worker, d.info.reason, d.ordinal);
  };
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  if (limit != 0 && all.size() > limit)
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(limit));
  return all;
}

}  // namespace merlon::telemetry
