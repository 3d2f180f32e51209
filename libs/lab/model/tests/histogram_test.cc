// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_model/histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace merlon::lab {
namespace {

constexpr std::int64_t kRangeEnd = (std::int64_t{1} << 42) - 1;

std::vector<std::int64_t> values_of_all_sizes() {
  return *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(rc::gen::map(
      rc::gen::pair(rc::gen::inRange(0, 42), rc::gen::inRange<std::int64_t>(0, 1 << 30)),
      [](const std::pair<int, std::int64_t>& p) {
        return std::min(kRangeEnd,
                        (std::int64_t{1} << p.first) + p.second % (std::int64_t{1} << p.first));
      })));
}

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.minimum(), 0);
  EXPECT_EQ(h.maximum(), 0);
  EXPECT_EQ(h.percentile(0.5), 0);
  EXPECT_DOUBLE_EQ(h.mean(), 0);
  EXPECT_TRUE(h.buckets().empty());
}

TEST(Histogram, KeepsSmallValuesExactly) {
  Histogram h;
  for (std::int64_t v = 0; v < 128; ++v) h.record(v);
  EXPECT_EQ(h.buckets().size(), 128U);
  EXPECT_EQ(h.percentile(0.5), 63);
  EXPECT_EQ(h.percentile(0), 0);
  EXPECT_EQ(h.percentile(1), 127);
  EXPECT_DOUBLE_EQ(h.mean(), 63.5);
}

TEST(Histogram, ClampsWhatIsOutsideOfItsRange) {
  Histogram h;
  h.record(-5);
  h.record(INT64_MAX);
  EXPECT_EQ(h.minimum(), 0);
  EXPECT_EQ(h.maximum(), kRangeEnd);
  EXPECT_EQ(h.count(), 2U);
}

TEST(Histogram, ClearForgetsEverything) {
  Histogram h;
  h.record(1000, 7);
  h.clear();
  EXPECT_EQ(h.count(), 0U);
  h.record(2000);
  EXPECT_EQ(h.minimum(), 2000);
  EXPECT_EQ(h.maximum(), 2000);
}

TEST(Histogram, ARestoredOneRecordsOn) {
  Histogram h;
  h.record(10);
  Histogram restored = Histogram::from_buckets(h.buckets(), h.minimum(), h.maximum());
  restored.record(1'000'000'000);
  EXPECT_EQ(restored.count(), 2U);
  EXPECT_EQ(restored.maximum(), 1'000'000'000);
}

// Against the sorted values themselves, the definition of a percentile.
RC_GTEST_PROP(Histogram, PercentilesAreWithinASixtyFourth, ()) {
  std::vector<std::int64_t> values = values_of_all_sizes();
  Histogram h;
  for (const std::int64_t v : values) h.record(v);
  std::sort(values.begin(), values.end());
  RC_ASSERT(h.count() == values.size());
  RC_ASSERT(h.minimum() == values.front());
  RC_ASSERT(h.maximum() == values.back());
  for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double rank = std::max(1.0, std::ceil(share * static_cast<double>(values.size())));
    const std::int64_t exact = values[static_cast<std::size_t>(rank) - 1];
    const std::int64_t got = h.percentile(share);
    RC_ASSERT(got >= exact);
    RC_ASSERT(got - exact <= exact / 64);
  }
}

RC_GTEST_PROP(Histogram, BucketsRestoreAnEqualOne, ()) {
  Histogram h;
  for (const std::int64_t v : values_of_all_sizes())
    h.record(v, 1 + static_cast<std::uint64_t>(v) % 5);
  const Histogram restored = Histogram::from_buckets(h.buckets(), h.minimum(), h.maximum());
  RC_ASSERT(restored.count() == h.count());
  RC_ASSERT(restored.minimum() == h.minimum());
  RC_ASSERT(restored.maximum() == h.maximum());
  RC_ASSERT(restored.buckets() == h.buckets());
  for (double share = 0; share <= 1; share += 0.05)
    RC_ASSERT(restored.percentile(share) == h.percentile(share));
  RC_ASSERT(restored.mean() == h.mean());
}

RC_GTEST_PROP(Histogram, MergingIsRecordingBoth, ()) {
  const std::vector<std::int64_t> first = values_of_all_sizes(), second = values_of_all_sizes();
  Histogram a, b, both;
  for (const std::int64_t v : first) a.record(v), both.record(v);
  for (const std::int64_t v : second) b.record(v), both.record(v);
  Histogram merged = Histogram::from_buckets(a.buckets(), a.minimum(), a.maximum());
  merged.merge(b);
  a.merge(b);
  RC_ASSERT(a.buckets() == both.buckets());
  RC_ASSERT(merged.buckets() == both.buckets());
  RC_ASSERT(a.minimum() == both.minimum());
  RC_ASSERT(a.maximum() == both.maximum());
}

}  // namespace
}  // namespace merlon::lab
