// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_search/search.h"

#include <gtest/gtest.h>

#include "simulated.h"

namespace merlon::lab {
namespace {

using base::Errc;
using namespace test;

const SearchSettings kSettings{1000, 1'000'000, 0, 500, 3};

// 100 seeds of a model: in how many the interval holds `truth`, give or take one width.
struct Score {
  unsigned hits = 0;
  std::size_t most_trials = 0;
};
Score score(const LossModel& model, const Goal& goal, double truth) {
  Score score;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimulatedDevice device(model, seed);
    const auto results = search(device, {goal}, kSettings);
    EXPECT_TRUE(results.ok());
    const GoalResult& result = results->front();
    EXPECT_TRUE(result.is_regular) << goal.name << " seed " << seed << ": " << result.why;
    EXPECT_LE((result.upper_pps - result.lower_pps) / result.upper_pps, goal.width + 1e-6);
    EXPECT_LT(result.lower_pps, result.upper_pps);
    score.hits += result.lower_pps <= truth * (1 + goal.width) &&
                  result.upper_pps >= truth * (1 - goal.width);
    score.most_trials = std::max(score.most_trials, device.outcomes.size());
  }
  ::testing::Test::RecordProperty(goal.name + "_hits", static_cast<int>(score.hits));
  ::testing::Test::RecordProperty(goal.name + "_most_trials", static_cast<int>(score.most_trials));
  return score;
}

TEST(Search, FindsAFixedCapacity) {
  for (const char* name : {"ndr", "rfc2544", "tst009", "quick-ndr"}) {
    for (const double capacity : {1234.5, 98'765.0, 400'000.0, 990'000.0}) {
      const Goal goal = *goal_preset(name);
      SimulatedDevice device(fixed_capacity(capacity), 1);
      const auto results = search(device, {goal}, kSettings);
      ASSERT_TRUE(results.ok()) << results.error().to_string();
      const GoalResult& result = results->front();
      EXPECT_TRUE(result.is_regular) << name << " " << capacity << ": " << result.why;
      EXPECT_LE(result.lower_pps, capacity);
      EXPECT_GT(result.upper_pps, capacity);
      EXPECT_LE((result.upper_pps - result.lower_pps) / result.upper_pps, goal.width + 1e-6);
      EXPECT_DOUBLE_EQ(result.conditional_pps, result.lower_pps);
      EXPECT_LE(device.outcomes.size(), 60U) << name << " " << capacity;
      RecordProperty(std::string(name) + "_trials_at_" + std::to_string(static_cast<int>(capacity)),
                     static_cast<int>(device.outcomes.size()));
    }
  }
}

TEST(Search, ConditionalThroughputOfALossGoalIsTheCapacity) {
  for (const char* name : {"pdr", "loss1", "quick-pdr"}) {
    const Goal goal = *goal_preset(name);
    SimulatedDevice device(fixed_capacity(250'000), 1);
    const auto results = search(device, {goal}, kSettings);
    ASSERT_TRUE(results.ok());
    EXPECT_TRUE(results->front().is_regular) << results->front().why;
    // With loss allowed the load may exceed the capacity; what comes through may not.
    EXPECT_LE(results->front().lower_pps, 250'000 / (1 - goal.loss_ratio) * 1.000001);
    EXPECT_LE(results->front().conditional_pps, 250'000 * 1.000001);
    EXPECT_GE(results->front().conditional_pps, 250'000 * (1 - goal.width));
  }
}

TEST(Search, FindsANoisyCapacity) {
  for (const char* name : {"ndr", "pdr", "loss1", "quick-ndr", "tst009"}) {
    const Goal goal = *goal_preset(name);
    const Score s =
        score(noisy_capacity(300'000, goal.width / 4), goal, 300'000 / (1 - goal.loss_ratio));
    EXPECT_GE(s.hits, 95U) << name;
    EXPECT_LE(s.most_trials, 250U) << name;
  }
}

TEST(Search, FindsACapacityThatSometimesDrops) {
  for (const char* name : {"ndr", "pdr"}) {
    const Goal goal = *goal_preset(name);
    const Score s =
        score(jumping_capacity(300'000, 180'000, 0.1), goal, 300'000 / (1 - goal.loss_ratio));
    EXPECT_GE(s.hits, 95U) << name;
    EXPECT_LE(s.most_trials, 250U) << name;
  }
}

// Mean loss knee / (1 + e^-x) equals the goal's at x = -ln(knee / goal - 1).
TEST(Search, FindsWhereASoftKneeCrossesTheGoal) {
  for (const char* name : {"pdr", "loss1"}) {
    const Goal goal = *goal_preset(name);
    const double softness = 0.02, knee = 0.2;
    const double truth = 200'000 * (1 - softness * std::log(knee / goal.loss_ratio - 1));
    const Score s = score(soft_knee(200'000, softness, knee), goal, truth);
    EXPECT_GE(s.hits, 95U) << name;
    EXPECT_LE(s.most_trials, 250U) << name;
  }
}

// An exceed ratio of 0 must not forgive a single bad minute: nothing above the low capacity can
// stand long.
TEST(Search, AnUnconditionalGoalForgivesNothing) {
  Goal goal = *goal_preset("rfc2544");
  SimulatedDevice device(jumping_capacity(300'000, 180'000, 0.5), 3);
  const auto results = search(device, {goal}, kSettings);
  ASSERT_TRUE(results.ok());
  for (const TrialOutcome& t : device.outcomes) {
    if (t.load_pps != results->front().lower_pps || t.duration_s != goal.final_duration_s) continue;
    EXPECT_EQ(t.loss_ratio, 0);
  }
}

TEST(Search, GoalsShareTheirTrials) {
  const Goal ndr = *goal_preset("ndr"), pdr = *goal_preset("pdr");
  const auto count = [](const std::vector<Goal>& goals) {
    SimulatedDevice device(fixed_capacity(123'456), 1);
    EXPECT_TRUE(search(device, goals, kSettings).ok());
    return device.outcomes.size();
  };
  EXPECT_LT(count({ndr, pdr}), count({ndr}) + count({pdr}) - 3);  // more than the first three loads
  SimulatedDevice device(soft_knee(123'456, 0.02, 0.2), 1);
  const auto results = search(device, {ndr, *goal_preset("loss1")}, kSettings);
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].goal.name, "ndr");
  EXPECT_LT((*results)[0].lower_pps, (*results)[1].lower_pps);
}

TEST(Search, AMissingBoundIsIrregular) {
  SimulatedDevice fast(fixed_capacity(1e9), 1);
  const auto passes = search(fast, {*goal_preset("ndr")}, kSettings);
  ASSERT_TRUE(passes.ok());
  EXPECT_FALSE(passes->front().is_regular);
  EXPECT_EQ(passes->front().why, "maximum passes");
  EXPECT_DOUBLE_EQ(passes->front().lower_pps, kSettings.maximum_pps);
  EXPECT_DOUBLE_EQ(passes->front().conditional_pps, kSettings.maximum_pps);
  EXPECT_DOUBLE_EQ(passes->front().upper_pps, 0);

  SimulatedDevice dead([](double, double, std::mt19937_64&) { return 1.0; }, 1);
  const auto fails = search(dead, {*goal_preset("ndr")}, kSettings);
  ASSERT_TRUE(fails.ok());
  EXPECT_EQ(fails->front().why, "minimum fails");
  EXPECT_FALSE(fails->front().is_regular);
  EXPECT_DOUBLE_EQ(fails->front().lower_pps, 0);
  EXPECT_DOUBLE_EQ(fails->front().conditional_pps, 0);
  EXPECT_LE(dead.outcomes.size(), 16U);
}

TEST(Search, ATestersLimitIsNoResultOfTheDevice) {
  SimulatedDevice device(fixed_capacity(900'000), 1);
  device.tester_limit_pps = 500'000;
  const auto results = search(device, {*goal_preset("ndr")}, kSettings);
  ASSERT_TRUE(results.ok());
  EXPECT_FALSE(results->front().is_regular);
  EXPECT_EQ(results->front().why, "tester limit");
  EXPECT_LE(results->front().lower_pps, 500'000);
}

TEST(Search, MarksItsFirstTrialAsWarmUp) {
  SimulatedDevice device(fixed_capacity(300'000), 5);
  const auto results = search(device, {*goal_preset("quick-ndr")}, kSettings);
  ASSERT_TRUE(results.ok());
  ASSERT_GT(device.warm_ups.size(), 3U);
  for (std::size_t i = 0; i < device.warm_ups.size(); ++i) EXPECT_EQ(device.warm_ups[i], i == 0);
  for (const std::string& id : results->front().trials) EXPECT_NE(id, "t0");
}

// Three retries against one, where three in ten trials are disturbed: a search of ten loads meets
// two disturbed trials in a row more often than not.
TEST(Search, ThreeRetriesOutliveABusyMachine) {
  const auto regular = [](unsigned retries) {
    SearchSettings settings = kSettings;
    settings.max_retries = retries;
    int count = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SimulatedDevice device(fixed_capacity(300'000), seed);
      device.unusable_share = 0.3;
      const auto results = search(device, {*goal_preset("quick-ndr")}, settings);
      count += results.ok() && results->front().is_regular;
    }
    RecordProperty("regular_with_" + std::to_string(retries), count);
    return count;
  };
  EXPECT_LT(regular(1), 70);
  EXPECT_GE(regular(SearchSettings{}.max_retries), 85);
}

TEST(Search, MeasuresUnusableTrialsAgain) {
  SimulatedDevice device(fixed_capacity(300'000), 5);
  device.unusable_share = 0.2;
  const auto results = search(device, {*goal_preset("ndr")}, kSettings);
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE(results->front().is_regular) << results->front().why;
  EXPECT_LE(results->front().lower_pps, 300'000);
  EXPECT_GT(results->front().upper_pps, 300'000);
  for (const std::string& id : results->front().trials) {
    EXPECT_TRUE(device.outcomes[std::stoul(id.substr(1))].is_usable) << id;
  }
  SimulatedDevice hopeless(fixed_capacity(300'000), 5);
  hopeless.unusable_share = 1;
  const auto none = search(hopeless, {*goal_preset("ndr")}, kSettings);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->front().why, "unusable trials");
  EXPECT_EQ(hopeless.outcomes.size(), 4U);
}

TEST(Search, KeepsItsTimeBudgetByEffectiveDurations) {
  for (const double budget : {1.0, 3.0, 10.0, 30.0, 60.0}) {
    SimulatedDevice device(noisy_capacity(300'000, 0.001), 2);
    device.overhead_s = 1;
    SearchSettings settings = kSettings;
    settings.time_budget_s = budget;
    const auto results = search(device, {*goal_preset("ndr")}, settings);
    ASSERT_TRUE(results.ok());
    EXPECT_LE(device.seconds, std::max(budget, 2.0));
    if (results->front().is_regular) continue;
    EXPECT_EQ(results->front().why, "time budget");
    // What an intermediate stage knows is told, and marked.
    EXPECT_TRUE(budget < 30 || results->front().lower_pps > 200'000) << budget;
  }
  SearchSettings few = kSettings;
  few.max_trials = 5;
  SimulatedDevice device(noisy_capacity(300'000, 0.001), 2);
  EXPECT_EQ(search(device, {*goal_preset("ndr")}, few)->front().why, "trial limit");
  EXPECT_EQ(device.outcomes.size(), 5U);
}

// Whatever the number of trials before the interruption, the journal's outcomes lead to the same
// end.
TEST(Search, ResumesToTheSameEnd) {
  const std::vector<Goal> goals{*goal_preset("ndr"), *goal_preset("loss1")};
  SimulatedDevice device(noisy_capacity(300'000, 0.002), 9);
  device.unusable_share = 0.1;
  const auto whole = search(device, goals, kSettings);
  ASSERT_TRUE(whole.ok());
  for (std::size_t k = 0; k <= device.outcomes.size(); ++k) {
    SimulatedDevice again(noisy_capacity(300'000, 0.002), 9);
    again.unusable_share = 0.1;
    InterruptedDevice interrupted(again, k);
    const auto part = search(interrupted, goals, kSettings);
    EXPECT_EQ(part.ok(), k == device.outcomes.size());
    ASSERT_EQ(again.outcomes.size(), k);
    ResumedDevice resumed(device.outcomes, k);
    const auto rest = search(resumed, goals, kSettings);
    ASSERT_TRUE(rest.ok()) << k << ": " << rest.error().to_string();
    EXPECT_EQ(resumed.measured, device.outcomes.size() - k);
    for (std::size_t g = 0; g < goals.size(); ++g) {
      EXPECT_EQ((*rest)[g].lower_pps, (*whole)[g].lower_pps);
      EXPECT_EQ((*rest)[g].upper_pps, (*whole)[g].upper_pps);
      EXPECT_EQ((*rest)[g].conditional_pps, (*whole)[g].conditional_pps);
      EXPECT_EQ((*rest)[g].trials, (*whole)[g].trials);
      EXPECT_EQ((*rest)[g].why, (*whole)[g].why);
    }
  }
}

TEST(Search, TellsEveryDecisionInBothLanguages) {
  SimulatedDevice device(fixed_capacity(300'000), 1);
  std::vector<Decision> told;
  ASSERT_TRUE(search(device, {*goal_preset("pdr")}, kSettings, [&](const Decision& d) {
                told.push_back(d);
              }).ok());
  ASSERT_EQ(told.size(), device.outcomes.size() + 1);
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_FALSE(told[i].why.en.empty());
    EXPECT_FALSE(told[i].why.ru.empty());
    EXPECT_EQ(told[i].trial, i < device.outcomes.size() ? device.outcomes[i].id : "");
  }
  EXPECT_TRUE(told.back().trial.empty());
  EXPECT_DOUBLE_EQ(told[0].load_pps, kSettings.maximum_pps);
}

TEST(Search, RefusesGoalsAndLoadsThatMakeNoSense) {
  SimulatedDevice device(fixed_capacity(300'000), 1);
  const Goal good = *goal_preset("ndr");
  EXPECT_EQ(search(device, {}, kSettings).error().code, Errc::kInvalidValue);
  EXPECT_FALSE(search(device, {good}, {0, 100, 0, 10, 3}).ok());
  EXPECT_FALSE(search(device, {good}, {100, 100, 0, 10, 3}).ok());
  Goal bad = good;
  bad.exceed_ratio = 1;
  EXPECT_FALSE(search(device, {bad}, kSettings).ok());
  bad = good;
  bad.width = 0;
  EXPECT_FALSE(search(device, {bad}, kSettings).ok());
  bad = good;
  bad.duration_sum_s = 0.5;
  EXPECT_FALSE(search(device, {bad}, kSettings).ok());
  EXPECT_TRUE(device.outcomes.empty());
  EXPECT_EQ(goal_preset("fast").error().code, Errc::kNotFound);
  EXPECT_NE(goal_preset("fast").error().hint.find("tst009"), std::string::npos);
}

}  // namespace
}  // namespace merlon::lab
