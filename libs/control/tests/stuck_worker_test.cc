// SPDX-License-Identifier: Apache-2.0
// What control does about a worker that does not come back from a turn. Nothing here depends on how
// long anything takes: while the worker is held it never answers, afterwards tries are repeated.
#include <gtest/gtest.h>

#include "merlon/control/runtime.h"
#include "merlon/engine/session_walk.h"
#include "ring_ports.h"

namespace merlon::control {
namespace {

constexpr unsigned kTries = 2000;

LoadedConfig with_rules(const std::vector<std::string>& ids) {
  LoadResult loaded = load_bundle(Bundle::of(
      "version: 1\nports:\n  p: {device: ring}\ntaps: p\npolicy: {default: drop}\n", "t.yaml"));
  EXPECT_TRUE(loaded.config.has_value());
  for (const std::string& id : ids) {
    policy::Rule rule;
    rule.id = id;
    loaded.config->policy.rules.push_back(rule);
  }
  loaded.config->engine.workers = 1;
  loaded.config->engine.publish_patience = 10 * base::kNanosPerTick;
  return std::move(*loaded.config);
}

class StuckWorkerTest : public testing::Test {
 protected:
  StuckWorkerTest() { EXPECT_TRUE(runtime_.apply(nullptr, first_, nullptr)); }
  ~StuckWorkerTest() override { holds_ = false; }

  // The worker is in receive() for good once a walk finds it silent.
  void hold() {
    holds_ = true;
    for (unsigned n = 0; n < kTries && visit(); ++n) {
    }
  }
  // Whether every worker told of its sessions.
  bool visit() {
    engine::SessionWalk walk(*runtime_.engine(), [](const flow::Session&, const flow::SessionCold&,
                                                    base::Ticks) { return false; });
    std::vector<engine::SessionView> views;
    EXPECT_FALSE(walk.next(views));
    return walk.is_complete();
  }

  std::atomic<bool> holds_{false};
  LoadedConfig first_ = with_rules({"a"});
  Runtime runtime_{[this](const engine::EngineConfig& config)
                       -> base::Result<std::vector<std::unique_ptr<io::Port>>> {
    auto ports = test::ring_ports(config);
    if (!ports) return ports.error();
    std::vector<std::unique_ptr<io::Port>> out;
    for (auto& p : *ports) out.push_back(std::make_unique<test::HoldingPort>(std::move(p), holds_));
    return out;
  }};
};

TEST_F(StuckWorkerTest, ACommitThatItDoesNotTakeIsTakenBack) {
  const LoadedConfig second = with_rules({"a", "b"}), third = with_rules({"a", "c"});
  const auto before = runtime_.policy();
  hold();
  const CheckFindings checked = runtime_.check(third.policy, third.engine);
  const auto refused = runtime_.apply(&first_, second, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Errc::kTimeout);
  EXPECT_EQ(runtime_.policy(), before);
  // Who asks next meets the policy that the API tells of.
  EXPECT_EQ(runtime_.engine()->snapshot().policy, before);
  holds_ = false;
  // What was checked before knows nothing of the rule that some worker may have used by now.
  const auto slot_of_b = runtime_.find_slot("b");
  ASSERT_TRUE(slot_of_b);
  bool is_taken = static_cast<bool>(runtime_.apply(&first_, third, checked.prepared.get()));
  for (unsigned n = 0; n < kTries && !is_taken; ++n)
    is_taken = static_cast<bool>(runtime_.apply(&first_, third, nullptr));
  ASSERT_TRUE(is_taken);
  EXPECT_EQ(runtime_.policy()->size().rules, 2U);
  EXPECT_EQ(runtime_.engine()->snapshot().policy, runtime_.policy());
  EXPECT_EQ(runtime_.find_slot("b"), slot_of_b);
  EXPECT_NE(runtime_.find_slot("c"), slot_of_b);
}

TEST_F(StuckWorkerTest, QuestionsEndWithoutItsAnswer) {
  hold();
  // More than its mailbox holds.
  for (unsigned n = 0; n < 100; ++n) EXPECT_FALSE(visit());
  engine::JudgeRequest request;
  request.frame.resize(60);
  EXPECT_FALSE(runtime_.engine()->judge(request));
  EXPECT_FALSE(request.has_session);
  const auto cleared = runtime_.engine()->clear_sessions(
      [](const flow::Session&, const flow::SessionCold&, base::Ticks) { return true; });
  ASSERT_FALSE(cleared);
  EXPECT_EQ(cleared.error().code, base::Errc::kTimeout);
  const auto effect = runtime_.preview(first_, with_rules({"b"}), nullptr);
  ASSERT_TRUE(effect);
  EXPECT_TRUE(effect->is_unknown);

  holds_ = false;
  bool is_complete = false;
  for (unsigned n = 0; n < kTries && !is_complete; ++n) is_complete = visit();
  EXPECT_TRUE(is_complete);
}

}  // namespace
}  // namespace merlon::control
