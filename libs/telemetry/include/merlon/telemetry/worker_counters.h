// SPDX-License-Identifier: Apache-2.0
#pragma once
// The counters row of one worker. worker-owned for adding (plain adds, once per burst where
// possible), readable by every thread without tearing. Rows start on their own cache line, so
// workers share none. The scalar fields are one table: totals, sums, metrics and the `stats` event
// are made from it.
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "merlon/base/drop_reason.h"
#include "merlon/base/event.h"
#include "merlon/telemetry/counter.h"

namespace merlon::telemetry {

// X(field, "what it counts")
#define MERLON_WORKER_COUNTERS(X)                                                        \
  X(received_packets, "packets taken from ports")                                        \
  X(received_bytes, "bytes of these packets on the wire")                                \
  X(forwarded_packets, "packets given to an output port")                                \
  X(forwarded_bytes, "bytes of these packets")                                           \
  X(tapped_packets, "packets of tap ports that were judged and released")                \
  X(would_drop_packets, "packets of tap ports that an inline device would have dropped") \
  X(dropped_packets, "packets dropped, all reasons together")                            \
  X(dropped_bytes, "bytes of dropped packets")                                           \
  X(sessions_created, "sessions opened")                                                 \
  X(policy_lookups, "questions put to the policy classifier")                            \
  X(policy_rechecks, "sessions judged again after a commit")                             \
  X(handed_over_packets, "packets given to another worker")                              \
  X(taken_over_packets, "packets received from another worker")                          \
  X(fragment_packets, "IP fragments seen")                                               \
  X(rejects_sent, "RST and ICMP unreachable messages sent")                              \
  X(rejects_suppressed, "rejects not sent because of their rate limit")                  \
  X(events_written, "event records put into the ring")                                   \
  X(events_lost, "event records lost because the ring was full")                         \
  X(drop_events_suppressed, "drop events not written because of their rate limit")       \
  X(bursts, "bursts with at least one packet")                                           \
  X(busy_turns, "turns of the worker loop that had work")                                \
  X(idle_turns, "turns of the worker loop that had none")                                \
  X(busy_cycles, "TSC ticks spent in busy turns")                                        \
  X(late_turns, "turns that took longer than 10 ms: the worker was kept from running")   \
  X(late_cycles, "TSC ticks spent in these")                                             \
  X(cycles, "TSC ticks spent in all turns")

// Buckets of packets per burst: 1, 2, 3-4, 5-8, 9-16, 17-32, 33-64.
inline constexpr unsigned kBurstBuckets = 7;

struct alignas(64) WorkerCounters {
#define MERLON_X(field, help) Counter field;
  MERLON_WORKER_COUNTERS(MERLON_X)
#undef MERLON_X
  std::array<Counter, kBurstBuckets> burst_fill;
  std::array<Counter, 16> sessions_ended;  // by base::SessionEnd
  alignas(64) std::array<Counter, base::kDropReasonCount> drop_packets, drop_bytes;
  std::array<Counter, base::kDropReasonCount> would_drop;  // tap ports: the part of drop_packets

  void add_drop(base::DropReason reason, std::uint64_t length) noexcept {
    add_drops(reason, 1, length);
  }
  void add_drops(base::DropReason reason, std::uint64_t packets, std::uint64_t bytes) noexcept {
    const auto i = static_cast<std::size_t>(reason);
    drop_packets[i].add(packets);
    drop_bytes[i].add(bytes);
    dropped_packets.add(packets);
    dropped_bytes.add(bytes);
  }
  // A packet of a tap port, beside add_drop().
  void add_would_drop(base::DropReason reason) noexcept {
    would_drop[static_cast<std::size_t>(reason)].add();
    would_drop_packets.add();
  }
  void add_session_end(base::SessionEnd end) noexcept {
    sessions_ended[static_cast<std::size_t>(end) & 15].add();
  }
  // One received burst of 1 to 64 packets.
  void add_burst(unsigned count, std::uint64_t length) noexcept {
    received_packets.add(count);
    received_bytes.add(length);
    bursts.add();
    const auto bucket = static_cast<unsigned>(std::bit_width(count - 1));
    burst_fill[bucket < kBurstBuckets ? bucket : kBurstBuckets - 1].add();
  }
};

// The same fields as plain numbers: one worker's, or the sum of several. A reading while workers
// run is no cut in time: a packet may be in `received` and not yet in `forwarded`.
struct CounterTotals {
#define MERLON_X(field, help) std::uint64_t field = 0;
  MERLON_WORKER_COUNTERS(MERLON_X)
#undef MERLON_X
  std::array<std::uint64_t, kBurstBuckets> burst_fill{};
  std::array<std::uint64_t, 16> sessions_ended{};
  std::array<std::uint64_t, base::kDropReasonCount> drop_packets{}, drop_bytes{};
  std::array<std::uint64_t, base::kDropReasonCount> would_drop{};

  void add(const WorkerCounters& row) noexcept;
  // Since an earlier reading; a counter that is smaller than before counts from zero.
  [[nodiscard]] CounterTotals since(const CounterTotals& earlier) const noexcept;
};

CounterTotals read_counters(const WorkerCounters& row) noexcept;
CounterTotals sum_counters(std::span<const WorkerCounters* const> rows) noexcept;

}  // namespace merlon::telemetry
