// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/drop_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

namespace merlon::telemetry {
namespace {

using base::DropReason;

DropInfo info(DropReason reason, std::uint64_t number) {
  DropInfo i;
  i.reason = reason;
  i.packet_number = number;
  i.time = static_cast<base::Nanos>(number * 1000);
  return i;
}

std::vector<DroppedPacket> collect(const DropRing& ring, DropReason reason) {
  std::vector<DroppedPacket> all;
  ring.collect(reason, all);
  return all;
}

TEST(DropRing, KeepsEverythingOfAPacket) {
  DropRing ring(4);
  DropInfo i;
  i.time = 123456789;
  i.packet_number = 77;
  i.flow_id = 0x1fffffffffffff;
  i.length = 1514;
  i.rule = 12;
  i.generation = 3;
  i.in_port = 5;
  i.out_port = base::kNoPort;
  i.reason = DropReason::kPolicyDeny;
  i.worker = 2;
  i.is_would_drop = true;
  std::array<base::Byte, 61> bytes;
  std::iota(bytes.begin(), bytes.end(), base::Byte{1});
  ring.write(i, bytes.data(), bytes.size());

  const auto all = collect(ring, DropReason::kPolicyDeny);
  ASSERT_EQ(all.size(), 1U);
  const DroppedPacket& d = all[0];
  EXPECT_EQ(d.info.time, 123456789);
  EXPECT_EQ(d.info.packet_number, 77U);
  EXPECT_EQ(d.info.flow_id, 0x1fffffffffffffU);
  EXPECT_EQ(d.info.length, 1514U);
  EXPECT_EQ(d.info.rule, 12U);
  EXPECT_EQ(d.info.generation, 3U);
  EXPECT_EQ(d.info.in_port, 5U);
  EXPECT_EQ(d.info.out_port, base::kNoPort);
  EXPECT_EQ(d.info.reason, DropReason::kPolicyDeny);
  EXPECT_EQ(d.info.worker, 2U);
  EXPECT_TRUE(d.info.is_would_drop);
  EXPECT_EQ(d.ordinal, 0U);
  ASSERT_EQ(d.data().size(), bytes.size());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), d.data().begin()));
  EXPECT_TRUE(collect(ring, DropReason::kDefaultDeny).empty());
}

TEST(DropRing, ShortAndLongPackets) {
  DropRing ring(8);
  std::array<base::Byte, 300> bytes;
  std::iota(bytes.begin(), bytes.end(), base::Byte{0});
  for (const unsigned size : {0U, 1U, 7U, 8U, 191U, 192U, 193U, 300U})
    ring.write(info(DropReason::kNonIp, 1), bytes.data(), size);
  const auto all = collect(ring, DropReason::kNonIp);
  ASSERT_EQ(all.size(), 8U);
  const std::array<std::size_t, 8> expected{0, 1, 7, 8, 191, 192, 192, 192};
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_EQ(all[i].captured, expected[i]);
    EXPECT_TRUE(std::equal(all[i].data().begin(), all[i].data().end(), bytes.begin()));
  }
}

// A slot that held a long packet does not show its tail behind a short one.
TEST(DropRing, NewestReplaceOldest) {
  DropRing ring(3);
  const std::array<base::Byte, 64> bytes{9, 9, 9};
  for (std::uint64_t n = 1; n <= 8; ++n)
    ring.write(info(DropReason::kShutdown, n), bytes.data(), n == 8 ? 2 : 64);
  const auto all = collect(ring, DropReason::kShutdown);
  ASSERT_EQ(all.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].info.packet_number, 6 + i);
    EXPECT_EQ(all[i].ordinal, 5 + i);
  }
  EXPECT_EQ(all[2].captured, 2U);
  EXPECT_EQ(all[2].bytes[2], 0U);
}

TEST(DropRing, NoneKeptWhenSwitchedOff) {
  DropRing ring(0);
  ring.write(info(DropReason::kNonIp, 1), nullptr, 0);
  EXPECT_TRUE(collect(ring, DropReason::kNonIp).empty());
  EXPECT_EQ(DropRing::memory_size(0), 0U);
  EXPECT_EQ(DropRing::memory_size(16), 16U * 256U * base::kDropReasonCount);
}

TEST(DropRing, CollectsAcrossWorkersByTime) {
  DropRing a(4), b(4);
  a.write(info(DropReason::kNonIp, 3), nullptr, 0);
  a.write(info(DropReason::kNoZone, 1), nullptr, 0);
  b.write(info(DropReason::kNonIp, 2), nullptr, 0);
  b.write(info(DropReason::kNonIp, 4), nullptr, 0);
  const std::array<const DropRing*, 2> rings{&a, &b};
  const auto numbers = [&](std::optional<DropReason> reason, std::size_t limit) {
    std::vector<std::uint64_t> n;
    for (const auto& d : collect_drops(rings, reason, limit)) n.push_back(d.info.packet_number);
    return n;
  };
  EXPECT_EQ(numbers(std::nullopt, 0), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(numbers(DropReason::kNonIp, 0), (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_EQ(numbers(std::nullopt, 2), (std::vector<std::uint64_t>{3, 4}));
}

// Each packet is filled with its number; a mixture of two packets would show.
TEST(DropRing, ReaderNeverSeesAMixture) {
  DropRing ring(2);
  std::atomic<bool> is_done{false};
  std::thread worker([&] {
    std::array<base::Byte, kDropBytes> bytes{};
    for (std::uint64_t n = 0; n < 60'000; ++n) {
      bytes.fill(static_cast<base::Byte>(n));
      DropInfo i = info(DropReason::kTcpState, n);
      i.flow_id = n;
      ring.write(i, bytes.data(), 64 + n % 129);
    }
    is_done = true;
  });
  std::uint64_t mixed = 0;
  do {
    for (const auto& d : collect(ring, DropReason::kTcpState)) {
      const std::uint64_t n = d.info.packet_number;
      bool is_whole = d.info.flow_id == n && d.captured == 64 + n % 129 && d.ordinal == n;
      for (const base::Byte b : d.data()) is_whole = is_whole && b == static_cast<base::Byte>(n);
      mixed += is_whole ? 0 : 1;
    }
  } while (!is_done);
  worker.join();
  EXPECT_EQ(mixed, 0U);
  const auto last = collect(ring, DropReason::kTcpState);
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last[1].info.packet_number, 59'999U);
}

}  // namespace
}  // namespace merlon::telemetry
