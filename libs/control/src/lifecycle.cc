// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/lifecycle.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>

#include "config_check.h"

namespace merlon::control {

using base::Errc;
using base::Error;
using base::Errors;
using base::Nanos;
using base::Result;

namespace {

constexpr Nanos kRetry = 5 * base::kNanosPerSecond;  // of a rollback that failed
constexpr std::string_view kOwnName = "merlon";      // author of what the daemon does by itself

Error refused(Errc code, std::string message, std::string hint = {}) {
  return Error{.code = code, .message = std::move(message), .hint = std::move(hint)};
}

CommitOutcome failed(Error error) {
  CommitOutcome out;
  out.errors.push_back(std::move(error));
  return out;
}

// Says it where the sessions of a change could not all be asked after.
void warn_of_unknown(const SessionEffect& effect, Errors& warnings) {
  if (!effect.is_unknown) return;
  warnings.push_back(
      refused(Errc::kTimeout,
              "a worker did not answer in time: what becomes of its sessions is not foretold",
              "look at `merlon show workers`; the process may be starved of CPU"));
}

// The compiler's errors beside the loader's; where both found fault with one place the loader's
// stays.
// Adds what is not told yet. Of a draft the loader has already complained about some lines, and
// what the compiler says of these is only what follows from that.
void add_new_places(Errors& to, Errors&& from, bool is_draft) {
  const std::size_t known = to.size();
  for (Error& e : from) {
    const bool is_known = e.where.has_place() &&
                          std::any_of(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(known),
                                      [&](const Error& k) {
                                        return k.where.line == e.where.line &&
                                               (is_draft || k.where.column == e.where.column) &&
                                               k.where.file == e.where.file;
                                      });
    if (!is_known) to.push_back(std::move(e));
  }
}

}  // namespace

CheckReport check_loaded(Applier& applier, LoadResult&& loaded) {
  CheckReport report;
  report.errors = std::move(loaded.errors);
  report.warnings = std::move(loaded.warnings);
  report.bundle = std::move(loaded.bundle);
  if (loaded.config || loaded.draft) {
    static const engine::EngineConfig kDefault;
    const bool is_draft = !loaded.config;
    CheckFindings found = applier.check(is_draft ? *loaded.draft : loaded.config->policy,
                                        is_draft ? kDefault : loaded.config->engine);
    if (!is_draft) report.prepared = std::move(found.prepared);
    // What a half-read policy would do is nobody's concern.
    if (!is_draft) add_new_places(report.warnings, std::move(found.warnings), false);
    if (report.errors.size() < kMaxErrors) {
      add_new_places(report.errors, std::move(found.errors), is_draft);
      sort_by_place(report.errors, report.bundle);
      limit_errors(report.errors);
    }
    sort_by_place(report.warnings, report.bundle);
  }
  if (report.errors.empty()) report.config = std::move(loaded.config);
  return report;
}

struct Lifecycle::Impl {
  Store& store;
  Applier& applier;
  LifecycleOptions options;
  std::shared_ptr<const LoadedConfig> running;
  std::shared_ptr<const LoadedConfig> started;  // what the restart keys in effect come from
  std::uint64_t revision = 0;
  std::optional<PendingConfirm> pending;
  std::vector<std::string> waiting_restart_keys;
  Nanos confirm_until = 0, retry_at = 0;  // steady

  [[nodiscard]] Nanos steady() const { return options.steady ? options.steady() : options.clock(); }

  mutable std::mutex view_mutex;
  std::shared_ptr<const LifecycleView> seen;  // view()

  Impl(Store& s, Applier& a, LifecycleOptions o) : store(s), applier(a), options(std::move(o)) {}

  // After everything that changes what is in force or in the store.
  void show() {
    auto now = std::make_shared<LifecycleView>();
    now->running = running;
    now->revision = revision;
    now->pending = pending;
    now->history = store.history();
    now->waiting_restart_keys = waiting_restart_keys;
    const std::lock_guard lock(view_mutex);
    seen = std::move(now);
  }
  void run_on(LoadedConfig&& config, std::uint64_t number, bool has_restart_keys) {
    running = std::make_shared<const LoadedConfig>(std::move(config));
    revision = number;
    // Other changes leave the restart keys as they are; comparing everything takes its time.
    if (has_restart_keys && started) waiting_restart_keys = restart_keys(diff(*started, *running));
  }

