// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/analysis.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "merlon/policy/compile.h"
#include "random_model.h"
#include "reference.h"

namespace merlon::policy {
namespace {

Rule rule(const char* id, const char* source, const char* service, Action action) {
  Rule r;
  r.id = id;
  r.action = action;
  r.log = LogMode::kEnd;
  if (*source) r.sources.push_back({source, false, {}});
  if (*service) r.services.push_back({service, false, {}});
  return r;
}

const Finding* find(const Analysis& a, FindingCode code, const std::string& id) {
  const auto it = std::find_if(a.findings.begin(), a.findings.end(),
                               [&](auto& f) { return f.code == code && f.rule == id; });
  return it == a.findings.end() ? nullptr : &*it;
}

Analysis analysed(const PolicyModel& m) {
  RuleSlots slots;
  const CompileResult r = compile(m, slots);
  EXPECT_TRUE(r.snapshot);
  return analyse(*r.snapshot, 1000);
}

TEST(Analysis, FindsShadowedAndRedundantRules) {
  PolicyModel m;
  m.rules = {rule("wide", "10.0.0.0/8", "tcp/1-1000", Action::kPermit),
             rule("shadowed", "10.1.0.0/16", "tcp/80", Action::kDrop),
             rule("redundant", "10.2.0.1", "tcp/80,443", Action::kPermit),
             rule("free", "10.2.0.1", "tcp/80,4430", Action::kPermit)};
  const Analysis a = analysed(m);
  const Finding* f = find(a, FindingCode::kShadowed, "shadowed");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->other, "wide");
  ASSERT_NE(find(a, FindingCode::kRedundant, "redundant"), nullptr);
  EXPECT_EQ(find(a, FindingCode::kRedundant, "free"), nullptr);
  EXPECT_TRUE(a.is_complete);
}

TEST(Analysis, FindsCoverByRulesTogether) {
  PolicyModel m;
  m.rules = {rule("low", "10.0.0.0/9", "tcp/80", Action::kDrop),
             rule("high", "10.128.0.0/9", "tcp", Action::kPermit),
             rule("all", "10.0.0.0/8", "tcp/80", Action::kPermit)};
  EXPECT_NE(find(analysed(m), FindingCode::kUnreachable, "all"), nullptr);
  m.rules[1].sources[0].text = "10.128.0.0/10";
  EXPECT_EQ(find(analysed(m), FindingCode::kUnreachable, "all"), nullptr);
}

TEST(Analysis, TellsConflictsFromExceptions) {
  PolicyModel m;
  m.rules = {rule("a", "10.0.0.0/8", "tcp/80", Action::kDrop),
             rule("partial", "10.1.0.0/16", "tcp", Action::kPermit),
             rule("general", "", "", Action::kPermit)};
  const Analysis a = analysed(m);
  const Finding* f = find(a, FindingCode::kConflicting, "partial");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->other, "a");
  EXPECT_EQ(f->severity, Severity::kInfo);
  EXPECT_EQ(find(a, FindingCode::kConflicting, "general"), nullptr);
  EXPECT_NE(find(a, FindingCode::kOverBroad, "general"), nullptr);
}

TEST(Analysis, FindsRulesThatNeverAct) {
  PolicyModel m;
  m.schedules.push_back({"gone", 0, {{0x7f, 0, 1440, {}, 500}}, {}});
  m.rules = {rule("expired", "10.0.0.1", "", Action::kDrop),
             rule("past", "10.0.0.2", "", Action::kDrop),
             rule("silent", "10.0.0.3", "", Action::kPermit)};
  m.rules[0].expires = 1000;
  m.rules[1].schedule = Name{"gone", false, {}};
  m.rules[2].log = LogMode::kNone;
  const Analysis a = analysed(m);
  EXPECT_NE(find(a, FindingCode::kNeverActive, "expired"), nullptr);
  EXPECT_NE(find(a, FindingCode::kNeverActive, "past"), nullptr);
  EXPECT_NE(find(a, FindingCode::kNoLog, "silent"), nullptr);
}

TEST(Analysis, AnExpiringRuleCoversNothing) {
  PolicyModel m;
  m.rules = {rule("wide", "10.0.0.0/8", "", Action::kPermit),
             rule("narrow", "10.1.0.0/16", "", Action::kDrop)};
  m.rules[0].expires = 5000;
  EXPECT_EQ(find(analysed(m), FindingCode::kShadowed, "narrow"), nullptr);
}

// What analysis calls dead must never decide.
TEST(Analysis, DeadRulesNeverDecideInRandomPolicies) {
  std::size_t dead_count = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test::Maker maker(seed);
    const PolicyModel m = maker.model(60);
    std::vector<std::string> dead;
    for (const Finding& f : analysed(m).findings)
      if (f.code == FindingCode::kShadowed || f.code == FindingCode::kRedundant ||
          f.code == FindingCode::kUnreachable)
        dead.push_back(f.rule);
    dead_count += dead.size();
    for (int i = 0; i < 300; ++i) {
      const std::string id = reference::decide(m, maker.query(), maker.moment());
      EXPECT_EQ(std::count(dead.begin(), dead.end(), id), 0) << "seed " << seed << " rule " << id;
    }
  }
  EXPECT_GT(dead_count, 20U);
}

