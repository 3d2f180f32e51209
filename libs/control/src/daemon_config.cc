// SPDX-License-Identifier: Apache-2.0
// The life cycle behind the API: one mutex, every outcome in the audit log.
#include <algorithm>

#include "merlon/base/log.h"
#include "merlon/control/daemon_view.h"

namespace merlon::control {
namespace {

void audit(std::string_view what, std::string_view peer, const CommitOutcome& outcome) {
  if (outcome.ok()) {
    base::log(base::LogLevel::kInfo, "audit",
              "{} by {}: revision {} replaces {}, workers held up for {} us", what, peer,
              outcome.report->revision, outcome.report->previous,
              outcome.report->apply.blocked_ns / 1000);
  } else {
    base::log(base::LogLevel::kWarning, "audit", "{} by {} refused: {}", what, peer,
              outcome.errors.empty() ? "no reason" : outcome.errors.front().message);
  }
}

}  // namespace

void DaemonView::count_change(Change change, base::Nanos took) {
  const double seconds = static_cast<double>(took) / 1e9;
  const std::lock_guard lock(change_mutex_);
  ++changes_.by_result[static_cast<std::size_t>(change)];
  if (change == Change::kRefused) return;
  start_warning_.clear();
  changes_.seconds += seconds;
  const auto bound = std::ranges::lower_bound(ChangeCounts::kBounds, seconds);
  if (bound == ChangeCounts::kBounds.end()) {
    ++changes_.longer;
  } else {
    ++changes_.by_duration[static_cast<std::size_t>(bound - ChangeCounts::kBounds.begin())];
  }
}

void DaemonView::warn_of_start(std::string text) {
  const std::lock_guard lock(change_mutex_);
  start_warning_ = std::move(text);
}

DaemonView::ChangeCounts DaemonView::changes() const {
  const std::lock_guard lock(change_mutex_);
  return changes_;
}

base::Result<StoredConfig> DaemonView::config(std::uint64_t revision) {
  const auto life = lifecycle_.view();
  if (revision == 0 || revision == life->revision)
    return StoredConfig{life->revision, life->running->bundle, canonical_text(*life->running)};
  const std::lock_guard lock(mutex_);
  auto stored = lifecycle_.revision(revision);
  if (!stored) return stored.error();
  const LoadResult loaded = load_bundle(stored->bundle);
  return StoredConfig{revision, stored->bundle,
                      loaded.config ? canonical_text(*loaded.config) : std::string()};
}

std::vector<RevisionInfo> DaemonView::history() { return lifecycle_.view()->history; }

CheckReport DaemonView::check_config(const Bundle& candidate) {
  const std::lock_guard lock(mutex_);
  return lifecycle_.check(candidate);
}

PreviewReport DaemonView::preview_config(const Bundle& candidate) {
  const std::lock_guard lock(mutex_);
  return lifecycle_.preview(candidate);
}

CommitOutcome DaemonView::commit_config(const Bundle& candidate, const CommitRequest& request,
                                        std::string_view peer) {
  const std::lock_guard lock(mutex_);
  const base::Nanos start = engine::steady_now();
  CommitOutcome outcome = lifecycle_.commit(candidate, request);
  count_change(outcome.ok() ? Change::kCommitted : Change::kRefused, engine::steady_now() - start);
  audit("commit", peer, outcome);
  return outcome;
}

base::Result<RevisionInfo> DaemonView::confirm_config(const std::string& author,
                                                      std::string_view peer) {
  const std::lock_guard lock(mutex_);
  auto confirmed = lifecycle_.confirm(author);
  if (confirmed)
    base::log(base::LogLevel::kInfo, "audit", "revision {} confirmed by {}", confirmed->number,
              peer);
  return confirmed;
}

CommitOutcome DaemonView::rollback_config(std::uint64_t revision, const CommitRequest& request,
                                          std::string_view peer) {
  const std::lock_guard lock(mutex_);
  const base::Nanos start = engine::steady_now();
  CommitOutcome outcome = lifecycle_.rollback(revision, request);
  count_change(outcome.ok() ? Change::kRolledBack : Change::kRefused, engine::steady_now() - start);
  audit("rollback", peer, outcome);
  return outcome;
}

}  // namespace merlon::control