  void tell(std::string action, const RevisionInfo& info, std::uint64_t previous) const {
    if (options.on_event) options.on_event({std::move(action), info, previous});
  }

  [[nodiscard]] CheckReport check(LoadResult&& loaded) const {
    return check_loaded(applier, std::move(loaded));
  }

  // Stores, applies and makes current; on failure everything is as before. The state says "waiting"
  // while the engine takes the change over, so that a crash in it is undone at the next start.
  CommitOutcome activate(CheckReport&& checked, RevisionInfo info, Nanos confirm_within,
                         CommitReport report) {
    CommitOutcome out;
    out.bundle = std::move(checked.bundle);
    info.time = options.clock();
    const Result<std::uint64_t> number = store.add(info, checked.config->bundle);
    if (!number) {
      out.errors.push_back(number.error());
      return out;
    }
    info.number = *number;
    const StoreState before = store.state();
    StoreState state = before;
    state.current = *number;
    state.pending = PendingConfirm{*number, revision, info.time + confirm_within};
    const Nanos until = steady() + confirm_within;
    Result<void> stored = store.set_state(state);
    if (stored) {
      checked.config->revision = *number;
      Result<ApplyReport> applied =
          applier.apply(running.get(), *checked.config, checked.prepared.get());
      if (!applied) {
        out.errors.push_back(applied.error());
      } else {
        report.apply = std::move(*applied);
        if (confirm_within == 0) {
          state.pending.reset();
          stored = store.set_state(state);
          if (!stored) take_back(*checked.config, out.errors);
        }
      }
    }
    if (!stored) out.errors.push_back(stored.error());
    if (!out.errors.empty()) {
      undo(before, *number, out.errors);
      return out;
    }
    report.revision = *number;
    report.previous = revision;
    report.warnings = std::move(checked.warnings);
    warn_of_unknown(report.apply.effect, report.warnings);
    out.warnings = report.warnings;
    if (confirm_within != 0) report.confirm_deadline = state.pending->deadline;
    run_on(std::move(*checked.config), *number, !report.restart_keys.empty());
    pending = state.pending;
    confirm_until = until;
    show();
    out.report = std::move(report);
    return out;
  }
  void take_back(const LoadedConfig& candidate, Errors& errors) {
    if (const auto back = applier.apply(&candidate, *running, nullptr); !back)
      errors.push_back(back.error());
  }
  void undo(const StoreState& before, std::uint64_t number, Errors& errors) {
    if (const auto restored = store.set_state(before); !restored && store.state().current == number)
      errors.push_back(restored.error());
    if (store.state().current != number) static_cast<void>(store.remove(number));
  }

  // The revision before `below` whose content has been final.
  [[nodiscard]] std::uint64_t final_before(std::uint64_t below) const {
    for (const RevisionInfo& i : store.history())
      if (i.number < below && i.reason != "awaiting confirmation" && i.reason != "not confirmed")
        return i.number;
    return 0;
  }

  CommitOutcome roll_back(std::uint64_t number, const CommitRequest& request,
                          const std::string& reason) {
    if (number == revision)
      return failed(refused(Errc::kRefused, fmt::format("revision {} is running already", number)));
    Result<Revision> old = store.read(number);
    if (!old) return failed(old.error());
    CheckReport checked = check(load_bundle(old->bundle));
    if (!checked.config) {
      CommitOutcome out;
      out.errors = std::move(checked.errors);
      out.warnings = std::move(checked.warnings);
      out.bundle = std::move(checked.bundle);
      return out;
    }
    CommitReport report;
    report.changes = diff(*running, *checked.config);
    report.restart_keys = restart_keys(report.changes);
    if (!report.restart_keys.empty() && !request.allow_restart_keys)
      return refuse_restart(report.restart_keys);
    const std::optional<PendingConfirm> ended = pending;
    const std::uint64_t previous = revision;
    RevisionInfo info{.number = 0,
                      .time = 0,
                      .author = request.author,
                      .comment = request.comment,
                      .reason = reason,
                      .content_of = number,
                      .hash = {}};
    CommitOutcome out = activate(std::move(checked), info, 0, std::move(report));
    if (out.ok()) {
      if (ended) static_cast<void>(store.set_reason(ended->revision, "not confirmed"));
      show();
      announce("rollback", previous);
    }
    return out;
  }
  void announce(std::string action, std::uint64_t previous) const {
    for (const RevisionInfo& i : store.history())
      if (i.number == revision) return tell(std::move(action), i, previous);
  }

