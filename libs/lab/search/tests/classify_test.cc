// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "goal_search.h"
#include "load_grid.h"
#include "load_trials.h"

namespace merlon::lab {
namespace {

TrialOutcome trial(double duration, double loss, bool is_limited = false) {
  TrialOutcome t;
  t.duration_s = t.effective_s = duration;
  t.loss_ratio = loss;
  t.is_tester_limited = is_limited;
  return t;
}
std::vector<TrialOutcome> trials(unsigned low, unsigned high, double duration = 1) {
  std::vector<TrialOutcome> list(low, trial(duration, 0));
  list.insert(list.end(), high, trial(duration, 0.1));
  return list;
}

const Requirement kNdr{0, 0.5, 1, 21};

TEST(Classify, TakesHalfOfTheSum) {
  EXPECT_EQ(classify({}, kNdr), LoadClass::kUndecided);
  EXPECT_EQ(classify(trials(10, 0), kNdr), LoadClass::kUndecided);
  EXPECT_EQ(classify(trials(11, 0), kNdr), LoadClass::kLower);
  EXPECT_EQ(classify(trials(0, 10), kNdr), LoadClass::kUndecided);
  EXPECT_EQ(classify(trials(0, 11), kNdr), LoadClass::kUpper);
  EXPECT_EQ(classify(trials(11, 10), kNdr), LoadClass::kLower);
  EXPECT_EQ(classify(trials(10, 11), kNdr), LoadClass::kUpper);
}

TEST(Classify, AGoalWithoutExceedRatioForgivesNothing) {
  const Requirement strict{0, 0, 60, 60};
  EXPECT_EQ(classify(trials(1, 0, 60), strict), LoadClass::kLower);
  EXPECT_EQ(classify(trials(1, 1, 60), strict), LoadClass::kUpper);
  // A short trial that loses is enough against a load, one that passes is not enough for it.
  EXPECT_EQ(classify(trials(0, 1, 1), strict), LoadClass::kUpper);
  EXPECT_EQ(classify(trials(50, 0, 1), strict), LoadClass::kUndecided);
}

TEST(Classify, VerifiesALossOnce) {
  const Requirement tst009{0, 0.5, 60, 120};
  EXPECT_EQ(classify(trials(0, 1, 60), tst009), LoadClass::kUndecided);
  EXPECT_EQ(classify(trials(0, 2, 60), tst009), LoadClass::kUpper);
  EXPECT_EQ(classify(trials(1, 1, 60), tst009), LoadClass::kLower);
}

TEST(Classify, ShortTrialsOutweighEachOtherFirst) {
  const Requirement goal{0, 0.5, 10, 20};
  std::vector<TrialOutcome> list = trials(8, 8, 1);  // no surplus
  EXPECT_EQ(classify(list, goal), LoadClass::kUndecided);
  list.insert(list.end(), 11, trial(1, 0.1));
  EXPECT_EQ(classify(list, goal), LoadClass::kUpper);
}

TEST(Classify, AnUnknownLossPassesNothing) {
  EXPECT_EQ(classify(std::vector<TrialOutcome>(11, trial(1, std::nan(""))), kNdr),
            LoadClass::kUpper);
}

// The definition: a load is decided exactly when no full-length trials that are still to come, as
// long as the sum is not reached, could change the answer that holds at the sum.
RC_GTEST_PROP(Classify, DecidesAsSoonAsNothingCanChange, ()) {
  const unsigned sum = *rc::gen::inRange(1U, 12U);
  const Requirement goal{0, *rc::gen::element(0.0, 0.25, 0.5, 0.75), 1, static_cast<double>(sum)};
  const unsigned low = *rc::gen::inRange(0U, sum + 1), high = *rc::gen::inRange(0U, sum - low + 1);
  const auto final_class = [&](unsigned more_low) {
    const double bad = sum - low - more_low;
    return bad > goal.exceed_ratio * sum + 1e-9 ? LoadClass::kUpper : LoadClass::kLower;
  };
  const unsigned left = sum - low - high;
  const LoadClass best = final_class(left), worst = final_class(0);
  RC_ASSERT(classify(trials(low, high), goal) == (best == worst ? best : LoadClass::kUndecided));
}

TEST(ConditionalThroughput, TakesTheQuantileOfFullTrials) {
  const Requirement pdr{0.005, 0.5, 1, 4};
  const std::vector<TrialOutcome> list{trial(1, 0.3), trial(1, 0.001), trial(1, 0.004),
                                       trial(1, 0.002), trial(0.1, 0.9)};
  EXPECT_DOUBLE_EQ(conditional_throughput(1000, list, pdr), 998);  // the second best of four
  const Requirement strict{0.005, 0, 1, 4};
  EXPECT_DOUBLE_EQ(conditional_throughput(1000, list, strict), 700);
  EXPECT_DOUBLE_EQ(conditional_throughput(1000, {trial(1, 0)}, pdr), 0);  // too little measured
}

TEST(TesterLimit, IsWhatSpokeAgainstTheLoad) {
  EXPECT_FALSE(is_tester_limited({trial(1, 0, true)}, kNdr));
  EXPECT_TRUE(is_tester_limited({trial(1, 0.1, true), trial(1, 0, false)}, kNdr));
  EXPECT_FALSE(is_tester_limited({trial(1, 0.1, true), trial(1, 0.1, false)}, kNdr));
}

RC_GTEST_PROP(LoadGrid, GrowsFromMinimumToMaximum, ()) {
  const double minimum = *rc::gen::inRange(1, 100'000);
  const double maximum = minimum * (1 + *rc::gen::inRange(1, 5000) / 10.0);
  const double width = *rc::gen::element(0.0005, 0.005, 0.02, 0.3);
  const LoadGrid grid(minimum, maximum, width);
  RC_ASSERT(grid.load(0) == minimum);
  RC_ASSERT(grid.load(grid.last()) == maximum);
  const int i = *rc::gen::inRange(0, grid.last());
  RC_ASSERT(grid.load(i) <= grid.load(i + 1));
  RC_ASSERT(i == 0 || grid.load(i) < grid.load(i + 1));
  RC_ASSERT(grid.load(grid.at_or_below(grid.load(i))) == grid.load(i));
  const int upper = std::min(grid.last(), i + grid.steps(width));
  RC_ASSERT((grid.load(upper) - grid.load(i)) / grid.load(upper) <= width + 1e-6);
  RC_ASSERT(grid.steps(width) == 8);
}

TEST(Stages, LeadFromShortAndWideToTheGoal) {
  const LoadGrid grid(1000, 1e6, 0.005);
  const auto stages = stages_of(*goal_preset("ndr"), grid);
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_DOUBLE_EQ(stages[0].requirement.duration_sum_s, 1);
  EXPECT_NEAR(stages[1].requirement.duration_sum_s, 4.58, 0.01);
  EXPECT_DOUBLE_EQ(stages[2].requirement.duration_sum_s, 21);
  EXPECT_EQ(stages[0].width_steps, 32);
  EXPECT_EQ(stages[1].width_steps, 16);
  EXPECT_EQ(stages[2].width_steps, 8);
  EXPECT_DOUBLE_EQ(stages_of(*goal_preset("rfc2544"), grid)[2].requirement.trial_duration_s, 60);
}

}  // namespace
}  // namespace merlon::lab
