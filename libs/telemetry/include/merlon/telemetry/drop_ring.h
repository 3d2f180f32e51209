// SPDX-License-Identifier: Apache-2.0
#pragma once
// The last dropped packets of one worker, K per reason, in fixed memory: 256 bytes per packet (with
// K = 16 about 220 KiB). The worker writes (noexcept, no allocation, tens of nanoseconds), control
// reads at any time. Each slot has a sequence number, odd while the slot is written; a reader that
// meets a change skips the slot. Data words are stored with release and loaded with acquire order,
// so the check needs no fence: a reader that saw any new word also sees the odd number that was
// stored before it.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "merlon/base/bytes.h"
#include "merlon/base/drop_reason.h"
#include "merlon/base/event.h"
#include "merlon/base/time.h"

namespace merlon::telemetry {

// What is kept of a packet beside its first bytes.
struct DropInfo {
  base::Nanos time = 0;
  std::uint64_t packet_number = 0;  // 0 in a live run
  std::uint64_t flow_id = 0;        // 0: no session
  std::uint32_t length = 0;         // on the wire
  std::uint32_t rule = base::kNoRule;
  std::uint32_t generation = 0;
  std::uint16_t in_port = base::kNoPort, out_port = base::kNoPort;
  base::DropReason reason = base::DropReason::kNone;
  std::uint8_t worker = 0;
  bool is_would_drop = false;
};

inline constexpr std::size_t kDropBytes = 192;  // kept from the start of the frame

struct DroppedPacket {
  DropInfo info;
  std::uint64_t ordinal = 0;  // 0-based count of this worker's drops with this reason
  std::uint16_t captured = 0;
  std::array<base::Byte, kDropBytes> bytes{};

  [[nodiscard]] base::ByteSpan data() const noexcept { return {bytes.data(), captured}; }
};

class DropRing {
 public:
  // Up to 4096 packets per reason; 0 keeps none and makes write() return at once.
  explicit DropRing(std::uint32_t packets_per_reason);
  ~DropRing();
  DropRing(const DropRing&) = delete;
  DropRing& operator=(const DropRing&) = delete;

  // Worker thread. Copies at most kDropBytes of the `captured` bytes at `data`.
  void write(const DropInfo& info, const base::Byte* data, std::size_t captured) noexcept;

  // Any thread: appends what is held for one reason, oldest first. Slots being written are left
  // out.
  void collect(base::DropReason reason, std::vector<DroppedPacket>& out) const;

  [[nodiscard]] std::uint32_t packets_per_reason() const noexcept { return count_; }
  [[nodiscard]] static std::size_t memory_size(std::uint32_t packets_per_reason) noexcept;

 private:
  struct Slot;
  const std::uint32_t count_;
  std::unique_ptr<Slot[]> slots_;
  std::array<std::uint32_t, base::kDropReasonCount> next_{};  // worker's: slot of the next write
};

// What several workers hold, for one reason or all: by time, then packet number, worker and
// ordinal; the newest `limit` (0: all). control-only.
std::vector<DroppedPacket> collect_drops(std::span<const DropRing* const> rings,
                                         std::optional<base::DropReason> reason, std::size_t limit);

}  // namespace merlon::telemetry