  static CommitOutcome refuse_restart(const std::vector<std::string>& keys) {
    CommitOutcome out;
    for (const std::string& key : keys) {
      Error e = refused(Errc::kRefused, fmt::format("\"{}\" takes effect only at restart", key),
                        "leave it as it is, or allow restart keys to store it for the next start");
      e.path = key;
      out.errors.push_back(std::move(e));
    }
    return out;
  }

  // When even the disk fails, the old configuration comes back in the engine; the disk still says
  // "waiting", so the next start comes to the same end.
  CommitOutcome roll_back_unstored(std::uint64_t number, CommitOutcome&& tried) {
    Result<Revision> old = store.read(number);
    if (!old) return std::move(tried);
    LoadResult loaded = load_bundle(old->bundle);
    if (!loaded.config) return std::move(tried);
    loaded.config->revision = number;
    Result<ApplyReport> applied = applier.apply(running.get(), *loaded.config, nullptr);
    if (!applied) return std::move(tried);
    CommitReport report;
    report.revision = number;
    report.previous = revision;
    report.changes = diff(*running, *loaded.config);
    report.apply = std::move(*applied);
    report.warnings = std::move(tried.errors);
    run_on(std::move(*loaded.config), number, !restart_keys(report.changes).empty());
    pending.reset();
    show();
    CommitOutcome out;
    out.warnings = report.warnings;
    out.report = std::move(report);
    announce("rollback", out.report->previous);
    return out;
  }

  struct Candidate {
    StartReport::Origin origin = StartReport::Origin::kFile;
    std::uint64_t number = 0;  // of the stored revision
  };

  [[nodiscard]] std::vector<Candidate> start_candidates(const LoadResult* file,
                                                        StartReport& report) const {
    using Origin = StartReport::Origin;
    std::vector<Candidate> out;
    const StoreState& state = store.state();
    if (file != nullptr) {
      report.bundle = file->bundle;
      report.warnings = file->warnings;
      if (!file->config) {
        report.problems.insert(report.problems.end(), file->errors.begin(), file->errors.end());
      } else if (state.current == 0 || file->bundle.hash() != state.start_hash) {
        out.push_back({Origin::kFile, 0});
      }
    }
    const bool is_file_refused = file != nullptr && !file->config;
    const std::uint64_t first = state.pending ? state.pending->previous : state.current;
    const bool is_second_choice = is_file_refused || !out.empty();
    if (first != 0)
      out.push_back({is_second_choice ? Origin::kFallback : Origin::kRevision, first});
    for (std::uint64_t n = final_before(first); n != 0; n = final_before(n))
      out.push_back({Origin::kFallback, n});
    return out;
  }

  // Why starting with this candidate makes a new revision; empty when it makes none.
  [[nodiscard]] std::string start_reason(const Candidate& candidate, const LoadResult* file) const {
    const StoreState& state = store.state();
    if (candidate.origin == StartReport::Origin::kFile) {
      const Result<Revision> current = state.current == 0 ? Error{} : store.read(state.current);
      const bool is_same = current && !state.pending && current->info.hash == file->bundle.hash();
      return is_same ? "" : "start";
    }
    if (state.pending) return "rolled back: restart";
    return candidate.number == state.current ? "" : "fallback";
  }

  // Applies one candidate; its failures go into the problems.
  bool try_start(const Candidate& candidate, const LoadResult* file, StartReport& report) {
    LoadResult loaded;
    if (candidate.origin == StartReport::Origin::kFile) {
      loaded = *file;
    } else {
      Result<Revision> stored = store.read(candidate.number);
      if (!stored) {
        report.problems.push_back(stored.error());
        return false;
      }
      loaded = load_bundle(stored->bundle);
    }
    CheckReport checked = check(std::move(loaded));
    if (candidate.origin == StartReport::Origin::kFile) report.warnings = checked.warnings;
    if (!checked.config) {
      report.problems.insert(report.problems.end(), checked.errors.begin(), checked.errors.end());
      return false;
    }
    checked.config->revision =
        start_reason(candidate, file).empty() ? store.state().current : store.next_number();
    Result<ApplyReport> applied = applier.apply(nullptr, *checked.config, checked.prepared.get());
    if (!applied) {
      report.problems.push_back(applied.error());
      return false;
    }
    report.apply = std::move(*applied);
    running = std::make_shared<const LoadedConfig>(std::move(*checked.config));
    return true;
  }

