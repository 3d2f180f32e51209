// SPDX-License-Identifier: Apache-2.0
// Whatever suites, frames and connections write has a title for people. Names are collected from
// what runs, so that a new figure without a title shows.
#include <gtest/gtest.h>

#include <set>

#include "manager_fixture.h"
#include "merlon/lab_report/value_title.h"
#include "merlon/lab_tcp/tcp_load.h"
#include "plans.h"

namespace merlon::lab {
namespace {

class FigureNames : public ManagerTest {
 protected:
  void add(const std::map<std::string, double>& kpis) {
    for (const auto& [name, value] : kpis) names_.insert(name);
  }
  void add(const TrialResult& trial) {
    add(trial.kpis);
    for (const auto& [name, values] : trial.series) names_.insert(name);
  }
  void expect_titles() const {
    EXPECT_GE(names_.size(), 10U);
    for (const std::string& name : names_) {
      const auto title = value_title(name);
      EXPECT_TRUE(title) << name << " has no title in lab_report's value_info.cc";
      if (title) {
        EXPECT_FALSE(title->en.empty() || title->ru.empty()) << name;
      }
    }
  }
  std::set<std::string> names_;
};

// Both ends of a cable in memory.
std::unique_ptr<Endpoint> end_of(const std::string& cable) {
  EndpointSpec spec;
  spec.kind = "ring";
  spec.interface = cable;
  auto end = open_endpoint(spec);
  EXPECT_TRUE(end.ok());
  return end.ok() ? std::move(*end) : nullptr;
}

class StepClock final : public LoadClock {
 public:
  base::Nanos now() noexcept override { return time_ += 20'000; }

 private:
  base::Nanos time_ = 1'000'000'000;
};

TEST_F(FigureNames, OfEverySuiteHaveTitles) {
  std::vector<Row> rows;
  for (const Suite& suite : suites()) {
    Row one = row(suite.name, suite.name, 300'000);
    one.traffic.attack_pps = suite.name == "protected_goodput" ? 1000 : 0;
    one.device.options["dazed_ms"] = "20";
    one.device.rules = 10;
    if (suite.name == "starvation" || suite.name == "rfc2544.recovery") one.rate_pps = 0;
    rows.push_back(std::move(one));
    if (suite.name == "paired")
      rows.push_back(other_side(rows.back(), {}, rows.back().device, rows.back().traffic));
  }
  const RunOutcome out = run(plan(std::move(rows), 3000));
  for (const Row& done : out.run.rows) {
    EXPECT_EQ(done.state, RowState::kDone) << done.id << ": " << done.state_reason.en;
    add(done.kpis);
  }
  for (const TrialResult& trial : out.run.trials) add(trial);
  for (const std::string& name : trial_figures()) names_.insert(name);
  for (const ComparableFigure& figure : comparable_figures()) names_.insert(figure.name);
  EXPECT_TRUE(names_.contains("loss_at_100"));
  EXPECT_TRUE(names_.contains("starved_share"));
  EXPECT_TRUE(names_.contains("higher_rate_failed"));
  expect_titles();
}

TEST_F(FigureNames, OfFramesHaveTitles) {
  auto tester = Tester::create(end_of("names"), end_of("names"), {});
  ASSERT_TRUE(tester.ok());
  TrialSpec spec;
  spec.rate_pps = 10'000;
  spec.duration_s = 0.1;
  spec.traffic.attack = AttackKind::kSynFlood;
  spec.traffic.attack_pps = 1000;
  const auto done = (*tester)->run(spec, stop_);
  ASSERT_TRUE(done.ok()) << done.error().message;
  add(*done);
  EXPECT_TRUE(names_.contains("attack_received"));
  expect_titles();
}

TEST_F(FigureNames, OfConnectionsHaveTitles) {
  for (const bool is_tls : {false, true}) {
    const std::string cable = is_tls ? "names-tls" : "names-tcp";
    StepClock clock;
    TcpLoadSettings settings;
    settings.clock = &clock;
    auto load = TcpLoad::create(end_of(cable), end_of(cable), settings);
    ASSERT_TRUE(load.ok());
    TcpLoadSpec spec;
    spec.connections_per_s = 20;
    spec.ramp_up_s = spec.ramp_down_s = 0.1;
    spec.sustain_s = 1;
    spec.attack = AttackKind::kSynFlood;
    spec.attack_pps = 100;
    if (is_tls) spec.tls.version = TlsVersion::k13;
    const auto done = (*load)->run(spec, stop_);
    ASSERT_TRUE(done.ok()) << done.error().message;
    add(*done);
  }
  EXPECT_TRUE(names_.contains("tls_established_p99_ms"));
  EXPECT_TRUE(names_.contains("attack_passed"));
  expect_titles();
}

// Limits of RFC 9411 and bounds of searches are told by the name that they belong to.
TEST(ValueTitle, KnowsDerivedNamesAndNoOthers) {
  EXPECT_EQ(value_title("reset_ratio_limit")->en, "connections reset, allowed");
  EXPECT_EQ(value_title("quick-ndr_lower_pps")->ru, "quick-ndr, нижняя граница");
  EXPECT_EQ(value_title("loss_at_070")->en, "loss at 70\u00a0% of the load");
  for (const char* name : {"", "something", "something_limit", "loss_at_", "loss_at_7x"})
    EXPECT_FALSE(value_title(name)) << name;
}

}  // namespace
}  // namespace merlon::lab
