// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/standard_metrics.h"

#include <array>
#include <string>

#include "merlon/telemetry/eve.h"

namespace merlon::telemetry {
namespace {

constexpr std::array<double, kBurstBuckets> kBurstBounds{1, 2, 4, 8, 16, 32, 64};

struct WorkerColumn {
  const MetricFamily& family;
  std::uint64_t CounterTotals::*field;
};
constexpr std::array kWorkerColumns{
    WorkerColumn{metric::kWorkerReceivePackets, &CounterTotals::received_packets},
    WorkerColumn{metric::kWorkerReceiveBytes, &CounterTotals::received_bytes},
    WorkerColumn{metric::kWorkerForwardPackets, &CounterTotals::forwarded_packets},
    WorkerColumn{metric::kWorkerForwardBytes, &CounterTotals::forwarded_bytes},
    WorkerColumn{metric::kWorkerTappedPackets, &CounterTotals::tapped_packets},
    WorkerColumn{metric::kWorkerWouldDropPackets, &CounterTotals::would_drop_packets},
    WorkerColumn{metric::kWorkerDroppedPackets, &CounterTotals::dropped_packets},
    WorkerColumn{metric::kWorkerHandedOver, &CounterTotals::handed_over_packets},
    WorkerColumn{metric::kWorkerTakenOver, &CounterTotals::taken_over_packets},
    WorkerColumn{metric::kWorkerFragments, &CounterTotals::fragment_packets},
    WorkerColumn{metric::kEventsWritten, &CounterTotals::events_written},
    WorkerColumn{metric::kEventsLost, &CounterTotals::events_lost},
    WorkerColumn{metric::kEventsSuppressed, &CounterTotals::drop_events_suppressed},
};

void write_worker(MetricsWriter& w, std::string_view worker, const CounterTotals& t,
                  double tsc_hz) {
  for (const WorkerColumn& column : kWorkerColumns)
    w.family(column.family).sample({{"worker", worker}}, t.*column.field);
  w.family(metric::kWorkerRejects)
      .sample({{"worker", worker}, {"result", "sent"}}, t.rejects_sent)
      .sample({{"worker", worker}, {"result", "suppressed"}}, t.rejects_suppressed);
  w.family(metric::kWorkerTurns)
      .sample({{"worker", worker}, {"kind", "busy"}}, t.busy_turns)
      .sample({{"worker", worker}, {"kind", "idle"}}, t.idle_turns);
  const auto seconds = [tsc_hz](std::uint64_t cycles) {
    return tsc_hz > 0 ? static_cast<double>(cycles) / tsc_hz : 0.0;
  };
  w.family(metric::kWorkerBusySeconds).sample({{"worker", worker}}, seconds(t.busy_cycles));
  w.family(metric::kWorkerLateTurns).sample({{"worker", worker}}, t.late_turns);
  w.family(metric::kWorkerLateSeconds).sample({{"worker", worker}}, seconds(t.late_cycles));
  w.family(metric::kWorkerSeconds).sample({{"worker", worker}}, seconds(t.cycles));
  w.family(metric::kWorkerBurst)
      .histogram({{"worker", worker}}, kBurstBounds, t.burst_fill, 0,
                 static_cast<double>(t.received_packets));
}

void write_sums(MetricsWriter& w, const CounterTotals& sum) {
  w.family(metric::kSessionCreated).sample({}, sum.sessions_created);
  for (unsigned i = 1; i < kSessionEndCount; ++i)
    w.family(metric::kSessionEnded)
        .sample({{"cause", session_end_name(static_cast<base::SessionEnd>(i))}},
                sum.sessions_ended[i]);
  // Every reason from the first scrape on: a rate over a series that appears late misses its first
  // drops.
  for (unsigned i = 1; i < base::kDropReasonCount; ++i) {
    const auto name = base::drop_reason_name(static_cast<base::DropReason>(i));
    w.family(metric::kDrops).sample({{"reason", name}}, sum.drop_packets[i]);
    w.family(metric::kDropBytes).sample({{"reason", name}}, sum.drop_bytes[i]);
  }
  w.family(metric::kPolicyLookups).sample({}, sum.policy_lookups);
  w.family(metric::kPolicyRechecks).sample({}, sum.policy_rechecks);
}

}  // namespace

void write_worker_metrics(MetricsWriter& writer, std::span<const WorkerCounters* const> rows,
                          double tsc_hz) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    write_worker(writer, std::to_string(i), read_counters(*rows[i]), tsc_hz);
  write_sums(writer, sum_counters(rows));
}

void write_sink_metrics(MetricsWriter& writer, std::span<const SinkStatus> sinks) {
  for (const SinkStatus& s : sinks) {
    writer.family(metric::kExportEvents).sample({{"sink", s.name}}, s.written);
    writer.family(metric::kExportLost).sample({{"sink", s.name}}, s.lost);
    writer.family(metric::kExportBytes).sample({{"sink", s.name}}, s.bytes);
    writer.family(metric::kExportFailing).sample({{"sink", s.name}}, s.is_failing ? 1U : 0U);
  }
}

}  // namespace merlon::telemetry
