// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace merlon::base {
namespace {

struct Tracked {
  explicit Tracked(std::atomic<int>& counter, int v) : alive(counter), value(v), copy(v) {
    ++alive;
  }
  ~Tracked() {
    value = -1;
    --alive;
  }
  std::atomic<int>& alive;
  int value;
  int copy;
};

TEST(Published, FreesOnlyAfterEveryWorkerPassed) {
  std::atomic<int> alive{0};
  {
    Published<Tracked> p(std::make_unique<Tracked>(alive, 1));
    p.online(0);
    p.online(1);
    EXPECT_EQ(p.read()->value, 1);
    const auto epoch = p.publish(std::make_unique<Tracked>(alive, 2));
    p.quiescent(0);
    EXPECT_FALSE(p.all_passed(epoch));
    EXPECT_EQ(p.reclaim(), 1U);
    EXPECT_EQ(alive, 2);
    p.quiescent(1);
    EXPECT_TRUE(p.all_passed(epoch));
    EXPECT_EQ(p.reclaim(), 0U);
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Published, DoesNotWaitForAWorkerThatLeft) {
  std::atomic<int> alive{0};
  Published<Tracked> p(std::make_unique<Tracked>(alive, 1));
  p.online(3);
  p.offline(3);
  p.publish(std::make_unique<Tracked>(alive, 2));
  EXPECT_EQ(p.reclaim(), 0U);
  EXPECT_EQ(alive, 1);
}

TEST(Published, ReadersNeverSeeAFreedObject) {
  std::atomic<int> alive{0};
  Published<Tracked> p(std::make_unique<Tracked>(alive, 0));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  const auto reader = [&](unsigned id) {
    p.online(id);
    int last = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      const Tracked* t = p.read();
      if (t->value != t->copy || t->value < last) ++wrong;
      last = t->copy;
      p.quiescent(id);
    }
    p.offline(id);
  };
  std::thread a(reader, 0), b(reader, 1);
  for (int i = 1; i < 3000; ++i) {
    p.publish(std::make_unique<Tracked>(alive, i));
    p.reclaim();
  }
  stop = true;
  a.join();
  b.join();
  p.reclaim();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(alive, 1);
}

}  // namespace
}  // namespace merlon::base
