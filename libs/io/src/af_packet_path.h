// SPDX-License-Identifier: Apache-2.0
#pragma once
// The packet path of an AF_PACKET port over one kind of packet memory. A Memory has
//   static constexpr BufferKind kKind; static constexpr unsigned kMaxSegments; bool
//   kCarriesOffloads void* take(size, Span* segments, unsigned& count)    a frame of `size` bytes
//   and where they go;
//                                                        nullptr: none free. Less room: it is cut
//   void finish(handle, captured, length, time, offload)
//   unsigned view(handle, iovec* pieces, uint32& length, FrameOffload&)
//                                                        the frame's bytes; 0: can't be sent
//   void release(handles, count), void* allocate(size, data), void set_length(handle, length)
// and everything is chosen at compile time: no call through a pointer per packet.
#include <linux/if_ether.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "af_packet_queue.h"
#include "merlon/packet/checksum.h"

namespace merlon::io {

inline constexpr std::uint32_t kTagSize = 4;
inline constexpr std::uint32_t kMacsSize = 12;
// Of the sockaddr_ll in a slot.
inline constexpr std::size_t kAddressOffset =
    (sizeof(tpacket2_hdr) + TPACKET_ALIGNMENT - 1) / TPACKET_ALIGNMENT * TPACKET_ALIGNMENT;

// Completes the checksum that the sender left to hardware; false when its note makes no sense.
bool complete_checksum(const iovec* pieces, unsigned count, const FrameOffload& note) noexcept;

// Copies to `pieces` from byte `offset` of the frame on.
inline void scatter(const iovec* pieces, unsigned count, std::uint32_t offset,
                    const base::Byte* from, std::uint32_t size) noexcept {
  for (unsigned i = 0; i < count && size > 0; ++i) {
    const auto room = static_cast<std::uint32_t>(pieces[i].iov_len);
    if (offset >= room) {
      offset -= room;
      continue;
    }
    const std::uint32_t n = std::min(size, room - offset);
    std::memcpy(static_cast<base::Byte*>(pieces[i].iov_base) + offset, from, n);
    from += n;
    size -= n;
    offset = 0;
  }
}

// A received frame on its way from a slot to packet memory.
struct AfPacketFrame {
  const tpacket2_hdr* header = nullptr;
  std::uint32_t status = 0;
  const base::Byte* bytes = nullptr;  // of the slot
  FrameOffload offload;
  bool has_tag = false;
  std::uint32_t length = 0;    // on the wire, tag included
  std::uint32_t captured = 0;  // of them in the slot, tag included
};

AfPacketFrame read_slot(const tpacket2_hdr* header, std::uint32_t status) noexcept;
// Fetches a frame that is larger than a slot into `pieces`, leaving room for its tag; bytes got,
// with the tag.
std::uint32_t fetch_large(int fd, const AfPacketFrame& frame, const iovec* pieces,
                          unsigned count) noexcept;
// The tag goes where the kernel took it from.
void write_tag(const AfPacketFrame& frame, base::Byte* data) noexcept;

template <class Memory>
class AfPacketPath final : public AfPacketPort {
 public:
  AfPacketPath(AfPacketPortSettings settings, Memory memory)
      : AfPacketPort(std::move(settings), Memory::kMaxSegments), memory_(std::move(memory)) {}
  using AfPacketPort::open;

  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override {
    limit = std::min(limit, packet::Burst::kCapacity);
    if (queue >= rx_.size()) return;
    RxQueue& q = *rx_[queue];
    const unsigned first = burst.count;
    std::uint64_t bytes = 0;
    // A turn looks at a bounded number of slots, whatever they hold.
    for (unsigned looked = 0; burst.count < limit && looked < 2 * packet::Burst::kCapacity;
         ++looked) {
      tpacket2_hdr* header = q.current();
      const std::uint32_t status =
          std::atomic_ref<std::uint32_t>(header->tp_status).load(std::memory_order_acquire);
      if ((status & TP_STATUS_USER) == 0) break;
      __builtin_prefetch(reinterpret_cast<base::Byte*>(header) + q.slot_size);
      const unsigned i = burst.count;
      if (!take(q, read_slot(header, status), burst)) break;  // waits in the ring for memory
      std::atomic_ref<std::uint32_t>(header->tp_status)
          .store(TP_STATUS_KERNEL, std::memory_order_release);
      q.advance();
      if (burst.count != i) bytes += burst.length[i];
    }
    if (burst.count == first) return;
    q.counters.packets.add(burst.count - first);
    q.counters.bytes.add(bytes);
  }

  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override {
    TxQueue& q = *tx_[queue % tx_.size()];
    unsigned sent = 0;
    for (unsigned at = 0; at < count; at += TxQueue::kBatch)
      sent += send(q, handles + at, std::min(count - at, TxQueue::kBatch));
    memory_.release(handles, count);
    return sent;
  }

  void release(unsigned, void* const* handles, unsigned count) noexcept override {
    memory_.release(handles, count);
  }
  void* allocate(unsigned, std::uint32_t size, base::Byte*& data) noexcept override {
    return memory_.allocate(size, data);
  }
  void set_length(void* handle, std::uint32_t length) noexcept override {
    memory_.set_length(handle, length);
  }
  [[nodiscard]] BufferKind buffer_kind() const noexcept override { return Memory::kKind; }

