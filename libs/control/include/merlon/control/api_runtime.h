// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the API's handlers need from the daemon. Implemented by the daemon over engine and life
// cycle, and by a fake in tests. Two threads call it: the API thread everything, except that the
// configuration operations run one at a time on a thread of their own,
// because a commit of a large policy takes seconds. Implementations lock for themselves where both
// meet. No member may throw; none may wait for packets. Lists without a bound of their own are
// pulled through cursors.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/client/packet_words.h"
#include "merlon/client/session_filter.h"
#include "merlon/control/api_rows.h"
#include "merlon/control/lifecycle.h"

namespace merlon::control {

// A configuration with its number.
struct StoredConfig {
  std::uint64_t revision = 0;
  Bundle bundle;
  std::string canonical;  // with defaults filled in; see canonical_text()
};

// Pulls sessions in batches. next() replaces `rows` with up to 256 sessions that pass the filter
// and returns true, or returns false at the end; it may return true with no rows. Sessions that
// come or go meanwhile may be missed.
class SessionCursor {
 public:
  virtual ~SessionCursor() = default;
  virtual bool next(std::vector<SessionRow>& rows) = 0;
};

enum class NameType : std::uint8_t { kRule, kZone, kPort, kState };

class RuntimeView {
 public:
  virtual ~RuntimeView() = default;

  [[nodiscard]] virtual Status status() = 0;
  [[nodiscard]] virtual std::vector<PortStatus> ports() = 0;
  [[nodiscard]] virtual std::vector<WorkerStatus> workers() = 0;
  [[nodiscard]] virtual std::vector<RuleStatus>
  rules() = 0;  // in order of evaluation, "default" last
  [[nodiscard]] virtual std::vector<DropCount> drops() = 0;  // reasons with a count, in table order
  // Newest first; kNone: of every reason.
  [[nodiscard]] virtual std::vector<DroppedPacket> dropped_packets(base::DropReason reason) = 0;
  [[nodiscard]] virtual std::vector<PoolStatus> pools() = 0;
  [[nodiscard]] virtual std::vector<std::string> names(NameType type) = 0;
  [[nodiscard]] virtual std::string metrics_text() = 0;  // Prometheus text format 0.0.4
  // Events after `after`, oldest first, at most `limit`, from a bounded memory of the last ones.
  [[nodiscard]] virtual std::vector<EventLine> events(std::uint64_t after, std::size_t limit) = 0;

  [[nodiscard]] virtual std::unique_ptr<SessionCursor> sessions(
      const client::SessionFilter& filter) = 0;
  virtual base::Result<std::uint64_t> clear_sessions(const client::SessionFilter& filter,
                                                     std::string_view peer) = 0;

  [[nodiscard]] virtual base::Result<Explanation> explain(const client::PacketWords& packet) = 0;
  [[nodiscard]] virtual base::Result<Explanation> explain(const client::SessionWords& session) = 0;

  // Revision 0: the running one. kNotFound otherwise.
  [[nodiscard]] virtual base::Result<StoredConfig> config(std::uint64_t revision) = 0;
  [[nodiscard]] virtual std::vector<RevisionInfo> history() = 0;  // newest first
  // The rest on the config thread; `peer` is who asked ("uid 1000"), for the audit log.
  [[nodiscard]] virtual CheckReport check_config(const Bundle& candidate) = 0;
  [[nodiscard]] virtual PreviewReport preview_config(const Bundle& candidate) = 0;
  [[nodiscard]] virtual CommitOutcome commit_config(const Bundle& candidate,
                                                    const CommitRequest& request,
                                                    std::string_view peer) = 0;
  [[nodiscard]] virtual base::Result<RevisionInfo> confirm_config(const std::string& author,
                                                                  std::string_view peer) = 0;
  // Revision 0: the one before the running one.
  [[nodiscard]] virtual CommitOutcome rollback_config(std::uint64_t revision,
                                                      const CommitRequest& request,
                                                      std::string_view peer) = 0;
};

// True when a row passes; for implementations that have the row at hand, and for tests.
bool matches(const client::SessionFilter& filter, const SessionRow& row) noexcept;

}  // namespace merlon::control
