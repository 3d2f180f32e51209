// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the API tells of a live daemon: counters read from the workers' rows, sessions asked of the
// workers, configuration asked of the life cycle. Calls may come from the API's thread, its config
// thread and the daemon's own at once; the life cycle is behind one mutex, everything else reads
// atomics or asks by mailbox.
#include <array>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "merlon/control/api_runtime.h"
#include "merlon/control/lifecycle.h"
#include "merlon/control/runtime.h"
#include "merlon/telemetry/event_writer.h"

namespace merlon::control {

// Which revision of the program this is.
std::string_view program_version() noexcept;

class DaemonView final : public RuntimeView {
 public:
  // All must outlive the view. `mutex` guards runtime's and lifecycle's changes.
  DaemonView(Runtime& runtime, Lifecycle& lifecycle, std::mutex& mutex,
             telemetry::EventWriter& events);

  // Takes readings for rates; once a second. `now` is steady.
  void sample(base::Nanos now);
  // A line that the event writer wrote, for `watch`; keeps the last thousand.
  void remember_event(std::string_view line);
  // What became of an order to change the configuration, for the metrics; any thread.
  enum class Change : std::uint8_t { kCommitted, kRolledBack, kRefused };
  void count_change(Change change, base::Nanos took);
  // Shown by status() until the next change of the configuration.
  void warn_of_start(std::string text);

  Status status() override;
  std::vector<PortStatus> ports() override;
  std::vector<WorkerStatus> workers() override;
  std::vector<RuleStatus> rules() override;
  std::vector<DropCount> drops() override;
  std::vector<DroppedPacket> dropped_packets(base::DropReason reason) override;
  std::vector<PoolStatus> pools() override;
  std::vector<std::string> names(NameType type) override;
  std::string metrics_text() override;
  std::vector<EventLine> events(std::uint64_t after, std::size_t limit) override;
  std::unique_ptr<SessionCursor> sessions(const client::SessionFilter& filter) override;
  base::Result<std::uint64_t> clear_sessions(const client::SessionFilter& filter,
                                             std::string_view peer) override;
  base::Result<Explanation> explain(const client::PacketWords& packet) override;
  base::Result<Explanation> explain(const client::SessionWords& session) override;
  base::Result<StoredConfig> config(std::uint64_t revision) override;
  std::vector<RevisionInfo> history() override;
  CheckReport check_config(const Bundle& candidate) override;
  PreviewReport preview_config(const Bundle& candidate) override;
  CommitOutcome commit_config(const Bundle& candidate, const CommitRequest& request,
                              std::string_view peer) override;
  base::Result<RevisionInfo> confirm_config(const std::string& author,
                                            std::string_view peer) override;
  CommitOutcome rollback_config(std::uint64_t revision, const CommitRequest& request,
                                std::string_view peer) override;

 private:
  struct Sample {
    base::Nanos time = 0;
    std::vector<io::PortCounters> ports;
    std::vector<telemetry::CounterTotals> workers;
  };
  [[nodiscard]] std::pair<Sample, Sample> samples() const;
  [[nodiscard]] telemetry::CounterTotals totals() const;
  [[nodiscard]] std::string role_of(std::uint16_t port) const;

  Runtime& runtime_;
  Lifecycle& lifecycle_;
  std::mutex& mutex_;
  telemetry::EventWriter& events_writer_;
  const base::Nanos started_, started_steady_;  // wall clock; steady
  mutable std::mutex sample_mutex_;
  Sample before_, last_;
  struct ChangeCounts {
    static constexpr std::array<double, 7> kBounds{0.001, 0.01, 0.1, 0.5, 1, 5, 10};  // seconds
    std::array<std::uint64_t, 3> by_result{};
    std::array<std::uint64_t, kBounds.size()> by_duration{};
    std::uint64_t longer = 0;
    double seconds = 0;
  };
  [[nodiscard]] ChangeCounts changes() const;

  mutable std::mutex change_mutex_;
  ChangeCounts changes_;
  std::string start_warning_;
  std::mutex event_mutex_;
  std::deque<EventLine> recent_;
  std::uint64_t event_sequence_ = 0;
};

// A session as the API shows it.
SessionRow session_row(const engine::SessionView& view, const NamesTable& names,
                       std::uint32_t revision);

// Explain over a running or a replay engine; the frame is built from the words.
base::Result<Explanation> explain_packet(Runtime& runtime, const client::PacketWords& words,
                                         base::Nanos now);

}  // namespace merlon::control
