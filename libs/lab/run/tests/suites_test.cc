// SPDX-License-Identifier: Apache-2.0
// Suites on simulated devices whose answers are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fakes.h"
#include "plans.h"
#include "trial_runner.h"

namespace merlon::lab {
namespace {

class SuiteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("lab-suite-test-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Row run(Row row) {
    row.id = "x";
    row.device.driver = "bridge";
    row.device.topology = "path7";
    Plan plan;
    plan.name = "suite";
    plan.budget_s = 600;
    plan.rows = {row};
    if (row.suite == "paired")
      plan.rows.push_back(other_side(plan.rows.front(), {}, row.device, row.traffic));
    RunOptions options;
    options.folder = folder_;
    Observer silent;
    const RunOutcome out = run_plan(plan, options, services_, silent, stop_);
    trials_ = out.run.trials;
    if (out.run.rows.empty()) return {};
    EXPECT_EQ(out.run.rows[0].state, RowState::kDone) << out.run.rows[0].state_reason.en;
    return out.run.rows[0];
  }
  static Row suite(const std::string& name, double capacity) {
    Row row;
    row.suite = name;
    row.rate_pps = 20'000;
    row.duration_s = 1;
    row.repeats = 3;
    row.device.options["capacity"] = std::to_string(capacity);
    return row;
  }
  std::filesystem::path folder_;
  World world_;
  FakeServices services_{world_};
  std::atomic<bool> stop_{false};
  std::vector<TrialResult> trials_;
};

TEST_F(SuiteTest, Rfc2544ThroughputFindsTheHighestWholeRate) {
  const Row row = run(suite("rfc2544.throughput", 80'000));
  EXPECT_NEAR(row.kpis.at("throughput_pps"), 80'000, 80'000 * 0.06);
  EXPECT_LE(row.kpis.at("throughput_pps"), 80'000);
}

TEST_F(SuiteTest, Rfc2544LatencyMeasuresAtThatRate) {
  const Row row = run(suite("rfc2544.latency", 80'000));
  EXPECT_NEAR(row.kpis.at("typical_latency_us"), 5, 0.2);
  EXPECT_NEAR(row.kpis.at("rfc2544_latency_us"), 5, 0.2);
  EXPECT_NEAR(row.kpis.at("pdv_8219_us"), 0, 0.2);
}

TEST_F(SuiteTest, Rfc2544LossGoesDownUntilTwoTrialsAreWhole) {
  Row wanted = suite("rfc2544.loss", 650'000);
  wanted.rate_pps = 0;
  const Row row = run(wanted);
  EXPECT_NEAR(row.kpis.at("loss_at_100"), 0.35, 0.01);
  EXPECT_NEAR(row.kpis.at("loss_at_070"), 1 - 65.0 / 70, 0.01);
  EXPECT_EQ(row.kpis.at("loss_at_060"), 0);
  EXPECT_EQ(row.kpis.at("loss_at_050"), 0);
  EXPECT_FALSE(row.kpis.contains("loss_at_040"));
  EXPECT_EQ(row.kpis.at("first_clean_percent"), 60);
}

TEST_F(SuiteTest, Rfc9004CorrectsForWhatLeavesDuringTheBurst) {
  Row wanted = suite("rfc2544.back_to_back", 250'000);
  wanted.device.options["buffer"] = "3000";
  const Row row = run(wanted);
  // Burst = buffer / (1 - 0.25) = 4,000 frames at 1 Mpps; corrected buffer time = 3,000 us.
  EXPECT_NEAR(row.kpis.at("burst_mean"), 4000, 450);
  EXPECT_NEAR(row.kpis.at("corrected_buffer_us"), 3000, 400);
  EXPECT_NEAR(row.kpis.at("implied_buffer_us"), 4000, 450);
  EXPECT_EQ(row.kpis.at("burst_repeats"), 3);
}

TEST_F(SuiteTest, Rfc9004IsNotNeededAtFullRate) {
  const Row row = run(suite("rfc2544.back_to_back", 1e9));
  EXPECT_EQ(row.kpis.at("back_to_back_needed"), 0);
}

TEST_F(SuiteTest, StarvationIsAShareOfWhatPassesAlone) {
  const Row row = run(suite("starvation", 15'000));
  EXPECT_NEAR(row.kpis.at("starved_share"), 1, 1e-3);  // the simulated neighbour does nothing
  EXPECT_NEAR(row.kpis.at("starved_pps"), 15'000, 1);
  EXPECT_NEAR(row.kpis.at("starved_loss_ratio"), 0.25, 1e-3);
}

TEST_F(SuiteTest, StarvationAmongNeighboursTellsNoShare) {
  world_.contaminated_from = 1;
  const Row row = run(suite("starvation", 15'000));
  EXPECT_FALSE(row.kpis.contains("starved_share"));
  EXPECT_TRUE(row.kpis.contains("starved_pps"));
}

// At a rate that costs a device little of its core a neighbour takes nothing away.
TEST_F(SuiteTest, StarvationWithoutARateLoadsTheDeviceToFourFifths) {
  Row wanted = suite("starvation", 80'000);
  wanted.rate_pps = 0;
  const Row row = run(wanted);
  EXPECT_NEAR(row.kpis.at("own_limit_pps"), 80'000, 80'000 * 0.07);
  EXPECT_NEAR(row.kpis.at("starvation_rate_pps"), 0.8 * row.kpis.at("own_limit_pps"), 1);
  EXPECT_NEAR(row.kpis.at("starved_pps"), row.kpis.at("starvation_rate_pps"), 2);
  EXPECT_NEAR(row.kpis.at("starved_share"), 1, 1e-3);
  EXPECT_LE(trials_.size(), 40U);  // bounded by search_s
}

TEST_F(SuiteTest, RecoveryIsTimedFromTheEndOfTheOverload) {
  for (const double dazed_ms : {0.0, 40.0, 333.0}) {
    Row wanted = suite("rfc2544.recovery", 80'000);
    wanted.rate_pps = 0;
    wanted.device.options["dazed_ms"] = std::to_string(dazed_ms);
    const Row row = run(wanted);
    EXPECT_NEAR(row.kpis.at("recovery_ms"), dazed_ms, 1);
    EXPECT_NEAR(row.kpis.at("recovery_max_ms"), dazed_ms, 1);
    EXPECT_NEAR(row.kpis.at("overload_pps"), row.kpis.at("throughput_pps") * 1.1, 1);
    EXPECT_EQ(row.kpis.at("overloaded_trials"), 3);
    EXPECT_EQ(row.kpis.at("recovered_trials"), 3);
    std::filesystem::remove_all(folder_);
  }
}

TEST_F(SuiteTest, RecoveryThatIsNotSeenIsALowerBound) {
  Row wanted = suite("rfc2544.recovery", 80'000);
  wanted.rate_pps = 80'000;
  wanted.device.options["dazed_ms"] = "5000";
  const Row row = run(wanted);
  EXPECT_EQ(row.kpis.at("recovered_trials"), 0);
  EXPECT_NEAR(row.kpis.at("recovery_ms"), 1000, 1);
}

TEST_F(SuiteTest, RecoveryNeedsAnOverload) {
  const Row unlimited = run(suite("rfc2544.recovery", 1e9));
  EXPECT_EQ(unlimited.kpis.at("overloaded_trials"), 0);
  EXPECT_FALSE(unlimited.kpis.contains("recovery_ms"));
}

TEST_F(SuiteTest, ResetIsSeenByLossAndByTime) {
  Row wanted = suite("rfc6201.kill", 1e6);
  wanted.duration_s = 2;
  const Row row = run(wanted);
  EXPECT_NEAR(row.kpis.at("blocked_by_loss_ms"), 300, 10);
  EXPECT_NEAR(row.kpis.at("blocked_by_time_ms"), 300, 10);
  EXPECT_NEAR(row.kpis.at("lost_frames"), 6000, 200);
}

TEST_F(SuiteTest, LinkFlapShowsWhatComesOnTop) {
  Row wanted = suite("rfc6201.flap", 1e6);
  wanted.duration_s = 2;
  const Row row = run(wanted);
  EXPECT_NEAR(row.kpis.at("blocked_by_loss_ms"), 250, 10);
  EXPECT_NEAR(row.kpis.at("recovery_ms"), 50, 10);
}

TEST_F(SuiteTest, CommitUnderLoadIsTimed) {
  Row wanted = suite("change.commit", 1e6);
  wanted.device.rules = 100;
  wanted.device.options["commit_blocks"] = "0.02";
  const Row row = run(wanted);
  EXPECT_NEAR(row.kpis.at("blocked_by_loss_ms"), 20, 2);
  EXPECT_NEAR(row.kpis.at("change_ms"), 100, 1);
}

TEST_F(SuiteTest, CouplingChangesRulesAllTheTime) {
  Row wanted = suite("coupling", 1e6);
  wanted.parameters["changes_per_s"] = 5;
  const Row row = run(wanted);
  EXPECT_NEAR(row.kpis.at("changes_per_s"), 5, 1);
  EXPECT_EQ(row.kpis.at("quiet_loss_ratio"), 0);
}

TEST_F(SuiteTest, PartFindsWhereRxLeavesTx) {
  Row wanted = suite("part", 100'000);
  wanted.parameters["factor"] = 1.5;
  const Row row = run(wanted);
  EXPECT_LE(row.kpis.at("whole_pps"), 100'000);
  EXPECT_GT(row.kpis.at("whole_pps"), 60'000);
  EXPECT_GT(row.kpis.at("part_intended_pps"), 100'000);
  EXPECT_NEAR(row.kpis.at("saturated_pps"), 100'000, 1000);
}

TEST_F(SuiteTest, ConnectionRateFindsTheMost) {
  Row wanted = suite("connection_rate", 1e6);
  wanted.parameters = {{"start_cps", 1000}, {"limit_cps", 100'000}};
  const Row row = run(wanted);
  EXPECT_NEAR(row.kpis.at("max_cps"), 12'000, 1300);
  EXPECT_LE(row.kpis.at("max_cps"), 12'000);
}

TEST_F(SuiteTest, ConnectionRateStartsBelowAStartThatIsTooHigh) {
  services_.connection_capacity = 900;
  Row wanted = suite("connection_rate", 1e6);
  wanted.parameters = {{"start_cps", 4000}, {"limit_cps", 100'000}};
  const Row row = run(wanted);
  EXPECT_NEAR(row.kpis.at("max_cps"), 900, 100);
}

TEST_F(SuiteTest, ConnectionsHaveTheirCost) {
  Row wanted = suite("connection_cost", 1e6);
  wanted.parameters = {{"cps", 2000}};
  const Row row = run(wanted);
  EXPECT_NEAR(row.kpis.at("connections_per_s"), 2000, 1);
  EXPECT_NEAR(row.kpis.at("marginal_beside_s"), 3e-5, 1e-9);
}

TEST_F(SuiteTest, EverySuiteRunsWithItsDefaults) {
  for (const Suite& one : suites()) {
    std::filesystem::remove_all(folder_);
    Row wanted = suite(one.name, 300'000);
    wanted.traffic.attack_pps = one.name == "protected_goodput" ? 1000 : 0;
    const Row row = run(wanted);
    EXPECT_FALSE(row.kpis.empty()) << one.name;
    EXPECT_EQ(world_.alive["bridge"], 0) << one.name;
  }
}

TEST(TrialJudgement, AnInlineDeviceIsNotTheTestersLimit) {
  TrialResult result;
  result.spec.rate_pps = 900'000;
  result.offered_pps = result.received_pps = 300'000;
  result.stamp = Stamp::kTesterLimited;
  judge_tester_limit(result, 1e6);
  EXPECT_EQ(result.stamp, Stamp::kClean);
  ASSERT_EQ(result.stamp_reasons.size(), 1U);
}

TEST(TrialJudgement, NearTheCeilingNothingIsSaidOfTheDevice) {
  TrialResult result;
  result.spec.rate_pps = 900'000;
  result.offered_pps = result.received_pps = 850'000;
  judge_tester_limit(result, 1e6);
  EXPECT_EQ(result.stamp, Stamp::kTesterLimited);
}

// A busy machine's trials are contaminated; that the tester was the limit as well is not lost.
TEST(TrialJudgement, TheTestersLimitIsSeenBesideAWorseStamp) {
  TrialResult result;
  result.spec.rate_pps = 900'000;
  result.offered_pps = result.received_pps = 850'000;
  result.stamp = Stamp::kContaminated;
  EXPECT_FALSE(is_limited_by_tester(result));
  judge_tester_limit(result, 1e6);
  EXPECT_EQ(result.stamp, Stamp::kContaminated);
  EXPECT_TRUE(is_limited_by_tester(result));
  EXPECT_EQ(result.stamp_reasons.size(), 1U);
  judge_tester_limit(result, 1e6);
  EXPECT_EQ(result.stamp_reasons.size(), 1U) << "told once";
  // An inline device takes it back, and the stamp of others' work stays.
  result.offered_pps = result.received_pps = 300'000;
  judge_tester_limit(result, 1e6);
  EXPECT_EQ(result.stamp, Stamp::kContaminated);
  EXPECT_FALSE(is_limited_by_tester(result));
}

TEST(TrialJudgement, ASlowTrialOnAnUnknownPathStaysTheTesters) {
  TrialResult result;
  result.stamp = Stamp::kTesterLimited;
  judge_tester_limit(result, 0);
  EXPECT_EQ(result.stamp, Stamp::kTesterLimited);
}

TEST(Outage, IsTheLongestTimeWithoutAnyFrame) {
  TrialResult trial;
  trial.timeline_offered = {10, 10, 10, 0, 10, 10, 10};
  trial.timeline_lost = {0, 10, 10, 0, 10, 3, 10};
  EXPECT_DOUBLE_EQ(longest_outage_s(trial), 0.004);
  EXPECT_DOUBLE_EQ(longest_outage_s(TrialResult{}), 0);
  // A link that is down takes no frames at all.
  trial.spec.rate_pps = 10'000;
  trial.timeline_offered = {10, 0, 0, 0, 10};
  trial.timeline_lost = {0, 0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(longest_outage_s(trial), 0.003);
}

}  // namespace
}  // namespace merlon::lab
