// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/accounting.h"

#include <gmock/gmock.h>

#include "merlon/lab_host/environment.h"

namespace merlon::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(CoreTimes, ReadsEachCoreAndNotTheSum) {
  const auto cores = parse_core_times(
      "cpu  10 0 0 0 0 0 0 0 0 0\ncpu0 100 10 200 999 50 5 30 7 0 0\ncpu1 1 0 2 3 4 0 0 0 0 "
      "0\nintr 5 6\n",
      100);
  ASSERT_THAT(cores, SizeIs(2));
  EXPECT_DOUBLE_EQ(cores[0].busy, 3.45);
  EXPECT_DOUBLE_EQ(cores[0].softirq, 0.30);
  EXPECT_DOUBLE_EQ(cores[0].steal, 0.07);
  EXPECT_EQ(cores[1].core, 1U);
  EXPECT_DOUBLE_EQ(cores[1].busy, 0.03);
}

TEST(TaskStat, ReadsANameWithBlanksAndBrackets) {
  std::string text = "42 (a) b (c)) S 7 1 1 0 -1 0 0 0 0 0 250 50 0 0 20 0 1 0 98765";
  for (int field = 23; field <= 38; ++field) text += " 0";
  text += " 1 0 0\n";
  const auto task = parse_task_stat(text, 100);
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->name, "a) b (c)");
  EXPECT_EQ(task->parent, 7);
  EXPECT_DOUBLE_EQ(task->user, 2.5);
  EXPECT_DOUBLE_EQ(task->system, 0.5);
  EXPECT_EQ(task->start_ticks, 98765U);
  EXPECT_EQ(task->core, 1);
}

TEST(TaskStat, RefusesWhatIsCutShort) {
  EXPECT_FALSE(parse_task_stat("", 100).has_value());
  EXPECT_FALSE(parse_task_stat("42 (x) S 1 2 3", 100).has_value());
  EXPECT_FALSE(parse_task_stat(")42(", 100).has_value());
}

TEST(Accounting, KnowsOurOwnTime) {
  Accounting accounting({});
  volatile std::uint64_t x = 1;
  for (int i = 0; i < 3'000'000; ++i) x = x * 3 + 1;
  const Usage usage = accounting.end();
  EXPECT_GT(usage.laboratory_s, 0);
  EXPECT_GT(usage.elapsed_s, 0);
  EXPECT_THAT(usage.cores, Not(IsEmpty()));
  EXPECT_EQ(usage.device_s, 0);
}

Usage usage_with(double other_s, double steal, double gap_us) {
  Usage usage;
  usage.elapsed_s = 1;
  usage.cores.resize(2);
  usage.cores[0].other_s = other_s;
  usage.cores[1].core = 1;
  usage.cores[1].steal = steal;
  usage.cores[1].longest_gap_us = gap_us;
  usage.busiest_others = {"cc1plus 0.84 s"};
  return usage;
}

TEST(Contamination, CleanTrialHasNoReason) {
  EXPECT_THAT(contamination(usage_with(0.09, 0.01, 9000), {}), IsEmpty());
}

TEST(Contamination, NamesOthersStealAndGaps) {
  const auto others = contamination(usage_with(0.2, 0, 0), {});
  ASSERT_THAT(others, SizeIs(1));
  EXPECT_THAT(others[0].en, HasSubstr("10.0 %"));
  EXPECT_THAT(others[0].en, HasSubstr("cc1plus 0.84 s"));
  EXPECT_THAT(others[0].ru, HasSubstr("10.0 %"));
  const auto steal = contamination(usage_with(0, 0.03, 0), {});
  ASSERT_THAT(steal, SizeIs(1));
  EXPECT_THAT(steal[0].en, HasSubstr("3.0 % of core 1"));
  const auto gap = contamination(usage_with(0, 0, 20'500), {});
  ASSERT_THAT(gap, SizeIs(1));
  EXPECT_THAT(gap[0].en, HasSubstr("20.5 ms"));
}

TEST(Contamination, LooksAtMeasuringCoresOnly) {
  EXPECT_THAT(contamination(usage_with(0.9, 0, 0), {1}), IsEmpty());
  EXPECT_THAT(contamination(usage_with(0.06, 0, 0), {0}), SizeIs(1));
}

TEST(EnvironmentTexts, AreRead) {
  const std::string cpuinfo =
      "processor\t: 0\nmodel name\t: AMD EPYC 9B45\nflags\t\t: fpu hypervisor avx2\n";
  EXPECT_EQ(cpu_model(cpuinfo), "AMD EPYC 9B45");
  EXPECT_TRUE(has_hypervisor(cpuinfo));
  EXPECT_FALSE(has_hypervisor("flags : fpu hypervisors\n"));
  EXPECT_EQ(distribution_name("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            "Debian GNU/Linux 12");
  const Environment here = read_environment();
  EXPECT_GT(here.cores, 0U);
  EXPECT_GT(here.tsc_hz, 1e8);
  EXPECT_GT(here.memory_mib, 100);
  EXPECT_FALSE(here.kernel.empty());
}

}  // namespace
}  // namespace merlon::lab
