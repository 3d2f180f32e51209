// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/lifecycle.h"

#include <gtest/gtest.h>

#include <fstream>

#include "temporary_folder.h"

namespace merlon::control {
namespace {

using base::Errc;
using base::kNanosPerSecond;

std::string text_of(const std::string& rule, const std::string& more = "") {
  return "version: 1\npolicy:\n  rules:\n    - {id: " + rule + ", action: permit}\n" + more;
}
Bundle bundle_of(const std::string& rule, const std::string& more = "") {
  return Bundle::of(text_of(rule, more), "m.yaml");
}

// An engine that remembers what it was given. A rule named "bad" does not compile, one named "late"
// fails in apply().
class FakeEngine final : public Applier {
 public:
  CheckFindings check(const policy::PolicyModel& policy, const engine::EngineConfig&) override {
    CheckFindings out;
    for (const auto& r : policy.rules)
      if (r.id == "bad")
        out.errors.push_back(
            {.code = Errc::kInvalidValue, .message = "does not compile", .where = r.where});
    out.prepared = std::make_shared<Prepared>();
    last_prepared = out.prepared.get();
    return out;
  }
  base::Result<SessionEffect> preview(const LoadedConfig&, const LoadedConfig& candidate,
                                      Prepared* prepared) override {
    EXPECT_EQ(prepared, last_prepared);
    SessionEffect effect;
    effect.examined = 10;
    effect.is_unknown = is_unknown;
    effect.dropped = candidate.policy.rules.size();
    return effect;
  }
  base::Result<ApplyReport> apply(const LoadedConfig* running, const LoadedConfig& candidate,
                                  Prepared* prepared) override {
    // What comes back after a failure has not been checked again.
    EXPECT_TRUE(prepared == nullptr || prepared == last_prepared);
    const std::string rule = candidate.policy.rules.empty() ? "" : candidate.policy.rules[0].id;
    if (rule == "late" || fails > 0) {
      if (fails > 0) --fails;
      return base::Error{.code = Errc::kCapacity, .message = "no memory"};
    }
    EXPECT_EQ(running == nullptr, active.empty());
    active = rule;
    revision = candidate.revision;
    ApplyReport report;
    report.blocked_ns = 7;
    report.effect.is_unknown = is_unknown;
    return report;
  }
  std::string active;
  std::uint64_t revision = 0;
  int fails = 0;
  bool is_unknown = false;  // what changes do to sessions
  const Prepared* last_prepared = nullptr;
};

class LifecycleTest : public testing::Test {
 protected:
  void open(const std::string& start = text_of("a")) {
    close();
    StoreOptions options;
    options.on_step = [this](std::string_view) { return steps_left_ < 0 || steps_left_-- > 0; };
    auto store = Store::open(folder_.path(), options);
    ASSERT_TRUE(store.ok()) << store.error().to_string();
    store_ = std::move(*store);
    engine_ = {};
    LifecycleOptions how;
    how.clock = [this] { return now_; };
    how.steady = [this] { return steady_; };
    how.on_event = [this](const LifecycleEvent& e) {
      events_.push_back(e.action + " " + std::to_string(e.revision.number) + " " +
                        e.revision.reason);
    };
    life_ = std::make_unique<Lifecycle>(*store_, engine_, how);
    const LoadResult file = load_bundle(Bundle::of(start, "m.yaml"));
    start_ = std::make_unique<base::Result<StartReport>>(life_->start(&file));
  }
  void close() {
    life_.reset();
    store_.reset();
  }
  CommitOutcome commit(const std::string& rule, int confirm_seconds = 0) {
    CommitRequest request;
    request.author = "ann";
    request.confirm_within = confirm_seconds * kNanosPerSecond;
    return life_->commit(bundle_of(rule), request);
  }
  [[nodiscard]] std::vector<std::string> history() const {
    std::vector<std::string> out;
    for (const RevisionInfo& i : life_->history())
      out.push_back(std::to_string(i.number) + " " + i.reason);
    return out;
  }
  using Lines = std::vector<std::string>;

