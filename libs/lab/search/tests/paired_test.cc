// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_search/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace merlon::lab {
namespace {

// A machine that slows down and has weather; B is `factor` times A.
std::vector<PairedSample> measured(double factor, double noise, std::size_t pairs,
                                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> own(1, noise);
  std::vector<PairedSample> samples;
  for (const Side side : interleaved(pairs)) {
    const double t = static_cast<double>(samples.size());
    const double machine = (1 - 0.005 * t) * (1 + 0.2 * std::sin(t / 7));
    PairedSample s;
    s.side = side;
    s.value = 1000 * machine * own(random) * (side == Side::kB ? factor : 1);
    s.trial = "t" + std::to_string(samples.size());
    samples.push_back(s);
  }
  return samples;
}

TEST(Paired, AlternatesABBA) {
  using enum Side;
  EXPECT_EQ(interleaved(4), (std::vector<Side>{kA, kB, kB, kA, kA, kB, kB, kA}));
  EXPECT_TRUE(interleaved(0).empty());
}

TEST(Paired, FindsAChangeThroughDrift) {
  unsigned better = 0, worse = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    better += compare_pairs(measured(1.15, 0.02, 12, seed), {}).verdict == Change::kBetter;
    worse += compare_pairs(measured(0.87, 0.02, 12, seed), {}).verdict == Change::kWorse;
  }
  EXPECT_GE(better, 95U);
  EXPECT_GE(worse, 95U);
}

TEST(Paired, RarelyCallsEqualThingsDifferent) {
  unsigned claims = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Change verdict = compare_pairs(measured(1, 0.03, 12, seed), {}).verdict;
    claims += verdict == Change::kBetter || verdict == Change::kWorse;
  }
  EXPECT_LE(claims, 10U);
}

TEST(Paired, GivesTheFigures) {
  const PairedResult result = compare_pairs(measured(1.2, 0.01, 12, 1), {});
  EXPECT_NEAR(result.ratio.value, 1.2, 0.05);
  EXPECT_TRUE(result.ratio.interval.contains(result.ratio.value));
  EXPECT_EQ(result.ratio.pair_count, 12U);
  EXPECT_EQ(result.same_pair_count, 11U);
  EXPECT_GT(result.noise, 0);
  EXPECT_EQ(result.trials[1],
            (std::pair<std::string, std::string>("t3", "t2")));  // the second pair is B A
  EXPECT_NE(result.sentence.en.find("B is better: B/A = 1."), std::string::npos)
      << result.sentence.en;
  EXPECT_NE(result.sentence.ru.find("B лучше"), std::string::npos);
}

TEST(Paired, DropsPairsWithAContaminatedSide) {
  std::vector<PairedSample> samples = measured(1, 0.001, 10, 4);
  for (const std::size_t i : {1U, 6U, 7U}) {
    samples[i].value *= 0.1;
    samples[i].is_contaminated = true;
  }
  const PairedResult result = compare_pairs(samples, {});
  EXPECT_EQ(result.dropped_count, 2U);
  EXPECT_EQ(result.ratio.pair_count, 8U);
  EXPECT_EQ(result.same_pair_count, 6U);
  EXPECT_NEAR(result.ratio.value, 1, 0.05);
}

TEST(Paired, AnUnfinishedPairIsLeftOut) {
  std::vector<PairedSample> samples = measured(1, 0.01, 3, 4);
  samples.pop_back();
  const PairedResult result = compare_pairs(samples, {});
  EXPECT_EQ(result.ratio.pair_count, 2U);
  EXPECT_EQ(result.verdict, Change::kUndecided);
  EXPECT_EQ(compare_pairs({}, {}).verdict, Change::kUndecided);
}

}  // namespace
}  // namespace merlon::lab
