// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/analysis.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace merlon::policy