  // Records what start came to. The daemon runs also when this fails; the failure is a problem in
  // the report.
  void record_start(const Candidate& candidate, const LoadResult* file, StartReport& report) {
    using Origin = StartReport::Origin;
    const StoreState before = store.state();
    StoreState state = before;
    state.pending.reset();
    if (candidate.origin == Origin::kFile) state.start_hash = file->bundle.hash();
    const std::string reason = start_reason(candidate, file);
    revision = candidate.number != 0 ? candidate.number : before.current;
    if (!reason.empty()) {
      const RevisionInfo info{.number = 0,
                              .time = options.clock(),
                              .author = std::string(kOwnName),
                              .comment = {},
                              .reason = reason,
                              .content_of = candidate.number,
                              .hash = {}};
      const Result<std::uint64_t> number = store.add(info, running->bundle);
      if (number) {
        revision = state.current = *number;
      } else {
        report.problems.push_back(number.error());
        return;
      }
    }
    if (const Result<void> stored = store.set_state(state); !stored)
      report.problems.push_back(stored.error());
    if (before.pending)
      static_cast<void>(store.set_reason(before.pending->revision, "not confirmed"));
  }
};

Lifecycle::Lifecycle(Store& store, Applier& applier, LifecycleOptions options)
    : impl_(std::make_unique<Impl>(store, applier, std::move(options))) {}
Lifecycle::~Lifecycle() = default;

Result<StartReport> Lifecycle::start(const LoadResult* start_file) {
  StartReport report;
  report.problems = impl_->store.damage();
  for (const Impl::Candidate& candidate : impl_->start_candidates(start_file, report)) {
    if (!impl_->try_start(candidate, start_file, report)) continue;
    const std::uint64_t previous = impl_->store.state().current;
    impl_->record_start(candidate, start_file, report);
    impl_->started = impl_->running;
    impl_->show();
    report.origin = candidate.origin;
    report.revision = impl_->revision;
    impl_->announce("start", previous);
    return report;
  }
  // One error carries all the reasons; the caller has the file's own errors with their places.
  std::string reasons;
  for (const Error& e : report.problems)
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", e.to_string());
  return refused(
      Errc::kInvalidValue,
      fmt::format("no valid configuration to start with{}{}", reasons.empty() ? "" : ": ", reasons),
      "mend the configuration file; packets are not forwarded without one");
}

CheckReport Lifecycle::check(const Bundle& candidate) const {
  return impl_->check(load_bundle(candidate));
}

PreviewReport Lifecycle::preview(const Bundle& candidate) const {
  PreviewReport report;
  report.check = check(candidate);
  report.running_revision = impl_->revision;
  if (!report.check.config || !impl_->running) return report;
  report.changes = diff(*impl_->running, *report.check.config);
  report.restart_keys = restart_keys(report.changes);
  Result<SessionEffect> effect =
      impl_->applier.preview(*impl_->running, *report.check.config, report.check.prepared.get());
  if (effect) {
    warn_of_unknown(*effect, report.check.warnings);
    report.effect = std::move(*effect);
  } else {
    report.check.warnings.push_back(effect.error());
  }
  return report;
}

CommitOutcome Lifecycle::commit(const Bundle& candidate, const CommitRequest& request) {
  Impl& m = *impl_;
  if (!m.running) return failed(refused(Errc::kRefused, "nothing runs yet"));
  if (request.expected_revision && *request.expected_revision != m.revision)
    return failed(refused(
        Errc::kConflict,
        fmt::format("revision {} is running, not {}", m.revision, *request.expected_revision),
        "somebody committed in between; look at the difference again"));
  if (m.pending)
    return failed(refused(
        Errc::kConflict, fmt::format("revision {} waits for its confirmation", m.pending->revision),
        "confirm it or roll it back first"));
  CheckReport checked = check(candidate);
  if (!checked.config) {
    CommitOutcome out;
    out.errors = std::move(checked.errors);
    out.warnings = std::move(checked.warnings);
    out.bundle = std::move(checked.bundle);
    return out;
  }
  CommitReport report;
  if (checked.config->bundle == m.running->bundle) {
    report.revision = report.previous = m.revision;
    report.is_unchanged = true;
    CommitOutcome out;
    out.warnings = report.warnings = std::move(checked.warnings);
    out.bundle = std::move(checked.bundle);
    out.report = std::move(report);
    return out;
  }
  report.changes = diff(*m.running, *checked.config);
  report.restart_keys = restart_keys(report.changes);
  if (!report.restart_keys.empty() && !request.allow_restart_keys)
    return Impl::refuse_restart(report.restart_keys);
  const std::uint64_t previous = m.revision;
  RevisionInfo info{.number = 0,
                    .time = 0,
                    .author = request.author,
                    .comment = request.comment,
                    .reason = request.confirm_within != 0 ? "awaiting confirmation" : "committed",
                    .content_of = 0,
                    .hash = {}};
  CommitOutcome out = m.activate(std::move(checked), std::move(info),
                                 std::max<Nanos>(request.confirm_within, 0), std::move(report));
  if (out.ok()) m.announce("commit", previous);
  return out;
}

Result<RevisionInfo> Lifecycle::confirm(const std::string& author,
                                        std::optional<std::uint64_t> revision) {
  Impl& m = *impl_;
  if (!m.pending) return refused(Errc::kNotFound, "no commit waits for a confirmation");
  if (revision && *revision != m.pending->revision)
    return refused(Errc::kConflict, fmt::format("revision {} waits for a confirmation, not {}",
                                                m.pending->revision, *revision));
  if (m.steady() >= m.confirm_until)
    return refused(Errc::kTimeout,
                   fmt::format("the time to confirm revision {} is over", m.pending->revision),
                   "it is being rolled back");
  StoreState state = m.store.state();
  state.pending.reset();
  if (const Result<void> stored = m.store.set_state(state); !stored) return stored.error();
  m.pending.reset();
  // The state is the truth; the reason in the revision's file follows it, at the latest when the
  // store opens again.
  static_cast<void>(m.store.set_reason(m.revision, "confirmed"));
  m.show();
  for (RevisionInfo& info : m.store.history()) {
    if (info.number != m.revision) continue;
    RevisionInfo event = info;
    event.author = author;
    m.tell("confirm", event, m.revision);
    return info;
  }
  return refused(Errc::kInternal, "the confirmed revision is lost");
}

CommitOutcome Lifecycle::rollback(std::uint64_t number, const CommitRequest& request) {
  Impl& m = *impl_;
  if (!m.running) return failed(refused(Errc::kRefused, "nothing runs yet"));
  if (request.expected_revision && *request.expected_revision != m.revision)
    return failed(refused(Errc::kConflict, fmt::format("revision {} is running, not {}", m.revision,
                                                       *request.expected_revision)));
  if (number == 0) number = m.pending ? m.pending->previous : m.final_before(m.revision);
  if (number == 0)
    return failed(refused(Errc::kNotFound, "there is no revision before the running one"));
  CommitRequest allowed = request;
  allowed.allow_restart_keys = request.allow_restart_keys || m.pending.has_value();
  return m.roll_back(number, allowed, "rolled back: operator");
}

std::optional<CommitOutcome> Lifecycle::tick() {
  Impl& m = *impl_;
  if (!m.pending || !m.running) return std::nullopt;
  const Nanos now = m.steady();
  if (now < m.confirm_until || now < m.retry_at) return std::nullopt;
  const std::uint64_t previous = m.pending->previous;
  const CommitRequest request{.author = std::string(kOwnName),
                              .comment = fmt::format("revision {} was not confirmed", m.revision),
                              .expected_revision = {},
                              .confirm_within = 0,
                              .allow_restart_keys = true};
  CommitOutcome out = m.roll_back(previous, request, "rolled back: timer");
  if (!out.ok()) out = m.roll_back_unstored(previous, std::move(out));
  if (!out.ok()) m.retry_at = now + kRetry;
  return out;
}

std::shared_ptr<const LifecycleView> Lifecycle::view() const {
  const std::lock_guard lock(impl_->view_mutex);
  return impl_->seen;
}
const LoadedConfig* Lifecycle::running() const noexcept { return impl_->running.get(); }
std::uint64_t Lifecycle::running_revision() const noexcept { return impl_->revision; }
std::optional<PendingConfirm> Lifecycle::pending() const { return impl_->pending; }
std::vector<RevisionInfo> Lifecycle::history() const { return impl_->store.history(); }
Result<Revision> Lifecycle::revision(std::uint64_t number) const {
  return impl_->store.read(number);
}

const std::vector<std::string>& Lifecycle::waiting_restart_keys() const noexcept {
  return impl_->waiting_restart_keys;
}

}  // namespace merlon::control
