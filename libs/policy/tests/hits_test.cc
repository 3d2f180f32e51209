// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/hits.h"

#include <gtest/gtest.h>

namespace merlon::policy {
namespace {

TEST(Hits, SumsWorkersAndKeepsFirstAndLast) {
  HitCounters h(2);
  ASSERT_TRUE(h.reserve(10, 5));
  h.add(0, 3, 100);
  h.add(0, 3, 200);
  h.add(1, 3, 50);
  const RuleHits r = h.read(3);
  EXPECT_EQ(r.sessions, 3U);
  EXPECT_EQ(r.first, 50);
  EXPECT_EQ(r.last, 200);
  EXPECT_EQ(r.observed_since, 5);
  EXPECT_EQ(h.read(4).sessions, 0U);
}

TEST(Hits, GrowsWithoutForgetting) {
  HitCounters h(1);
  ASSERT_TRUE(h.reserve(2, 5));
  h.add(0, 1, 10);
  h.add(0, 5000, 10);  // no room yet: ignored
  ASSERT_TRUE(h.reserve(6000, 77));
  h.add(0, 5000, 80);
  EXPECT_EQ(h.read(1).sessions, 1U);
  EXPECT_EQ(h.read(1).observed_since, 5);
  EXPECT_EQ(h.read(5000).sessions, 1U);
  EXPECT_EQ(h.read(5000).observed_since, 77);
  EXPECT_FALSE(h.reserve(HitCounters::kChunk * HitCounters::kMaxChunks + 1, 0));
}

TEST(Hits, ResetCountsFromZero) {
  HitCounters h(1);
  ASSERT_TRUE(h.reserve(2, 5));
  h.add(0, 1, 10);
  h.reset(1, 20);
  EXPECT_EQ(h.read(1).sessions, 0U);
  EXPECT_EQ(h.read(1).last, 0);
  EXPECT_EQ(h.read(1).observed_since, 20);
  h.add(0, 1, 30);
  h.reset(1, 40);
  h.add(0, 1, 50);
  EXPECT_EQ(h.read(1).sessions, 1U);
  EXPECT_EQ(h.read(1).last, 50);
}

TEST(Hits, ResetTakesTrafficOffToo) {
  HitCounters h(2);
  ASSERT_TRUE(h.reserve(2, 5));
  h.add_traffic(0, 1, 7, 700);
  h.add_limit_drop(1, 1);
  h.reset(1, 20);
  h.add_traffic(1, 1, 1, 60);
  const RuleHits r = h.read(1);
  EXPECT_EQ(r.packets, 1U);
  EXPECT_EQ(r.bytes, 60U);
  EXPECT_EQ(r.limit_drops, 0U);
}

TEST(Hits, NothingIsLeftOfAnotherRule) {
  HitCounters h(2);
  ASSERT_TRUE(h.reserve(2, 5));
  for (unsigned worker = 0; worker < 2; ++worker) {
    h.add(worker, 1, 10);
    h.add_traffic(worker, 1, 7, 700);
    h.add_limit_drop(worker, 1);
  }
  h.reset(1, 15);
  h.add(0, 1, 16);
  h.clear(1, 20);
  RuleHits r = h.read(1);
  EXPECT_EQ(r.sessions + r.packets + r.bytes + r.limit_drops, 0U);
  EXPECT_EQ(r.first, 0);
  EXPECT_EQ(r.last, 0);
  EXPECT_EQ(r.observed_since, 20);
  h.add(1, 1, 30);
  r = h.read(1);
  EXPECT_EQ(r.sessions, 1U);
  EXPECT_EQ(r.first, 30);
}

}  // namespace
}  // namespace merlon::policy
