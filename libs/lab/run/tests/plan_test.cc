// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_run/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "merlon/lab_model/json.h"
#include "merlon/lab_run/suite.h"

namespace merlon::lab {
namespace {

using ::testing::HasSubstr;

class BuiltInPlan : public ::testing::TestWithParam<std::string> {};

TEST_P(BuiltInPlan, ReadsBackFromItsText) {
  const auto plan = built_in_plan(GetParam());
  ASSERT_TRUE(plan.ok());
  const std::string text = print_plan(*plan);
  const PlanFile read = read_plan(text, "plan.yaml");
  ASSERT_TRUE(read.errors.empty()) << read.errors.front().to_string() << "\n"
                                   << text.substr(0, 2000);
  EXPECT_EQ(print_plan(read.plan), text);
  EXPECT_EQ(plan_hash(read.plan), plan_hash(*plan));
  // What the text does not show would be lost: the rows as results hold them are equal, too.
  lab::Run a, b;
  a.rows = plan->rows;
  b.rows = read.plan.rows;
  a.charts = plan->charts;
  b.charts = read.plan.charts;
  EXPECT_EQ(to_json(a), to_json(b));
}

TEST_P(BuiltInPlan, HasKnownSuitesUniqueIdsAndBothLanguages) {
  const auto plan = built_in_plan(GetParam());
  ASSERT_TRUE(plan.ok());
  std::set<std::string> ids;
  for (const Row& row : plan->rows) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    ASSERT_NE(find_suite(row.suite), nullptr) << row.id << ": " << row.suite;
    EXPECT_FALSE(row.title.en.empty());
    EXPECT_FALSE(row.title.ru.empty());
    if (row.suite == "rates") {
      EXPECT_GT(row.rate_pps, 0) << row.id;
    }
  }
  for (const ChartSpec& chart : plan->charts) {
    EXPECT_FALSE(chart.title.ru.empty());
    EXPECT_TRUE(std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
      return chart.takes(id);
    })) << chart.id;
  }
  EXPECT_LE(plan->budget_s, 15 * 60);
}

INSTANTIATE_TEST_SUITE_P(All, BuiltInPlan, ::testing::ValuesIn(built_in_plans()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Plan, NamesWhatExistsForAnUnknownOne) {
  const auto plan = built_in_plan("quik");
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().hint, HasSubstr("quick"));
}

constexpr const char* kSmall = R"(
plan: mine
title: {en: Mine, ru: Моё}
budget: 1h30m
growth: {loss_ok: 2 %, max_rows: 5}
rows:
  - id: a
    suite: rates
    device: {driver: bridge, topology: path7, rules: 3, options: {x: "1"}}
    traffic: {sizes: "64,1518", flows: 100, source_mac: {vary: random, count: 7}, drop_share: 10%}
    interval_us: 50
    duration: 500ms
    repeats: 4
    parameters: {pair_group: 1}
  - id: b
    suite: search
    goals: [ndr, {name: mine, loss: 1 %, width: 0.02}]
)";

TEST(Plan, ReadsWhatAUserWrites) {
  const PlanFile read = read_plan(kSmall, "mine.yaml");
  ASSERT_TRUE(read.errors.empty()) << read.errors.front().to_string();
  const Plan& plan = read.plan;
  EXPECT_DOUBLE_EQ(plan.budget_s, 5400);
  EXPECT_TRUE(plan.growth.is_on);
  EXPECT_DOUBLE_EQ(plan.growth.loss_ok, 0.02);
  ASSERT_EQ(plan.rows.size(), 2U);
  const Row& a = plan.rows[0];
  EXPECT_DOUBLE_EQ(a.rate_pps, 20'000);
  EXPECT_DOUBLE_EQ(a.parameters.at("interval_us"), 50);
  EXPECT_DOUBLE_EQ(a.duration_s, 0.5);
  EXPECT_EQ(a.device.rules, 3U);
  EXPECT_EQ(a.device.options.at("x"), "1");
  EXPECT_EQ(a.traffic.source_mac.variation, Variation::kRandom);
  EXPECT_DOUBLE_EQ(a.traffic.drop_share, 0.1);
  ASSERT_EQ(plan.rows[1].goals.size(), 2U);
  EXPECT_TRUE(a.against.empty());
  EXPECT_EQ(plan.rows[1].goals[0].name, "ndr");
  EXPECT_DOUBLE_EQ(plan.rows[1].goals[1].width, 0.02);
}

TEST(Plan, ReadsAndPrintsFamilies) {
  for (const auto& [word, share] :
       {std::pair{"ipv4", 0.0}, std::pair{"ipv6", 1.0}, std::pair{"mixed", 0.5},
        std::pair{"0.3", 0.3}, std::pair{"30 %", 0.3}}) {
    const PlanFile read = read_plan(
        fmt::format("plan: a\nrows:\n  - {{id: a, suite: rates, traffic: {{family: {}}}}}\n", word),
        "p.yaml");
    ASSERT_TRUE(read.errors.empty()) << read.errors.front().to_string();
    EXPECT_DOUBLE_EQ(read.plan.rows[0].traffic.ipv6_share, share);
    const PlanFile again = read_plan(print_plan(read.plan), "p.yaml");
    ASSERT_TRUE(again.errors.empty()) << again.errors.front().to_string();
    EXPECT_DOUBLE_EQ(again.plan.rows[0].traffic.ipv6_share, share);
  }
}

constexpr const char* kPaired = R"(
plan: pairs
rows:
  - id: p
    title: {en: One, ru: Один}
    suite: paired
    device: {driver: bridge, topology: path7}
    traffic: {flows: 100, bidirectional: true}
    against: {title: {en: Other, ru: Другой}, driver: nftables, mode: set, topology: path7, rules: 9}
    against_traffic: {flows: 5, bidirectional: false}
    rate: 10k
    compare: [latency_p99_us, received_pps]
  - {id: q, suite: paired, device: {driver: bridge}, against: {driver: bridge}}
)";

