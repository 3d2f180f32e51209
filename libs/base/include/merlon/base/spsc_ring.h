// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounded ring between one producing and one consuming thread. A push into a full ring fails and
// the caller counts the loss; nothing waits, nothing grows.
//
// The producer writes the slot, then head_ (release); the consumer reads head_ (acquire), then the
// slot, then frees it by tail_ (release), which the producer reads (acquire). Each side keeps a
// copy of the other's index and reads the shared line only when the copy says full or empty.
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace merlon::base {

template <class T>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Capacity is rounded up to a power of two.
  explicit SpscRing(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? 2 : capacity) - 1),
        slots_(std::make_unique<T[]>(mask_ + 1)) {}

  bool push(const T& value) noexcept {
    T* slot = begin_push();
    if (slot == nullptr) return false;
    *slot = value;
    end_push();
    return true;
  }
  // The next free slot to be written in place, or nullptr when full; end_push() makes it visible.
  [[nodiscard]] T* begin_push() noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_copy_ > mask_) {
      tail_copy_ = tail_.load(std::memory_order_acquire);
      if (head - tail_copy_ > mask_) return nullptr;
    }
    return &slots_[head & mask_];
  }
  void end_push() noexcept {
    head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  bool pop(T& out) noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_copy_) {
      head_copy_ = head_.load(std::memory_order_acquire);
      if (tail == head_copy_) return false;
    }
    out = slots_[tail & mask_];
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  // Things in the ring; exact only for the calling side's own moves.
  [[nodiscard]] std::size_t count() const noexcept {
    return head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

 private:
  const std::size_t mask_;
  std::unique_ptr<T[]> slots_;
  alignas(64) std::atomic<std::size_t> head_{0};
  std::size_t tail_copy_ = 0;
  alignas(64) std::atomic<std::size_t> tail_{0};
  std::size_t head_copy_ = 0;
};

}  // namespace merlon::base
