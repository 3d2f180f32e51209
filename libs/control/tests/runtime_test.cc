// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/runtime.h"

#include <gtest/gtest.h>

#include <optional>

#include "merlon/control/daemon_view.h"
#include "merlon/io/ring_port.h"
#include "merlon/packet/text.h"
#include "merlon/telemetry/metric_families.h"
#include "ring_ports.h"
#include "temporary_folder.h"

namespace merlon::control {
namespace {

using test::ring_ports;

LoadedConfig one_tap() {
  LoadResult loaded = load_bundle(Bundle::of(
      "version: 1\nports:\n  p: {device: ring}\ntaps: p\npolicy: {default: drop}\n", "test.yaml"));
  EXPECT_TRUE(loaded.config.has_value());
  return std::move(*loaded.config);
}

bool are_equal(const base::HashSeed& x, const base::HashSeed& y) {
  return x.a == y.a && x.b == y.b;
}

// What the engine's hashes are seeded with.
engine::EngineConfig running_config(const base::Nanos* replay_time) {
  Runtime runtime(ring_ports, replay_time);
  EXPECT_TRUE(runtime.apply(nullptr, one_tap(), nullptr));
  return runtime.engine()->config();
}

TEST(Runtime, EachLiveStartHasASecretOfItsOwn) {
  const engine::EngineConfig first = running_config(nullptr), second = running_config(nullptr);
  EXPECT_FALSE(are_equal(first.parse.seed, base::HashSeed{}));
  EXPECT_FALSE(are_equal(first.parse.seed, second.parse.seed));
  // Sources and fragments must not be aimed at either.
  EXPECT_TRUE(are_equal(first.parse.seed, first.table.seed));
  EXPECT_TRUE(are_equal(first.parse.seed, first.fragments.seed));
}

TEST(Runtime, AReplayRepeatsItself) {
  const base::Nanos now = base::kNanosPerSecond;
  const engine::EngineConfig config = running_config(&now);
  EXPECT_TRUE(are_equal(config.parse.seed, base::HashSeed{}));
  EXPECT_TRUE(are_equal(config.table.seed, base::HashSeed{}));
  EXPECT_TRUE(are_equal(config.fragments.seed, base::HashSeed{}));
}

TEST(Runtime, AClockThatIsSetBackMakesSessionsAskAgain) {
  const base::Nanos now = 1'700'000'000 * base::kNanosPerSecond;
  Runtime runtime(ring_ports, &now);
  ASSERT_TRUE(runtime.apply(nullptr, one_tap(), nullptr));
  const auto generation = [&runtime] { return runtime.engine()->generation(); };
  runtime.tick(now);
  const auto before = generation();
  runtime.tick(now + base::kNanosPerSecond);
  runtime.tick(now + base::kNanosPerSecond / 2);  // a correction
  EXPECT_EQ(generation(), before);
  runtime.tick(now - 3600 * base::kNanosPerSecond);
  EXPECT_EQ(generation(), before + 1);
  runtime.tick(now - 3599 * base::kNanosPerSecond);
  EXPECT_EQ(generation(), before + 1);
}

TEST(Runtime, WhatWasCheckedIsAppliedAndOnlyThen) {
  const base::Nanos now = 1'700'000'000 * base::kNanosPerSecond;
  Runtime runtime(ring_ports, &now);
  LoadedConfig config = one_tap();
  config.policy.rules.resize(1);
  config.policy.rules[0].id = "a";
  const CheckFindings first = runtime.check(config.policy, config.engine);
  ASSERT_NE(first.prepared, nullptr);
  EXPECT_FALSE(runtime.find_slot("a"));  // a check takes no numbers
  ASSERT_TRUE(runtime.apply(nullptr, config, first.prepared.get()));
  EXPECT_EQ(runtime.find_slot("a"), 1U);
  config.policy.rules.push_back(config.policy.rules[0]);
  config.policy.rules[1].id = "b";
  const CheckFindings second = runtime.check(config.policy, config.engine);
  EXPECT_EQ(second.warnings.size(), 1U);  // b never decides
  // Another policy came in between: what was prepared is not used.
  ASSERT_TRUE(runtime.apply(&config, one_tap(), nullptr));
  ASSERT_TRUE(runtime.apply(&config, config, second.prepared.get()));
  EXPECT_EQ(runtime.find_slot("b"), 2U);
  EXPECT_EQ(runtime.policy()->size().rules, 2U);
}

// The wall clock was set back by an hour; after 49.7 days the steady one starts anew.
TEST(SessionRow, AgeIsByTheSteadyClock) {
  constexpr base::Nanos kHour = 3600 * base::kNanosPerSecond;
  const NamesTable names({});
  engine::SessionView view{};
  view.cold.start = 1'700'000'000 * base::kNanosPerSecond;
  view.session.start = 0xffff'f000;
  view.taken = 0x1000;
  view.taken_time = view.cold.start + 8 * base::kNanosPerSecond - kHour;
  EXPECT_EQ(session_row(view, names, 0).age_ms, 0x2000U);
  view.taken_time = view.cold.start + kHour;
  EXPECT_EQ(session_row(view, names, 0).age_ms, 0x2000U);
  view.taken_time = view.cold.start + 50 * 24 * kHour;
  EXPECT_EQ(session_row(view, names, 0).age_ms, 0x1'0000'2000U);
}

// A daemon without ports and socket, in a time of its own.
class DaemonViewTest : public testing::Test {
 protected:
  DaemonViewTest() {
    auto store = Store::open(folder_.path());
    EXPECT_TRUE(store);
    store_ = std::move(*store);
    lifecycle_.emplace(*store_, runtime_,
                       LifecycleOptions{.clock = [this] { return now_; }, .on_event = {}});
    const LoadResult start = load_bundle(Bundle::of(text("drop"), "test.yaml"));
    EXPECT_TRUE(lifecycle_->start(&start));
    events_.emplace(runtime_.engine()->event_rings(), runtime_.names(),
                    telemetry::EventWriterOptions{});
    view_.emplace(runtime_, *lifecycle_, mutex_, *events_);
  }

