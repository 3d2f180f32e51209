// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packet memory of the native ports (pcap, ring, af_packet). BufferPool is fixed at creation: a
// class of small buffers for ordinary frames and one of large buffers for jumbo and offloaded
// frames. shared-atomic: any thread may take and give back; a whole burst costs one
// compare-and-swap per class. A pool must outlive its buffers.
#include <atomic>
#include <cstdint>
#include <memory>

#include "merlon/base/arena.h"
#include "merlon/base/bytes.h"
#include "merlon/base/result.h"
#include "merlon/base/time.h"

namespace merlon::io {

class BufferPool;

// What a kernel interface left for hardware to do: the notes that go with a frame so that it leaves
// as it came. Laid out as virtio's net header (Virtio 1.2 section 5.1.6), host byte order.
struct FrameOffload {
  static constexpr std::uint8_t kNeedsChecksum =
      1;  // flags: the checksum field holds a partial sum

  std::uint8_t flags = 0;
  std::uint8_t gso_type = 0;         // not 0: a super-frame of several segments
  std::uint16_t header_length = 0;   // super-frame: bytes that every segment repeats
  std::uint16_t segment_length = 0;  // super-frame: payload of a segment
  std::uint16_t checksum_start = 0, checksum_offset = 0;

  [[nodiscard]] bool is_none() const noexcept { return flags == 0 && gso_type == 0; }
};
static_assert(sizeof(FrameOffload) == 10);

// One packet buffer; its bytes follow the struct. Owned by whoever holds the handle.
struct Buffer {
  base::Byte* data =
      nullptr;               // first byte of the frame; moves inside the headroom when headers grow
  std::uint32_t length = 0;  // bytes of the frame at `data`
  std::uint32_t capacity = 0;  // bytes from start() on, headroom not counted
  base::Nanos time = 0;        // stamp of the capture; 0 for packets that we made
  std::uint64_t number = 0;    // packet number in the capture; 0 for packets that we made
  BufferPool* pool = nullptr;
  std::atomic<std::uint32_t> next{0};  // index of the next free buffer; meaningful only while free
  std::uint32_t index = 0;             // position in the pool
  std::uint32_t wire_length = 0;       // length on the wire, at least `length`
  std::uint8_t size_class = 0;         // 0 small, 1 large
  bool is_free = false;                // guards against giving a buffer back twice
  FrameOffload offload;                // af_packet ports that carry offloads; else none

  static constexpr std::uint32_t kHeadroom = 128;

  // Where `data` points in a fresh buffer.
  [[nodiscard]] base::Byte* start() noexcept {
    return reinterpret_cast<base::Byte*>(this + 1) + kHeadroom;
  }
};
static_assert(sizeof(Buffer) <= 128);

struct BufferPoolSettings {
  std::uint32_t small_count = 8192;
  std::uint32_t small_size = 2048;
  std::uint32_t large_count = 256;
  std::uint32_t large_size = 65'664;  // 64 KiB of IP, an Ethernet header and tags
};

class BufferPool {
 public:
  // Takes all memory now; kCapacity when the system has not enough, kInvalidValue when there are no
  // buffers or sizes are out of range (64 bytes to 1 MiB).
  static base::Result<std::shared_ptr<BufferPool>> create(const BufferPoolSettings& settings = {});

  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // A buffer for a frame of `size` bytes, from the large class when it does not fit or no small one
  // is free; nullptr when none is left. A size above large_size() gets a large buffer: the caller
  // cuts.
  [[nodiscard]] Buffer* allocate(std::uint32_t size) noexcept;

  // Gives buffers back, of any pool and in any mix; runs of one pool and class are pushed together.
  static void release(void* const* handles, unsigned count) noexcept;

  [[nodiscard]] std::uint32_t large_size() const noexcept { return classes_[1].size; }
  [[nodiscard]] std::uint32_t total_count() const noexcept {
    return classes_[0].count + classes_[1].count;
  }
  // Exact when no other thread works on the pool.
  [[nodiscard]] std::uint32_t free_count() const noexcept;
  // Times that allocate() found nothing.
  [[nodiscard]] std::uint64_t exhausted_count() const noexcept {
    return exhausted_.load(std::memory_order_relaxed);
  }
  // Bytes of packet memory taken for these settings.
  static std::size_t memory_size(const BufferPoolSettings& settings) noexcept;

 private:
  // A stack of free buffers: the head holds an index + 1 in its low half (0: empty) and in its high
  // half a tag that changes with every operation, so that a head read before a pop can't be
  // mistaken for a later one with the same index.
  struct alignas(64) SizeClass {
    std::atomic<std::uint64_t> head{0};
    std::atomic<std::uint32_t> free{0};
    base::Byte* memory = nullptr;
    std::size_t stride = 0;
    std::uint32_t count = 0;
    std::uint32_t size = 0;

    [[nodiscard]] Buffer* at(std::uint32_t index) const noexcept {
      return reinterpret_cast<Buffer*>(memory + index * stride);
    }
    Buffer* pop() noexcept;
    void push(Buffer* first, Buffer* last, std::uint32_t pushed) noexcept;
  };

  BufferPool() = default;
  static std::size_t stride_of(std::uint32_t size) noexcept;

  base::Region region_;
  SizeClass classes_[2];
  std::atomic<std::uint64_t> exhausted_{0};
};

}  // namespace merlon::io