TEST(Plan, MakesTwoRowsOfAPair) {
  const PlanFile read = read_plan(kPaired, "pairs.yaml");
  ASSERT_TRUE(read.errors.empty()) << read.errors.front().to_string();
  ASSERT_EQ(read.plan.rows.size(), 4U);
  const Row &a = read.plan.rows[0], &b = read.plan.rows[1];
  EXPECT_EQ(a.against, "p.b");
  EXPECT_EQ(b.id, "p.b");
  EXPECT_EQ(b.parent, "p");
  EXPECT_EQ(b.title.ru, "Другой");
  EXPECT_EQ(b.device.rules, 9U);
  EXPECT_DOUBLE_EQ(b.rate_pps, 10'000);
  EXPECT_EQ(b.traffic.flows, 5U);
  EXPECT_FALSE(b.traffic.is_bidirectional);
  EXPECT_EQ(a.compared, (std::vector<std::string>{"latency_p99_us", "received_pps"}));
  EXPECT_TRUE(b.compared.empty());
  EXPECT_EQ(read.plan.rows[3].title.en, "q, side B");
  EXPECT_EQ(compared_figures(read.plan.rows[2]).front(), "packets_per_cpu_s");
  const std::string text = print_plan(read.plan);
  const PlanFile again = read_plan(text, "again.yaml");
  ASSERT_TRUE(again.errors.empty()) << again.errors.front().to_string() << text;
  lab::Run one, two;
  one.rows = read.plan.rows;
  two.rows = again.plan.rows;
  EXPECT_EQ(to_json(one), to_json(two));
}

TEST(Plan, ChoosesBothSidesOfAPair) {
  for (const char* start : {"p", "p.b"}) {
    PlanFile read = read_plan(kPaired, "pairs.yaml");
    ASSERT_TRUE(choose_rows(read.plan, {start}).ok());
    ASSERT_EQ(read.plan.rows.size(), 2U) << start;
    EXPECT_EQ(read.plan.rows[0].id, "p");
  }
}

TEST(Plan, ReadsAndPrintsSteps) {
  const PlanFile read = read_plan(
      "plan: a\nrows:\n  - id: a\n    suite: rates\n    rate: 1000\n    traffic:\n      pacing: "
      "steps\n"
      "      steps: [{factor: 1.1, share: 60 %}, {factor: 0.5, share: 0.4}]\n",
      "p.yaml");
  ASSERT_TRUE(read.errors.empty()) << read.errors.front().to_string();
  EXPECT_EQ(read.plan.rows[0].traffic.pacing, Pacing::kSteps);
  const PlanFile again = read_plan(print_plan(read.plan), "p.yaml");
  ASSERT_TRUE(again.errors.empty()) << again.errors.front().to_string();
  ASSERT_EQ(again.plan.rows[0].traffic.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(again.plan.rows[0].traffic.steps[0].factor, 1.1);
  EXPECT_DOUBLE_EQ(again.plan.rows[0].traffic.steps[1].share, 0.4);
}

struct Wrong {
  const char* name;
  const char* text;
  unsigned line;
  const char* says;
};

class WrongPlan : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongPlan, IsRefusedWithPlaceAndReason) {
  const PlanFile read = read_plan(GetParam().text, "p.yaml");
  ASSERT_FALSE(read.errors.empty());
  bool is_found = false;
  std::string all;
  for (const base::Error& error : read.errors) {
    all += error.to_string() + "\n";
    is_found |= error.where.line == GetParam().line &&
                error.to_string().find(GetParam().says) != std::string::npos;
  }
  EXPECT_TRUE(is_found) << all;
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongPlan,
    ::testing::Values(
        Wrong{"unknown_key", "plan: a\nrows:\n  - {id: a, suite: rates}\nrwos: []\n", 4,
              "not known"},
        Wrong{"unknown_row_key", "plan: a\nrows:\n  - id: a\n    suite: rates\n    rat: 5\n", 5,
              "one of:"},
        Wrong{"twice", "plan: a\nplan: b\nrows:\n  - {id: a, suite: rates}\n", 2, "twice"},
        Wrong{"suite", "plan: a\nrows:\n  - {id: a, suite: rates2}\n", 3, "no suite"},
        Wrong{"same_id", "plan: a\nrows:\n  - {id: a, suite: rates}\n  - {id: a, suite: rates}\n",
              1, "two rows"},
        Wrong{"rate", "plan: a\nrows:\n  - {id: a, suite: rates, rate: fast}\n", 3, "no rate"},
        Wrong{"share", "plan: a\nrows:\n  - {id: a, suite: rates, traffic: {drop_share: 2}}\n", 3,
              "no share"},
        Wrong{"family", "plan: a\nrows:\n  - {id: a, suite: rates, traffic: {family: ipv5}}\n", 3,
              "one of: ipv4, ipv6, mixed"},
        Wrong{"family_share", "plan: a\nrows:\n  - {id: a, suite: rates, traffic: {family: 3}}\n",
              3, "no share"},
        Wrong{"steps",
              "plan: a\nrows:\n  - {id: a, suite: rates, traffic: {steps: [{share: 0.5}]}}\n", 3,
              "must make 1"},
        Wrong{"vary", "plan: a\nrows:\n  - {id: a, suite: rates, traffic: {vlan: {vary: up}}}\n", 3,
              "one of"},
        Wrong{"goal", "plan: a\nrows:\n  - {id: a, suite: search, goals: [nrd]}\n", 3, "nrd"},
        Wrong{"sources",
              "plan: a\nrows:\n  - id: a\n    suite: rates\n    traffic:\n      attack: syn_flood\n"
              "      attack_sources: 8388609\n",
              7, "1 to 8388608"},
        Wrong{"alone", "plan: a\nrows:\n  - {id: a, suite: paired, device: {driver: bridge}}\n", 3,
              "another device"},
        Wrong{"not_paired",
              "plan: a\nrows:\n  - {id: a, suite: rates, against: {driver: bridge}}\n", 3,
              "only rows of the suite"},
        Wrong{"compares", "plan: a\nrows:\n  - {id: a, suite: rates, compare: [received_pps]}\n", 3,
              "only rows of the suite"},
        Wrong{"figure",
              "plan: a\nrows:\n  - id: a\n    suite: paired\n    against: {driver: bridge}\n"
              "    compare: [speed]\n",
              6, "there are packets_per_cpu_s"},
        Wrong{"load",
              "plan: a\nrows:\n  - id: a\n    suite: paired\n    against: {driver: bridge}\n"
              "    compare: [latency_p50_us]\n",
              6, "give the row a rate"},
        Wrong{"side", "plan: a\nrows:\n  - id: a\n    suite: paired\n    against: {drivr: x}\n", 5,
              "not known"},
        Wrong{"repeats", "plan: a\nrows:\n  - {id: a, suite: rates, repeats: 0}\n", 3,
              "whole number"},
        Wrong{"anchor", "plan: &x a\nrows:\n  - {id: a, suite: rates}\n", 1, "anchors"},
        Wrong{"alias", "plan: a\ntitle: *x\n", 2, "anchor"},
        Wrong{"no_rows", "plan: a\n", 1, "needs rows"}, Wrong{"list", "- a\n- b\n", 1, "mapping"},
        Wrong{"bracket", "plan: a\nrows: [\n", 3, "no YAML"},
        Wrong{"documents", "plan: a\n---\nplan: b\n", 2, "second document"}),
    [](const auto& test) { return test.param.name; });

TEST(Plan, BoundsWhatItReads) {
  EXPECT_FALSE(read_plan(std::string(2 << 20, 'a'), "p").errors.empty());
  EXPECT_FALSE(read_plan(std::string(5000, '['), "p").errors.empty());
}

TEST(Plan, ChoosesRowsByTheirStart) {
  auto plan = built_in_plan("quick");
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(choose_rows(*plan, {"bridge", "cable"}).ok());
  for (const Row& row : plan->rows)
    EXPECT_TRUE(row.id.starts_with("bridge") || row.id.starts_with("cable"));
  EXPECT_EQ(plan->rows.size(), 5U);
  EXPECT_FALSE(choose_rows(*plan, {"nothing"}).ok());
}

TEST(Plan, ReadsTimesAndRates) {
  EXPECT_DOUBLE_EQ(*parse_seconds("90"), 90);
  EXPECT_DOUBLE_EQ(*parse_seconds("1h30m5s"), 5405);
  EXPECT_DOUBLE_EQ(*parse_seconds("250ms"), 0.25);
  for (const char* wrong : {"", "m", "10x", "-1", "nan", "1e9h"})
    EXPECT_FALSE(parse_seconds(wrong).ok()) << wrong;
  EXPECT_DOUBLE_EQ(*parse_rate("10k"), 10'000);
  EXPECT_DOUBLE_EQ(*parse_rate("1.5 Mpps"), 1.5e6);
  for (const char* wrong : {"", "k", "-5", "1e30", "fast"})
    EXPECT_FALSE(parse_rate(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace merlon::lab