  TemporaryFolder folder_;
  void pass(base::Nanos time) {
    now_ += time;
    steady_ += time;
  }
  base::Nanos now_ = 1000 * kNanosPerSecond, steady_ = 7 * kNanosPerSecond;
  std::int64_t steps_left_ = -1;  // durable steps until the store dies; negative: it lives
  std::unique_ptr<Store> store_;
  FakeEngine engine_;
  std::unique_ptr<Lifecycle> life_;
  std::unique_ptr<base::Result<StartReport>> start_;
  Lines events_;
};

TEST_F(LifecycleTest, FailOpenDoesNotStandInForAPolicy) {
  open(
      "version: 1\nports:\n  a: {device: x}\n  b: {device: y}\nwires:\n"
      "  w: {ports: [a, b], fail_open: true}\npolicy:\n  rules: [{id: bad, action: permit}]\n");
  ASSERT_FALSE(start_->ok());
  EXPECT_EQ(engine_.active, "");
  EXPECT_EQ(life_->running(), nullptr);
}

TEST_F(LifecycleTest, StartsWithTheFileAndCommits) {
  open();
  ASSERT_TRUE(start_->ok());
  EXPECT_EQ((*start_)->origin, StartReport::Origin::kFile);
  EXPECT_EQ(engine_.active, "a");
  EXPECT_EQ(engine_.revision, 1U);
  const CommitOutcome out = commit("b");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.report->revision, 2U);
  EXPECT_EQ(out.report->previous, 1U);
  EXPECT_EQ(out.report->apply.blocked_ns, 7U);
  EXPECT_EQ(format_changes(out.report->changes), "- rule a\n+ rule b\n");
  EXPECT_EQ(engine_.active, "b");
  EXPECT_EQ(engine_.revision, 2U);
  EXPECT_EQ(life_->running()->revision, 2U);
  EXPECT_EQ(history(), (Lines{"2 committed", "1 start"}));
  EXPECT_EQ(life_->history()[0].author, "ann");
  EXPECT_EQ(events_, (Lines{"start 1 start", "commit 2 committed"}));
}

TEST_F(LifecycleTest, ARestartKeepsTheCommitWhileTheFileIsTheSame) {
  open();
  ASSERT_TRUE(commit("b").ok());
  open();
  ASSERT_TRUE(start_->ok());
  EXPECT_EQ((*start_)->origin, StartReport::Origin::kRevision);
  EXPECT_EQ(engine_.active, "b");
  EXPECT_EQ(life_->running_revision(), 2U);
  open(text_of("c"));
  EXPECT_EQ((*start_)->origin, StartReport::Origin::kFile);
  EXPECT_EQ(engine_.active, "c");
  EXPECT_EQ(history(), (Lines{"3 start", "2 committed", "1 start"}));
}

TEST_F(LifecycleTest, AnInvalidFileFallsBackLoudly) {
  open();
  ASSERT_TRUE(commit("b").ok());
  open("version: 1\npolcy: {}\n");
  ASSERT_TRUE(start_->ok());
  EXPECT_EQ((*start_)->origin, StartReport::Origin::kFallback);
  EXPECT_EQ(engine_.active, "b");
  ASSERT_EQ((*start_)->problems.size(), 1U);
  EXPECT_EQ((*start_)->problems[0].message, "unknown key \"polcy\"");
}

TEST_F(LifecycleTest, NothingValidDoesNotStart) {
  open("version: 3\n");
  ASSERT_FALSE(start_->ok());
  EXPECT_EQ(start_->error().code, Errc::kInvalidValue);
  EXPECT_EQ(engine_.active, "");
  EXPECT_EQ(life_->running(), nullptr);
  EXPECT_EQ(commit("b").errors.at(0).code, Errc::kRefused);
}

TEST_F(LifecycleTest, AFileThatDoesNotCompileFallsBack) {
  open();
  open(text_of("bad"));
  ASSERT_TRUE(start_->ok());
  EXPECT_EQ(engine_.active, "a");
  EXPECT_EQ((*start_)->problems.at(0).message, "does not compile");
  EXPECT_EQ((*start_)->problems.at(0).where.line, 4U);
}

TEST_F(LifecycleTest, DamagedRevisionsAreSkippedAtStart) {
  open();
  ASSERT_TRUE(commit("b").ok());
  ASSERT_TRUE(commit("c").ok());
  close();
  std::ofstream(folder_.path() + "/revisions/00000003.rev") << "broken";
  open();
  ASSERT_TRUE(start_->ok());
  EXPECT_EQ(engine_.active, "b");
  EXPECT_EQ((*start_)->problems.size(), 2U);
}

TEST_F(LifecycleTest, CheckReportsAllErrorsAtOnce) {
  open();
  const CheckReport report = life_->check(
      Bundle::of("version: 1\nx: 1\npolicy: {rules: [{id: bad, action: drop}]}\n", "m.yaml"));
  ASSERT_EQ(report.errors.size(), 2U);
  EXPECT_EQ(report.errors[0].message, "unknown key \"x\"");
  EXPECT_EQ(report.errors[1].message, "does not compile");
  EXPECT_FALSE(report.config.has_value());
}

TEST_F(LifecycleTest, PreviewShowsChangesAndEffect) {
  open();
  const PreviewReport report = life_->preview(bundle_of("b"));
  EXPECT_EQ(format_changes(report.changes), "- rule a\n+ rule b\n");
  ASSERT_TRUE(report.effect.has_value());
  EXPECT_EQ(report.effect->dropped, 1U);
  EXPECT_EQ(report.running_revision, 1U);
  EXPECT_EQ(engine_.active, "a");
}

TEST_F(LifecycleTest, AnUnknownEffectIsWarnedOf) {
  open();
  engine_.is_unknown = true;
  const PreviewReport report = life_->preview(bundle_of("b"));
  ASSERT_FALSE(report.check.warnings.empty());
  EXPECT_EQ(report.check.warnings.back().code, Errc::kTimeout);
  const CommitOutcome out = commit("b");
  ASSERT_TRUE(out.ok());
  ASSERT_FALSE(out.warnings.empty());
  EXPECT_EQ(out.warnings.back().code, Errc::kTimeout);
  EXPECT_EQ(out.report->warnings.size(), out.warnings.size());
}

TEST_F(LifecycleTest, AFailedCommitChangesNothing) {
  open();
  for (const char* rule : {"bad", "late"}) {
    const CommitOutcome out = commit(rule);
    EXPECT_FALSE(out.ok());
    EXPECT_EQ(out.errors.size(), 1U);
    EXPECT_EQ(engine_.active, "a");
    EXPECT_EQ(life_->running_revision(), 1U);
    EXPECT_EQ(history(), (Lines{"1 start"}));
    EXPECT_FALSE(life_->pending().has_value());
  }
  EXPECT_TRUE(commit("b").ok());
}

TEST_F(LifecycleTest, ComparesAndSwaps) {
  open();
  ASSERT_TRUE(commit("b").ok());
  CommitRequest request;
  request.expected_revision = 1;
  const CommitOutcome out = life_->commit(bundle_of("c"), request);
  ASSERT_EQ(out.errors.size(), 1U);
  EXPECT_EQ(out.errors[0].code, Errc::kConflict);
  EXPECT_EQ(out.errors[0].message, "revision 2 is running, not 1");
  request.expected_revision = 2;
  EXPECT_TRUE(life_->commit(bundle_of("c"), request).ok());
}

TEST_F(LifecycleTest, TheSameTextIsNoRevision) {
  open();
  const CommitOutcome out = commit("a");
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(out.report->is_unchanged);
  EXPECT_EQ(life_->running_revision(), 1U);
}

TEST_F(LifecycleTest, RestartKeysAreRefusedOrNamed) {
  open();
  CommitRequest request;
  const Bundle candidate = bundle_of("a", "workers: {count: 2}\napi: {socket: /tmp/x}\n");
  const CommitOutcome refused = life_->commit(candidate, request);
  ASSERT_EQ(refused.errors.size(), 2U);
  EXPECT_EQ(refused.errors[0].message, "\"workers.count\" takes effect only at restart");
  EXPECT_EQ(refused.errors[1].path, "api.socket");
  request.allow_restart_keys = true;
  const CommitOutcome stored = life_->commit(candidate, request);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored.report->restart_keys, (Lines{"workers.count", "api.socket"}));
  EXPECT_EQ(life_->waiting_restart_keys(), (Lines{"workers.count", "api.socket"}));
  open();
  EXPECT_EQ(life_->running()->engine.workers, 2U);
  EXPECT_TRUE(life_->waiting_restart_keys().empty());
}

