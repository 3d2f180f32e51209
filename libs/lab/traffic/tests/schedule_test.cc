// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/schedule.h"

#include <gtest/gtest.h>

#include "merlon/lab_traffic/clock.h"
#include "mixing.h"

namespace merlon::lab {
namespace {

Schedule make(Pacing pacing, double rate, double duration, std::uint32_t burst = 1) {
  auto s = Schedule::create(pacing, rate, duration, burst);
  EXPECT_TRUE(s.ok());
  return *s;
}

TEST(Schedule, ConstantHasNoDrift) {
  const Schedule s = make(Pacing::kConstant, 1'000'000.0 / 3, 3600);
  EXPECT_EQ(s.count(), 1'200'000'000u);
  EXPECT_EQ(s.due(0), 0);
  EXPECT_EQ(s.due(1), 3000);
  EXPECT_NEAR(static_cast<double>(s.due(1'199'999'999)), 3600e9 - 3000, 1);
}

TEST(Schedule, BurstsKeepTheMeanRate) {
  const Schedule s = make(Pacing::kBurst, 100'000, 1, 32);
  EXPECT_EQ(s.count(), 100'000u);
  EXPECT_EQ(s.due(31), 0);
  EXPECT_EQ(s.due(32), 320'000);
  EXPECT_EQ(s.due(63), 320'000);
  EXPECT_EQ(s.due(99'999), s.due(99'968));
}

TEST(Schedule, RampRisesEvenly) {
  const Schedule s = make(Pacing::kRamp, 100'000, 2);
  EXPECT_EQ(s.count(), 100'000u);
  // A quarter of the frames are due in the first half.
  EXPECT_NEAR(static_cast<double>(s.due(25'000)), 1e9, 1e5);
  // The rate at the end is the one asked for.
  EXPECT_NEAR(static_cast<double>(s.due(99'999) - s.due(99'899)) / 100, 10'000, 20);
  for (std::uint64_t i = 1; i < 1000; ++i) EXPECT_GE(s.due(i), s.due(i - 1));
}

TEST(Schedule, MaximumIsAlwaysDue) {
  const Schedule s = make(Pacing::kMaximum, 0, 1);
  EXPECT_TRUE(s.is_maximum());
  EXPECT_EQ(s.due(123'456'789), 0);
  EXPECT_EQ(s.duration(), 1'000'000'000);
}

TEST(Schedule, StepsHaveEachTheirRate) {
  const auto s = Schedule::steps({{1.1, 0.5}, {0, 0.1}, {0.5, 0.4}}, 10'000, 2);
  ASSERT_TRUE(s.ok()) << s.error().to_string();
  EXPECT_EQ(s->count(), 11'000U + 4'000U);
  EXPECT_EQ(s->due(0), 0);
  EXPECT_NEAR(static_cast<double>(s->due(10'999)), 1e9 - 1e9 / 11'000, 2);
  EXPECT_EQ(s->due(11'000), 1'200'000'000);
  EXPECT_EQ(s->due(11'001), 1'200'200'000);
  EXPECT_EQ(s->due(14'999), 1'200'000'000 + 3'999 * 200'000);
  EXPECT_LT(s->due(14'999), s->duration());
  for (std::uint64_t i = 1; i < s->count(); ++i) ASSERT_GE(s->due(i), s->due(i - 1));
}

TEST(Schedule, StepsAreRefusedWithTheReason) {
  using Steps = std::vector<RateStep>;
  for (const Steps& steps :
       {Steps{}, Steps{{1, 0.5}}, Steps{{1, 0.5}, {1, 0.6}}, Steps{{-1, 1}}, Steps{{0, 1}},
        Steps{{1, 0}, {1, 1}}, Steps{{1e9, 1}}, Steps(65, RateStep{1, 1.0 / 65})}) {
    const auto s = Schedule::steps(steps, 1000, 1);
    ASSERT_FALSE(s.ok());
    EXPECT_FALSE(s.error().message.empty());
  }
  EXPECT_FALSE(Schedule::steps({{1, 1}}, 0, 1).ok());
  EXPECT_FALSE(Schedule::steps({{1e4, 0.5}, {1e4, 0.5}}, 1e5, 3600).ok());
}

TEST(Schedule, RepeatsACapture) {
  auto times = std::make_shared<const std::vector<base::Nanos>>(
      std::vector<base::Nanos>{0, 10, 10, 700'000});
  const auto s = Schedule::repeat(times, 1'000'000, 0.0025);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->count(), 11u);  // two rounds and the three frames before 500 us of the third
  EXPECT_EQ(s->due(3), 700'000);
  EXPECT_EQ(s->due(4), 1'000'000);
  EXPECT_EQ(s->due(10), 2'000'010);
  EXPECT_FALSE(Schedule::repeat(times, 700'000, 1).ok());
  EXPECT_FALSE(Schedule::repeat(nullptr, 700'000, 1).ok());
}

TEST(Schedule, LimitsAreNamed) {
  EXPECT_FALSE(Schedule::create(Pacing::kConstant, 0, 1).ok());
  EXPECT_FALSE(Schedule::create(Pacing::kConstant, -5, 1).ok());
  EXPECT_FALSE(Schedule::create(Pacing::kConstant, 2e9, 1).ok());
  EXPECT_FALSE(Schedule::create(Pacing::kConstant, 100, 0).ok());
  EXPECT_FALSE(Schedule::create(Pacing::kConstant, 100, 3601).ok());
  EXPECT_FALSE(Schedule::create(Pacing::kConstant, 10e6, 3600).ok());
  EXPECT_FALSE(Schedule::create(Pacing::kBurst, 100, 1, 0).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(Schedule::create(Pacing::kConstant, nan, 1).ok());
  EXPECT_FALSE(Schedule::create(Pacing::kConstant, 100, nan).ok());
}

TEST(Clock, ManualTimeStandsStill) {
  base::Nanos now = 5;
  const Clock c = Clock::manual(&now);
  EXPECT_EQ(c.now(), 5);
  now = 77;
  EXPECT_EQ(c.now(), 77);
  EXPECT_EQ(c.drift_ppm(), 0);
  StampOffset offset(c);
  EXPECT_EQ(offset.to_trial(123), 123);
}

TEST(Clock, StartsBeforeZeroAndGoesOn) {
  const Clock c = Clock::start(60'000'000'000);
  const base::Nanos first = c.now();
  EXPECT_LT(first, 0);
  EXPECT_GE(c.now(), first);
}

TEST(Mixing, PermutationsAreOnto) {
  for (const std::uint64_t count : {1U, 2U, 3U, 5U, 64U, 65U, 1000U, 4097U}) {
    const Permutation p(count);
    for (const std::uint64_t key : {0U, 1U, 99U}) {
      std::vector<bool> seen(count, false);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t v = p.at(i, key);
        ASSERT_LT(v, count);
        EXPECT_FALSE(seen[v]);
        seen[v] = true;
      }
    }
  }
  const Permutation p(1000);
  std::uint64_t fixed = 0, same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    fixed += p.at(i, 1) == i ? 1U : 0U;
    same += p.at(i, 1) == p.at(i, 2) ? 1U : 0U;
  }
  EXPECT_LT(fixed, 10u);
  EXPECT_LT(same, 10u);
}

}  // namespace
}  // namespace merlon::lab
