// SPDX-License-Identifier: Apache-2.0
#pragma once
// The families that telemetry can fill from its own rows: workers, sessions, drops, policy
// look-ups, events and sinks. control-only; callers add ports, tables and policy of their own to
// the same writer.
#include <span>

#include "merlon/telemetry/event_sink.h"
#include "merlon/telemetry/metrics.h"
#include "merlon/telemetry/worker_counters.h"

namespace merlon::telemetry {

// `rows[i]` is worker i's; `tsc_hz` turns cycles into seconds (base::TscClock::frequency()).
void write_worker_metrics(MetricsWriter& writer, std::span<const WorkerCounters* const> rows,
                          double tsc_hz);
void write_sink_metrics(MetricsWriter& writer, std::span<const SinkStatus> sinks);

}  // namespace merlon::telemetry
