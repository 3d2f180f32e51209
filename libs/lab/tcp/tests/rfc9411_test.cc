// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/rfc9411.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace merlon::lab {
namespace {

TrialResult good_trial() {
  TrialResult r;
  r.kpis = {{"sustain_connections_attempted", 1'000'000},
            {"sustain_transactions_attempted", 10'000'000},
            {"failed_transaction_ratio", 0.000009},
            {"failed_connection_ratio", 0},
            {"reset_ratio", 0.00001},
            {"rate_deviation", 0.05},
            {"concurrent_deviation", 0.1}};
  return r;
}

TEST(Rfc9411, PassesUpToItsLimits) {
  const Rfc9411Verdict v = judge_rfc9411(good_trial());
  EXPECT_TRUE(v.has_passed);
  EXPECT_EQ(v.limits.size(), 5U);
  for (const auto& l : v.limits) EXPECT_TRUE(l.is_measured && l.has_passed) << l.name;
}

TEST(Rfc9411, EachLimitFailsAlone) {
  for (const auto& [name, value] :
       {std::pair<const char*, double>{"failed_transaction_ratio", 0.000011},
        {"failed_connection_ratio", 0.00002},
        {"reset_ratio", 0.000011},
        {"rate_deviation", 0.051},
        {"concurrent_deviation", 0.11}}) {
    TrialResult r = good_trial();
    r.kpis[name] = value;
    const Rfc9411Verdict v = judge_rfc9411(r);
    EXPECT_FALSE(v.has_passed) << name;
    for (const auto& l : v.limits) EXPECT_EQ(l.has_passed, l.name != name) << l.name;
  }
}

TEST(Rfc9411, WhatCannotBeToldIsSaidSo) {
  TrialResult r = good_trial();
  r.kpis["rate_deviation"] = r.kpis["concurrent_deviation"] = -1;
  Rfc9411Verdict v = judge_rfc9411(r);
  EXPECT_TRUE(v.has_passed);
  EXPECT_EQ(std::ranges::count(v.limits, false, &Rfc9411Limit::is_measured), 2);
  // Without payload it is the connections that must not fail.
  r.kpis["sustain_transactions_attempted"] = 0;
  r.kpis["failed_connection_ratio"] = 0.1;
  EXPECT_FALSE(judge_rfc9411(r).has_passed);
  EXPECT_FALSE(judge_rfc9411(TrialResult{}).has_passed);
}

}  // namespace
}  // namespace merlon::lab
