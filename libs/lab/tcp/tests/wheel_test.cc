// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "merlon/lab_tcp/schedule.h"
#include "merlon/lab_tcp/timing_wheel.h"

namespace merlon::lab::tcp {
namespace {

using base::Nanos;
constexpr Nanos kTick = Nanos{1} << TimingWheel::kTickBits;

// Against a map of deadlines: nothing is looked at before its time without being put on, nothing
// later than a tick.
TEST(TimingWheel, LooksAtEveryEntryInTime) {
  constexpr std::uint32_t kCount = 500;
  std::vector<Connection> table(kCount);
  Nanos now = 5'000'000'000;
  TimingWheel wheel(table.data(), kCount, now);
  std::map<std::uint32_t, Nanos> due;
  std::mt19937_64 random(1);
  std::uint64_t fired = 0;
  for (int step = 0; step < 20'000; ++step) {
    now += static_cast<Nanos>(random() % 300'000);
    if (step % 3000 == 2999) now += 3'000'000'000;  // the thread was kept from running
    const auto index = static_cast<std::uint32_t>(random() % kCount);
    // Up to three seconds: beyond the wheel's horizon too. A deadline may move either way.
    due[index] = now + static_cast<Nanos>(random() % 3'000'000'000);
    wheel.arm(index, due[index]);
    wheel.advance(now, kCount * 1000, [&](std::uint32_t i) {
      const auto at = due.find(i);
      if (at == due.end()) return;
      if (at->second > now) return wheel.arm(i, at->second);
      due.erase(at);
      ++fired;
    });
    for (const auto& [i, at] : due) ASSERT_GT(at + 2 * kTick, now) << i;
  }
  EXPECT_GT(fired, 1000U);
}

TEST(TimingWheel, LimitsTheWorkOfATurn) {
  std::vector<Connection> table(100);
  TimingWheel wheel(table.data(), 100, 0);
  for (std::uint32_t i = 0; i < 100; ++i) wheel.arm(i, kTick);
  unsigned seen = 0;
  EXPECT_FALSE(wheel.advance(10 * kTick, 60, [&](std::uint32_t) { ++seen; }));
  EXPECT_EQ(seen, 60U);
  EXPECT_TRUE(wheel.advance(10 * kTick, 60, [&](std::uint32_t) { ++seen; }));
  EXPECT_EQ(seen, 100U);
}

TEST(Schedule, RisesStandsAndFalls) {
  const Schedule s(1000, 2, 5, 4);
  EXPECT_EQ(s.total(), 1000U + 5000 + 2000);
  EXPECT_EQ(s.start_of(0), 0);
  EXPECT_NEAR(static_cast<double>(s.start_of(250)), 1e9, 1e3);  // a quarter by half of the ramp
  EXPECT_NEAR(static_cast<double>(s.start_of(1000)), 2e9, 1e3);
  EXPECT_NEAR(static_cast<double>(s.start_of(1001) - s.start_of(1000)), 1e6, 1e3);
  EXPECT_NEAR(static_cast<double>(s.start_of(6000)), 7e9, 1e3);
  EXPECT_NEAR(static_cast<double>(s.start_of(7500)), 9e9,
              1e3);  // three quarters by half of the way down
  for (std::uint64_t n = 1; n < s.total(); ++n) ASSERT_GE(s.start_of(n), s.start_of(n - 1)) << n;
  EXPECT_LE(s.start_of(s.total() - 1), 11'000'000'000);
}

TEST(Schedule, NeedsNoRamps) {
  const Schedule s(10, 0, 2, 0);
  EXPECT_EQ(s.total(), 20U);
  EXPECT_EQ(s.start_of(0), 0);
  EXPECT_EQ(s.start_of(19), 1'900'000'000);
}

}  // namespace
}  // namespace merlon::lab::tcp
