// SPDX-License-Identifier: Apache-2.0
// Findings and the stamps of the trials that they rest on.
#include "checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager_fixture.h"
#include "plans.h"

namespace merlon::lab {
namespace {

using ::testing::HasSubstr;

// Rules that cost what the study says, each row from three trials of the stamp.
lab::Run rules_run(Stamp stamp) {
  lab::Run run;
  for (const unsigned rules : {0U, 1000U, 4000U}) {
    Row row =
        row_of("nft-linear-" + std::to_string(rules) + ".max", {"x", "x"}, "maximum", cable());
    row.state = RowState::kDone;
    row.device.rules = rules;
    row.kpis["packets_per_cpu_s"] = 1e9 / (1000 + 10.0 * rules);
    for (int i = 0; i < 3; ++i) {
      TrialResult trial;
      trial.spec.row = row.id;
      trial.spec.id = row.id + ".t" + std::to_string(i);
      trial.stamp = stamp;
      run.trials.push_back(trial);
    }
    run.rows.push_back(std::move(row));
  }
  return run;
}

Finding finding_of(const lab::Run& run, const std::string& name) {
  const Check* check = find_check(name);
  EXPECT_NE(check, nullptr) << name;
  return check == nullptr ? Finding{} : judge(*check, run);
}

void stamp_row(lab::Run& run, const std::string& row, Stamp stamp) {
  for (TrialResult& trial : run.trials)
    if (trial.spec.row == row) trial.stamp = stamp;
}

TEST(Checks, AreToldByTrialsThatCanBeBelieved) {
  for (const Stamp stamp : {Stamp::kClean, Stamp::kTesterLimited})
    EXPECT_EQ(finding_of(rules_run(stamp), "linear-rules-cost").state, "reproduced");
  for (const Stamp stamp : {Stamp::kContaminated, Stamp::kFailed}) {
    const Finding told = finding_of(rules_run(stamp), "linear-rules-cost");
    EXPECT_EQ(told.state, "disturbed");
    EXPECT_THAT(told.evidence.en, HasSubstr("as they are: reproduced"));
    EXPECT_THAT(told.evidence.ru, HasSubstr("воспроизведено"));
    EXPECT_THAT(told.evidence.en, HasSubstr("10.0 ns a rule"));
  }
}

TEST(Checks, AFailureUnderDisturbanceIsNoneEither) {
  lab::Run run = rules_run(Stamp::kContaminated);
  for (Row& row : run.rows) row.kpis["packets_per_cpu_s"] = 1e6;
  const Finding told = finding_of(run, "linear-rules-cost");
  EXPECT_EQ(told.state, "disturbed");
  EXPECT_THAT(told.evidence.en, HasSubstr("as they are: differs"));
}

TEST(Checks, GoOnWithWhatWasNotDisturbed) {
  lab::Run run = rules_run(Stamp::kClean);
  // Rows of equal trials: one that can be believed is enough, the row's figures are its.
  run.trials[0].stamp = run.trials[1].stamp = Stamp::kContaminated;
  EXPECT_THAT(finding_of(run, "linear-rules-cost").evidence.en, Not(HasSubstr("Left out")));
  // The row with the most rules is out: the one with 1,000 tells it.
  stamp_row(run, "nft-linear-4000.max", Stamp::kContaminated);
  const Finding told = finding_of(run, "linear-rules-cost");
  EXPECT_EQ(told.state, "reproduced");
  EXPECT_THAT(told.evidence.en, HasSubstr("1000 more"));
  EXPECT_THAT(told.evidence.en, HasSubstr("Left out"));
  EXPECT_THAT(told.evidence.ru, HasSubstr("Не учтено"));
}

// A search's or a curve's figure hangs on each of its trials.
TEST(Checks, WantMostTrialsOfACurveUndisturbed) {
  lab::Run run;
  for (const char* id :
       {"emix.merlon", "emix.merlon-vswitch", "emix.linux", "emix.linux-vswitch"}) {
    Row row = row_of(id, {id, id}, "part", cable());
    row.state = RowState::kDone;
    row.kpis["whole_pps"] = std::string_view(id) == "emix.merlon" ? 300'000 : 100'000;
    run.rows.push_back(row);
    for (int i = 0; i < 4; ++i) {
      TrialResult trial;
      trial.spec.row = id;
      trial.stamp = i < 2 ? Stamp::kContaminated : Stamp::kClean;
      run.trials.push_back(trial);
    }
  }
  EXPECT_EQ(finding_of(run, "vswitch-is-the-limit").state, "reproduced");
  run.trials[2].stamp = Stamp::kContaminated;
  EXPECT_EQ(finding_of(run, "vswitch-is-the-limit").state, "disturbed");
}

// It takes its share from undisturbed trials or tells none; the neighbour is meant to be there.
TEST(Checks, BelieveASuiteThatLeavesDisturbedTrialsOut) {
  lab::Run run;
  run.rows = {row_of("starved.merlon", {"x", "x"}, "starvation", cable())};
  run.rows[0].state = RowState::kDone;
  run.rows[0].kpis["starved_share"] = 0.5;
  TrialResult trial;
  trial.spec.row = "starved.merlon";
  trial.stamp = Stamp::kContaminated;
  run.trials = {trial, trial, trial};
  EXPECT_EQ(finding_of(run, "starvation-is-seen").state, "reproduced");
}

// Not "lost in the noise": the suite kept the share for itself, and why is known.
TEST(Checks, SayWhereAMeasuredRowTellsNothingBesideOtherWork) {
  lab::Run run;
  run.rows = {row_of("starved.merlon", {"x", "x"}, "starvation", cable())};
  run.rows[0].state = RowState::kDone;
  TrialResult trial;
  trial.spec.row = "starved.merlon";
  run.trials = {trial};
  EXPECT_THAT(finding_of(run, "starvation-is-seen").evidence.en, HasSubstr("noise"));
  run.trials[0].stamp = Stamp::kContaminated;
  const Finding told = finding_of(run, "starvation-is-seen");
  EXPECT_EQ(told.state, "not_available");
  EXPECT_THAT(told.evidence.en, HasSubstr("beside other work on the cores: not told"));
}

TEST(Checks, BelieveAPairThatKnowsItsNoise) {
  lab::Run run;
  run.rows = {row_of("control.bridge", {"x", "x"}, "paired", cable())};
  run.rows[0].state = RowState::kDone;
  PairedOutcome outcome;
  outcome.verdict = "same";
  outcome.same_pair_count = 7;
  run.rows[0].paired = {outcome};
  TrialResult trial;
  trial.spec.row = "control.bridge";
  trial.stamp = Stamp::kContaminated;
  run.trials = {trial, trial};
  EXPECT_EQ(finding_of(run, "ab-equal-is-same").state, "pass");
  run.rows[0].paired[0].same_pair_count = 2;
  EXPECT_EQ(finding_of(run, "ab-equal-is-same").state, "disturbed");
}

TEST(Checks, LossesBesideOtherWorkAreNotTheTesters) {
  lab::Run run;
  run.rows = {row_of("cable.20k", {"x", "x"}, "rates", cable())};
  run.rows[0].state = RowState::kDone;
  TrialResult trial;
  trial.spec.row = "cable.20k";
  trial.frames.offered = 1000;
  run.trials = {trial, trial};
  run.trials[1].frames.lost = 5;
  EXPECT_EQ(finding_of(run, "no-false-loss-on-cable").state, "fail");
  run.trials[1].stamp = Stamp::kContaminated;
  EXPECT_EQ(finding_of(run, "no-false-loss-on-cable").state, "pass");
}

TEST(Checks, WithoutFiguresAreNotAvailableWhateverTheStamps) {
  lab::Run run = rules_run(Stamp::kContaminated);
  EXPECT_EQ(finding_of(run, "starvation-is-seen").state, "not_available");
}

// Whole runs on a machine that is never quiet.
using CheckedRun = ManagerTest;

TEST_F(CheckedRun, OnABusyMachineSaysSo) {
  world_.contaminated_from = 1;
  Plan p = plan({row("cable.20k", "rates", 1e6)});
  p.checks = {"no-false-loss-on-cable"};
  const RunOutcome out = run(p);
  ASSERT_EQ(out.run.findings.size(), 1U);
  EXPECT_EQ(out.run.findings[0].state, "disturbed");
}

// The rates of a busy machine are contaminated; those near the ceiling are the tester's as well.
TEST_F(CheckedRun, TrialsKeepTheTestersLimitOnABusyMachine) {
  world_.contaminated_from = 1;
  const RunOutcome out = run(plan({row("s", "maximum", 1e9, 0)}));
  unsigned limited = 0;
  for (const TrialResult& trial : out.run.trials)
    if (trial.spec.row == "s" && !trial.spec.is_warm_up) {
      EXPECT_EQ(trial.stamp, Stamp::kContaminated);
      limited += is_limited_by_tester(trial);
    }
  EXPECT_EQ(limited, 2U);
  EXPECT_FALSE(find(out.run, "s").kpis.contains("tester_limited"));
}

}  // namespace
}  // namespace merlon::lab
