// SPDX-License-Identifier: Apache-2.0
#pragma once
// edit → check → diff → commit [confirm N] → confirm | automatic rollback. All-or-nothing; every
// outcome is a numbered revision in the Store. control-only, one thread at a time, except view();
// time comes from the caller's clock.
//
// Rules: an unconfirmed revision is undone by the timer while the daemon lives and by start() after
// a restart. Keys of reload class `restart` are refused in a commit unless it says
// allow_restart_keys; then they are stored, named in the report, and take effect at the next start.
// A rollback is a new revision with an old content.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/base/time.h"
#include "merlon/control/config_diff.h"
#include "merlon/control/config_load.h"
#include "merlon/control/store.h"

namespace merlon::control {

// Live sessions that a change touches, per rule id of the running policy.
struct SessionEffect {
  struct PerRule {
    std::string rule;
    std::uint64_t dropped = 0, kept = 0, changed_rule = 0;
  };
  std::uint64_t examined = 0;      // live sessions judged again; a million at most
  bool is_partial = false;         // there are more
  bool is_unknown = false;         // a worker did not answer in time: its sessions are left out
  std::uint64_t dropped = 0;       // would lose their permit
  std::uint64_t kept = 0;          // verdict would change, but the rule says keep
  std::uint64_t changed_rule = 0;  // same verdict by another rule
  std::vector<PerRule> per_rule;   // only rules with a change, most dropped first
};

struct ApplyReport {
  base::Nanos published = 0;     // when the new snapshot became visible to the workers
  std::uint64_t blocked_ns = 0;  // longest time that a worker was kept from packets
  std::uint64_t compile_ns = 0;
  std::size_t memory_size = 0;  // bytes of the new snapshot
  SessionEffect effect;  // on the sessions that lived just before; they end with their next packet
};

// What check() made of a candidate, so that preview() and apply() need not make it again. Good
// until the next apply().
class Prepared {
 public:
  virtual ~Prepared() = default;
};

struct CheckFindings {
  base::Errors errors, warnings;
  std::shared_ptr<Prepared> prepared{};  // may be nullptr
};

// What the life cycle asks of the engine; implemented over it by the daemon.
class Applier {
 public:
  virtual ~Applier() = default;
  // Compiles without publishing: the compiler's errors, findings (shadowed rules) as warnings,
  // capacity.
  virtual CheckFindings check(const policy::PolicyModel& policy,
                              const engine::EngineConfig& engine) = 0;
  // What live sessions would meet under the candidate. `prepared`: of its check, or nullptr.
  virtual base::Result<SessionEffect> preview(const LoadedConfig& running,
                                              const LoadedConfig& candidate,
                                              Prepared* prepared) = 0;
  // Publishes all or nothing. `running` is nullptr at start. Keys of class restart are ignored when
  // running is given. Takes `prepared`, when there is some, to pieces.
  virtual base::Result<ApplyReport> apply(const LoadedConfig* running,
                                          const LoadedConfig& candidate, Prepared* prepared) = 0;
};

struct CommitRequest {
  std::string author, comment;
  std::optional<std::uint64_t> expected_revision;  // kConflict when another one is running
  base::Nanos confirm_within = 0;                  // 0: final at once
  bool allow_restart_keys = false;
};

struct CheckReport {
  base::Errors errors, warnings;
  Bundle bundle;                         // for excerpts
  std::optional<LoadedConfig> config;    // when there is no error
  std::shared_ptr<Prepared> prepared{};  // of that configuration
};

// All that loading and compiling say of a configuration, in the order of its text.
CheckReport check_loaded(Applier& applier, LoadResult&& loaded);

struct PreviewReport {
  CheckReport check;
  std::uint64_t running_revision = 0;
  std::vector<Change> changes;
  std::vector<std::string> restart_keys;
  std::optional<SessionEffect> effect;  // nothing when the check failed
};

struct CommitReport {
  std::uint64_t revision = 0, previous = 0;
  std::vector<Change> changes;
  std::vector<std::string> restart_keys;  // stored, not yet in effect
  base::Errors warnings;
  ApplyReport apply;
  std::optional<base::Nanos> confirm_deadline;
  bool is_unchanged = false;  // the candidate equals the running revision: nothing was done
};

// A refused commit has every error; the running revision is then untouched.
struct CommitOutcome {
  std::optional<CommitReport> report;
  base::Errors errors, warnings;
  Bundle bundle;
  [[nodiscard]] bool ok() const noexcept { return report.has_value(); }
};

struct StartReport {
  std::uint64_t revision = 0;
  enum class Origin : std::uint8_t { kFile, kRevision, kFallback } origin = Origin::kFile;
  base::Errors problems;  // what made it fall back; to be logged as errors
  base::Errors warnings;
  Bundle bundle;  // of the start file, for excerpts
  ApplyReport apply;
};

// Told of everything that became of the configuration, for events and logs.
struct LifecycleEvent {
  std::string action;  // start commit confirm rollback
  RevisionInfo revision;
  std::uint64_t previous = 0;
};

struct LifecycleOptions {
  std::function<base::Nanos()> clock = base::wall_clock_now;
  // Runs the time to confirm while the daemon lives, so that setting the clock neither cuts it
  // short nor stretches it; empty: `clock`.
  std::function<base::Nanos()> steady{};
  std::function<void(const LifecycleEvent&)> on_event;
};

// What is in force, at one moment. immutable.
struct LifecycleView {
  std::shared_ptr<const LoadedConfig> running;
  std::uint64_t revision = 0;
  std::optional<PendingConfirm> pending;
  std::vector<RevisionInfo> history;              // newest first
  std::vector<std::string> waiting_restart_keys;  // stored, in effect from the next start on
};

class Lifecycle {
 public:
  Lifecycle(Store& store, Applier& applier, LifecycleOptions options = {});
  ~Lifecycle();

  // Takes the start file when it is new to the store, else the current revision; an invalid one
  // falls back to the last valid revision. An error means that nothing valid exists: the daemon
  // must not start.
  base::Result<StartReport> start(const LoadResult* start_file);

  [[nodiscard]] CheckReport check(const Bundle& candidate) const;
  [[nodiscard]] PreviewReport preview(const Bundle& candidate) const;
  CommitOutcome commit(const Bundle& candidate, const CommitRequest& request);
  // Makes the waiting commit final. kNotFound when nothing waits; kConflict when another revision
  // waits.
  base::Result<RevisionInfo> confirm(const std::string& author,
                                     std::optional<std::uint64_t> revision = {});
  // Back to revision `number`; 0 is the one before the running one. Ends a waiting confirmation.
  CommitOutcome rollback(std::uint64_t number, const CommitRequest& request);
  // Call at least once a second: rolls back when the confirmation did not come in time.
  std::optional<CommitOutcome> tick();

  // Any thread, also while another one is in the middle of a commit: what was in force before it.
  // nullptr before start().
  [[nodiscard]] std::shared_ptr<const LifecycleView> view() const;

  [[nodiscard]] const LoadedConfig* running() const noexcept;  // nullptr before start()
  [[nodiscard]] std::uint64_t running_revision() const noexcept;
  [[nodiscard]] std::optional<PendingConfirm> pending() const;
  [[nodiscard]] std::vector<RevisionInfo> history() const;
  [[nodiscard]] base::Result<Revision> revision(std::uint64_t number) const;
  // Stored keys that wait for the next start.
  [[nodiscard]] const std::vector<std::string>& waiting_restart_keys() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace merlon::control