TEST_F(LifecycleTest, AConfirmedCommitStays) {
  open();
  const CommitOutcome out = commit("b", 60);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.report->confirm_deadline, now_ + 60 * kNanosPerSecond);
  EXPECT_EQ(history(), (Lines{"2 awaiting confirmation", "1 start"}));
  EXPECT_EQ(commit("c").errors.at(0).code, Errc::kConflict);
  EXPECT_EQ(life_->confirm("bob", 7).error().code, Errc::kConflict);
  pass(59 * kNanosPerSecond);
  EXPECT_FALSE(life_->tick().has_value());
  ASSERT_TRUE(life_->confirm("bob").ok());
  EXPECT_EQ(life_->confirm("bob").error().code, Errc::kNotFound);
  pass(100 * kNanosPerSecond);
  EXPECT_FALSE(life_->tick().has_value());
  EXPECT_EQ(engine_.active, "b");
  EXPECT_EQ(history(), (Lines{"2 confirmed", "1 start"}));
  open();
  EXPECT_EQ(engine_.active, "b");
  EXPECT_EQ(history(), (Lines{"2 confirmed", "1 start"}));
}

TEST_F(LifecycleTest, TheTimerRollsBack) {
  open();
  ASSERT_TRUE(commit("b", 60).ok());
  pass(60 * kNanosPerSecond);
  EXPECT_EQ(life_->confirm("ann").error().code, Errc::kTimeout);
  const auto out = life_->tick();
  ASSERT_TRUE(out.has_value());
  ASSERT_TRUE(out->ok());
  EXPECT_EQ(engine_.active, "a");
  EXPECT_EQ(history(), (Lines{"3 rolled back: timer", "2 not confirmed", "1 start"}));
  EXPECT_EQ(life_->history()[0].content_of, 1U);
  EXPECT_FALSE(life_->pending().has_value());
  EXPECT_FALSE(life_->tick().has_value());
  EXPECT_EQ(events_.back(), "rollback 3 rolled back: timer");
  open();
  EXPECT_EQ(engine_.active, "a");
}

