// SPDX-License-Identifier: Apache-2.0
// HTTPS suites, rows and checks, on devices that a formula stands for.
#include "https.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plans.h"
#include "suites.h"

namespace merlon::lab {
namespace {

// A row on a device that passes so many connections a second; a tester that can open so many.
class FormulaRun final : public RowRun {
 public:
  explicit FormulaRun(Row& row) : row_(row) {}

  Row& row() override { return row_; }
  base::Result<TrialResult> trial(const TrialRequest& request) override {
    requests.push_back(request);
    TrialResult r;
    if (!request.connections) return r;
    const TcpRequest& tcp = *request.connections;
    const bool is_over = tcp.connections_per_s > device_cps;
    const double rate = is_over && collapsed_cps > 0
                            ? collapsed_cps
                            : std::min({tcp.connections_per_s, device_cps, tester_cps});
    r.kpis = {{"attempted", tcp.connections_per_s * tcp.sustain_s},
              {"failed", is_over ? 1000 : 0},
              {"offered_connections_per_s", tcp.connections_per_s},
              {"connections_per_s", rate},
              {"completed", rate * tcp.sustain_s},
              {"sustain_connections_attempted", tcp.connections_per_s * tcp.sustain_s},
              {"failed_connection_ratio", 0}};
    if (tcp.tls.is_on()) r.kpis["handshakes_per_s"] = rate;
    if (disturbed.contains(requests.size())) {
      r.kpis["failed"] = 1000;
      r.stamp = Stamp::kContaminated;
    }
    if (tcp.connections_per_s > tester_cps) {
      r.stamp = is_machine_busy ? Stamp::kContaminated : Stamp::kTesterLimited;
      r.kpis["tester_limited"] = 1;
    }
    return r;
  }
  base::Result<std::vector<TrialResult>> trials(const TrialRequest& request) override {
    auto one = trial(request);
    if (!one) return one.error();
    return std::vector{*one};
  }
  base::Result<std::vector<GoalResult>> search(const std::vector<Goal>&, const TrafficSpec&,
                                               double) override {
    return std::vector<GoalResult>{};
  }
  const PathLimits& null_path() override { return limits_; }
  [[nodiscard]] bool is_usable(const TrialResult& trial) const override {
    return trial.stamp != Stamp::kContaminated || is_machine_busy;
  }
  [[nodiscard]] double tsc_hz() const override { return 0; }
  double seconds_left() override { return 1000 - static_cast<double>(requests.size()); }
  void decide(const Text&) override {}

  std::vector<TrialRequest> requests;
  double device_cps = 1e9, tester_cps = 1e9;
  double collapsed_cps = 0;  // beyond its limit the device does no more than this; 0: the limit
  bool is_machine_busy = false;
  std::set<std::size_t> disturbed;  // trials, from 1, that fail by others' work

