// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_search/dynamic_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "simulated.h"

namespace merlon::lab {
namespace {

using Points = std::vector<PlanPoint>;

PlanPoint point(double rate, double loss, double p99 = 0) {
  PlanPoint p;
  p.id = "r" + std::to_string(static_cast<int>(rate));
  p.series = "s";
  p.rate_pps = rate;
  p.is_finished = true;
  p.loss_ratio = loss;
  p.forwarding_pps = rate * (1 - loss);
  p.latency_p99_us = p99;
  return p;
}
PlanAddition only(const Points& points, const GrowthLimits& limits = {}) {
  const auto additions = grow(points, limits);
  EXPECT_EQ(additions.size(), 1U);
  return additions.empty() ? PlanAddition{} : additions.front();
}

// Grows a plan on a device until it stops.
Points grown(Points points, const GrowthLimits& limits,
             const std::function<PlanPoint(double)>& device) {
  for (Points& all = points; all.size() < 500;) {
    const auto additions = grow(all, limits);
    if (additions.empty()) return all;
    for (const PlanAddition& a : additions) {
      PlanPoint p = device(a.rate_pps);
      p.id = "a" + std::to_string(all.size());
      p.series = a.series;
      p.is_added = true;
      p.is_bend = a.rule == GrowthRule::kBend;
      all.push_back(p);
    }
  }
  ADD_FAILURE() << "the plan does not end";
  return points;
}

TEST(DynamicPlan, RaisesWhatPasses) {
  const PlanAddition a = only({point(1000, 0.005)});
  EXPECT_EQ(a.rule, GrowthRule::kRaise);
  EXPECT_DOUBLE_EQ(a.rate_pps, 1500);
  EXPECT_EQ(a.parent, "r1000");
  EXPECT_FALSE(a.reason.en.empty());
  EXPECT_FALSE(a.reason.ru.empty());
  GrowthLimits limits;
  limits.ceiling_pps = 1200;
  EXPECT_DOUBLE_EQ(only({point(1000, 0)}, limits).rate_pps, 1200);
  EXPECT_TRUE(grow(Points{point(1200, 0)}, limits).empty());
}

TEST(DynamicPlan, LowersToTheForwardingRate) {
  const PlanAddition a = only({point(1000, 0.6)});
  EXPECT_EQ(a.rule, GrowthRule::kLower);
  EXPECT_DOUBLE_EQ(a.rate_pps, 392);
  EXPECT_EQ(only({point(1000, 0.02)}).rule, GrowthRule::kLower);  // nothing passes yet
}

TEST(DynamicPlan, RefinesBetweenPassingAndFailing) {
  const PlanAddition a = only({point(1000, 0), point(2000, 0.03)});
  EXPECT_EQ(a.rule, GrowthRule::kRefine);
  EXPECT_DOUBLE_EQ(a.rate_pps, 1500);
  EXPECT_TRUE(grow(Points{point(1000, 0), point(1050, 0.03)}, {}).empty());
  EXPECT_EQ(only({point(1000, 0), point(4000, 0.5)}).rule, GrowthRule::kLower);
  EXPECT_DOUBLE_EQ(only({point(1000, 0), point(4000, 0.5)}).rate_pps, 1960);
}

TEST(DynamicPlan, RepeatsWhatContradictsItself) {
  const PlanAddition divided = only({point(1000, 0), point(1000, 0.5)});
  EXPECT_EQ(divided.rule, GrowthRule::kRepeat);
  EXPECT_DOUBLE_EQ(divided.rate_pps, 1000);
  const PlanAddition crossed = only({point(1000, 0.5), point(2000, 0)});
  EXPECT_EQ(crossed.rule, GrowthRule::kRepeat);
  EXPECT_DOUBLE_EQ(crossed.rate_pps, 1000);
  // Two to one decides; the lost row is outvoted, not averaged.
  EXPECT_EQ(only({point(1000, 0.5), point(1000, 0), point(1000, 0), point(2000, 0)}).rule,
            GrowthRule::kRaise);
}

TEST(DynamicPlan, LooksWhereTheLatencyBends) {
  GrowthLimits limits;
  limits.ceiling_pps = 4000;
  const PlanAddition a =
      only({point(1000, 0, 20), point(2000, 0, 25), point(4000, 0, 900)}, limits);
  EXPECT_EQ(a.rule, GrowthRule::kBend);
  EXPECT_DOUBLE_EQ(a.rate_pps, 3000);
  EXPECT_EQ(a.parent, "r4000");
  limits.max_bends = 0;
  EXPECT_TRUE(grow(Points{point(1000, 0, 20), point(4000, 0, 900)}, limits).empty());
}

TEST(DynamicPlan, ATestersLimitIsTheCeiling) {
  PlanPoint limited = point(3000, 0.2);
  limited.is_tester_limited = true;
  EXPECT_TRUE(grow(Points{limited}, {}).empty());  // no verdict of the device at all
  EXPECT_DOUBLE_EQ(only({point(2000, 0), limited}).rate_pps, 2400);
  EXPECT_TRUE(grow(Points{point(2400, 0), limited}, {}).empty());
}

TEST(DynamicPlan, WaitsAndKeepsItsBounds) {
  PlanPoint waiting = point(2000, 0);
  waiting.is_finished = false;
  EXPECT_TRUE(grow(Points{point(1000, 0), waiting}, {}).empty());
  GrowthLimits limits;
  limits.max_rows = 0;
  EXPECT_TRUE(grow(Points{point(1000, 0)}, limits).empty());
  limits = {};
  limits.time_left_s = 0.5;
  EXPECT_TRUE(grow(Points{point(1000, 0)}, limits).empty());
  PlanPoint other = point(1000, 0);
  other.series = "t";
  limits.time_left_s = 1.5;
  const auto one = grow(Points{point(1000, 0), other}, limits);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].series, "s");
  limits.time_left_s = 2;
  EXPECT_EQ(grow(Points{point(1000, 0), other}, limits).size(), 2U);
}

