// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace merlon::io {
namespace {

std::shared_ptr<BufferPool> pool_of(std::uint32_t small, std::uint32_t large) {
  BufferPoolSettings s;
  s.small_count = small;
  s.large_count = large;
  auto pool = BufferPool::create(s);
  EXPECT_TRUE(pool.ok());
  return *pool;
}

TEST(BufferPool, ClassesBySizeAndFallBack) {
  auto pool = pool_of(2, 1);
  EXPECT_EQ(pool->total_count(), 3u);
  Buffer* a = pool->allocate(64);
  Buffer* b = pool->allocate(2048);
  Buffer* c = pool->allocate(64);  // small ones are gone
  ASSERT_TRUE(a != nullptr && b != nullptr && c != nullptr);
  EXPECT_EQ(a->size_class, 0);
  EXPECT_EQ(b->size_class, 0);
  EXPECT_EQ(c->size_class, 1);
  EXPECT_EQ(c->capacity, 65'664u);
  EXPECT_EQ(pool->allocate(64), nullptr);
  EXPECT_EQ(pool->exhausted_count(), 1u);
  EXPECT_EQ(pool->free_count(), 0u);
  void* all[] = {a, b, c};
  BufferPool::release(all, 3);
  EXPECT_EQ(pool->free_count(), 3u);
  Buffer* large = pool->allocate(9000);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(large->size_class, 1);
  EXPECT_EQ(pool->allocate(9000), nullptr);
}

TEST(BufferPool, BuffersDoNotOverlapAndHaveHeadroom) {
  auto pool = pool_of(16, 2);
  std::vector<void*> taken;
  while (Buffer* b = pool->allocate(2048)) {
    std::memset(b->data - Buffer::kHeadroom, static_cast<int>(taken.size() + 1),
                Buffer::kHeadroom + b->capacity);
    taken.push_back(b);
  }
  ASSERT_EQ(taken.size(), 18u);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const auto* b = static_cast<Buffer*>(taken[i]);
    EXPECT_EQ(b->data[-128], i + 1);
    EXPECT_EQ(b->data[b->capacity - 1], i + 1);
  }
  BufferPool::release(taken.data(), 18);
  EXPECT_EQ(pool->free_count(), 18u);
}

TEST(BufferPool, FreshBuffersCarryNothingOld) {
  auto pool = pool_of(1, 0);
  Buffer* b = pool->allocate(10);
  b->data += 40;
  b->length = 99;
  b->time = 5;
  b->number = 6;
  void* h = b;
  BufferPool::release(&h, 1);
  b = pool->allocate(10);
  EXPECT_EQ(b->data, b->start());
  EXPECT_EQ(b->length, 0u);
  EXPECT_EQ(b->time, 0);
  EXPECT_EQ(b->number, 0u);
}

TEST(BufferPool, MixedPoolsGoHome) {
  auto x = pool_of(4, 1);
  auto y = pool_of(4, 1);
  std::vector<void*> mix = {x->allocate(1), y->allocate(1), y->allocate(1), x->allocate(60'000),
                            x->allocate(1)};
  BufferPool::release(mix.data(), 5);
  EXPECT_EQ(x->free_count(), 5u);
  EXPECT_EQ(y->free_count(), 5u);
}

TEST(BufferPoolDeath, GivingBackTwiceIsCaught) {
  auto pool = pool_of(2, 0);
  void* h = pool->allocate(1);
  BufferPool::release(&h, 1);
  EXPECT_DEATH(BufferPool::release(&h, 1), "is_free");
}

TEST(BufferPool, RefusesNonsense) {
  BufferPoolSettings s;
  s.small_size = 0;
  EXPECT_FALSE(BufferPool::create(s).ok());
  s = {};
  s.large_size = 2 << 20;
  EXPECT_FALSE(BufferPool::create(s).ok());
  s = {};
  s.small_count = s.large_count = 0;
  auto none = BufferPool::create(s);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, base::Errc::kInvalidValue);
}

// Each thread marks what it holds; two owners of one buffer would see each other's mark.
TEST(BufferPool, ThreadsNeverShareABuffer) {
  auto pool = pool_of(64, 0);
  std::atomic<unsigned> clashes{0};
  std::vector<std::thread> threads;
  for (unsigned t = 1; t <= 3; ++t) {
    threads.emplace_back([&, t] {
      void* held[8];
      for (unsigned round = 0; round < 20'000; ++round) {
        unsigned n = 0;
        while (n < 1 + round % 8) {
          Buffer* b = pool->allocate(1);
          if (b == nullptr) break;
          b->length = t;
          held[n++] = b;
        }
        for (unsigned i = 0; i < n; ++i)
          if (static_cast<Buffer*>(held[i])->length != t) clashes.fetch_add(1);
        BufferPool::release(held, n);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(clashes.load(), 0u);
  EXPECT_EQ(pool->free_count(), 64u);
  std::set<Buffer*> distinct;
  while (Buffer* b = pool->allocate(1)) distinct.insert(b);
  EXPECT_EQ(distinct.size(), 64u);
}

}  // namespace
}  // namespace merlon::io
