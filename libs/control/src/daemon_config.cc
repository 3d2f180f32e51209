// SPDX-License-Identifier: Apache-2.0
// The life cycle behind the API: one mutex, every outcome in the audit log.
#include "merlon/base/log.h"
#include "merlon/control/daemon_view.h"

namespace merlon::control {
namespace {

void audit(std::string_view what, std::string_view peer, const CommitOutcome& outcome) {
  if (outcome.ok()) {
    base::log(base::LogLevel::kInfo, "audit", "{} by {}: revision {} replaces {}, workers held up for {} us", what, peer,
              outcome.report->revision, outcome.report->previous, outcome.report->apply.blocked_ns / 1000);
  } else {
    base::log(base::LogLevel::kWarning, "audit", "{} by {} refused: {}", what, peer,
              outcome.errors.empty() ? "no reason" : outcome.errors.front().message);
  }
}

}  // namespace

base::Result<StoredConfig> DaemonView::config(std::uint64_t revision) {
  const std::lock_guard lock(mutex_);
  if (revision == 0 || revision == lifecycle_.running_revision())
    return StoredConfig{lifecycle_.running_revision(), lifecycle_.running()->bundle,
                        canonical_text(*lifecycle_.running())};
  auto stored = lifecycle_.revision(revision);
  if (!stored) return stored.error();
  const LoadResult loaded = load_bundle(stored->bundle);
  return StoredConfig{revision, stored->bundle, loaded.config ? canonical_text(*loaded.config) : std::string()};
}

std::vector<RevisionInfo> DaemonView::history() {
  const std::lock_guard lock(mutex_);
  return lifecycle_.history();
}

CheckReport DaemonView::check_config(const Bundle& candidate) {
  const std::lock_guard lock(mutex_);
  return lifecycle_.check(candidate);
}

PreviewReport DaemonView::preview_config(const Bundle& candidate) {
  const std::lock_guard lock(mutex_);
  return lifecycle_.preview(candidate);
}

CommitOutcome DaemonView::commit_config(const Bundle& candidate, const CommitRequest& request, std::string_view peer) {
  const std::lock_guard lock(mutex_);
  CommitOutcome outcome = lifecycle_.commit(candidate, request);
  audit("commit", peer, outcome);
  return outcome;
}

base::Result<RevisionInfo> DaemonView::confirm_config(const std::string& author, std::string_view peer) {
  const std::lock_guard lock(mutex_);
  auto confirmed = lifecycle_.confirm(author);
  if (confirmed) base::log(base::LogLevel::kInfo, "audit", "revision {} confirmed by {}", confirmed->number, peer);
  return confirmed;
}

CommitOutcome DaemonView::rollback_config(std::uint64_t revision, const CommitRequest& request,
                                          std::string_view peer) {
  const std::lock_guard lock(mutex_);
  CommitOutcome outcome = lifecycle_.rollback(revision, request);
  audit("rollback", peer, outcome);
  return outcome;
}

}  // namespace merlon::control