TEST_F(LifecycleTest, SettingTheClockNeitherCutsNorStretchesTheTimeToConfirm) {
  open();
  ASSERT_TRUE(commit("b", 60).ok());
  now_ += 86'400 * kNanosPerSecond;  // the clock is set, a second passes
  steady_ += kNanosPerSecond;
  EXPECT_FALSE(life_->tick().has_value());
  now_ -= 2 * 86'400 * kNanosPerSecond;
  steady_ += 59 * kNanosPerSecond;
  ASSERT_TRUE(life_->tick().has_value());
  EXPECT_EQ(engine_.active, "a");
}

TEST_F(LifecycleTest, TheViewIsWhatIsInForce) {
  open();
  const auto first = life_->view();
  EXPECT_EQ(first->revision, 1U);
  EXPECT_EQ(first->running->policy.rules.at(0).id, "a");
  ASSERT_TRUE(commit("b", 60).ok());
  const auto waiting = life_->view();
  EXPECT_EQ(first->revision, 1U);  // stays as it was
  EXPECT_EQ(waiting->revision, 2U);
  EXPECT_EQ(waiting->pending->revision, 2U);
  EXPECT_EQ(waiting->history.size(), 2U);
  ASSERT_TRUE(life_->confirm("ann").ok());
  EXPECT_FALSE(life_->view()->pending);
  EXPECT_EQ(life_->view()->history.at(0).reason, "confirmed");
  EXPECT_FALSE(commit("bad").ok());
  EXPECT_EQ(life_->view()->revision, 2U);
  ASSERT_TRUE(life_->rollback(1, {}).ok());
  EXPECT_EQ(life_->view()->revision, 3U);
  EXPECT_EQ(life_->view()->running->policy.rules.at(0).id, "a");
}

TEST_F(LifecycleTest, ARollbackThatFailsIsTriedAgain) {
  open();
  ASSERT_TRUE(commit("b", 60).ok());
  pass(60 * kNanosPerSecond);
  engine_.fails = 2;  // the roll-back and the one without the store
  const auto failed = life_->tick();
  ASSERT_TRUE(failed.has_value());
  EXPECT_FALSE(failed->ok());
  EXPECT_FALSE(life_->tick().has_value());
  pass(5 * kNanosPerSecond);
  ASSERT_TRUE(life_->tick()->ok());
  EXPECT_EQ(engine_.active, "a");
}

