// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "merlon/telemetry/worker_counters.h"

namespace merlon::telemetry {
namespace {

TEST(WorkerCounters, SumsRows) {
  std::array<WorkerCounters, 2> rows;
  rows[0].add_burst(3, 300);
  rows[1].add_burst(64, 6400);
  rows[0].add_drop(base::DropReason::kTcpWindow, 100);
  rows[1].add_drop(base::DropReason::kTcpWindow, 50);
  rows[1].add_drop(base::DropReason::kShutdown, 7);
  rows[1].add_would_drop(base::DropReason::kTcpWindow);  // one of the two is a tap's
  rows[1].add_session_end(base::SessionEnd::kEvicted);
  const std::array<const WorkerCounters*, 2> pointers{&rows[0], &rows[1]};
  const CounterTotals sum = sum_counters(pointers);
  EXPECT_EQ(sum.received_packets, 67U);
  EXPECT_EQ(sum.received_bytes, 6700U);
  EXPECT_EQ(sum.bursts, 2U);
  EXPECT_EQ(sum.dropped_packets, 3U);
  EXPECT_EQ(sum.dropped_bytes, 157U);
  EXPECT_EQ(sum.drop_packets[static_cast<std::size_t>(base::DropReason::kTcpWindow)], 2U);
  EXPECT_EQ(sum.drop_bytes[static_cast<std::size_t>(base::DropReason::kTcpWindow)], 150U);
  EXPECT_EQ(sum.drop_packets.back(), 1U);
  EXPECT_EQ(sum.would_drop[static_cast<std::size_t>(base::DropReason::kTcpWindow)], 1U);
  EXPECT_EQ(sum.would_drop_packets, 1U);
  EXPECT_EQ(sum.would_drop.back(), 0U);
  EXPECT_EQ(sum.sessions_ended[static_cast<std::size_t>(base::SessionEnd::kEvicted)], 1U);
  EXPECT_EQ(read_counters(rows[0]).received_packets, 3U);
}

TEST(WorkerCounters, BurstBuckets) {
  WorkerCounters row;
  for (unsigned n = 1; n <= 64; ++n) row.add_burst(n, 0);
  const std::array<std::uint64_t, kBurstBuckets> expected{1, 1, 2, 4, 8, 16, 32};
  EXPECT_EQ(read_counters(row).burst_fill, expected);
}

TEST(WorkerCounters, DifferenceStartsAnewAfterARestart) {
  CounterTotals before, now;
  before.forwarded_packets = 10;
  now.forwarded_packets = 25;
  before.bursts = 100;
  now.bursts = 3;
  before.drop_bytes[2] = 5;
  now.drop_bytes[2] = 6;
  const CounterTotals d = now.since(before);
  EXPECT_EQ(d.forwarded_packets, 15U);
  EXPECT_EQ(d.bursts, 3U);
  EXPECT_EQ(d.drop_bytes[2], 1U);
}

TEST(WorkerCounters, RowsShareNoCacheLine) {
  EXPECT_EQ(sizeof(WorkerCounters) % 64, 0U);
  EXPECT_EQ(alignof(WorkerCounters), 64U);
}

// A value that flips all its halves: a torn read would show a mixture.
TEST(WorkerCounters, ReadersNeverSeeTornValues) {
  Counter c;
  std::atomic<bool> is_done{false};
  constexpr std::uint64_t kStep = 0x0000'0001'0000'0001;
  std::thread writer([&] {
    for (int i = 0; i < 200'000; ++i) c.add(kStep);
    is_done = true;
  });
  bool is_whole = true;
  std::uint64_t last = 0;
  while (!is_done) {
    const std::uint64_t v = c.get();
    is_whole = is_whole && (v >> 32) == (v & 0xffffffff) && v >= last;
    last = v;
  }
  writer.join();
  EXPECT_TRUE(is_whole);
  EXPECT_EQ(c.get(), 200'000 * kStep);
}

}  // namespace
}  // namespace merlon::telemetry
