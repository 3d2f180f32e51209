// SPDX-License-Identifier: Apache-2.0
#include "merlon/engine/clock.h"

#include <gtest/gtest.h>

namespace merlon::engine {
namespace {

using base::kNanosPerSecond;
using base::Nanos;

Nanos g_wall, g_steady;

// A clock that asks its sources at every turn.
class ClockTest : public testing::Test {
 protected:
  ClockTest() {
    g_wall = 1'700'000'000 * kNanosPerSecond;
    g_steady = 50 * kNanosPerSecond;
  }
  static ClockSources sources() {
    return {.wall = []() noexcept { return g_wall; },
            .steady = []() noexcept { return g_steady; },
            .interval = 0};
  }
};

TEST_F(ClockTest, AStepOfTheWallClockAgesNothing) {
  Clock clock(nullptr, sources());
  clock.read();
  EXPECT_EQ(clock.wall(), g_wall);
  EXPECT_EQ(clock.steady(), g_steady);
  for (const Nanos step : {86'400 * kNanosPerSecond, -2 * 86'400 * kNanosPerSecond}) {
    g_wall += step;
    g_steady += 1000;
    clock.read();
    EXPECT_EQ(clock.wall(), g_wall);
    EXPECT_EQ(clock.steady(), g_steady);
  }
}

TEST_F(ClockTest, SmallCorrectionsDoNotTurnTimeBack) {
  Clock clock(nullptr, sources());
  clock.read();
  const Nanos before = clock.wall();
  g_wall -= 400;
  g_steady -= 400;
  clock.read();
  EXPECT_EQ(clock.wall(), before);
  EXPECT_EQ(clock.steady(), 50 * kNanosPerSecond);
}

TEST_F(ClockTest, BetweenItsSourcesTheCounterGoesOn) {
  ClockSources once = sources();
  once.interval = 3600 * kNanosPerSecond;
  Clock clock(nullptr, once);
  clock.read();
  const Nanos wall = clock.wall(), steady = clock.steady();
  const std::uint64_t begin = base::read_tsc();
  while (base::read_tsc() - begin < 10'000) {
  }
  clock.read();
  EXPECT_GT(clock.wall(), wall);
  EXPECT_GT(clock.steady(), steady);
  EXPECT_LT(clock.steady() - steady, 60 * kNanosPerSecond);
}

TEST_F(ClockTest, AReplaysTimeIsTheCaptures) {
  Nanos now = 5;
  Clock clock(&now);
  clock.read();
  EXPECT_EQ(clock.wall(), 5);
  now = 7;
  clock.read();
  EXPECT_EQ(clock.steady(), 7);
  EXPECT_TRUE(clock.is_replay());
}

}  // namespace
}  // namespace merlon::engine
