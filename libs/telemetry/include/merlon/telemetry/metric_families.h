// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every metric family of Merlon, declared once: name, type, unit, help and labels. The exposition,
// the reference page and the tests are made from this table. Names follow Prometheus: base units,
// `_total` on counters, labels with few values only. immutable.
#include <cstdint>
#include <span>
#include <string_view>

namespace merlon::telemetry {

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

struct MetricFamily {
  std::string_view name;  // counters end in _total
  MetricType type = MetricType::kGauge;
  std::string_view unit;    // "packets", "bytes", "seconds", or what is counted
  std::string_view help;    // one sentence
  std::string_view labels;  // comma separated; empty: none
};

// X(Symbol, name, Type, unit, help, labels)
#define MERLON_METRIC_FAMILIES(X)                                                                  \
  X(BuildInfo, "merlon_build_info", Gauge, "", "Always 1; the labels tell what runs.",             \
    "version,commit")                                                                              \
  X(StartTime, "merlon_start_time_seconds", Gauge, "seconds",                                      \
    "Start of the process since the Unix epoch.", "")                                              \
  X(PortReceivePackets, "merlon_port_receive_packets_total", Counter, "packets",                   \
    "Packets received by a port.", "port")                                                         \
  X(PortReceiveBytes, "merlon_port_receive_bytes_total", Counter, "bytes",                         \
    "Bytes received by a port.", "port")                                                           \
  X(PortTransmitPackets, "merlon_port_transmit_packets_total", Counter, "packets",                 \
    "Packets sent by a port.", "port")                                                             \
  X(PortTransmitBytes, "merlon_port_transmit_bytes_total", Counter, "bytes",                       \
    "Bytes sent by a port.", "port")                                                               \
  X(PortReceiveMissed, "merlon_port_receive_missed_packets_total", Counter, "packets",             \
    "Packets lost before a worker saw them: no descriptor or no packet buffer was free.", "port")  \
  X(PortReceiveRingFull, "merlon_port_receive_ring_full_packets_total", Counter, "packets",        \
    "Of the missed packets those that found the receive ring full: a worker came too late.",       \
    "port")                                                                                        \
  X(PortReceiveErrors, "merlon_port_receive_error_packets_total", Counter, "packets",              \
    "Packets that the device received with an error.", "port")                                     \
  X(PortTransmitErrors, "merlon_port_transmit_error_packets_total", Counter, "packets",            \
    "Packets that the device could not send.", "port")                                             \
  X(PortTransmitDropped, "merlon_port_transmit_dropped_packets_total", Counter, "packets",         \
    "Packets that an output queue did not take in time.", "port")                                  \
  X(PortUp, "merlon_port_up", Gauge, "", "1 while the port has a link.", "port")                   \
  X(PortSpeed, "merlon_port_speed_bits_per_second", Gauge, "bits per second",                      \
    "Speed of the link, 0 when unknown.", "port")                                                  \
  X(WorkerReceivePackets, "merlon_worker_receive_packets_total", Counter, "packets",               \
    "Packets that a worker took from its ports.", "worker")                                        \
  X(WorkerReceiveBytes, "merlon_worker_receive_bytes_total", Counter, "bytes",                     \
    "Bytes of the packets that a worker took from its ports.", "worker")                           \
  X(WorkerForwardPackets, "merlon_worker_forward_packets_total", Counter, "packets",               \
    "Packets that a worker gave to an output port.", "worker")                                     \
  X(WorkerForwardBytes, "merlon_worker_forward_bytes_total", Counter, "bytes",                     \
    "Bytes of the packets that a worker gave to an output port.", "worker")                        \
  X(WorkerTappedPackets, "merlon_worker_tapped_packets_total", Counter, "packets",                 \
    "Packets of tap ports that a worker judged and released.", "worker")                           \
  X(WorkerWouldDropPackets, "merlon_worker_would_drop_packets_total", Counter, "packets",          \
    "Packets of tap ports that an inline device would have dropped.", "worker")                    \
  X(WorkerDroppedPackets, "merlon_worker_dropped_packets_total", Counter, "packets",               \
    "Packets that a worker dropped, all reasons together.", "worker")                              \
  X(WorkerHandedOver, "merlon_worker_handed_over_packets_total", Counter, "packets",               \
    "Packets that a worker gave to another one.", "worker")                                        \
  X(WorkerTakenOver, "merlon_worker_taken_over_packets_total", Counter, "packets",                 \
    "Packets that a worker got from another one.", "worker")                                       \
  X(WorkerFragments, "merlon_worker_fragment_packets_total", Counter, "packets",                   \
    "IP fragments seen.", "worker")                                                                \
  X(WorkerRejects, "merlon_worker_rejects_total", Counter, "messages",                             \
    "RST and ICMP unreachable messages: sent, or suppressed by their rate limit.",                 \
    "worker,result")                                                                               \
  X(WorkerTurns, "merlon_worker_turns_total", Counter, "turns",                                    \
    "Turns of the worker loop, busy or idle.", "worker,kind")                                      \
  X(WorkerBusySeconds, "merlon_worker_busy_seconds_total", Counter, "seconds",                     \
    "Time that a worker spent in turns that had work.", "worker")                                  \
  X(WorkerLateTurns, "merlon_worker_late_turns_total", Counter, "turns",                           \
    "Turns that took longer than 10 ms: something kept the worker from running.", "worker")        \
  X(WorkerLateSeconds, "merlon_worker_late_seconds_total", Counter, "seconds",                     \
    "Time that a worker spent in these turns.", "worker")                                          \
  X(WorkerSeconds, "merlon_worker_turn_seconds_total", Counter, "seconds",                         \
    "Time that a worker spent in all turns; the busy share is the quotient of the two.", "worker") \
  X(WorkerBurst, "merlon_worker_burst_packets", Histogram, "packets",                              \
    "Packets per received burst.", "worker")                                                       \
  X(SessionEntries, "merlon_session_entries", Gauge, "sessions", "Sessions in a worker's table.",  \
    "worker")                                                                                      \
  X(SessionLimit, "merlon_session_entries_limit", Gauge, "sessions",                               \
    "Sessions that all tables together can hold.", "")                                             \
  X(SessionCreated, "merlon_session_created_total", Counter, "sessions", "Sessions opened.", "")   \
  X(SessionEnded, "merlon_session_ended_total", Counter, "sessions", "Sessions ended, by cause.",  \
    "cause")                                                                                       \
  X(Drops, "merlon_drops_total", Counter, "packets", "Packets dropped, by reason.", "reason")      \
  X(DropBytes, "merlon_drop_bytes_total", Counter, "bytes",                                        \
    "Bytes of dropped packets, by reason.", "reason")                                              \
  X(PolicyLookups, "merlon_policy_lookups_total", Counter, "look-ups",                             \
    "Questions put to the policy classifier.", "")                                                 \
  X(PolicyRechecks, "merlon_policy_rechecks_total", Counter, "sessions",                           \
    "Sessions judged again after a commit.", "")                                                   \
  X(PolicyRules, "merlon_policy_rules", Gauge, "rules", "Rules in force.", "")                     \
  X(PolicyRevision, "merlon_policy_revision", Gauge, "", "Number of the configuration in force.",  \
    "")                                                                                            \
  X(PolicyRuleHits, "merlon_policy_rule_hits_total", Counter, "sessions",                          \
    "Sessions that a rule decided; at most 1,000 rules, the rest as rule=\"other\".", "rule")      \
  X(PolicyCommits, "merlon_policy_commits_total", Counter, "commits",                              \
    "Changes of the configuration: committed, rolled_back or refused.", "result")                  \
  X(PolicyCommitDuration, "merlon_policy_commit_duration_seconds", Histogram, "seconds",           \
    "Time from the order to commit or roll back until every worker uses the result.", "")          \
  X(EventsWritten, "merlon_events_written_total", Counter, "events",                               \
    "Event records put into a worker's ring.", "worker")                                           \
  X(EventsLost, "merlon_events_lost_total", Counter, "events",                                     \
    "Event records lost at a worker's full ring.", "worker")                                       \
  X(EventsSuppressed, "merlon_events_suppressed_total", Counter, "events",                         \
    "Drop events not written because of their rate limit.", "worker")                              \
  X(ExportEvents, "merlon_export_events_total", Counter, "events", "Events delivered to a sink.",  \
    "sink")                                                                                        \
  X(ExportLost, "merlon_export_lost_events_total", Counter, "events",                              \
    "Events that a sink could not take.", "sink")                                                  \
  X(ExportBytes, "merlon_export_bytes_total", Counter, "bytes", "Bytes delivered to a sink.",      \
    "sink")                                                                                        \
  X(ExportFailing, "merlon_export_failing", Gauge, "",                                             \
    "1 while the last attempt to write to a sink failed.", "sink")

namespace metric {
#define MERLON_X(symbol, name, type, unit, help, labels) \
  inline constexpr MetricFamily k##symbol{name, MetricType::k##type, unit, help, labels};
MERLON_METRIC_FAMILIES(MERLON_X)
#undef MERLON_X
}  // namespace metric

// The table, in its order.
std::span<const MetricFamily* const> metric_families() noexcept;

}  // namespace merlon::telemetry
