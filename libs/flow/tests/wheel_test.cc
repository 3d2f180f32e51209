// SPDX-License-Identifier: Apache-2.0
#include "merlon/flow/wheel.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <vector>

namespace merlon::flow {
namespace {

struct Node {
  std::uint32_t wheel_next, wheel_prev;
  std::uint16_t wheel_slot;
};

struct Rig {
  explicit Rig(std::size_t n) : nodes(n) { wheel.attach(nodes.data()); }
  std::vector<std::uint32_t> run(base::Ticks now, unsigned budget = 1'000'000) {
    std::vector<std::uint32_t> out;
    left = wheel.advance(now, budget, [&](std::uint32_t n) { out.push_back(n); });
    return out;
  }
  // As an owner does: what comes up before its time is linked again.
  std::vector<std::uint32_t> run_until(base::Ticks now, base::Ticks deadline) {
    std::vector<std::uint32_t> out;
    wheel.advance(now, 1'000'000, [&](std::uint32_t n) {
      if (base::ticks_after(deadline, now))
        wheel.link(n, deadline, now);
      else
        out.push_back(n);
    });
    return out;
  }
  std::vector<Node> nodes;
  Wheel<Node> wheel;
  unsigned left = 0;
};

using List = std::vector<std::uint32_t>;

TEST(Wheel, NeverEarlyAndAtMostOneSlotLate) {
  for (const base::Ticks delay : {0U, 1U, 63U, 64U, 65U, 1000U, 65'535U, 65'536U, 65'600U, 240'000U,
                                  7'440'000U, 60'000'000U}) {
    for (const base::Ticks start : {0U, 1U, 77U, 65'000U, 0xffffff00U}) {
      Rig r(1);
      r.wheel.link(0, start + delay, start);
      if (delay > 0) {
        EXPECT_EQ(r.run_until(start + delay - 1, start + delay), List{}) << delay;
      }
      EXPECT_EQ(r.run_until(start + delay + 64, start + delay), List{0})
          << delay << " from " << start;
    }
  }
}

TEST(Wheel, OrderIsBySlotThenFirstInFirstOut) {
  Rig r(6);
  r.wheel.link(0, 500, 0);
  r.wheel.link(1, 300, 0);
  r.wheel.link(2, 301, 0);
  r.wheel.link(3, 100'000, 0);
  r.wheel.link(4, 500, 0);
  r.wheel.link(5, 100'000, 0);
  // Nodes of a coarse slot come up when it begins, for their owner to ask and link again.
  EXPECT_EQ(r.run(65'535), (List{1, 2, 0, 4}));
  EXPECT_EQ(r.run(65'536), (List{3, 5}));
}

TEST(Wheel, BudgetBoundsTheWorkAndResumesInOrder) {
  Rig r(10);
  for (std::uint32_t n = 0; n < 10; ++n) r.wheel.link(n, 100, 0);
  EXPECT_EQ(r.run(1000, 4), (List{0, 1, 2, 3}));
  EXPECT_EQ(r.left, 0U);
  EXPECT_EQ(r.run(1000, 4), (List{4, 5, 6, 7}));
  EXPECT_EQ(r.run(1000, 4), (List{8, 9}));
  EXPECT_EQ(r.left, 2U);
}

TEST(Wheel, UnlinkTakesOutAnywhere) {
  for (std::uint32_t gone = 0; gone < 3; ++gone) {
    Rig r(3);
    for (std::uint32_t n = 0; n < 3; ++n) r.wheel.link(n, 100, 0);
    r.wheel.unlink(gone);
    List expect{0, 1, 2};
    expect.erase(expect.begin() + gone);
    EXPECT_EQ(r.run(1000), expect);
    EXPECT_EQ(r.wheel.count(), 0U);
  }
}

TEST(Wheel, TimeThatGoesBackIsIgnored) {
  Rig r(1);
  r.wheel.link(0, 10'000, 9'000);
  EXPECT_EQ(r.run(1'000), List{});  // no slot is entered
  EXPECT_EQ(r.run(10'064), List{0});
}

TEST(Wheel, WrapOfTicks) {
  Rig r(2);
  const base::Ticks start = 0xffffffffU - 1000;
  r.wheel.link(0, start + 500, start);
  r.wheel.link(1, start + 5'000, start);  // after the wrap
  EXPECT_EQ(r.run(start + 600), List{0});
  EXPECT_EQ(r.run(start + 4'999), List{});
  EXPECT_EQ(r.run(start + 5'064), List{1});
}

// Against a sorted list: with re-linking of nodes that come up too early, a node is reported in the
// slot of its deadline.
TEST(WheelProperty, EqualsASortedOracle) {
  const bool ok = rc::check([] {
    constexpr std::uint32_t kNodes = 32;
    Rig r(kNodes);
    std::map<std::uint32_t, base::Ticks> oracle;
    base::Ticks now = *rc::gen::element<base::Ticks>(0, 12'345, 0xfffff000U, 0x7fffff00U);
    const auto ops = *rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint32_t>>>(
        600, rc::gen::pair(rc::gen::arbitrary<std::uint8_t>(),
                           rc::gen::inRange<std::uint32_t>(0, 1U << 28)));
    for (const auto& [what, amount] : ops) {
      const std::uint32_t n = what % kNodes;
      // Distances of all magnitudes.
      const base::Ticks distance = amount >> (what % 27);
      if (what >= 192) {
        now += distance;
        std::vector<std::uint32_t> got;
        r.wheel.advance(now, 1'000'000, [&](std::uint32_t k) {
          if (base::ticks_after(oracle[k], now))
            r.wheel.link(k, oracle[k], now);
          else
            got.push_back(k);
        });
        for (const std::uint32_t k : got) {
          RC_ASSERT(oracle.contains(k));
          oracle.erase(k);
        }
        for (const auto& [k, d] : oracle) RC_ASSERT(base::ticks_after(d + 64, now));
      } else if (oracle.contains(n)) {
        r.wheel.unlink(n);
        oracle.erase(n);
      } else {
        r.wheel.link(n, now + distance, now);
        oracle[n] = now + distance;
      }
      RC_ASSERT(r.wheel.count() == oracle.size());
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace merlon::flow
