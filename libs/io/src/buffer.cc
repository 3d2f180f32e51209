// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/buffer.h"

#include <fmt/format.h>

#include <new>

#include "merlon/base/check.h"
#include "merlon/base/make_error.h"

namespace merlon::io {
namespace {

constexpr std::uint32_t kMinSize = 64;
constexpr std::uint32_t kMaxSize = 1U << 20;

constexpr std::uint64_t next_head(std::uint64_t head, std::uint64_t index_plus_one) noexcept {
  return ((head & ~std::uint64_t{0xffffffff}) + (std::uint64_t{1} << 32)) | index_plus_one;
}

}  // namespace

std::size_t BufferPool::stride_of(std::uint32_t size) noexcept {
  return (sizeof(Buffer) + Buffer::kHeadroom + size + 63) / 64 * 64;
}

std::size_t BufferPool::memory_size(const BufferPoolSettings& s) noexcept {
  return s.small_count * stride_of(s.small_size) + s.large_count * stride_of(s.large_size);
}

base::Result<std::shared_ptr<BufferPool>> BufferPool::create(const BufferPoolSettings& s) {
  if (s.small_size < kMinSize || s.large_size < s.small_size || s.large_size > kMaxSize ||
      s.small_count + std::uint64_t{s.large_count} == 0 || s.small_count > 1U << 26 ||
      s.large_count > 1U << 22)
    return make_error(base::Errc::kInvalidValue,
                      fmt::format("packet buffers of {} x {} and {} x {} bytes are out of range",
                                  s.small_count, s.small_size, s.large_count, s.large_size),
                      "sizes go from 64 bytes to 1 MiB, the small class first");
  const std::size_t size = memory_size(s);
  std::shared_ptr<BufferPool> pool(new BufferPool);
  pool->region_ = base::Region::allocate(size);
  if (pool->region_.data() == nullptr)
    return make_error(base::Errc::kCapacity,
                      fmt::format("no memory for {} bytes of packet buffers", size),
                      "ask for fewer buffers");
  auto* memory = reinterpret_cast<base::Byte*>(pool->region_.data());
  const std::uint32_t counts[2] = {s.small_count, s.large_count};
  const std::uint32_t sizes[2] = {s.small_size, s.large_size};
  for (std::uint8_t c = 0; c < 2; ++c) {
    SizeClass& k = pool->classes_[c];
    k.memory = memory;
    k.stride = stride_of(sizes[c]);
    k.count = counts[c];
    k.size = sizes[c];
    memory += k.stride * k.count;
    // Pushed backwards, so that the first buffers taken are the first in memory.
    for (std::uint32_t i = k.count; i-- > 0;) {
      auto* b = new (k.at(i)) Buffer;
      b->capacity = k.size;
      b->pool = pool.get();
      b->index = i;
      b->size_class = c;
      b->is_free = true;
      k.push(b, b, 1);
    }
  }
  return pool;
}

// The relaxed read of `next` may see a buffer that another thread has just taken; the tag makes the
// exchange fail then.
Buffer* BufferPool::SizeClass::pop() noexcept {
  std::uint64_t seen = head.load(std::memory_order_acquire);
  for (;;) {
    const auto top = static_cast<std::uint32_t>(seen);
    if (top == 0) return nullptr;
    Buffer* b = at(top - 1);
    const std::uint32_t below = b->next.load(std::memory_order_relaxed);
    if (head.compare_exchange_weak(seen, next_head(seen, below), std::memory_order_acquire,
                                   std::memory_order_acquire)) {
      free.fetch_sub(1, std::memory_order_relaxed);
      return b;
    }
  }
}

void BufferPool::SizeClass::push(Buffer* first, Buffer* last, std::uint32_t pushed) noexcept {
  std::uint64_t seen = head.load(std::memory_order_relaxed);
  do {
    last->next.store(static_cast<std::uint32_t>(seen), std::memory_order_relaxed);
  } while (!head.compare_exchange_weak(seen, next_head(seen, first->index + 1U),
                                       std::memory_order_release, std::memory_order_relaxed));
  free.fetch_add(pushed, std::memory_order_relaxed);
}

Buffer* BufferPool::allocate(std::uint32_t size) noexcept {
  Buffer* b = size <= classes_[0].size ? classes_[0].pop() : nullptr;
  if (b == nullptr) b = classes_[1].pop();
  if (b == nullptr) {
    exhausted_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  b->is_free = false;
  b->data = b->start();
  b->length = b->wire_length = 0;
  b->time = 0;
  b->number = 0;
  b->offload = {};
  return b;
}

void BufferPool::release(void* const* handles, unsigned count) noexcept {
  for (unsigned i = 0; i < count;) {
    auto* first = static_cast<Buffer*>(handles[i]);
    auto* last = first;
    std::uint32_t run = 0;
    for (; i < count; ++i) {
      auto* b = static_cast<Buffer*>(handles[i]);
      if (b->pool != first->pool || b->size_class != first->size_class) break;
      MERLON_CHECK(!b->is_free);
      b->is_free = true;
      if (b != first) {
        last->next.store(b->index + 1U, std::memory_order_relaxed);
        last = b;
      }
      ++run;
    }
    first->pool->classes_[first->size_class].push(first, last, run);
  }
}

std::uint32_t BufferPool::free_count() const noexcept {
  return classes_[0].free.load(std::memory_order_relaxed) +
         classes_[1].free.load(std::memory_order_relaxed);
}

}  // namespace merlon::io
