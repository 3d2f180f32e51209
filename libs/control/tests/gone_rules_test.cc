// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/gone_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "merlon/control/runtime.h"
#include "merlon/engine/session_walk.h"
#include "merlon/packet/text.h"
#include "ring_ports.h"

namespace merlon::control {
namespace {

policy::Rule permit(std::string id) {
  policy::Rule rule;
  rule.id = std::move(id);
  rule.action = base::Action::kPermit;
  return rule;
}

std::vector<policy::Rule> many(const std::string& prefix, unsigned count) {
  std::vector<policy::Rule> rules;
  for (unsigned n = 0; n < count; ++n) rules.push_back(permit(fmt::format("{}{}", prefix, n)));
  return rules;
}

class GoneRulesTest : public testing::Test {
 protected:
  GoneRulesTest() {
    LoadResult loaded = load_bundle(Bundle::of(
        "version: 1\nports:\n  p: {device: ring}\ntaps: p\npolicy: {default: drop}\n", "t.yaml"));
    EXPECT_TRUE(loaded.config.has_value());
    config_ = std::move(*loaded.config);
    config_.engine.workers = 1;
    config_.engine.table.max_sessions = 4096;
    config_.revision = 1;
    EXPECT_TRUE(runtime_.apply(nullptr, config_, nullptr));
  }
  void commit(std::vector<policy::Rule> rules) {
    config_.policy.rules = std::move(rules);
    ++config_.revision;
    const auto applied = runtime_.apply(&config_, config_, nullptr);
    ASSERT_TRUE(applied) << applied.error().to_string();
  }
  static std::string source(unsigned n) {
    return fmt::format("10.{}.{}.{}", n >> 16 & 0xff, n >> 8 & 0xff, n & 0xff);
  }
  void send(unsigned n) {
    const auto frame = packet::packet_from_text(
        fmt::format("eth / ipv4 src={} dst=192.0.2.1 / udp sport=5000 dport=53", source(n)), {});
    ASSERT_TRUE(frame);
    ASSERT_TRUE(dynamic_cast<io::RingPort&>(runtime_.engine()->port(0)).inject(*frame, now_));
    runtime_.engine()->turn_all();
  }
  std::vector<engine::SessionView> sessions() {
    engine::SessionWalk walk(*runtime_.engine(), [](const flow::Session&, const flow::SessionCold&,
                                                    base::Ticks) { return true; });
    std::vector<engine::SessionView> all;
    for (std::vector<engine::SessionView> views; walk.next(views);)
      all.insert(all.end(), views.begin(), views.end());
    return all;
  }
  [[nodiscard]] policy::RuleHits hits(const std::string& rule) {
    const auto slot = runtime_.find_slot(rule);
    EXPECT_TRUE(slot) << rule;
    return slot ? runtime_.engine()->hits().read(*slot) : policy::RuleHits{};
  }
  void read_events() {
    base::EventRecord record;
    for (base::EventRing* ring : runtime_.engine()->event_rings())
      while (ring->pop(record)) {
      }
  }

  base::Nanos now_ = 1'700'000'000 * base::kNanosPerSecond;
  LoadedConfig config_;
  Runtime runtime_{test::ring_ports, &now_};
};

// Every commit brings ids that never were; some sessions keep the verdict of a rule that is gone.
TEST_F(GoneRulesTest, UniqueIdsTakeBoundedMemoryAndGetNobodyElsesCounters) {
  constexpr unsigned kCommits = 3000, kIds = 12;
  std::mt19937 random(11);
  std::map<std::string, unsigned> opened_by;  // source, commit
  std::vector<unsigned> keeping;
  for (unsigned n = 1; n <= kCommits; ++n) {
    const std::string id = fmt::format("r{}", n);
    std::vector<policy::Rule> rules = many(id + "-", kIds);
    rules[0].id = id;
    const bool keeps = random() % 3 == 0;
    if (keeps) rules[0].on_change = policy::OnChange::kKeep;
    commit(std::move(rules));
    ASSERT_LE(runtime_.policy()->slot_count(), GoneRules::kKept + GoneRules::kKept / 2);
    policy::RuleHits h = hits(id);
    ASSERT_EQ(h.sessions + h.packets + h.bytes + h.limit_drops, 0U) << id;
    ASSERT_EQ(h.first, 0) << id;
    send(n);
    opened_by[source(n)] = n;
    h = hits(id);
    ASSERT_EQ(h.sessions, 1U) << id;
    ASSERT_EQ(h.first, now_) << id;
    if (keeps) keeping.push_back(n);
    if (const std::size_t latest = std::min<std::size_t>(keeping.size(), 300); latest != 0) {
      const auto again = keeping.end() - 1 - static_cast<std::ptrdiff_t>(random() % latest);
      send(*again);
      // A session that had ended is opened anew, by the rule of this commit.
      if (hits(id).sessions == 2) opened_by[source(*again)] = n;
      if (hits(id).sessions == 2 && !keeps) keeping.erase(again);
    }
    now_ += static_cast<base::Nanos>(50 + random() % 100) * base::kNanosPerTick;
    if (n % 500 != 0) continue;
    for (const engine::SessionView& v : sessions()) {
      const auto revision = runtime_.engine()->revision_of(v.session.generation);
      const std::string name(runtime_.names().rule(v.session.rule, revision));
      ASSERT_TRUE(runtime_.find_slot(name)) << name;
      ASSERT_EQ(*runtime_.find_slot(name), v.session.rule);
      const unsigned opener = opened_by[engine::query_of(v.session, v.cold).source.to_string()];
      ASSERT_EQ(name, fmt::format("r{}", opener));
    }
  }
  EXPECT_LE(runtime_.gone_rules(), GoneRules::kKept + sessions().size());
}

TEST_F(GoneRulesTest, SessionsAndUnreadEventsHoldASlot) {
  std::vector<policy::Rule> rules = many("r", 5000);
  rules[0].log = policy::LogMode::kStart;
  rules[0].on_change = policy::OnChange::kKeep;
  commit(rules);
  send(1);
  const auto r0 = runtime_.find_slot("r0");
  commit({permit("x")});
  EXPECT_EQ(runtime_.gone_rules(), 5000U);  // an event has not been read
  commit({permit("r7")});
  const auto r7 = runtime_.find_slot("r7");
  read_events();
  commit({permit("y")});
  EXPECT_LT(runtime_.gone_rules(), GoneRules::kKept);
  EXPECT_EQ(runtime_.find_slot("r0"), r0);  // a session has it
  EXPECT_EQ(runtime_.find_slot("r7"), r7);  // it was back meanwhile
  EXPECT_FALSE(runtime_.find_slot("r8"));
  const std::uint32_t slots = runtime_.policy()->slot_count();
  commit(many("s", 1000));
  EXPECT_EQ(runtime_.policy()->slot_count(), slots);
  EXPECT_EQ(sessions().at(0).session.rule, *r0);
  EXPECT_EQ(runtime_.names().rule(*r0, 2), "r0");
  // What was noted of a slot's rule before is not told by the name of its new one.
  EXPECT_EQ(runtime_.names().rule(*runtime_.find_slot("s1"), 2), "");
  EXPECT_EQ(runtime_.names().rule(*runtime_.find_slot("s1")), "s1");
}

TEST_F(GoneRulesTest, ARuleThatComesBackSoonHasItsCounters) {
  commit({permit("a")});
  send(1);
  commit({permit("b")});
  commit({permit("a")});
  EXPECT_EQ(hits("a").sessions, 1U);
  EXPECT_EQ(runtime_.gone_rules(), 1U);
}

}  // namespace
}  // namespace merlon::control
