// SPDX-License-Identifier: Apache-2.0
// Paired rows on simulated devices: the order of trials, verdicts, and what is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager_fixture.h"
#include "merlon/lab_model/journal.h"
#include "plans.h"

namespace merlon::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PairedRows : public ManagerTest {
 protected:
  // `rules_a` against `rules_b`: a frame takes 2 us and 10 ns a rule.
  static Plan pair(unsigned rules_a, unsigned rules_b, double rate = 0) {
    Row a = row("p", "paired", 1e6, rate);
    a.duration_s = 0.4;
    a.device.rules = rules_a;
    DeviceSpec device = a.device;
    device.rules = rules_b;
    Plan p = plan({a});
    p.rows.push_back(other_side(p.rows.front(), {}, device, a.traffic));
    return p;
  }
  static const PairedOutcome& outcome(const RunOutcome& out, std::size_t figure = 0) {
    const Row& a = find(out.run, "p");
    EXPECT_EQ(a.state, RowState::kDone) << a.state_reason.en;
    EXPECT_EQ(find(out.run, "p.b").state, RowState::kDone);
    static const PairedOutcome kNone;
    EXPECT_GT(a.paired.size(), figure);
    return a.paired.size() > figure ? a.paired[figure] : kNone;
  }
};

TEST_F(PairedRows, AreMeasuredInTurnWithOneDeviceUp) {
  Plan p = pair(0, 1000);
  p.rows[0].device.driver = "nftables";
  p.rows[0].parameters["max_pairs"] = p.rows[0].parameters["min_pairs"] = 8;
  const RunOutcome out = run(p);
  std::vector<std::string> order;
  for (const std::string& line : world_.log) {
    if (line.starts_with("trial p.")) order.push_back(line.substr(6));
    if (line.starts_with("start ") && !line.starts_with("start null"))
      order.push_back(line.substr(0, line.rfind(' ')));
    if (line.starts_with("stop ") && line != "stop null") order.emplace_back("stop");
  }
  order.resize(13);
  // Each change of side starts the device anew and warms it up; A's third trial follows its second.
  EXPECT_THAT(order,
              ElementsAre("start nftables", "p.t1", "p.t2", "stop", "start bridge", "p.b.t1",
                          "p.b.t2", "p.b.t3", "stop", "start nftables", "p.t3", "p.t4", "p.t5"));
  for (const TrialResult& trial : out.run.trials) {
    const std::string& id = trial.spec.id;
    if (id == "p.t1" || id == "p.b.t1" || id == "p.t3") {
      EXPECT_TRUE(trial.spec.is_warm_up) << id;
    }
    if (id == "p.t2" || id == "p.b.t2" || id == "p.b.t3") {
      EXPECT_FALSE(trial.spec.is_warm_up) << id;
    }
  }
  EXPECT_EQ(world_.alive["bridge"], 0);
  EXPECT_EQ(world_.alive["nftables"], 0);
}

TEST_F(PairedRows, StartADeviceAnewAgainstItselfToo) {
  Plan p = pair(0, 0);
  for (Row& row : p.rows) row.parameters["max_pairs"] = row.parameters["min_pairs"] = 8;
  run(p);
  const auto is_start = [](const std::string& line) { return line.starts_with("start bridge"); };
  // A, then B, A, B, ... in the middle of each pair.
  EXPECT_EQ(std::count_if(world_.log.begin(), world_.log.end(), is_start), 9);
}

TEST_F(PairedRows, TellWhichIsWorseAndStopWhereThatIsClear) {
  world_.cpu_noise = 0.05;
  const RunOutcome out = run(pair(0, 4000));
  const PairedOutcome& o = outcome(out);
  EXPECT_EQ(o.figure, "packets_per_cpu_s");
  EXPECT_EQ(o.verdict, "worse");
  EXPECT_NEAR(o.ratio, 2.0 / 42, 0.004);
  EXPECT_LE(o.low, o.ratio);
  EXPECT_GE(o.high, o.ratio);
  EXPECT_NEAR(o.b / o.a, o.ratio, 0.01);
  EXPECT_EQ(o.pair_count, 8U);
  EXPECT_EQ(o.pairs.size(), 8U);
  EXPECT_EQ(o.pairs[1].a, "p.t4");
  EXPECT_EQ(o.pairs[1].b, "p.b.t3");
  EXPECT_GT(o.noise, 0);
  EXPECT_THAT(o.sentence.en, HasSubstr("B is worse"));
  EXPECT_THAT(o.sentence.ru, HasSubstr("B хуже"));
  EXPECT_THAT(o.ended.en, HasSubstr("beyond"));
  // Both took all that the tester has: the rate says nothing, and the sentence says that.
  EXPECT_EQ(outcome(out, 1).figure, "received_pps");
  EXPECT_THAT(outcome(out, 1).sentence.en, HasSubstr("limited by the tester"));
  EXPECT_NEAR(find(out.run, "p").kpis.at("paired_ratio"), o.ratio, 1e-12);
}

