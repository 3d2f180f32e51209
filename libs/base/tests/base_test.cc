// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

#include "merlon/base/arena.h"
#include "merlon/base/bytes.h"
#include "merlon/base/drop_reason.h"
#include "merlon/base/event.h"
#include "merlon/base/hash.h"
#include "merlon/base/spsc_ring.h"
#include "merlon/base/time.h"

namespace merlon::base {
namespace {

TEST(Reader, StaysFailedAfterTheFirstShortRead) {
  const Byte bytes[] = {1, 2, 3};
  Reader r(bytes);
  EXPECT_EQ(r.be16(), 0x0102);
  EXPECT_EQ(r.be16(), 0);
  EXPECT_TRUE(r.failed());
  EXPECT_EQ(r.u8(), 0);
}

TEST(Time, FormatsLikeEve) {
  EXPECT_EQ(format_timestamp(0), "1970-01-01T00:00:00.000000+0000");
  EXPECT_EQ(format_timestamp(1787393472123456789), "2026-08-22T10:11:12.123456+0000");
  EXPECT_EQ(format_timestamp(951782400LL * kNanosPerSecond), "2000-02-29T00:00:00.000000+0000");
}

TEST(Time, TicksWrap) {
  EXPECT_TRUE(ticks_after(5, 0xfffffff0));
  EXPECT_EQ(ticks_between(0xfffffff0, 5), 21U);
  EXPECT_EQ(ticks_between(5, 0xfffffff0), 0U);
}

TEST(DropReason, NamesAreUniqueAndReadable) {
  std::set<std::string> names;
  for (unsigned i = 0; i < kDropReasonCount; ++i) {
    const auto reason = static_cast<DropReason>(i);
    EXPECT_TRUE(names.insert(std::string(drop_reason_name(reason))).second);
    EXPECT_FALSE(drop_reason_sentence(reason).empty());
    EXPECT_EQ(drop_reason_from_name(drop_reason_name(reason)), reason);
  }
  EXPECT_FALSE(drop_reason_from_name("no_such_reason").has_value());
}

TEST(Region, IsZeroedAndAligned) {
  const Region small = Region::allocate(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.data()) % 64, 0U);
  const Region large = Region::allocate(std::size_t{5} << 20);
  ASSERT_NE(large.data(), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % (std::size_t{2} << 20), 0U);
  EXPECT_EQ(large.as<char>()[large.size() - 1], 0);
}

TEST(SpscRing, KeepsOrderAndRefusesWhenFull) {
  SpscRing<int> ring(4);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(i));
  EXPECT_FALSE(ring.push(4));
  int v = -1;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(ring.pop(v));
    EXPECT_EQ(v, i);
  }
  EXPECT_FALSE(ring.pop(v));
}

TEST(SpscRing, CarriesEverythingBetweenThreads) {
  SpscRing<std::uint64_t> ring(64);
  constexpr std::uint64_t kCount = 200'000;
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kCount;) {
      if (ring.push(i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::uint64_t expected = 0;
  while (expected < kCount) {
    std::uint64_t v = 0;
    if (ring.pop(v)) {
      ASSERT_EQ(v, expected);
      ++expected;
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
}

TEST(Hash, DependsOnSeedAndEveryByte) {
  const char text[] = "0123456789abc";
  const auto h = hash_bytes(text, sizeof text, HashSeed{});
  EXPECT_NE(h, hash_bytes(text, sizeof text, HashSeed{1, 2}));
  for (std::size_t i = 0; i < sizeof text; ++i) {
    char other[sizeof text];
    std::memcpy(other, text, sizeof text);
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_NE(h, hash_bytes(other, sizeof text, HashSeed{}));
  }
}

}  // namespace
}  // namespace merlon::base
