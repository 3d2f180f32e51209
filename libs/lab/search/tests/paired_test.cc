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
  EXPECT_EQ(result.trials[1].a, "t3");  // the second pair is B A
  EXPECT_EQ(result.trials[1].b, "t2");
  EXPECT_NEAR(result.trials[1].ratio, 1.2, 0.1);
  EXPECT_NEAR(result.b / result.a, 1.2, 0.1);
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

// Pairs until enough_pairs() says so.
PairedResult adaptive(double factor, double noise, std::uint64_t seed,
                      std::size_t* measured_count) {
  ChangeLimits limits;
  limits.practical = 0.03;
  const PairedPlan plan;
  const std::vector<PairedSample> all = measured(factor, noise, plan.most_pairs, seed);
  for (std::size_t pairs = plan.least_pairs;; ++pairs) {
    const PairedResult result = compare_pairs(std::span(all).first(2 * pairs), limits);
    if (!enough_pairs(result, pairs, limits, plan)) continue;
    *measured_count = pairs;
    return result;
  }
}

TEST(Paired, EndsEarlyWhereItIsClearAndGoesOnWhereItIsNot) {
  std::size_t clear = 0, fine = 0, hard = 0;
  EXPECT_EQ(adaptive(0.05, 0.05, 1, &clear).verdict, Change::kWorse);
  EXPECT_EQ(adaptive(1, 0.005, 1, &fine).verdict, Change::kNone);
  adaptive(1.03, 0.08, 1, &hard);
  EXPECT_EQ(clear, PairedPlan{}.least_pairs);
  EXPECT_LE(fine, PairedPlan{}.least_pairs + 4);
  EXPECT_EQ(hard, PairedPlan{}.most_pairs);
}

// Looking several times must not find changes where there are none, nor miss real ones.
TEST(Paired, StoppingEarlyKeepsItsWord) {
  for (const double noise : {0.02, 0.1}) {
    unsigned claims = 0, same = 0, found = 0;
    constexpr unsigned kRuns = 40;
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
      std::size_t pairs = 0;
      const Change equal = adaptive(1, noise, seed, &pairs).verdict;
      claims += equal == Change::kBetter || equal == Change::kWorse;
      same += equal == Change::kNone;
      found += adaptive(1.25, noise, seed, &pairs).verdict == Change::kBetter;
    }
    EXPECT_LE(claims, kRuns / 20) << noise;
    EXPECT_GE(same, noise < 0.05 ? kRuns * 9 / 10 : kRuns * 3 / 4) << noise;
    EXPECT_GE(found, kRuns * 19 / 20) << noise;
  }
}

TEST(Paired, SaysHowFineTheSameIs) {
  const PairedResult result = compare_pairs(measured(1, 0.01, 16, 3), {});
  ASSERT_EQ(result.verdict, Change::kNone);
  EXPECT_NE(result.sentence.en.find("the same as A within"), std::string::npos);
  EXPECT_LT(result.farthest(), 0.05);
  // Where equal trials differ by half, nothing is the same.
  EXPECT_EQ(compare_pairs(measured(1, 0.5, 16, 3), {}).verdict, Change::kUndecided);
}

// Nobody saw how far equal trials differ: that is not "0.0 %".
TEST(Paired, SaysWhereTheNoiseIsNotKnown) {
  const PairedResult few = compare_pairs(measured(1.2, 0.01, 3, 1), {});
  ASSERT_EQ(few.same_pair_count, 2U);
  EXPECT_NE(few.sentence.en.find("A/A noise not known"), std::string::npos) << few.sentence.en;
  EXPECT_NE(few.sentence.ru.find("шум A/A неизвестен"), std::string::npos) << few.sentence.ru;
  ChangeLimits limits;
  limits.noise = 0.08;  // of the machine
  EXPECT_NE(compare_pairs(measured(1.2, 0.01, 3, 1), limits).sentence.en.find("A/A noise 8.0 %"),
            std::string::npos);
  EXPECT_EQ(compare_pairs(measured(1.2, 0.01, 4, 1), {}).sentence.en.find("not known"),
            std::string::npos);
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