// Findings in words, for comparison.
std::vector<std::string> told(const Analysis& a) {
  std::vector<std::string> out;
  for (const Finding& f : a.findings)
    out.push_back(fmt::format("{}:{} {} {} {} ({}:{})", f.where.file, f.where.line,
                              finding_name(f.code), f.rule, f.message, f.other,
                              f.other_where.line));
  return out;
}

// Places as a text would have them: a rule that comes or goes moves all behind it.
void number_lines(PolicyModel& m) {
  for (std::size_t i = 0; i < m.rules.size(); ++i)
    m.rules[i].where = {"policy.yaml", static_cast<unsigned>(10 + i), 5, 9};
}

void edit(PolicyModel& m, test::Maker& maker, unsigned turn) {
  const auto at = [&m, &maker] {
    return m.rules.begin() + maker.below(static_cast<std::uint32_t>(m.rules.size()));
  };
  switch (maker.below(6)) {
    case 0:
      if (m.rules.size() > 5) m.rules.erase(at());
      break;
    case 1:
      m.rules.insert(at(), maker.rule(fmt::format("n{}", turn)));
      break;
    case 2: {
      const auto from = at();
      const Rule moved = *from;
      m.rules.erase(from);
      m.rules.insert(at(), moved);
      break;
    }
    case 3: {
      Rule& r = *at();
      r.is_enabled = !r.is_enabled;
      break;
    }
    case 4:
      at()->description += "x";
      break;
    default: {
      Rule& r = *at();
      r = maker.rule(r.id);
    }
  }
  if (maker.chance(5)) m.addresses[0].ranges = {*base::parse_address_range(maker.address_text())};
}

TEST(Analysis, WhatIsKnownOfTheSnapshotBeforeChangesNoAnswer) {
  unsigned shared = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    test::Maker maker(seed);
    PolicyModel m = maker.model(40);
    number_lines(m);
    RuleSlots slots;
    CompileResult before = compile(m, slots);
    ASSERT_TRUE(before.snapshot);
    const AnalysisLimits limits{.with_info = seed % 2 == 0};
    Analysis known = analyse(*before.snapshot, maker.moment(), limits);
    for (unsigned turn = 0; turn < 40; ++turn) {
      for (std::uint32_t n = 1 + maker.below(3); n > 0; --n) edit(m, maker, turn * 4 + n);
      number_lines(m);
      CompileResult next = compile(m, slots, {}, before.snapshot.get());
      ASSERT_TRUE(next.snapshot);
      const base::Nanos now = maker.moment();
      const Analysis all = analyse(*next.snapshot, now, limits);
      Analysis some = analyse(*next.snapshot, now, limits, {*before.snapshot, known});
      ASSERT_EQ(told(some), told(all)) << "seed " << seed << " turn " << turn;
      shared += some.pairs < all.pairs;
      before = std::move(next);
      known = std::move(some);
    }
  }
  EXPECT_GT(shared, 100U);  // not only full comparisons were compared
}

TEST(Analysis, OneChangedRuleComparesFewPairs) {
  PolicyModel m;
  for (unsigned i = 0; i < 2000; ++i)
    m.rules.push_back(rule(fmt::format("r{}", i).c_str(),
                           fmt::format("10.{}.{}.0/24", i / 200, i % 200).c_str(), "tcp/80",
                           Action::kPermit));
  m.rules.push_back(rule("again", "10.3.3.0/25", "tcp/80", Action::kPermit));
  RuleSlots slots;
  const CompileResult before = compile(m, slots);
  const AnalysisLimits limits{.with_info = false};
  const Analysis known = analyse(*before.snapshot, 1000, limits);
  ASSERT_EQ(known.findings.size(), 1U);
  m.rules[700].services[0].text = "tcp/81";
  const CompileResult next = compile(m, slots, {}, before.snapshot.get());
  const Analysis some = analyse(*next.snapshot, 1000, limits, {*before.snapshot, known});
  EXPECT_EQ(told(some), told(known));
  EXPECT_LT(some.pairs, 5000U);
  EXPECT_GT(known.pairs, 1'000'000U);
}

TEST(Slots, ACopyGoesItsOwnWay) {
  RuleSlots slots;
  const std::uint32_t a = slots.acquire("a");
  RuleSlots copy(slots);
  EXPECT_EQ(copy.find("a"), a);
  EXPECT_EQ(copy.id(a), "a");
  EXPECT_EQ(copy.acquire("b"), 2U);
  EXPECT_FALSE(slots.find("b"));
  EXPECT_EQ(slots.acquire("c"), 2U);
}

}  // namespace
}  // namespace merlon::policy
