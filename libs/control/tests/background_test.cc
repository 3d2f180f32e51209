// SPDX-License-Identifier: Apache-2.0
#include "background.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace merlon::control {
namespace {

std::vector<unsigned> allowed() {
  std::vector<unsigned> out;
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  return out;
}

// In a thread of its own: nothing is taken back.
template <class Test>
void apart(Test test) {
  std::thread(test).join();
}

TEST(Background, LeavesTheWorkersCoresToThem) {
  const auto before = allowed();
  if (before.size() < 2) GTEST_SKIP() << "one processor";
  apart([&] {
    leave_cores(std::vector<unsigned>{before[0], 1'000'000});
    EXPECT_EQ(allowed(), std::vector<unsigned>(before.begin() + 1, before.end()));
    std::thread([&] { EXPECT_EQ(allowed().size(), before.size() - 1); }).join();
  });
  EXPECT_EQ(allowed(), before);
}

TEST(Background, StaysWhereNothingElseIsLeft) {
  const auto before = allowed();
  apart([&] {
    leave_cores(before);
    EXPECT_EQ(allowed(), before);
    leave_cores({});
    EXPECT_EQ(allowed(), before);
  });
}

TEST(Background, YieldsOnItsOwnThreadOnly) {
  const auto nice = [] { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); };
  const int before = nice();
  apart([&] {
    yield_to_workers();
    EXPECT_GE(nice(), 10);
  });
  EXPECT_EQ(nice(), before);
}

}  // namespace
}  // namespace merlon::control
