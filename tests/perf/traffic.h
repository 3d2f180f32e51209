// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a synthetic port sends: 60-byte frames (64 on the wire with the check sequence) of many
// conversations, made in place by rewriting preset buffers, so that a million flows cost no packet
// memory. worker-owned: one Traffic per receive queue, used by both ports of a wire. Cost: about 4
// ns a frame, measured by `merlon_perf live --way io`.
#include <cstdint>
#include <vector>

#include "merlon/packet/burst.h"

namespace merlon::perf {

struct TrafficSettings {
  enum class Kind : std::uint8_t {
    kKnown,        // UDP of `flows` conversations: each once in order, then at random
    kNew,          // UDP, each frame a conversation never seen before
    kConnections,  // TCP connections of eight segments, 4,096 at a time
    kMixed,        // of eight bursts: four known, two new, one that the policy refuses, one of
                   // connections
  };
  Kind kind = Kind::kKnown;
  std::uint64_t flows = 1024;
  // Of several queues each sends the conversations that its worker owns, as symmetric RSS would
  // deal them out.
  unsigned queue = 0, queues = 1;
  base::HashSeed seed{};
};

class Traffic {
 public:
  explicit Traffic(const TrafficSettings& settings);

  // Appends a burst to `burst` if the next one enters by `port` (0 or 1).
  void fill(unsigned port, packet::Burst& burst, unsigned limit) noexcept;

  // Frames made before every known conversation has been sent once.
  [[nodiscard]] std::uint64_t warm_up_count() const noexcept { return known_count_; }
  // Position of a frame in the order of sending, to check the order at the other end.
  static std::uint64_t number_of(const void* handle) noexcept {
    return static_cast<const Slot*>(handle)->number;
  }

 private:
  // More than any burst holds, few enough for the second-level cache, as a NIC's ring would be.
  static constexpr unsigned kSlots = 512;
  static constexpr unsigned kBatches = 64;
  static constexpr std::uint32_t kFrameSize = 60;

  struct alignas(64) Slot {
    base::Byte frame[64];
    std::uint64_t number;
  };

  Slot& next_slot(packet::Burst& burst, unsigned port) noexcept;
  void make_udp(Slot& slot, std::uint64_t flow, std::uint16_t destination_port) noexcept;
  void known(packet::Burst& burst, unsigned count) noexcept;
  void fresh(packet::Burst& burst, unsigned count, std::uint16_t destination_port) noexcept;
  void connections(unsigned port, packet::Burst& burst, unsigned limit) noexcept;
  void deal_out(const TrafficSettings& settings);

  TrafficSettings::Kind kind_;
  std::vector<Slot> slots_;
  std::uint64_t sent_ = 0;
  std::uint64_t known_count_, known_sent_ = 0, random_ = 1;
  std::vector<std::uint32_t> own_;  // flows of this queue; empty: all
  std::uint64_t fresh_ = 0;
  unsigned turn_ = 0;
  std::uint64_t first_connection_ = 0;
  unsigned step_ = 0, batch_ = 0;
};

}  // namespace merlon::perf