TEST_F(LifecycleTest, TheTimerRollsBackWithAFullDisk) {
  open();
  ASSERT_TRUE(commit("b", 60).ok());
  pass(60 * kNanosPerSecond);
  steps_left_ = 0;
  const auto out = life_->tick();
  ASSERT_TRUE(out.has_value());
  ASSERT_TRUE(out->ok());
  EXPECT_EQ(out->warnings.size(), 1U);
  EXPECT_EQ(engine_.active, "a");
  EXPECT_EQ(life_->running_revision(), 1U);
  steps_left_ = -1;
  open();
  EXPECT_EQ(engine_.active, "a");
  EXPECT_EQ(history()[0], "3 rolled back: restart");
}

TEST_F(LifecycleTest, ARestartUndoesWhatWasNotConfirmed) {
  open();
  ASSERT_TRUE(commit("b", 600).ok());
  open();
  ASSERT_TRUE(start_->ok());
  EXPECT_EQ(engine_.active, "a");
  EXPECT_EQ(history(), (Lines{"3 rolled back: restart", "2 not confirmed", "1 start"}));
  EXPECT_FALSE(life_->pending().has_value());
}

TEST_F(LifecycleTest, TheOperatorRollsBack) {
  open();
  ASSERT_TRUE(commit("b").ok());
  ASSERT_TRUE(commit("c").ok());
  CommitRequest request;
  request.author = "bob";
  ASSERT_TRUE(life_->rollback(0, request).ok());
  EXPECT_EQ(engine_.active, "b");
  ASSERT_TRUE(life_->rollback(1, request).ok());
  EXPECT_EQ(engine_.active, "a");
  EXPECT_EQ(history(), (Lines{"5 rolled back: operator", "4 rolled back: operator", "3 committed",
                              "2 committed", "1 start"}));
  EXPECT_EQ(life_->rollback(99, request).errors.at(0).code, Errc::kNotFound);
  EXPECT_EQ(life_->rollback(5, request).errors.at(0).code, Errc::kRefused);
  ASSERT_TRUE(commit("d", 60).ok());
  ASSERT_TRUE(life_->rollback(0, request).ok());
  EXPECT_EQ(engine_.active, "a");
  EXPECT_FALSE(life_->pending().has_value());
}

// The store dies before every durable step of every operation in turn; the next start comes up with
// what was final before the operation or after it, never with what was not confirmed.
TEST_F(LifecycleTest, SurvivesADeathAtEveryStep) {
  struct Operation {
    const char* name;
    std::function<void()> run;
    std::string before, after;
  };
  const std::vector<Operation> operations = {
      {"commit", [&] { static_cast<void>(commit("b")); }, "a", "b"},
      {"commit that waits", [&] { static_cast<void>(commit("b", 60)); }, "a", "a"},
      {"confirm",
       [&] {
         static_cast<void>(commit("b", 60));
         static_cast<void>(life_->confirm("x"));
       },
       "a", "b"},
      {"rollback", [&] { static_cast<void>(life_->rollback(0, {})); }, "a", "z"},
  };
  for (const Operation& operation : operations) {
    for (std::int64_t steps = 0; steps < 40; ++steps) {
      close();
      folder_.renew();
      open(text_of("z"));
      ASSERT_TRUE(commit("a").ok());
      steps_left_ = steps;
      operation.run();
      steps_left_ = -1;
      open(text_of("z"));
      ASSERT_TRUE(start_->ok()) << operation.name << " " << steps;
      EXPECT_TRUE((*start_)->problems.empty()) << operation.name << " " << steps;
      EXPECT_TRUE(engine_.active == operation.before || engine_.active == operation.after)
          << operation.name << " died before step " << steps << ": " << engine_.active;
      if (steps == 39) {
        EXPECT_EQ(engine_.active, operation.after) << operation.name;
      }
      EXPECT_FALSE(store_->state().pending.has_value());
      close();
    }
  }
}

}  // namespace
}  // namespace merlon::control
