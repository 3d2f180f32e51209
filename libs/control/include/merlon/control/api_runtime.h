// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the API's handlers need from the daemon. Implemented by the daemon over engine and life
// cycle, and by a fake in tests. Two threads call it: the API thread everything, except that the
// configuration operations marked (config thread) run one at a time on a thread of their own,
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

namespace merlon::control {

// A configuration as it travels: the files by the names they include one another with.
struct ConfigBundle {
  struct File {
    std::string name;  // as in `include:`, relative to the main file's folder
    std::string text;
  };
  std::string main;  // name of the file to start with
  std::vector<File> files;
};

struct DiffLine {
  char mark = '~';     // '+' added, '-' removed, '~' changed, '>' moved
  std::string object;  // "rule web-out"
  std::string text;    // "log none -> end"; may be empty
};
// What a commit does or would do to the sessions that are alive.
struct SessionEffect {
  std::uint64_t sessions = 0, kept = 0, changed = 0, ended = 0;
  struct PerRule {
    std::string rule;
    std::uint64_t ended = 0;
  };
  std::vector<PerRule> per_rule;  // those that would lose sessions, most first
};

// `errors` not empty: nothing was changed. Code kConflict: another revision came in between.
struct CheckReport {
  base::Errors errors, warnings;
  std::string text;  // findings with source lines and carets, as a person reads them; may be empty
  std::uint64_t rules = 0;
  std::uint64_t memory_bytes = 0;  // of the compiled policy
  std::uint32_t running = 0;       // revision in force, unchanged
};
struct DiffReport {
  base::Errors errors, warnings;
  std::string text;  // as in CheckReport, for errors
  std::uint32_t running = 0;
  std::vector<DiffLine> lines;
  SessionEffect effect;
  std::vector<std::string> restart_keys;  // take effect at a restart only
};
struct CommitReport {
  base::Errors errors, warnings;
  std::string text;
  std::uint32_t revision = 0, previous = 0;  // previous == revision: nothing to do
  base::Nanos published = 0;
  base::Nanos confirm_deadline = 0;  // 0: final
  std::uint64_t blocked_ns = 0;      // longest time a worker was held up
  std::uint64_t took_ns = 0;
  SessionEffect effect;
  std::vector<std::string> restart_keys;
};
struct CommitRequest {
  ConfigBundle candidate;
  std::uint32_t base_revision =
      0;  // 0: whatever is running; else kConflict when it is not this one
  std::uint32_t confirm_minutes = 0;  // 0: no confirmation needed
  std::string comment, author;
  std::string peer;  // who asked: "uid 1000"
};
struct Revision {
  std::uint32_t number = 0;
  base::Nanos time = 0;
  std::string author, comment;
  std::string reason;  // "committed", "confirmed", "rolled back: timer", ...
  bool is_running = false;
};
struct RunningConfig {
  std::uint32_t revision = 0;
  ConfigBundle bundle;
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

  // 0: the running one.
  [[nodiscard]] virtual base::Result<RunningConfig> config(std::uint32_t revision) = 0;
  [[nodiscard]] virtual std::vector<Revision> history() = 0;  // newest first
  [[nodiscard]] virtual CheckReport check_config(
      const ConfigBundle& candidate) = 0;  // (config thread)
  [[nodiscard]] virtual DiffReport diff_config(
      const ConfigBundle& candidate) = 0;  // (config thread)
  [[nodiscard]] virtual CommitReport commit_config(
      const CommitRequest& request) = 0;                                         // (config thread)
  [[nodiscard]] virtual CommitReport confirm_config(std::string_view peer) = 0;  // (config thread)
  // Revision 0: the one before the running one.
  [[nodiscard]] virtual CommitReport rollback_config(std::uint32_t revision,
                                                     std::string_view peer) = 0;  // (config thread)
};

// True when a row passes; for implementations that have the row at hand, and for tests.
bool matches(const client::SessionFilter& filter, const SessionRow& row) noexcept;

}  // namespace merlon::control
