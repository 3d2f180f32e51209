// SPDX-License-Identifier: Apache-2.0
#pragma once
// Drains the event rings of all workers, formats and hands the lines to the sinks. Two ways of
// driving it, never both: a thread of its own (start/stop), or pump() from the replay driver, which
// is deterministic: each batch is sorted by packet number, then kind, time and flow id. Losses at a
// full ring are counted by the worker that met them, losses at a sink by the sink; nothing is lost
// in between.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "merlon/base/event.h"
#include "merlon/telemetry/eve.h"
#include "merlon/telemetry/event_sink.h"

namespace merlon::telemetry {

struct EventWriterOptions {
  EveOptions eve{};
  base::Nanos flush_interval = 200'000'000;  // longest time that a line waits in a sink's block
  base::Nanos poll_interval = 2'000'000;     // sleep of the thread when every ring is empty
};

class EventWriter {
 public:
  // One ring per worker; rings and names must outlive the writer.
  EventWriter(std::vector<base::EventRing*> rings, const Names& names,
              const EventWriterOptions& options);
  ~EventWriter();  // stops and drains

  // Before start() or the first pump().
  void add_sink(std::unique_ptr<EventSink> sink);

  // The writer's thread. stop() drains the rings, flushes and joins; workers must have stopped
  // pushing.
  void start();
  void stop();

  // Takes what is in the rings, to be written in order with the rest by the next pump(): for a
  // replay in which more happens at one moment than a ring holds.
  void gather();
  // Writes everything that was gathered and that is in the rings now, in order; returns how many
  // events. `now` is the replay's time.
  std::size_t pump(base::Nanos now);
  // pump() until the rings are empty, then flush().
  void finish(base::Nanos now);
  void flush(base::Nanos now);

  // A line made by control (stats, config), without line end; any thread.
  void write(EventType type, std::string_view line, Severity severity, base::Nanos now);

  // Any thread; for SIGHUP. Async-signal-safe.
  void request_reopen() noexcept;

  [[nodiscard]] std::vector<SinkStatus> sinks() const;
  // Events formatted so far; any thread.
  [[nodiscard]] std::uint64_t event_count() const noexcept { return events_.get(); }

 private:
  void run();
  std::size_t drain(base::Nanos now);
  void emit(const base::EventRecord& record, base::Nanos now);

  std::vector<base::EventRing*> rings_;
  EveFormatter formatter_;
  EventWriterOptions options_;
  std::vector<std::unique_ptr<EventSink>> sinks_;  // fixed after start
  std::vector<base::EventRecord> batch_;
  std::string line_;
  Counter events_;
  std::mutex sink_mutex_;  // the writer's batch against write() of control
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::thread thread_;
};

// Severity of a record in syslog: warning for a denied session or a dropped packet, else
// informational.
Severity event_severity(const base::EventRecord& record) noexcept;

}  // namespace merlon::telemetry