// From any first rate: the plan ends, its bounds are near enough and hold the capacity.
RC_GTEST_PROP(DynamicPlan, ClosesInOnACapacity, ()) {
  const double capacity = *rc::gen::inRange(500, 500'000);
  const double first = *rc::gen::inRange(100, 1'000'000);
  GrowthLimits limits;
  limits.ceiling_pps = 1'000'000;
  const Points all =
      grown({point(first, test::overload(first, capacity))}, limits,
            [&](double rate) { return point(rate, test::overload(rate, capacity)); });
  double pass = 0, fail = 1e12;
  for (const PlanPoint& p : all) {
    if (p.loss_ratio <= limits.loss_ok)
      pass = std::max(pass, p.rate_pps);
    else
      fail = std::min(fail, p.rate_pps);
  }
  RC_ASSERT(fail - pass <= limits.width * fail * 1.01);
  RC_ASSERT(pass <= capacity * 1.011 && fail >= capacity);
  RC_ASSERT(all.size() <= 40U);
}

// A device that contradicts itself at random: the plan still ends within its number of rows.
RC_GTEST_PROP(DynamicPlan, EndsWhateverTheDeviceSays, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  GrowthLimits limits;
  limits.max_rows = *rc::gen::inRange(0U, 80U);
  limits.ceiling_pps = 1'000'000;
  std::uniform_real_distribution<double> loss(0, 0.03), p99(1, 1000);
  const Points all = grown({point(1000, 0), point(50'000, 0.5)}, limits,
                           [&](double rate) { return point(rate, loss(random), p99(random)); });
  RC_ASSERT(all.size() <= 2 + limits.max_rows);
  std::map<double, unsigned> counts;
  for (const PlanPoint& p : all) RC_ASSERT(++counts[p.rate_pps] <= limits.measurements);
}

TEST(DynamicPlan, TheSameRowsGiveTheSameAdditions) {
  const Points points{point(1000, 0, 10), point(3000, 0.2, 500), point(1000, 0.02, 12)};
  const auto a = grow(points, {}), b = grow(points, {});
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].rate_pps, b[i].rate_pps);
    EXPECT_EQ(a[i].reason.en, b[i].reason.en);
  }
}

}  // namespace
}  // namespace merlon::lab
