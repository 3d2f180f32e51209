// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where event lines go. A sink never waits for a slow receiver beyond one system call and never
// throws: what it can't deliver is counted as lost and told to the log once per outage. Sinks
// belong to the thread of EventWriter; request_reopen() and status() may be called by any thread
// (shared-atomic).
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "merlon/base/result.h"
#include "merlon/base/time.h"
#include "merlon/telemetry/counter.h"

namespace merlon::telemetry {

// Severities of RFC 5424 section 6.2.1 that events use.
enum class Severity : std::uint8_t { kWarning = 4, kNotice = 5, kInfo = 6 };

// The values of event_type.
enum class EventType : std::uint8_t { kPolicy, kFlow, kDrop, kStats, kConfig };
std::optional<EventType> event_type_from_name(std::string_view name) noexcept;

struct SinkStatus {
  std::string name;                     // as configured: label of merlon_export_*{sink}
  std::string kind;                     // "file", "syslog"
  std::uint64_t written = 0, lost = 0;  // events
  std::uint64_t bytes = 0;              // delivered
  bool is_failing = false;              // the last attempt to write failed
};

class EventSink {
 public:
  EventSink(std::string name, std::string kind) : name_(std::move(name)), kind_(std::move(kind)) {}
  virtual ~EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  // From now on this sink gets events of these types only; without it all. Before add_sink().
  void take_only(std::span<const EventType> types) noexcept {
    types_ = 0;
    for (const EventType t : types) types_ |= 1U << static_cast<unsigned>(t);
  }
  [[nodiscard]] bool takes(EventType type) const noexcept {
    return ((types_ >> static_cast<unsigned>(type)) & 1U) != 0;
  }

  // Takes one line without its line end. `now` serves rotation and the syslog header.
  virtual void write(std::string_view line, Severity severity, base::Nanos now) noexcept = 0;
  // Delivers what is buffered.
  virtual void flush(base::Nanos now) noexcept = 0;

  // Asks for the destination to be opened anew at the next write or flush (SIGHUP after an outside
  // rotation). Async-signal-safe.
  void request_reopen() noexcept { reopen_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] SinkStatus status() const;

 protected:
  [[nodiscard]] bool take_reopen() noexcept {
    return reopen_.load(std::memory_order_relaxed) &&
           reopen_.exchange(false, std::memory_order_relaxed);
  }
  void count_written(std::uint64_t events, std::uint64_t bytes) noexcept {
    written_.add(events);
    bytes_.add(bytes);
  }
  void count_lost(std::uint64_t events) noexcept { lost_.add(events); }
  // Logs the first failure of an outage and its end, not every event.
  void note_failure(std::string_view what, int error) noexcept;
  void note_success() noexcept;

 private:
  const std::string name_, kind_;
  std::atomic<bool> reopen_{false}, failing_{false};
  std::uint32_t types_ = ~0U;  // a bit per EventType
  std::uint64_t lost_before_outage_ = 0;
  Counter written_, lost_, bytes_;
};

// A file, or "-" for standard output. Lines are gathered and written in blocks; a line is never
// split over two files and a failed block leaves no half line behind.
struct FileSinkOptions {
  std::string name = "eve";
  std::string path;
  std::uint64_t max_size = 0;       // bytes; rotate before the file grows beyond; 0: never
  base::Nanos rotate_interval = 0;  // rotate on multiples of it since the epoch (UTC); 0: never
  unsigned keep = 5;  // rotated files path.1 (newest) ... path.N; 0: old content is removed
  std::size_t block_size = 256 * 1024;  // bytes gathered before a write
  bool truncate = false;                // start empty (replay) instead of appending
};
base::Result<std::unique_ptr<EventSink>> open_file_sink(const FileSinkOptions& options);

// RFC 5424 messages whose text is the JSON line. UDP (RFC 5426) and Unix datagrams: one message
// each; TCP with octet counting (RFC 6587 section 3.4.1), bounded by its own buffer, reconnecting
// once a second.
struct SyslogSinkOptions {
  enum class Transport : std::uint8_t { kUnix, kUdp, kTcp };

  std::string name = "syslog";
  Transport transport = Transport::kUnix;
  std::string address =
      "/dev/log";  // socket path, or a literal IP address: names are not resolved here
  std::uint16_t port = 514;
  std::uint8_t facility = 16;         // local0
  std::string host = "-";             // HOSTNAME field
  std::string app = "merlon";         // APP-NAME field
  std::size_t buffer_size = 1 << 20;  // TCP: bytes waiting for a slow receiver
};
base::Result<std::unique_ptr<EventSink>> open_syslog_sink(const SyslogSinkOptions& options);

// The RFC 5424 header and the message; pure, exposed for tests.
void append_syslog_message(const SyslogSinkOptions& options, Severity severity, base::Nanos time,
                           std::string_view line, std::string& out);

}  // namespace merlon::telemetry
