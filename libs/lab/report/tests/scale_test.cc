// SPDX-License-Identifier: Apache-2.0
#include "scale.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "chart_parts.h"

namespace merlon::lab::report {
namespace {

TEST(Scale, LinearEndsAreRound) {
  const Scale s = Scale::linear(0, 437, 0, 100);
  EXPECT_EQ(s.low(), 0);
  EXPECT_EQ(s.high(), 500);
  EXPECT_EQ(s.at(250), 50);
  EXPECT_EQ(s.ticks().size(), 6u);
}

TEST(Scale, LogPlacesDecadesEvenly) {
  const Scale s = Scale::logarithmic(1, 10000, 0, 100);
  EXPECT_NEAR(s.at(1), 0, 1e-9);
  EXPECT_NEAR(s.at(100), 50, 1e-9);
  EXPECT_NEAR(s.at(10000), 100, 1e-9);
}

TEST(Scale, ZeroHasItsOwnPlaceOnALogAxis) {
  const Scale s = Scale::logarithmic(100, 4000, 0, 100, true);
  EXPECT_EQ(s.at(0), 0);
  EXPECT_GT(s.at(100), 5);
  ASSERT_FALSE(s.ticks().empty());
  EXPECT_EQ(s.ticks().front().value, 0);
}

void check(const Scale& s, double from, double to) {
  RC_ASSERT(!s.ticks().empty());
  RC_ASSERT(s.ticks().size() <= 100u);
  double last = -std::numeric_limits<double>::infinity();
  for (const Tick& t : s.ticks()) {
    const double at = s.at(t.value);
    RC_ASSERT(std::isfinite(at));
    RC_ASSERT(at >= from - 1e-6 && at <= to + 1e-6);
    RC_ASSERT(at > last);
    last = at;
  }
}

RC_GTEST_PROP(Scale, LinearTicksAscendWithinTheAxisAndCoverTheRange, (int a, int b, int exponent)) {
  const double power = std::pow(10.0, exponent % 15);
  const double low = std::min(a, b) * power, high = std::max(a, b) * power;
  const Scale s = Scale::linear(low, high, 10, 700);
  RC_ASSERT(s.low() <= low + std::fabs(low) * 1e-6);
  RC_ASSERT(s.high() >= high - std::fabs(high) * 1e-6);
  check(s, 10, 700);
}

RC_GTEST_PROP(Scale, LogTicksAscendWithinTheAxisAndOrderIsKept,
              (unsigned a, unsigned b, int exponent, bool zero)) {
  const double power = std::pow(10.0, exponent % 10);
  const double low = (std::min(a, b) + 1.0) * power, high = (std::max(a, b) + 1.0) * power;
  const Scale s = Scale::logarithmic(low, high, 10, 700, zero);
  RC_ASSERT(s.low() <= std::min(low, Scale::kLogMost) * 1.000001);
  RC_ASSERT(s.high() >= std::min(high, Scale::kLogMost) * 0.999999);
  RC_ASSERT(s.at(low) <= s.at(high));
  RC_ASSERT(s.at(0) <= s.at(low));
  check(s, 10, 700);
}

TEST(Scale, OneValueOnALogAxisHasAWidthAroundIt) {
  for (int decade = -12; decade <= 12; ++decade)
    for (const double m : {1.0, 2.0, 3.0, 5.0}) {
      const double value = m * std::pow(10.0, decade);
      const Scale s = Scale::logarithmic(value, value, 0, 100);
      EXPECT_GE(s.high(), s.low() * 1.5) << value;
      EXPECT_TRUE(std::isfinite(s.at(value))) << value;
    }
}

TEST(Scale, WhatALogAxisCantShowStandsAtItsNearerEnd) {
  const Scale wide = Scale::logarithmic(1e-30, 1e30, 0, 100);
  EXPECT_EQ(wide.low(), Scale::kLogLeast);
  EXPECT_EQ(wide.high(), Scale::kLogMost);
  EXPECT_EQ(wide.at(1e-20), 0);
  EXPECT_EQ(wide.at(1e20), 100);
}

TEST(Scale, WhatIsNoNumberStaysInTheDrawing) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  for (const Scale& s : {Scale::linear(nan, inf, 0, 100), Scale::logarithmic(0, -5, 0, 100),
                         Scale::logarithmic(inf, nan, 0, 100), Scale::linear(5, 5, 0, 100),
                         Scale::linear(0, 0, 0, 100)})
    for (const double v : {nan, inf, -inf, 0.0, 1e300, -1e300}) {
      EXPECT_GE(s.at(v), 0);
      EXPECT_LE(s.at(v), 100);
    }
}

TEST(ChartParts, PlacesAreFiniteAndShort) {
  EXPECT_EQ(place(12.04), "12");
  EXPECT_EQ(place(-0.01), "0");
  EXPECT_EQ(place(std::numeric_limits<double>::infinity()), "0");
  EXPECT_EQ(place(1e300), "100000");
}

TEST(ChartParts, PercentilesAreToldWithAsManyNinesAsTheyHave) {
  EXPECT_EQ(percentile_text(1), "0\u00a0%");
  EXPECT_EQ(percentile_text(10), "90\u00a0%");
  EXPECT_EQ(percentile_text(1000), "99.9\u00a0%");
  EXPECT_EQ(percentile_text(1e6), "99.9999\u00a0%");
}

TEST(ChartParts, LongNamesAreCutAtACharacter) {
  EXPECT_EQ(shortened("устройство", 4), "уст…");
  EXPECT_EQ(shortened("abcd", 4), "abcd");
}

}  // namespace
}  // namespace merlon::lab::report
