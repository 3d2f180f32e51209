// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/rate_limit.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace merlon::telemetry {
namespace {

unsigned taken(TokenBucket& bucket, base::Ticks now, unsigned tries) {
  unsigned n = 0;
  for (unsigned i = 0; i < tries; ++i) n += bucket.take(now) ? 1U : 0U;
  return n;
}

TEST(TokenBucket, BurstThenRate) {
  TokenBucket b(100, 10);
  EXPECT_EQ(taken(b, 5000, 50), 10U);
  EXPECT_EQ(taken(b, 5009, 50), 0U);  // 0.9 tokens
  EXPECT_EQ(taken(b, 5010, 50), 1U);
  EXPECT_EQ(taken(b, 5060, 50), 5U);
  EXPECT_EQ(taken(b, 99'000, 50), 10U);  // never more than the burst
}

TEST(TokenBucket, StartsFullWheneverItStarts) {
  TokenBucket b(3);
  EXPECT_EQ(taken(b, 0xfffffff0, 9), 3U);
  EXPECT_EQ(taken(b, 990, 9), 3U);  // 1006 ms later, over the wrap of ticks
}

TEST(TokenBucket, ZeroRefusesAll) {
  TokenBucket b(0, 5);
  EXPECT_EQ(taken(b, 1, 5), 0U);
  EXPECT_EQ(taken(b, 100'000, 5), 0U);
}

TEST(TokenBucket, TimeGoingBackBringsNothing) {
  TokenBucket b(1000, 1);
  EXPECT_TRUE(b.take(1000));
  EXPECT_FALSE(b.take(500));
  EXPECT_FALSE(b.take(1000));
  EXPECT_TRUE(b.take(1001));
}

// Over any run: no more than burst + rate * time, and, when asked each millisecond, no less either.
TEST(TokenBucket, KeepsItsPromise) {
  EXPECT_TRUE(rc::check([] {
    const auto rate = *rc::gen::inRange<std::uint32_t>(1, 5000);
    const auto burst = *rc::gen::inRange<std::uint32_t>(1, 100);
    const auto steps =
        *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::inRange<std::uint8_t>(0, 20));
    TokenBucket b(rate, burst);
    std::uint64_t count = taken(b, 0, burst + 1), now = 0;
    RC_ASSERT(count == burst);
    for (const auto step : steps) {
      now += step;
      count += taken(b, static_cast<base::Ticks>(now), 200);
      RC_ASSERT(count * 1000 <= std::uint64_t{burst} * 1000 + rate * now);
    }
  }));
}

}  // namespace
}  // namespace merlon::telemetry
