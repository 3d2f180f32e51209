// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merlon/policy/compile.h"
#include "random_model.h"

namespace merlon::policy {
namespace {

using testing::HasSubstr;

PolicyModel sample() {
  PolicyModel m;
  m.ports = {"p0", "p1"};
  m.zones.push_back({"lan", {{"p0", false, {}}}, {}, {}, {}});
  m.zones.push_back({"wan", {{"p1", false, {}}}, {}, {}, {}});
  const auto add = [&](const char* id, const char* from, const char* service) {
    Rule r;
    r.id = id;
    r.where = {"policy.yaml", static_cast<unsigned>(10 * (m.rules.size() + 1)), 5, 6};
    if (*from) r.from_zones.push_back({from, false, {}});
    if (*service) r.services.push_back({service, false, {}});
    m.rules.push_back(r);
  };
  add("from-wan", "wan", "");
  add("web", "lan", "tcp/80");
  add("old-telnet", "lan", "tcp/23");
  m.rules.back().expires = 1;
  add("no-telnet", "lan", "tcp/23");
  m.rules.back().reason = "clear text login";
  return m;
}

TEST(Explain, SaysWhichRuleAndWhyNotTheOthers) {
  RuleSlots slots;
  const CompileResult r = compile(sample(), slots);
  ASSERT_TRUE(r.snapshot);
  Query q;
  q.source = *base::parse_address("10.0.0.5");
  q.destination = *base::parse_address("192.0.2.9");
  q.protocol = 6;
  q.source_port = 40000;
  q.destination_port = 23;
  q.zone_source = 0;
  q.zone_destination = 1;
  const Explanation e = explain(*r.snapshot, q, 100);
  EXPECT_EQ(e.rule.id, "no-telnet");
  EXPECT_EQ(e.rules_before, 3U);
  EXPECT_EQ(e.zone_matched, 2U);
  EXPECT_EQ(e.inactive_matched, 1U);
  ASSERT_EQ(e.nearest.size(), 3U);
  EXPECT_EQ(e.nearest[0].id, "old-telnet");
  EXPECT_EQ(e.nearest[0].miss, Miss::kExpired);
  EXPECT_EQ(e.nearest[1].id, "web");
  EXPECT_EQ(e.nearest[1].sentence, "tcp/40000:23 is not in its services");
  EXPECT_EQ(e.nearest[2].sentence, "zone lan is not among its source zones");
  const std::string text = e.to_text();
  EXPECT_THAT(text,
              HasSubstr("rule no-telnet  (policy.yaml:40:5)  action drop, reason \"clear text "
                        "login\""));
  EXPECT_THAT(text,
              HasSubstr("before it: 3 rules, 2 matched zone, 1 matched fully but was inactive"));
}

TEST(Explain, NamesTheDefault) {
  RuleSlots slots;
  const CompileResult r = compile(sample(), slots);
  Query q;
  q.protocol = 17;
  q.zone_source = 0;
  const Explanation e = explain(*r.snapshot, q, 100, 1);
  EXPECT_EQ(e.rule.id, "default");
  EXPECT_EQ(e.rules_before, 4U);
  EXPECT_EQ(e.nearest.size(), 1U);
  EXPECT_THAT(e.to_text(), HasSubstr("default action"));
}

// No rule before the one that decides may be one that matches and is in force.
TEST(Explain, AgreesWithItselfOnRandomPolicies) {
  test::Maker maker(11);
  const PolicyModel m = maker.model(80);
  RuleSlots slots;
  const CompileResult r = compile(m, slots);
  ASSERT_TRUE(r.snapshot);
  for (int i = 0; i < 300; ++i) {
    const Query q = maker.query();
    const base::Nanos now = maker.moment();
    const Explanation e = explain(*r.snapshot, q, now, 1000);
    EXPECT_EQ(e.decision.rule, r.snapshot->decide(q, now).rule);
    EXPECT_EQ(e.rule.id, slots.id(e.decision.rule));
    EXPECT_EQ(e.nearest.size(), e.rules_before);
    for (const RuleTrace& t : e.nearest) EXPECT_NE(t.miss, Miss::kNone);
  }
}

}  // namespace
}  // namespace merlon::policy