 private:
  Row& row_;
  const PathLimits limits_;
};

Row row_of_suite(const std::string& suite, std::map<std::string, double> parameters) {
  Row row = row_of("https.x", {"x", "x"}, suite, cable());
  row.parameters = std::move(parameters);
  return row;
}

TEST(Https, EverySuiteAsksForTheTlsOfItsRow) {
  for (const Suite& suite : https_suites()) {
    Row row = row_of_suite(suite.name, {{"tls", 12}, {"tls_key", 2048}, {"tls_reuse", 1}});
    FormulaRun run(row);
    run.device_cps = 3000;
    ASSERT_TRUE(suite.run(run).ok()) << suite.name;
    ASSERT_FALSE(run.requests.empty());
    for (const TrialRequest& request : run.requests) {
      ASSERT_TRUE(request.connections);
      EXPECT_EQ(tls_title(request.connections->tls),
                "TLS 1.2 ECDHE-RSA-AES128-GCM-SHA256, RSA 2048 key");
      EXPECT_TRUE(request.connections->tls.reuses_sessions);
    }
    EXPECT_GT(suite.need_s(row), 2) << suite.name;
  }
}

TEST(Https, HttpSuitesStayWithoutTls) {
  Row row = row_of_suite("rfc9411.latency", {});
  FormulaRun run(row);
  ASSERT_TRUE(run_rfc9411(run).ok());
  for (const TrialRequest& request : run.requests) EXPECT_FALSE(request.connections->tls.is_on());
}

TEST(Https, UnknownNumbersAreErrors) {
  Row row = row_of_suite("rfc9411.https_rate", {{"tls_key", 1000}});
  FormulaRun run(row);
  const auto done = run_rfc9411(run);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, testing::HasSubstr("TLS key 1000"));
  EXPECT_TRUE(run.requests.empty());
}

TEST(Https, SearchesTheHighestRateAndQualifiesFirst) {
  Row row = row_of_suite("rfc9411.https_rate", {{"cps", 200}});
  FormulaRun run(row);
  run.device_cps = 2000;
  ASSERT_TRUE(run_rfc9411(run).ok());
  EXPECT_EQ(run.requests.front().connections->connections_per_s, 20);
  EXPECT_TRUE(run.requests.front().is_warm_up);
  EXPECT_NEAR(row.kpis.at("max_cps"), 2000, 200);
  EXPECT_LE(row.kpis.at("max_cps"), 2000);
  EXPECT_EQ(row.kpis.at("limited_by_tester"), 0);
  EXPECT_EQ(row.kpis.at("higher_rate_failed"), 1);
  EXPECT_TRUE(row.state_reason.en.empty());
}

TEST(Https, SaysWhenTheTesterIsTheLimit) {
  for (const bool is_machine_busy : {false, true}) {
    Row row = row_of_suite("rfc9411.https_rate", {{"cps", 200}});
    FormulaRun run(row);
    run.tester_cps = 1500;
    run.is_machine_busy = is_machine_busy;
    ASSERT_TRUE(run_rfc9411(run).ok());
    EXPECT_EQ(row.kpis.at("limited_by_tester"), 1);
    EXPECT_THAT(row.state_reason.en, testing::HasSubstr("the tester could not"));
  }
}

// What came through at a rate that was too high says little of a device that collapses there.
TEST(Https, FindsTheRateOfADeviceThatCollapses) {
  for (const double collapsed_cps : {1.0, 10.0, 200.0}) {
    Row row = row_of_suite("connection_rate", {{"start_cps", 1000}});
    FormulaRun run(row);
    run.device_cps = 500;
    run.collapsed_cps = collapsed_cps;
    ASSERT_TRUE(run_connection_rate(run).ok());
    EXPECT_NEAR(row.kpis.at("max_cps"), 500, 50) << collapsed_cps;
    EXPECT_LE(row.kpis.at("max_cps"), 500);
    EXPECT_EQ(row.kpis.at("higher_rate_failed"), 1);
    EXPECT_LE(run.requests.size(), 14U) << "trials of a search are few";
  }
}

// One trial that others' work spoiled must not become the device's limit; a machine that is never
// quiet has no other trials.
TEST(Https, TriesAgainWhatFailedBesideOtherWork) {
  for (const bool is_machine_busy : {false, true}) {
    Row row = row_of_suite("connection_rate", {{"start_cps", 1000}});
    FormulaRun run(row);
    run.device_cps = 20'000;
    run.is_machine_busy = is_machine_busy;
    run.disturbed = {3};  // at 2,000 a second, behind the warm-up and 1,000
    ASSERT_TRUE(run_connection_rate(run).ok());
    if (is_machine_busy) {
      EXPECT_LT(row.kpis.at("max_cps"), 2000);
    } else {
      EXPECT_NEAR(row.kpis.at("max_cps"), 20'000, 2000);
    }
  }
}

TEST(Https, SaysWhenNoRatePassed) {
  Row row = row_of_suite("connection_rate", {{"start_cps", 1000}});
  FormulaRun run(row);
  run.device_cps = 0;
  ASSERT_TRUE(run_connection_rate(run).ok());
  EXPECT_EQ(row.kpis.at("max_cps"), 0);
  EXPECT_THAT(row.state_reason.en, testing::HasSubstr("no rate passed"));
  EXPECT_LE(run.requests.size(), 6U);
}

TEST(Https, SaysWhenNothingFailed) {
  Row row = row_of_suite("rfc9411.https_rate", {{"cps", 200}, {"limit_cps", 1000}});
  FormulaRun run(row);
  ASSERT_TRUE(run_rfc9411(run).ok());
  EXPECT_EQ(row.kpis.at("max_cps"), 1000);
  EXPECT_EQ(row.kpis.at("higher_rate_failed"), 0);
  EXPECT_THAT(row.state_reason.en, testing::HasSubstr("before any rate failed"));
}

TEST(Https, RowsOfThePlanAreKnownAndDistinct) {
  Plan plan;
  add_https_rows(plan);
  std::set<std::string> ids;
  std::set<std::string> used;
  for (const Row& row : plan.rows) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    const Suite* suite = find_suite(row.suite);
    ASSERT_NE(suite, nullptr) << row.suite;
    used.insert(row.suite);
    EXPECT_TRUE(tls_of(row).ok()) << row.id;
    EXPECT_TRUE(tls_of(row)->is_on()) << row.id;
    EXPECT_FALSE(row.title.ru.empty());
  }
  for (const Suite& suite : https_suites()) EXPECT_TRUE(used.contains(suite.name)) << suite.name;
  for (const std::string& name : plan.checks) EXPECT_NE(find_check(name), nullptr) << name;
}

Row done_row(const std::string& id, const DeviceSpec& device, std::map<std::string, double> kpis) {
  Row row = row_of(id, {id, id}, "rfc9411.https_rate", device);
  row.state = RowState::kDone;
  row.kpis = std::move(kpis);
  return row;
}

std::string state_of(const lab::Run& run, const std::string& check) {
  const Check* found = find_check(check);
  return found == nullptr ? "" : judge(*found, run).state;
}

TEST(Https, ChecksFollowTheFigures) {
  lab::Run run;
  for (const char* check :
       {"https-passes-all", "https-costs-less-than-its-ends", "https-tester-can-do-more"})
    EXPECT_EQ(state_of(run, check), "not_available") << check;
  const DeviceSpec merlon = merlon_device("wire", 100);
  run.rows = {
      done_row("https_rate.cable.tls13-1k", cable(),
               {{"max_cps", 2000}, {"handshakes", 9}, {"failed", 9}}),
      done_row("https_rate.merlon.tls13-1k", merlon,
               {{"max_cps", 1000}, {"higher_rate_failed", 1}, {"handshakes", 4000}, {"failed", 0}}),
      done_row("https_cost.cable.tls13", cable(), {{"tester_tls_cycles_per_handshake", 1e6}}),
      done_row("https_cost.merlon.tls13", merlon, {{"cycles_per_connection", 5e4}})};
  // What fails on the cable is no firewall's doing.
  EXPECT_EQ(state_of(run, "https-passes-all"), "pass");
  EXPECT_EQ(state_of(run, "https-costs-less-than-its-ends"), "pass");
  EXPECT_EQ(state_of(run, "https-tester-can-do-more"), "pass");
  // At a fixed rate every trial counts, but for those of a tester that was busy all the time.
  run.rows.push_back(done_row("https_latency.merlon.tls13", merlon, {}));
  run.rows.back().suite = "rfc9411.https_latency";
  TrialResult trial;
  trial.spec.row = run.rows.back().id;
  trial.kpis = {{"handshakes", 100}, {"failed", 5}, {"tester_sustain_busy_ratio", 0.99}};
  run.trials = {trial};
  EXPECT_EQ(state_of(run, "https-passes-all"), "pass");
  run.trials[0].kpis["tester_sustain_busy_ratio"] = 0.4;
  EXPECT_EQ(state_of(run, "https-passes-all"), "fail");
  run.trials.clear();
  run.rows[1].kpis["failed"] = 1;
  run.rows[1].kpis["max_cps"] = 1900;
  run.rows[3].kpis["cycles_per_connection"] = 2e6;
  EXPECT_EQ(state_of(run, "https-passes-all"), "fail");
  EXPECT_EQ(state_of(run, "https-costs-less-than-its-ends"), "fail");
  EXPECT_EQ(state_of(run, "https-tester-can-do-more"), "differs");
}

}  // namespace
}  // namespace merlon::lab
