// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sockets of an AF_PACKET port: a receive queue with the ring it shares with the kernel
// (TPACKET_V2, Documentation/networking/packet_mmap.rst of Linux) and a transmit queue. Opened and
// closed by control; between that a queue belongs to its worker, except what is marked.
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "merlon/io/af_packet_port.h"

namespace merlon::io {

// Bytes of virtio's net header, which comes before every frame.
inline constexpr std::uint32_t kVnetSize = sizeof(FrameOffload);

struct AfPacketPort::RxQueue {
  RxQueue() = default;
  ~RxQueue();
  RxQueue(const RxQueue&) = delete;
  RxQueue& operator=(const RxQueue&) = delete;

  // Everything but bind(); nothing is received before.
  base::Result<void> open(const AfPacketPortSettings& settings, std::uint32_t slot);
  base::Result<void> bind(int index, bool is_promiscuous) const;
  // Lets nothing in until opened: while several sockets are there that do not share yet.
  void shut() const noexcept;
  void let_in() const noexcept;
  // control threads, under the port's lock: what the kernel dropped since the port was opened.
  std::uint64_t read_kernel_drops() noexcept;

  [[nodiscard]] tpacket2_hdr* current() const noexcept {
    return reinterpret_cast<tpacket2_hdr*>(ring + std::size_t{next} * slot_size);
  }
  void advance() noexcept { next = next + 1 == slot_count ? 0 : next + 1; }

  int fd = -1;
  base::Byte* ring = nullptr;
  std::size_t ring_size = 0;
  std::uint32_t slot_size = 0, slot_count = 0, next = 0;
  QueueCounters counters;
  Tally large, cut, super_frames, checksums;
  std::uint64_t kernel_drops = 0;  // control

 private:
  base::Result<void> map_ring(const AfPacketPortSettings& settings);
};

struct AfPacketPort::TxQueue {
  static constexpr unsigned kBatch = 64;

  TxQueue() = default;
  ~TxQueue();
  TxQueue(const TxQueue&) = delete;
  TxQueue& operator=(const TxQueue&) = delete;

  // `segments` is the most pieces of memory that a frame has.
  base::Result<void> open(const AfPacketPortSettings& settings, unsigned segments);
  base::Result<void> bind(int index, const std::string& name) const;

  // Sends the first `count` prepared messages; returns how many went. What the kernel refuses is
  // counted by reason.
  unsigned send(unsigned count) noexcept;

  int fd = -1;
  std::vector<iovec> pieces;
  std::array<mmsghdr, kBatch> messages{};
  std::array<FrameOffload, kBatch> notes;
  QueueCounters counters;
  Tally too_large, link_down, kernel_full;
};

// Bytes of a ring slot that holds a frame of `frame_size` bytes: a power of two.
std::uint32_t af_packet_slot_size(std::uint32_t frame_size) noexcept;

}  // namespace merlon::io