 private:
  // False when there is no memory for the frame; it stays where it is. True without a packet in the
  // burst when the frame is none to deliver.
  bool take(RxQueue& q, AfPacketFrame frame, packet::Burst& burst) noexcept {
    if (is_outgoing(frame)) {
      if ((frame.status & TP_STATUS_COPY) != 0) fetch_large(q.fd, frame, nullptr, 0);
      return true;
    }
    iovec pieces[Memory::kMaxSegments];
    unsigned count = 0;
    base::Byte* data = nullptr;
    void* handle = memory_.take(frame.length, pieces, count);
    if (handle == nullptr) return false;
    data = static_cast<base::Byte*>(pieces[0].iov_base);
    std::uint32_t captured = 0;
    if ((frame.status & TP_STATUS_COPY) != 0) [[unlikely]] {
      captured = fetch_large(q.fd, frame, pieces, count);
      q.large.add(1);
      if (captured == 0) captured = copy(frame, pieces, count);
    } else {
      captured = copy(frame, pieces, count);
    }
    if (frame.has_tag && captured >= kMacsSize + kTagSize) write_tag(frame, data);
    if (captured < frame.length) q.cut.add(1);
    if (!frame.offload.is_none() && !settle_offload(q, frame, pieces, count, captured)) {
      memory_.release(&handle, 1);
      q.counters.errors.add(1);
      return true;
    }
    const base::Nanos stamp =
        base::Nanos{frame.header->tp_sec} * 1'000'000'000 + base::Nanos{frame.header->tp_nsec};
    const unsigned i = burst.count++;
    burst.handle[i] = handle;
    burst.data[i] = data;
    burst.captured[i] = memory_.finish(handle, captured, frame.length, stamp, frame.offload);
    burst.length[i] = frame.length;
    burst.in_port[i] = settings_.number;
    if (settings_.has_kernel_stamps) burst.time[i] = stamp;
    return true;
  }

  static bool is_outgoing(const AfPacketFrame& frame) noexcept {
    const auto* address = reinterpret_cast<const sockaddr_ll*>(
        reinterpret_cast<const base::Byte*>(frame.header) + kAddressOffset);
    return address->sll_pkttype == PACKET_OUTGOING;
  }

  static std::uint32_t copy(const AfPacketFrame& frame, const iovec* pieces,
                            unsigned count) noexcept {
    std::uint32_t room = 0;
    for (unsigned i = 0; i < count; ++i) room += static_cast<std::uint32_t>(pieces[i].iov_len);
    const std::uint32_t captured = std::min(frame.captured, room);
    if (!frame.has_tag) {
      scatter(pieces, count, 0, frame.bytes, captured);
    } else if (captured >= kMacsSize + kTagSize) {
      scatter(pieces, count, 0, frame.bytes, kMacsSize);
      scatter(pieces, count, kMacsSize + kTagSize, frame.bytes + kMacsSize,
              captured - kMacsSize - kTagSize);
    }
    return captured;
  }

  // Keeps the kernel's notes, or makes them needless.
  bool settle_offload(RxQueue& q, AfPacketFrame& frame, const iovec* pieces, unsigned count,
                      std::uint32_t captured) noexcept {
    if (frame.offload.gso_type != 0) q.super_frames.add(1);
    if (captured < frame.length) {
      frame.offload = {};
      return true;
    }
    const bool is_carried = Memory::kCarriesOffloads && settings_.carries_offloads;
    constexpr std::uint16_t kSctpChecksumOffset = 8;  // no internet checksum: the note can't say it
    const bool is_completed = !is_carried || completes_checksums_.load(std::memory_order_relaxed) ||
                              frame.offload.checksum_offset == kSctpChecksumOffset;
    if (is_completed && (frame.offload.flags & FrameOffload::kNeedsChecksum) != 0) {
      if (!complete_checksum(pieces, count, frame.offload)) return false;
      q.checksums.add(1);
      // The kernel cuts a super-frame with a whole checksum too.
      frame.offload.flags = 0;
      frame.offload.checksum_start = frame.offload.checksum_offset = 0;
    }
    if (!is_carried || frame.offload.is_none()) frame.offload = {};
    return true;
  }

  unsigned send(TxQueue& q, void* const* handles, unsigned count) noexcept {
    unsigned ready = 0, refused = 0;
    std::array<std::uint32_t, TxQueue::kBatch> lengths;
    for (unsigned i = 0; i < count; ++i) {
      iovec* pieces = q.pieces.data() + std::size_t{ready} * (Memory::kMaxSegments + 1) + 1;
      std::uint32_t length = 0;
      const unsigned segments = memory_.view(handles[i], pieces, length, q.notes[ready]);
      if (segments == 0) {
        ++refused;
        continue;
      }
      q.messages[ready].msg_hdr.msg_iovlen = segments + (settings_.carries_offloads ? 1 : 0);
      lengths[ready++] = length;
    }
    if (refused > 0) q.counters.errors.add(refused);
    if (ready == 0) return 0;
    const unsigned sent = q.send(ready);
    std::uint64_t bytes = 0;
    // Bytes of the first `sent`: exact unless the kernel refused one in the middle.
    for (unsigned i = 0; i < sent; ++i) bytes += lengths[i];
    q.counters.packets.add(sent);
    q.counters.bytes.add(bytes);
    return sent;
  }

  Memory memory_;
};

}  // namespace merlon::io
