// SPDX-License-Identifier: Apache-2.0
#pragma once
// The events that control writes itself: `stats`, the state of the whole at one moment, and
// `config`, one step in the life of the configuration. control-only, pure functions; the result
// goes to EventWriter::write().
#include <cstdint>
#include <span>
#include <string>

#include "merlon/base/time.h"
#include "merlon/telemetry/event_sink.h"
#include "merlon/telemetry/worker_counters.h"

namespace merlon::telemetry {

// Number of the event schema; rises when a field changes its meaning or goes away.
inline constexpr unsigned kEventSchema = 1;

struct StatsReport {
  base::Nanos time = 0;
  std::string host;     // empty: left out
  std::string version;  // of the program
  std::uint64_t uptime_seconds = 0;
  std::uint32_t revision = 0;  // configuration in force
  unsigned workers = 0;
  std::uint64_t sessions_active = 0, sessions_limit = 0;
  CounterTotals totals{};
  std::span<const SinkStatus> sinks{};
};
// One JSON object without a line end.
std::string format_stats(const StatsReport& report);

struct ConfigReport {
  enum class Result : std::uint8_t { kCommitted, kConfirmed, kRolledBack, kRefused };

  base::Nanos time = 0;
  std::string host;
  Result result = Result::kCommitted;
  std::uint32_t revision = 0;           // in force after the step
  std::uint32_t previous_revision = 0;  // in force before it
  std::string author, comment;          // may be empty
  std::string cause;  // "confirm_timeout", "operator", first error of a refusal; may be empty
  std::uint64_t rules = 0;
  std::uint64_t sessions_ended = 0;  // lost their permit; each ends with its next packet
  std::uint64_t blocked_nanos = 0;   // longest time one worker did not forward
};
std::string format_config_event(const ConfigReport& report);
std::string_view config_result_name(ConfigReport::Result result) noexcept;

}  // namespace merlon::telemetry
