// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/compile.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace merlon::policy {
namespace {

using testing::HasSubstr;

base::SourcePos at(unsigned line) { return {"policy.yaml", line, 5, 9}; }
Name word(std::string text, unsigned line = 1) {
  const bool negated = text.starts_with('!');
  return {negated ? text.substr(1) : text, negated, at(line)};
}
Rule rule(std::string id, Action action = Action::kPermit) {
  Rule r;
  r.id = std::move(id);
  r.action = action;
  return r;
}
Query packet(const char* source, const char* destination, std::uint8_t protocol = 6,
             std::uint16_t port = 80) {
  Query q;
  q.source = *base::parse_address(source);
  q.destination = *base::parse_address(destination);
  q.protocol = protocol;
  q.destination_port = port;
  q.source_port = 40000;
  return q;
}

struct Compiled {
  RuleSlots slots;
  CompileResult result;
  explicit Compiled(const PolicyModel& m) : result(compile(m, slots)) {}
  std::string decide(const Query& q, base::Nanos now = 0) const {
    return slots.id(result.snapshot->decide(q, now).rule);
  }
};

const base::Error* find(const base::Errors& errors, const std::string& part) {
  for (const auto& e : errors)
    if (e.message.find(part) != std::string::npos) return &e;
  return nullptr;
}

TEST(Compile, EmptyPolicyGivesTheDefault) {
  PolicyModel m;
  m.default_action = Action::kReject;
  m.default_log = LogMode::kBoth;
  const Compiled c(m);
  ASSERT_TRUE(c.result.snapshot);
  const Decision d = c.result.snapshot->decide(packet("10.0.0.1", "10.0.0.2"), 0);
  EXPECT_EQ(d.rule, kDefaultRuleSlot);
  EXPECT_EQ(d.action, Action::kReject);
  EXPECT_EQ(d.log, LogMode::kBoth);
}

TEST(Compile, OneRuleForEverythingTakesEverything) {
  PolicyModel m;
  m.rules.push_back(rule("all"));
  const Compiled c(m);
  EXPECT_EQ(c.decide(packet("10.0.0.1", "2001:db8::1")), "all");
  EXPECT_EQ(c.decide(packet("2001:db8::1", "10.0.0.1", 47)), "all");
}

TEST(Compile, DecisionCarriesWhatTheRuleSays) {
  PolicyModel m;
  Rule r = rule("r", Action::kReject);
  r.log = LogMode::kStart;
  r.on_change = OnChange::kKill;
  r.max_sessions = 7;
  r.max_sessions_per_source = 3;
  r.allow_midstream = false;
  m.rules.push_back(r);
  const Compiled c(m);
  const Decision d = c.result.snapshot->decide(packet("10.0.0.1", "10.0.0.2"), 0);
  EXPECT_EQ(d.action, Action::kReject);
  EXPECT_EQ(d.log, LogMode::kStart);
  EXPECT_EQ(d.on_change, OnChange::kKill);
  EXPECT_EQ(d.max_sessions, 7U);
  EXPECT_EQ(d.max_sessions_per_source, 3U);
  EXPECT_EQ(d.midstream, 2);
}

TEST(Compile, CategoriesComeBeforeFileOrder) {
  PolicyModel m;
  m.rules.push_back(rule("application"));
  m.rules.push_back(rule("emergency", Action::kDrop));
  m.rules[1].category = Category::kEmergency;
  EXPECT_EQ(Compiled(m).decide(packet("10.0.0.1", "10.0.0.2")), "emergency");
}

TEST(Compile, AnyIpv6PrefixLeavesIpv4Alone) {
  PolicyModel m;
  m.rules.push_back(rule("six"));
  m.rules[0].sources = {word("::/0")};
  const Compiled c(m);
  EXPECT_EQ(c.decide(packet("2001:db8::1", "2001:db8::2")), "six");
  EXPECT_EQ(c.decide(packet("10.0.0.1", "10.0.0.2")), "default");
}

TEST(Compile, NegationTakesAwayFromTheUnion) {
  PolicyModel m;
  m.rules.push_back(rule("r"));
  m.rules[0].sources = {word("10.0.0.0/8"), word("!10.1.0.0/16")};
  m.rules[0].destinations = {word("!192.0.2.1")};
  const Compiled c(m);
  EXPECT_EQ(c.decide(packet("10.0.0.1", "192.0.2.2")), "r");
  EXPECT_EQ(c.decide(packet("10.1.0.1", "192.0.2.2")), "default");
  EXPECT_EQ(c.decide(packet("10.0.0.1", "192.0.2.1")), "default");
  EXPECT_EQ(c.decide(packet("10.0.0.1", "2001:db8::1")), "r");
}

TEST(Compile, TagsMakeGroups) {
  PolicyModel m;
  m.addresses.push_back(
      {"web1", {*base::parse_address_range("10.0.0.1")}, {}, {"web", "prod"}, {}, {}});
  m.addresses.push_back({"web2", {*base::parse_address_range("10.0.0.2")}, {}, {"web"}, {}, {}});
  m.addresses.push_back({"prod-web", {}, {}, {}, {word("web"), word("prod")}, {}});
  m.rules.push_back(rule("r"));
  m.rules[0].destinations = {word("prod-web")};
  const Compiled c(m);
  EXPECT_EQ(c.decide(packet("10.9.9.9", "10.0.0.1")), "r");
  EXPECT_EQ(c.decide(packet("10.9.9.9", "10.0.0.2")), "default");
}

TEST(Compile, ReportsAllErrorsAtOnceWithPlaceAndHint) {
  PolicyModel m;
  m.ports = {"p0"};
  m.zones.push_back({"lan", {word("po", 3)}, {}, {}, at(2)});
  m.addresses.push_back({"servers", {}, {word("server", 5)}, {}, {}, at(4)});
  Rule r = rule("r");
  r.where = at(10);
  r.from_zones = {word("lna", 11)};
  r.sources = {word("severs", 12)};
  r.destinations = {word("10.0.0.1/8", 13)};
  r.services = {word("tcp/70000", 14), word("htps", 15)};
  r.schedule = word("night", 16);
  m.rules = {r, r};
  m.rules[1].where = at(20);
  RuleSlots slots;
  const CompileResult result = compile(m, slots);
  EXPECT_FALSE(result.snapshot);
  const auto expect = [&](const char* part, unsigned line, const char* hint) {
    const base::Error* e = find(result.errors, part);
    ASSERT_NE(e, nullptr) << part;
    EXPECT_EQ(e->where.line, line) << part;
    EXPECT_THAT(e->hint, HasSubstr(hint)) << part;
  };
  expect("port \"po\" does not exist", 3, "\"p0\"");
  expect("address object \"server\" does not exist", 5, "\"servers\"");
  expect("zone \"lna\" does not exist", 11, "\"lan\"");
  expect("address object \"severs\" does not exist", 12, "\"servers\"");
  expect("10.0.0.1/8", 13, "10.0.0.0/8");
  expect("port 70000 is out of range", 14, "");
  expect("service object \"htps\" does not exist", 15, "\"https\"");
  expect("schedule \"night\" does not exist", 16, "");
  expect("rule id \"r\" is used twice", 20, "line 10");
}

TEST(Compile, NamesTheWayOfACycle) {
  PolicyModel m;
  m.addresses.push_back({"a", {}, {word("b")}, {}, {}, {}});
  m.addresses.push_back({"b", {}, {word("c")}, {}, {}, {}});
  m.addresses.push_back({"c", {}, {word("a", 7)}, {}, {}, {}});
  RuleSlots slots;
  const CompileResult r = compile(m, slots);
  const base::Error* e = find(r.errors, "a → b → c → a");
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(e->where.line, 7U);
  EXPECT_EQ(r.errors.size(), 1U);
}

TEST(Compile, RemarksOnRulesThatCantMatch) {
  PolicyModel m;
  m.rules.push_back(rule("r"));
  m.rules[0].where = at(3);
  m.rules[0].sources = {word("10.0.0.0/8"), word("!0.0.0.0/0")};
  const Compiled c(m);
  ASSERT_EQ(c.result.findings.size(), 1U);
  EXPECT_EQ(c.result.findings[0].code, FindingCode::kEmptyMatch);
  EXPECT_EQ(c.result.findings[0].rule, "r");
  EXPECT_EQ(c.result.findings[0].where.line, 3U);
  EXPECT_EQ(c.decide(packet("10.0.0.1", "10.0.0.2")), "default");
}

TEST(Compile, AServiceObjectMayTakeABuiltinName) {
  PolicyModel m;
  m.services.push_back({"http", {}, {word("tcp/8080")}, at(2)});
  m.rules.push_back(rule("r"));
  m.rules[0].services = {word("http")};
  const Compiled c(m);
  EXPECT_EQ(c.decide(packet("10.0.0.1", "10.0.0.2", 6, 8080)), "r");
  EXPECT_EQ(c.decide(packet("10.0.0.1", "10.0.0.2", 6, 80)), "default");
  ASSERT_EQ(c.result.findings.size(), 1U);
  EXPECT_EQ(c.result.findings[0].code, FindingCode::kNameShadows);
}

TEST(Compile, ExpiredRulesLetTheNextOneDecide) {
  PolicyModel m;
  m.rules.push_back(rule("first"));
  m.rules[0].expires = 100;
  m.rules.push_back(rule("second"));
  const Compiled c(m);
  const Query q = packet("10.0.0.1", "10.0.0.2");
  EXPECT_EQ(c.decide(q, 99), "first");
  EXPECT_EQ(c.decide(q, 100), "second");
  EXPECT_EQ(c.result.snapshot->next_edge(50), 100);
  EXPECT_EQ(c.result.snapshot->next_edge(100), kNever);
}

TEST(Compile, SchedulesPassMidnight) {
  PolicyModel m;
  // Monday 22:00 to 06:00 in UTC+2.
  m.schedules.push_back({"night", 120, {{1, 22 * 60, 6 * 60, {}, {}}}, {}});
  m.rules.push_back(rule("r"));
  m.rules[0].schedule = word("night");
  const Compiled c(m);
  const Query q = packet("10.0.0.1", "10.0.0.2");
  // 2026-08-24 is a Monday; 1787522400 is 2026-08-23T22:00:00Z, midnight at the start of it in
  // UTC+2.
  constexpr base::Nanos kMonday = 1'787'522'400 * base::kNanosPerSecond;
  constexpr base::Nanos kHour = 3600 * base::kNanosPerSecond;
  EXPECT_EQ(c.decide(q, kMonday + 21 * kHour), "default");
  EXPECT_EQ(c.decide(q, kMonday + 22 * kHour), "r");
  EXPECT_EQ(c.decide(q, kMonday + 29 * kHour), "r");
  EXPECT_EQ(c.decide(q, kMonday + 30 * kHour), "default");
  EXPECT_EQ(c.decide(q, kMonday + 5 * kHour), "default");  // Sunday's night is not in it
  EXPECT_EQ(c.result.snapshot->next_edge(kMonday + 21 * kHour), kMonday + 22 * kHour);
}

TEST(Compile, RefusesWhatDoesNotFit) {
  PolicyModel m;
  for (int i = 0; i < 100; ++i) {
    m.rules.push_back(rule(fmt::format("r{}", i)));
    m.rules.back().sources = {word(fmt::format("10.0.{}.1", i))};
  }
  RuleSlots slots;
  CompileLimits limits;
  limits.max_bytes = 10'000;
  CompileResult r = compile(m, slots, limits);
  EXPECT_FALSE(r.snapshot);
  ASSERT_EQ(r.errors.size(), 1U);
  EXPECT_EQ(r.errors[0].code, base::Errc::kCapacity);
  limits = {};
  limits.max_rules = 99;
  r = compile(m, slots, limits);
  ASSERT_EQ(r.errors.size(), 1U);
  EXPECT_THAT(r.errors[0].message, HasSubstr("100 rules, the limit is 99"));
}

TEST(Compile, EstimateIsAboveWhatIsBuilt) {
  PolicyModel m;
  for (int i = 0; i < 3000; ++i) {
    m.rules.push_back(rule(fmt::format("r{}", i)));
    m.rules.back().sources = {word(fmt::format("10.{}.{}.0/24", i % 7, i % 250))};
    m.rules.back().services = {word(fmt::format("tcp/{}", i))};
  }
  const Compiled c(m);
  EXPECT_GE(c.result.stats.estimated_bytes, c.result.stats.bytes);
  EXPECT_EQ(estimate(m), c.result.stats.estimated_bytes);
}

TEST(Compile, SlotsStayWithTheirIds) {
  PolicyModel m;
  m.rules = {rule("a"), rule("b"), rule("c")};
  RuleSlots slots;
  const auto first = compile(m, slots);
  const std::uint32_t c = *slots.find("c");
  m.rules.erase(m.rules.begin());
  const auto second = compile(m, slots, {}, first.snapshot.get());
  EXPECT_TRUE(second.stats.is_incremental);
  EXPECT_EQ(*slots.find("c"), c);
  EXPECT_EQ(second.snapshot->slot(*slots.find("a")), nullptr);
  EXPECT_EQ(second.snapshot->slot(c)->id, "c");
  m.rules.push_back(rule("a"));
  const auto third = compile(m, slots, {}, second.snapshot.get());
  EXPECT_EQ(third.snapshot->slot(*slots.find("a"))->id, "a");
  EXPECT_EQ(slots.count(), 4U);
}

TEST(Compile, MovedLinesAreNoChangeButShowTheirNewPlace) {
  PolicyModel m;
  m.rules = {rule("a"), rule("b")};
  m.rules[1].where = at(4);
  RuleSlots slots;
  const auto first = compile(m, slots);
  m.rules[1].where = at(9);
  const auto second = compile(m, slots, {}, first.snapshot.get());
  EXPECT_TRUE(second.stats.is_incremental);
  EXPECT_EQ(second.stats.changed_rules, 0U);
  EXPECT_EQ(second.snapshot->slot(*slots.find("b"))->where.line, 9U);
  EXPECT_EQ(first.snapshot->slot(*slots.find("b"))->where.line, 4U);
}

TEST(Compile, AChangedObjectMeansAFullBuild) {
  PolicyModel m;
  m.addresses.push_back({"a", {*base::parse_address_range("10.0.0.1")}, {}, {}, {}, {}});
  m.rules.push_back(rule("r"));
  m.rules[0].sources = {word("a")};
  RuleSlots slots;
  const auto first = compile(m, slots);
  m.addresses[0].ranges = {*base::parse_address_range("10.0.0.2")};
  const auto second = compile(m, slots, {}, first.snapshot.get());
  EXPECT_FALSE(second.stats.is_incremental);
  EXPECT_EQ(second.snapshot->decide(packet("10.0.0.2", "10.0.0.9"), 0).rule, *slots.find("r"));
  EXPECT_EQ(second.snapshot->decide(packet("10.0.0.1", "10.0.0.9"), 0).rule, kDefaultRuleSlot);
}

TEST(Apply, RefusesUnknownAndDoubledRules) {
  PolicyModel m;
  m.rules = {rule("a")};
  RuleSlots slots;
  const auto r = compile(m, slots);
  RuleChange change;
  change.kind = RuleChange::Kind::kRemove;
  change.rule = rule("b");
  EXPECT_EQ(apply(*r.snapshot, slots, {&change, 1}).error().code, base::Errc::kNotFound);
  change.kind = RuleChange::Kind::kAdd;
  change.rule = rule("a");
  EXPECT_EQ(apply(*r.snapshot, slots, {&change, 1}).error().code, base::Errc::kDuplicate);
  change.rule = rule("c");
  change.rule.sources = {word("nowhere")};
  EXPECT_EQ(apply(*r.snapshot, slots, {&change, 1}).error().code, base::Errc::kNotFound);
}

TEST(Apply, LeavesTheCurrentSnapshotAlone) {
  PolicyModel m;
  m.rules = {rule("a")};
  RuleSlots slots;
  const auto r = compile(m, slots);
  RuleChange change;
  change.kind = RuleChange::Kind::kRemove;
  change.rule = rule("a");
  const auto next = apply(*r.snapshot, slots, {&change, 1});
  const Query q = packet("10.0.0.1", "10.0.0.2");
  EXPECT_EQ((*next)->decide(q, 0).rule, kDefaultRuleSlot);
  EXPECT_EQ(r.snapshot->decide(q, 0).rule, *slots.find("a"));
}

}  // namespace
}  // namespace merlon::policy
