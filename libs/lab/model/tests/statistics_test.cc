// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_model/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace merlon::lab {
namespace {

using Pairs = std::vector<std::pair<double, double>>;

std::vector<double> some_values() {
  return *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(1, 1'000'000), [](int i) { return i / 8.0; })));
}

TEST(Statistics, OfNothingIsZero) {
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(spread({}), 0);
  EXPECT_DOUBLE_EQ(median_interval({}).high, 0);
  EXPECT_EQ(paired_ratio({}).pair_count, 0U);
  EXPECT_DOUBLE_EQ(same_noise({}), 0);
}

TEST(Statistics, KnownValues) {
  const std::vector<double> values{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(spread(values), 3 / 2.5);
  EXPECT_DOUBLE_EQ(zero_event_bound(0), 1);
  EXPECT_DOUBLE_EQ(zero_event_bound(1'000'000), 3e-6);
}

RC_GTEST_PROP(Statistics, AQuantileGrowsWithItsShareAndStaysInside, ()) {
  const std::vector<double> values = some_values();
  double last = *std::min_element(values.begin(), values.end());
  for (double share = 0; share <= 1; share += 0.125) {
    RC_ASSERT(quantile(values, share) >= last);
    last = quantile(values, share);
  }
  RC_ASSERT(last == *std::max_element(values.begin(), values.end()));
}

RC_GTEST_PROP(Statistics, AMedianHasHalfOnEachSide, ()) {
  const std::vector<double> values = some_values();
  const double m = median(values);
  const auto below = std::count_if(values.begin(), values.end(), [m](double v) { return v < m; });
  const auto above = std::count_if(values.begin(), values.end(), [m](double v) { return v > m; });
  RC_ASSERT(2 * below <= static_cast<long>(values.size()));
  RC_ASSERT(2 * above <= static_cast<long>(values.size()));
}

RC_GTEST_PROP(Statistics, AnIntervalHoldsTheMedianScalesAndRepeats, ()) {
  std::vector<double> values = some_values();
  const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
  const Interval interval = median_interval(values, seed);
  RC_ASSERT(interval.contains(median(values)));
  std::reverse(values.begin(), values.end());
  const Interval again = median_interval(values, seed);
  RC_ASSERT(again.low == interval.low);
  RC_ASSERT(again.high == interval.high);
  for (double& v : values) v *= 4;
  RC_ASSERT(median_interval(values, seed).low == 4 * interval.low);
}

RC_GTEST_PROP(Statistics, PairedRatiosTurnAround, ()) {
  Pairs pairs, swapped;
  for (const double v : some_values()) {
    pairs.emplace_back(v, v * 2);
    swapped.emplace_back(v * 2, v);
  }
  RC_ASSERT(paired_ratio(pairs).value == 2);
  RC_ASSERT(paired_ratio(swapped).value == 0.5);
  RC_ASSERT(paired_ratio(pairs).interval.low == 2);
}

// The promise of an interval: it holds the truth in about 95 of 100 samples.
TEST(Statistics, AnIntervalCoversTheTruth) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> noise(100, 10);
  unsigned covered = 0;
  for (unsigned sample = 0; sample < 400; ++sample) {
    std::vector<double> values(21);
    for (double& v : values) v = noise(engine);
    covered += median_interval(values, sample).contains(100);
  }
  EXPECT_GE(covered, 360U);
  EXPECT_LE(covered, 396U);
}

Pairs noisy_pairs(std::mt19937_64& engine, double factor, double shared, double own,
                  unsigned count) {
  std::normal_distribution<double> weather(1, shared), noise(1, own);
  Pairs pairs;
  for (unsigned i = 0; i < count; ++i) {
    const double common = std::max(0.1, weather(engine));
    pairs.emplace_back(1000 * common * noise(engine), 1000 * factor * common * noise(engine));
  }
  return pairs;
}

TEST(Statistics, PairsCancelWhatBothSidesShare) {
  std::mt19937_64 engine(11);
  const Pairs pairs = noisy_pairs(engine, 1.1, 0.3, 0.01, 15);
  const Ratio ratio = paired_ratio(pairs);
  EXPECT_NEAR(ratio.value, 1.1, 0.02);
  EXPECT_EQ(judge(ratio, {.noise = 0.03}), Change::kBetter);
  EXPECT_EQ(judge(ratio, {.noise = 0.03, .higher_is_better = false}), Change::kWorse);
  EXPECT_EQ(judge(ratio, {.noise = 0.2}), Change::kNone);
}

TEST(Statistics, EqualThingsAreRarelyCalledDifferent) {
  std::mt19937_64 engine(13);
  unsigned claimed = 0;
  for (unsigned i = 0; i < 200; ++i) {
    const double noise = same_noise(noisy_pairs(engine, 1, 0.2, 0.05, 15));
    const Change change =
        judge(paired_ratio(noisy_pairs(engine, 1, 0.2, 0.05, 15), i), {.noise = noise});
    claimed += change == Change::kBetter || change == Change::kWorse;
  }
  EXPECT_LE(claimed, 10U);
}

TEST(Statistics, FewOrWidePairsDecideNothing) {
  EXPECT_EQ(judge(paired_ratio(Pairs{{1, 2}, {1, 2}, {1, 2}}), {}), Change::kUndecided);
  EXPECT_EQ(judge({1.05, {0.7, 1.4}, 10}, {}), Change::kUndecided);
  EXPECT_EQ(judge({1.001, {0.999, 1.003}, 10}, {}), Change::kNone);
  EXPECT_EQ(judge({1.01, {1.005, 1.015}, 10}, {}), Change::kNone);
  EXPECT_EQ(judge({0.9, {0.88, 0.92}, 10}, {}), Change::kWorse);
  EXPECT_EQ(word(Change::kWorse), "worse");
}

TEST(Statistics, BadPairsAreLeftOut) {
  EXPECT_EQ(paired_ratio(Pairs{{0, 1}, {1, 0}, {1, 3}}).pair_count, 1U);
  EXPECT_DOUBLE_EQ(paired_ratio(Pairs{{0, 1}, {1, 0}, {1, 3}}).value, 3);
}

}  // namespace
}  // namespace merlon::lab
