// SPDX-License-Identifier: Apache-2.0
// The manager on simulated devices: order, budget, failures, growth, and resume after any trial.
#include "merlon/lab_run/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "configuration.h"
#include "manager_fixture.h"
#include "merlon/lab_model/journal.h"
#include "merlon/lab_model/json.h"
#include "plans.h"

namespace merlon::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ManagerTest, RunsAllRowsBetweenTwoCalibrations) {
  const RunOutcome out = run(
      plan({row("slow", "rates", 10'000), row("fast", "rates", 1e6), row("most", "maximum", 1e6)}));
  ASSERT_TRUE(out.errors.empty()) << out.errors.front().message;
  EXPECT_FALSE(out.run.is_partial);
  ASSERT_EQ(out.run.calibrations.size(), 2U);
  EXPECT_NEAR(out.run.calibrations[0].ceiling_pps, 1e6, 1);
  EXPECT_EQ(out.run.calibrations[1].when, "after");
  EXPECT_EQ(out.run.environment.noise_grade, "A");
  const Row& slow = find(out.run, "slow");
  EXPECT_EQ(slow.state, RowState::kDone);
  EXPECT_NEAR(slow.kpis.at("received_pps"), 10'000, 10);
  EXPECT_NEAR(slow.kpis.at("loss_ratio"), 0.5, 0.01);
  EXPECT_NEAR(find(out.run, "fast").kpis.at("loss_ratio"), 0, 1e-9);
  // 2 us a frame with the device, 1 us without; told at the highest rate only.
  EXPECT_NEAR(find(out.run, "most").kpis.at("cost_ns"), 1000, 1);
  EXPECT_FALSE(find(out.run, "fast").kpis.contains("cost_ns"));
  EXPECT_EQ(world_.alive["bridge"], 0);
  EXPECT_EQ(world_.alive["null"], 0);
}

TEST_F(ManagerTest, LosesNothingItWroteAndRebuildsItFromTheJournal) {
  const RunOutcome out = run(plan({row("a", "rates", 10'000), row("b", "search", 70'000)}));
  const auto journal = read_journal((folder_ / "run" / "journal.jsonl").string());
  ASSERT_TRUE(journal.ok()) << journal.error().message;
  EXPECT_TRUE(journal->is_finished);
  EXPECT_TRUE(to_json(journal->run) == to_json(out.run));
}

TEST_F(ManagerTest, FindsTheCapacityOfADevice) {
  const RunOutcome out = run(plan({row("s", "search", 70'000)}));
  const Row& s = find(out.run, "s");
  ASSERT_EQ(s.state, RowState::kDone) << s.state_reason.en;
  ASSERT_FALSE(s.results.empty());
  EXPECT_NEAR(s.results[0].conditional_pps, 70'000, 70'000 * 0.06);
}

TEST_F(ManagerTest, ResumesAfterAnyTrialToTheSameEnd) {
  Plan p = plan({row("a", "rates", 10'000), row("b", "search", 70'000), row("c", "part", 50'000),
                 row("d", "rfc2544.loss", 200'000)},
                90);
  p.rows[0].parameters["pair_group"] = 1;
  Row other = row("a2", "rates", 15'000);
  other.parameters["pair_group"] = 1;
  p.rows.insert(p.rows.begin() + 1, other);
  Row pair = row("p", "paired", 1e6, 0);
  pair.duration_s = 0.3;
  pair.parameters["max_pairs"] = 8;
  pair.device.rules = 100;
  DeviceSpec set = pair.device;
  set.rules = 90;
  p.rows.push_back(pair);
  p.rows.push_back(other_side(p.rows.back(), {}, set, pair.traffic));
  p.budget_s = 200;
  world_.cpu_noise = 0.03;
  const RunOutcome whole = run(p, false, "whole");
  ASSERT_TRUE(whole.errors.empty());
  const unsigned trials = world_.trials;
  ASSERT_GT(trials, 20U);
  const std::string wanted = essence(whole.run);
  const auto whole_journal = read_journal((folder_ / "whole" / "journal.jsonl").string());
  ASSERT_TRUE(whole_journal.ok());
  for (unsigned k = 1; k < trials; k += 3) {
    const std::string sub = "cut" + std::to_string(k);
    world_ = World{};
    world_.cpu_noise = 0.03;
    world_.stop_after = k;
    const RunOutcome first = run(p, false, sub);
    ASSERT_TRUE(first.run.is_partial);
    EXPECT_LT(first.run.trials.size(), whole.run.trials.size());
    EXPECT_EQ(world_.alive["bridge"], 0);
    world_.stop_after = 0;
    const RunOutcome second = run(p, true, sub);
    ASSERT_TRUE(second.errors.empty()) << second.errors.front().message;
    const std::string got = essence(second.run);
    const auto differs = std::mismatch(got.begin(), got.end(), wanted.begin(), wanted.end());
    EXPECT_TRUE(differs.first == got.end() && differs.second == wanted.end())
        << "interrupted after trial " << k << ": "
        << got.substr(static_cast<std::size_t>(
                          std::max<std::ptrdiff_t>(0, differs.first - got.begin() - 200)),
                      300);
    const auto journal = read_journal((folder_ / sub / "journal.jsonl").string());
    ASSERT_TRUE(journal.ok()) << journal.error().message;
    ASSERT_EQ(journal->decisions.size(), whole_journal->decisions.size()) << k;
    for (std::size_t i = 0; i < journal->decisions.size(); ++i)
      EXPECT_EQ(journal->decisions[i].why.en, whole_journal->decisions[i].why.en);
  }
}

// Killed at any moment: between the trials of a group, between the ends of its rows, of a pair's.
TEST_F(ManagerTest, ResumesAfterAnyRecordToTheSameEnd) {
  Plan p = plan({row("a", "rates", 10'000), row("a2", "rates", 15'000), row("b", "rates", 1e6),
                 row("p", "paired", 1e6, 0)},
                60);
  p.rows[0].parameters["pair_group"] = p.rows[1].parameters["pair_group"] = 1;
  p.rows[3].duration_s = 0.3;
  p.rows[3].parameters["min_pairs"] = p.rows[3].parameters["max_pairs"] = 2;
  DeviceSpec other = p.rows[3].device;
  other.rules = 100;
  p.rows.push_back(other_side(p.rows[3], {}, other, p.rows[3].traffic));
  const RunOutcome whole = run(p, false, "whole");
  ASSERT_TRUE(whole.errors.empty());
  const std::string wanted = essence(whole.run);
  std::vector<std::string> lines;
  std::ifstream journal(folder_ / "whole" / "journal.jsonl");
  for (std::string line; std::getline(journal, line);) lines.push_back(line + "\n");
  ASSERT_GT(lines.size(), 40U);
  for (std::size_t kept = 1; kept + 1 < lines.size(); ++kept) {
    const std::string sub = "cut" + std::to_string(kept);
    std::filesystem::create_directories(folder_ / sub);
    std::filesystem::copy(folder_ / "whole" / "plan.yaml", folder_ / sub / "plan.yaml");
    std::ofstream cut(folder_ / sub / "journal.jsonl");
    for (std::size_t i = 0; i < kept; ++i) cut << lines[i];
    cut.close();
    world_ = World{};
    const RunOutcome resumed = run(p, true, sub);
    ASSERT_TRUE(resumed.errors.empty()) << resumed.errors.front().message;
    EXPECT_TRUE(essence(resumed.run) == wanted)
        << "after " << kept << " records, the last " << lines[kept - 1].substr(0, 60);
  }
}

TEST_F(ManagerTest, ResumesFromATornJournal) {
  const Plan p = plan({row("a", "rates", 10'000), row("b", "rates", 30'000)});
  world_.stop_after = 9;
  run(p);
  const auto path = folder_ / "run" / "journal.jsonl";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 7);
  world_.stop_after = 0;
  const RunOutcome out = run(p, true);
  ASSERT_TRUE(out.errors.empty()) << out.errors.front().message;
  EXPECT_FALSE(out.run.is_partial);
  for (const Row& r : out.run.rows) EXPECT_EQ(r.state, RowState::kDone);
}

TEST_F(ManagerTest, RefusesToResumeAnotherPlan) {
  world_.stop_after = 3;
  run(plan({row("a", "rates", 10'000)}));
  world_.stop_after = 0;
  const RunOutcome out = run(plan({row("x", "rates", 10'000)}), true);
  ASSERT_FALSE(out.errors.empty());
  EXPECT_EQ(out.errors[0].code, base::Errc::kConflict);
  EXPECT_TRUE(out.run.id.empty());
}

TEST_F(ManagerTest, KeepsOneLaboratoryPerFolder) {
  const Plan p = plan({row("a", "rates", 10'000)});
  run(p);
  EXPECT_EQ(run(p).errors.at(0).code, base::Errc::kConflict);  // a journal is there already
  EXPECT_THAT(run(p).errors.at(0).hint, HasSubstr("--resume"));
}

TEST_F(ManagerTest, StartsADeadDeviceAgainOnceAndTellsSo) {
  Row r = row("a", "rates", 1e6);
  r.device.options["dies_at"] = "2";
  const RunOutcome out = run(plan({r, row("b", "rates", 1e6)}));
  EXPECT_EQ(find(out.run, "a").state, RowState::kDone);
  unsigned failed = 0;
  for (const TrialResult& trial : out.run.trials)
    if (trial.stamp == Stamp::kFailed) {
      ++failed;
      EXPECT_THAT(trial.stamp_reasons.back(), HasSubstr("died"));
    }
  EXPECT_EQ(failed, 1U);
  const auto journal = read_journal((folder_ / "run" / "journal.jsonl").string());
  ASSERT_TRUE(journal.ok());
  ASSERT_EQ(journal->decisions.size(), 1U);
  EXPECT_THAT(journal->decisions[0].why.en, HasSubstr("started again"));
}

TEST_F(ManagerTest, FailsARowWhoseDeviceDiesAgainAndGoesOn) {
  Row r = row("a", "rates", 1e6);
  r.device.options["dies_at"] = "1";
  r.device.options["deaths"] = "9";
  const RunOutcome out = run(plan({r, row("b", "rates", 1e6)}));
  EXPECT_EQ(find(out.run, "a").state, RowState::kFailed);
  EXPECT_THAT(find(out.run, "a").state_reason.en, HasSubstr("died"));
  EXPECT_EQ(find(out.run, "b").state, RowState::kDone);
  EXPECT_TRUE(out.errors.empty());
}

TEST_F(ManagerTest, DoesNotBlameADeviceForATesterWithoutAProcessor) {
  Row starved = row("a", "rates", 1e6), dead = row("b", "rates", 1e6);
  starved.device.options["starves"] = "3";
  dead.device.driver = "nftables";
  dead.device.options["starves"] = "99";
  const RunOutcome out = run(plan({starved, dead}));
  EXPECT_EQ(find(out.run, "a").state, RowState::kDone) << find(out.run, "a").state_reason.en;
  EXPECT_EQ(find(out.run, "b").state, RowState::kFailed);
  EXPECT_THAT(find(out.run, "b").state_reason.en, HasSubstr("took no frame"));
}

TEST_F(ManagerTest, FailsARowWhoseDeviceHangs) {
  Row r = row("a", "rates", 1e6);
  r.device.options["hangs"] = "1";
  const RunOutcome out = run(plan({r}));
  EXPECT_EQ(find(out.run, "a").state, RowState::kFailed);
  EXPECT_THAT(find(out.run, "a").state_reason.en, HasSubstr("passed no frame"));
}

TEST_F(ManagerTest, NamesWhatIsAbsentUnavailableOrBroken) {
  world_.absent["ovs"] = "ovs is not installed";
  Row ovs = row("ovs", "rates", 1e6), needs = row("needs", "rates", 1e6),
      odd = row("odd", "rates", 1e6), broken = row("broken", "rates", 1e6);
  ovs.device.driver = "ovs";
  needs.device.options["needs"] = "detection";
  odd.device.driver = "unknown";
  broken.device.options["fails_to_start"] = "1";
  const RunOutcome out = run(plan({ovs, needs, odd, broken, row("good", "rates", 1e6)}));
  EXPECT_EQ(find(out.run, "ovs").state, RowState::kSkipped);
  EXPECT_EQ(find(out.run, "ovs").state_reason.en, "ovs is not installed");
  EXPECT_EQ(find(out.run, "needs").state, RowState::kUnavailable);
  EXPECT_EQ(find(out.run, "odd").state, RowState::kFailed);
  EXPECT_EQ(find(out.run, "broken").state, RowState::kFailed);
  EXPECT_THAT(find(out.run, "broken").state_reason.en, HasSubstr("ask the test"));
  EXPECT_EQ(find(out.run, "good").state, RowState::kDone);
  EXPECT_TRUE(out.errors.empty());
}

TEST_F(ManagerTest, MeasuresAPairGroupInTurn) {
  Row a = row("a", "rates", 1e6), b = row("b", "rates", 1e6);
  a.parameters["pair_group"] = b.parameters["pair_group"] = 1;
  a.repeats = b.repeats = 4;
  b.device.options["capacity"] = "30000";
  run(plan({a, b}));
  std::vector<std::string> order;
  for (const std::string& line : world_.log)
    if (line.starts_with("trial a") || line.starts_with("trial b"))
      order.push_back(line.substr(6, 1));
  // A B B A A B B A, with a warm-up whenever another device is started.
  EXPECT_THAT(order, ElementsAre("a", "a", "b", "b", "b", "a", "a", "a", "b", "b", "b", "a", "a"));
}

TEST_F(ManagerTest, KeepsTheBudget) {
  std::vector<Row> rows;
  for (int i = 0; i < 12; ++i) {
    rows.push_back(row("r" + std::to_string(i), "rates", 10'000 + i));
    rows.back().repeats = 10;
  }
  for (const double budget : {30.0, 60.0, 120.0}) {
    world_ = World{};
    const double begun = world_.now;
    const RunOutcome out =
        run(plan(rows, budget), false, "b" + std::to_string(static_cast<int>(budget)));
    EXPECT_LE(world_.now - begun, budget * 1.1 + 5) << budget;
    unsigned done = 0;
    for (const Row& r : out.run.rows) {
      done += r.state == RowState::kDone ? 1 : 0;
      if (r.state == RowState::kSkipped) {
        EXPECT_THAT(r.state_reason.en, HasSubstr("budget"));
      }
    }
    EXPECT_GT(done, budget > 50 ? 11U : 4U) << budget;
  }
}

TEST_F(ManagerTest, RepeatsContaminatedTrialsAndUsesThemOnlyWhenThereIsNothingElse) {
  world_.contaminated_from = 8;  // after the calibration
  const RunOutcome out = run(plan({row("a", "rates", 10'000)}));
  const Row& a = find(out.run, "a");
  EXPECT_EQ(a.state, RowState::kDone);
  EXPECT_EQ(a.kpis.at("trials"), 4);
  EXPECT_EQ(a.kpis.at("trials_stamp"), static_cast<double>(Stamp::kContaminated));
}

TEST_F(ManagerTest, TakesABusyMachineAsItIs) {
  world_.contaminated_from = 1;
  const RunOutcome out = run(plan({row("a", "rates", 10'000), row("b", "search", 70'000)}));
  EXPECT_EQ(find(out.run, "a").kpis.at("trials"), 2);
  ASSERT_FALSE(find(out.run, "b").results.empty());
  EXPECT_NEAR(find(out.run, "b").results[0].conditional_pps, 70'000, 70'000 * 0.06);
  EXPECT_EQ(find(out.run, "b").kpis.at("trials_stamp"), static_cast<double>(Stamp::kContaminated));
}

TEST_F(ManagerTest, StopsAtAFullDiskAndKeepsWhatWasMeasured) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  rlimit small = old;
  small.rlim_cur = 48 * 1024;
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::vector<Row> rows;
  for (int i = 0; i < 20; ++i) rows.push_back(row("r" + std::to_string(i), "rates", 10'000));
  const RunOutcome out = run(plan(rows));
  ::setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_FALSE(out.errors.empty());
  EXPECT_EQ(out.errors[0].code, base::Errc::kIo);
  EXPECT_TRUE(out.run.is_partial);
  EXPECT_GT(out.run.trials.size(), 2U);
  EXPECT_EQ(world_.alive["bridge"], 0);
  const auto journal = read_journal((folder_ / "run" / "journal.jsonl").string());
  ASSERT_TRUE(journal.ok()) << journal.error().message;
  EXPECT_EQ(journal->run.trials.size(), out.run.trials.size());
  // With room again it goes on from there.
  const RunOutcome rest = run(plan(rows), true);
  EXPECT_TRUE(rest.errors.empty());
  EXPECT_FALSE(rest.run.is_partial);
}

TEST_F(ManagerTest, SubtractsTheCableFromAConnectionsCost) {
  Row cable = row("cable", "connection_cost", 1e6), device = row("device", "connection_cost", 1e6);
  cable.device = {};
  cable.device.driver = "null";
  cable.device.topology = "direct";
  const RunOutcome out = run(plan({cable, device}));
  // 30 us less 10 us, at 2 GHz.
  EXPECT_NEAR(find(out.run, "device").kpis.at("cycles_per_connection"), 40'000, 10);
  EXPECT_FALSE(find(out.run, "cable").kpis.contains("cycles_per_connection"));
}

TEST(Configuration, IsTheSameInEveryRun) {
  const auto dump = [](const char* run, const char* mac, const char* uuid, const char* timer) {
    return std::string("4: br0: <UP,LOWER_UP> state UP\n link/ether ") + mac + " bridge_id 8000." +
           mac + " gc_timer    " + timer + "\n" + uuid + "\nstate_directory: /run/merlon-lab/" +
           run + "/state\nrules: 4000\n";
  };
  const std::string a = lasting_configuration(
      dump("dsvas12", "d6:69:f6:b6:b5:4e", "c357caeb-1d92-410c-8118-04820dd7f85e", "0.08"),
      "dsvas");
  const std::string b = lasting_configuration(
      dump("qq2345", "16:d6:46:b:4d:be", "a357caeb-1d92-410c-8118-04820dd7f85f", "12.10"), "qq23");
  EXPECT_EQ(a, b);
  EXPECT_THAT(a, HasSubstr("/run/merlon-lab/RUN/state"));
  EXPECT_THAT(a, HasSubstr("rules: 4000"));
}

TEST_F(ManagerTest, GrowsWhereLossStarts) {
  Plan p = plan({at_interval(row("a.100us", "rates", 60'000), 100),
                 at_interval(row("a.10us", "rates", 60'000), 10)});
  p.growth.is_on = true;
  p.growth.max_rows = 12;
  const RunOutcome out = run(p);
  ASSERT_GT(out.run.rows.size(), 3U);
  double passes = 0, fails = 1e9;
  for (const Row& r : out.run.rows) {
    ASSERT_EQ(r.state, RowState::kDone) << r.id << r.state_reason.en;
    if (r.kpis.at("loss_ratio") <= 0.01) passes = std::max(passes, r.rate_pps);
    if (r.kpis.at("loss_ratio") > 0.01) fails = std::min(fails, r.rate_pps);
    if (r.id == "a.100us" || r.id == "a.10us") continue;
    EXPECT_FALSE(r.parent.empty());
    EXPECT_FALSE(r.reason.en.empty());
    EXPECT_FALSE(r.reason.ru.empty());
  }
  // The capacity lies between; the gap is the stated width.
  EXPECT_LE(passes, 60'700);
  EXPECT_GE(fails, 60'000);
  EXPECT_LE((fails - passes) / fails, 0.12);
}

}  // namespace
}  // namespace merlon::lab