  static std::string text(const std::string& action) {
    return "version: 1\nports:\n  p: {device: ring}\ntaps: p\npolicy:\n  rules:\n    - {id: a, "
           "action: " +
           action + "}\n";
  }
  static CommitRequest by_test() {
    CommitRequest request;
    request.author = "test";
    return request;
  }
  CommitOutcome commit(const std::string& action) {
    return view_->commit_config(Bundle::of(text(action), "test.yaml"), by_test(), "test");
  }
  bool has_line(const std::string& line) {
    return ("\n" + view_->metrics_text()).find("\n" + line + "\n") != std::string::npos;
  }

  TemporaryFolder folder_;
  base::Nanos now_ = 1'700'000'000 * base::kNanosPerSecond;
  std::unique_ptr<Store> store_;
  Runtime runtime_{ring_ports, &now_};
  std::mutex mutex_;
  std::optional<Lifecycle> lifecycle_;
  std::optional<telemetry::EventWriter> events_;
  std::optional<DaemonView> view_;
};

TEST_F(DaemonViewTest, MetricsHaveEveryFamilyThatTheReferenceDeclares) {
  events_->add_sink(*telemetry::open_file_sink({.path = folder_.path() + "/eve.json"}));
  const std::string page = view_->metrics_text();
  for (const telemetry::MetricFamily* family : telemetry::metric_families())
    EXPECT_NE(page.find("# TYPE " + std::string(family->name) + " "), std::string::npos)
        << family->name;
}

TEST_F(DaemonViewTest, ChangesAreCountedByTheirResult) {
  EXPECT_TRUE(commit("permit").ok());
  EXPECT_FALSE(commit("allow").ok());
  EXPECT_TRUE(view_->rollback_config(0, by_test(), "test").ok());
  EXPECT_TRUE(commit("reject").ok());
  EXPECT_TRUE(has_line("merlon_policy_commits_total{result=\"committed\"} 2"));
  EXPECT_TRUE(has_line("merlon_policy_commits_total{result=\"rolled_back\"} 1"));
  EXPECT_TRUE(has_line("merlon_policy_commits_total{result=\"refused\"} 1"));
  EXPECT_TRUE(has_line("merlon_policy_commit_duration_seconds_count 3"));
  EXPECT_TRUE(has_line("merlon_policy_rules 1"));
}

TEST_F(DaemonViewTest, ACommitTellsWhichLiveSessionsItEnds) {
  EXPECT_TRUE(commit("permit").ok());
  const auto frame = packet::packet_from_text("eth / ipv4 src=10.0.0.1 dst=10.0.0.2 / udp", {});
  ASSERT_TRUE(frame);
  engine::Engine& engine = *runtime_.engine();
  ASSERT_TRUE(dynamic_cast<io::RingPort&>(engine.port(0)).inject(*frame, now_));
  engine.turn_all();
  const CommitOutcome out = commit("drop");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.report->apply.effect.examined, 1U);
  EXPECT_EQ(out.report->apply.effect.dropped, 1U);
  ASSERT_EQ(out.report->apply.effect.per_rule.size(), 1U);
  EXPECT_EQ(out.report->apply.effect.per_rule[0].rule, "a");
  // What ends does so with its next packet.
  EXPECT_EQ(view_->status().sessions, 1U);
}

TEST_F(DaemonViewTest, DurationsFallIntoTheirBuckets) {
  view_->count_change(DaemonView::Change::kCommitted, base::kNanosPerSecond / 1000);
  view_->count_change(DaemonView::Change::kCommitted, 2 * base::kNanosPerSecond);
  view_->count_change(DaemonView::Change::kRolledBack, 60 * base::kNanosPerSecond);
  view_->count_change(DaemonView::Change::kRefused, base::kNanosPerSecond);
  EXPECT_TRUE(has_line("merlon_policy_commit_duration_seconds_bucket{le=\"0.001\"} 1"));
  EXPECT_TRUE(has_line("merlon_policy_commit_duration_seconds_bucket{le=\"1\"} 1"));
  EXPECT_TRUE(has_line("merlon_policy_commit_duration_seconds_bucket{le=\"5\"} 2"));
  EXPECT_TRUE(has_line("merlon_policy_commit_duration_seconds_bucket{le=\"+Inf\"} 3"));
}

TEST_F(DaemonViewTest, AStartWithoutItsFileIsWarnedOfUntilTheNextCommit) {
  view_->warn_of_start("the start file can't be used");
  EXPECT_EQ(view_->status().warnings, std::vector<std::string>{"the start file can't be used"});
  EXPECT_FALSE(commit("allow").ok());
  EXPECT_EQ(view_->status().warnings.size(), 1U);
  EXPECT_TRUE(commit("permit").ok());
  EXPECT_TRUE(view_->status().warnings.empty());
}

}  // namespace
}  // namespace merlon::control