TEST_F(PairedRows, CallADeviceAgainstItselfTheSame) {
  for (const double noise : {0.0, 0.02, 0.1}) {
    world_ = World{};
    world_.cpu_noise = noise;
    const std::string folder = "same" + std::to_string(noise);
    const RunOutcome out = run(pair(100, 100), false, folder);
    const PairedOutcome& o = outcome(out);
    EXPECT_EQ(o.verdict, "same") << noise << ": " << o.sentence.en;
    EXPECT_GE(o.pair_count, 8U);
  }
}

TEST_F(PairedRows, GoOnWhileUndecidedUpToTheMost) {
  world_.cpu_noise = 0.3;
  Plan p = pair(0, 10);  // 5 % in noise of 30 %
  for (Row& row : p.rows) row.parameters["max_pairs"] = 20;
  const RunOutcome out = run(p);
  EXPECT_EQ(outcome(out).pairs.size(), 20U);
  EXPECT_THAT(outcome(out).ended.en, HasSubstr("20 pairs are the most"));
  const auto journal = read_journal((folder_ / "run" / "journal.jsonl").string());
  ASSERT_TRUE(journal.ok());
  unsigned looks = 0;
  for (const JournalDecision& d : journal->decisions) looks += d.row == "p";
  EXPECT_GE(looks, 4U);
}

TEST_F(PairedRows, EndWhenTimeIsUp) {
  world_.cpu_noise = 0.3;
  Plan p = pair(0, 10);
  p.budget_s = 50;
  const double begun = world_.now;
  const RunOutcome out = run(p);
  EXPECT_LE(world_.now - begun, 60);
  EXPECT_THAT(outcome(out).ended.en, HasSubstr("time was up"));
}

TEST_F(PairedRows, CompareLatencyAtARate) {
  Plan p = pair(0, 0, 20'000);
  p.rows[1].device.options["capacity"] = "10000";  // late, 500 us
  const RunOutcome out = run(p);
  EXPECT_EQ(outcome(out).figure, "latency_p50_us");
  EXPECT_EQ(outcome(out).verdict, "worse");
  EXPECT_NEAR(outcome(out).ratio, 100, 2);
}

TEST_F(PairedRows, CompareConnectionsByTheSlopeOfTwoRates) {
  Plan p = pair(0, 0);
  for (Row& row : p.rows) row.parameters["cps"] = 8000;
  p.rows[0].device.driver = "null";  // 10 us of others' time each, 30 us on a device
  const RunOutcome out = run(p);
  const PairedOutcome& o = outcome(out);
  EXPECT_EQ(o.figure, "host_cycles_per_connection");
  EXPECT_EQ(o.verdict, "worse");
  EXPECT_NEAR(o.a, 20'000, 1);  // at 2 GHz
  EXPECT_NEAR(o.ratio, 3, 1e-6);
}

TEST_F(PairedRows, LeaveOutPairsWithAContaminatedSide) {
  world_.contaminated_from = 40;  // from the middle of the comparison on
  world_.cpu_noise = 0.3;
  const RunOutcome out = run(pair(0, 10));
  const PairedOutcome& o = outcome(out);
  EXPECT_GT(o.dropped_count, 0U);
  EXPECT_EQ(o.dropped_count + o.pair_count, 32U);
  EXPECT_EQ(o.pairs.size(), o.pair_count);
  EXPECT_THAT(o.sentence.en, HasSubstr("pairs left out"));
}

TEST_F(PairedRows, NeedBothSides) {
  for (const char* which : {"p", "p.b"}) {
    world_ = World{};
    world_.absent["ovs"] = "ovs is not installed";
    Plan p = pair(0, 10);
    for (Row& row : p.rows)
      if (row.id == which) row.device.driver = "ovs";
    p.rows.push_back(row("after", "rates", 1e6));
    const RunOutcome out = run(p, false, which);
    for (const char* id : {"p", "p.b"}) {
      EXPECT_EQ(find(out.run, id).state, RowState::kSkipped) << which;
      EXPECT_THAT(find(out.run, id).state_reason.en, HasSubstr("not installed"));
    }
    EXPECT_EQ(find(out.run, "after").state, RowState::kDone);
  }
}

TEST_F(PairedRows, FailTogether) {
  Plan p = pair(0, 10);
  p.rows[1].device.options["hangs"] = "1";
  const RunOutcome out = run(p);
  EXPECT_EQ(find(out.run, "p").state, RowState::kFailed);
  EXPECT_EQ(find(out.run, "p.b").state, RowState::kFailed);
  EXPECT_THAT(find(out.run, "p").state_reason.en, HasSubstr("passed no frame"));
  EXPECT_EQ(world_.alive["bridge"], 0);
}

TEST_F(PairedRows, SurviveADeviceThatDiesOnce) {
  Plan p = pair(0, 100);
  p.rows[1].device.driver = "nftables";
  p.rows[1].device.options["dies_at"] = "2";
  const RunOutcome out = run(p);
  EXPECT_EQ(outcome(out).verdict, "worse");
  // The device that was started in the middle of B's turn was warmed up before it counted.
  const auto is_again = [](const std::string& line) { return line.ends_with(".warm"); };
  EXPECT_EQ(std::count_if(world_.log.begin(), world_.log.end(), is_again), 1);
}

}  // namespace
}  // namespace merlon::lab
