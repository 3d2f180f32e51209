// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture_bytes.h"
#include "merlon/io/pcap_port.h"
#include "merlon/io/ring_port.h"

namespace merlon::io {
namespace {

using test::CaptureBytes;
using ::testing::ElementsAre;

std::shared_ptr<BufferPool> pool_of(std::uint32_t small, std::uint32_t large = 2) {
  BufferPoolSettings s;
  s.small_count = small;
  s.large_count = large;
  return *BufferPool::create(s);
}

std::unique_ptr<PcapPort> port_over(const CaptureBytes& c, std::shared_ptr<BufferPool> pool) {
  PcapPortSettings s;
  s.name = "in";
  s.number = 7;
  auto port = PcapPort::create(s, std::move(pool));
  EXPECT_TRUE(port.ok());
  auto reader = CaptureReader::open(base::ByteSpan(c.bytes), "memory");
  EXPECT_TRUE(reader.ok());
  (*port)->read_from(std::move(*reader));
  return std::move(*port);
}

std::unique_ptr<RingPort> ring(RingPortSettings s, std::shared_ptr<BufferPool> pool) {
  auto port = RingPort::create(std::move(s), std::move(pool));
  EXPECT_TRUE(port.ok());
  return std::move(*port);
}

TEST(PcapPort, FillsTheFrameColumns) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b23c4d, 1).pcap_record(1, 2, 3, 60, {1, 2, 3}).pcap_record(1, 3, 1, 1, {4});
  auto port = port_over(c, pool_of(8));
  packet::Burst burst;
  EXPECT_FALSE(port->is_exhausted());
  burst.count = 1;  // appends behind what is there
  port->receive(0, burst, 2);
  ASSERT_EQ(burst.count, 2u);
  EXPECT_EQ(burst.captured[1], 3u);
  EXPECT_EQ(burst.length[1], 60u);
  EXPECT_EQ(burst.in_port[1], 7);
  EXPECT_EQ(burst.time[1], 1'000'000'002);
  EXPECT_EQ(burst.number[1], 1u);
  EXPECT_EQ(burst.data[1][2], 3);
  port->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 3u);
  EXPECT_EQ(burst.number[2], 2u);
  EXPECT_TRUE(port->is_exhausted());
  EXPECT_TRUE(port->read_status().ok());
  port->release(0, burst.handle.data() + 1, 2);
  const PortCounters k = port->counters();
  EXPECT_EQ(k.rx_packets, 2u);
  EXPECT_EQ(k.rx_bytes, 61u);
}

TEST(PcapPort, OneCallNeverMixesLinkTypesAndSkipsUnsupported) {
  CaptureBytes c(false);
  c.section().interface(1).interface(101).interface(105);
  c.enhanced(0, 1, {1}, 1).enhanced(0, 2, {2}, 1).enhanced(2, 3, {3}, 1).enhanced(1, 4, {4}, 1);
  auto port = port_over(c, pool_of(8));
  packet::Burst burst;
  port->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 2u);
  EXPECT_EQ(port->link_type(), LinkType::kEthernet);
  burst.count = 0;
  port->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 1u);
  EXPECT_EQ(port->link_type(), LinkType::kRaw);
  EXPECT_EQ(burst.number[0], 4u);
  EXPECT_EQ(port->counters().rx_link_type, 1u);
  EXPECT_EQ(port->counters().rx_packets, 4u);
}

TEST(PcapPort, WaitsForABufferThenGivesUpCounted) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b23c4d, 1);
  for (std::uint32_t i = 0; i < 3; ++i) c.pcap_record(i, 0, 1, 1, {static_cast<base::Byte>(i)});
  auto port = port_over(c, pool_of(1, 0));
  packet::Burst burst;
  port->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 1u);
  packet::Burst later;
  port->receive(0, later, 64);
  EXPECT_EQ(later.count, 0u);
  port->release(0, burst.handle.data(), 1);
  port->receive(0, later, 64);
  ASSERT_EQ(later.count, 1u);
  EXPECT_EQ(later.number[0], 2u);  // nothing was lost while it waited
  packet::Burst none;
  for (unsigned i = 0; i < 5000 && !port->is_exhausted(); ++i) port->receive(0, none, 64);
  EXPECT_EQ(none.count, 0u);
  EXPECT_TRUE(port->is_exhausted());
  EXPECT_EQ(port->counters().rx_dropped, 1u);
}

TEST(PcapPort, FrameLargerThanAnyBufferIsCut) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b23c4d, 1)
      .pcap_record(1, 0, 70'000, 70'000, std::vector<base::Byte>(70'000, 5));
  auto port = port_over(c, pool_of(1, 1));
  packet::Burst burst;
  port->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 1u);
  EXPECT_EQ(burst.captured[0], 65'664u);
  EXPECT_EQ(burst.length[0], 70'000u);
  EXPECT_EQ(port->counters().rx_cut, 1u);
}

TEST(PcapPort, ASecondSourceContinues) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b23c4d, 1).pcap_record(1, 0, 1, 1, {1});
  auto port = port_over(c, pool_of(8));
  packet::Burst burst;
  port->receive(0, burst, 64);
  port->receive(0, burst, 64);
  EXPECT_TRUE(port->is_exhausted());
  port->read_from(*CaptureReader::open(base::ByteSpan(c.bytes), "again"));
  EXPECT_FALSE(port->is_exhausted());
  port->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 2u);
  EXPECT_EQ(burst.number[1], 1u);
}

TEST(PcapPort, FaultOfTheFileIsKept) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b23c4d, 1).pcap_record(1, 0, 1, 1, {1}).u32(1);
  auto port = port_over(c, pool_of(8));
  packet::Burst burst;
  port->receive(0, burst, 64);
  EXPECT_EQ(burst.count, 1u);
  EXPECT_TRUE(port->is_exhausted());
  EXPECT_FALSE(port->read_status().ok());
  EXPECT_EQ(port->counters().rx_errors, 1u);
}

TEST(PcapPort, WritesWhatIsSentWithItsStamp) {
  char path[] = "/tmp/merlon-io-XXXXXX";
  ::close(::mkstemp(path));
  auto pool = pool_of(8);
  PcapPortSettings s;
  s.name = "out";
  s.write_path = path;
  s.write_format = CaptureFormat::kPcapng;
  auto port = PcapPort::create(s, pool);
  ASSERT_TRUE(port.ok());
  auto source = ring({}, pool);
  ASSERT_TRUE(source->inject(std::vector<base::Byte>{1, 2, 3}, 77, 0, 1500));
  packet::Burst burst;
  source->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 1u);
  EXPECT_EQ((*port)->transmit(0, burst.handle.data(), 1), 1u);
  base::Byte* data = nullptr;
  void* made = (*port)->allocate(0, 60, data);
  ASSERT_NE(made, nullptr);
  data[0] = 9;
  (*port)->set_length(made, 1);
  EXPECT_EQ((*port)->transmit(0, &made, 1), 1u);
  ASSERT_TRUE((*port)->close().ok());
  EXPECT_EQ(pool->free_count(), pool->total_count());

  auto r = CaptureReader::open(path);
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.time, 77);
  EXPECT_EQ(p.length, 1500u);
  EXPECT_EQ(p.bytes.size(), 3u);
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.time, 77);  // our own packet follows the one before
  EXPECT_EQ(p.bytes[0], 9);
  EXPECT_FALSE((*r)->next(p));
  EXPECT_EQ((*port)->counters().tx_packets, 2u);
  EXPECT_EQ((*port)->counters().tx_bytes, 1501u);
  ::unlink(path);
}

TEST(RingPort, CarriesBothWaysInOrder) {
  auto pool = pool_of(64);
  RingPortSettings s;
  s.number = 3;
  s.rx_queues = 2;
  auto port = ring(s, pool);
  for (unsigned i = 0; i < 10; ++i)
    ASSERT_TRUE(port->inject(std::vector<base::Byte>{static_cast<base::Byte>(i)}, i * 10, i % 2));
  packet::Burst burst;
  port->receive(1, burst, 3);
  ASSERT_EQ(burst.count, 3u);
  EXPECT_EQ(burst.number[0], 2u);
  EXPECT_EQ(burst.data[2][0], 5);
  EXPECT_EQ(burst.in_port[0], 3);
  EXPECT_EQ(burst.time[1], 30);
  EXPECT_EQ(port->transmit(0, burst.handle.data(), 3), 3u);
  const auto frames = port->take();
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_THAT(frames[1].bytes, ElementsAre(3));
  EXPECT_EQ(frames[1].number, 4u);
  EXPECT_EQ(frames[1].time, 30);
  EXPECT_EQ(port->counters().rx_packets, 3u);
  EXPECT_EQ(port->counters().tx_packets, 3u);
  EXPECT_TRUE(port->take().empty());
}

TEST(RingPort, FullQueueReleasesAndCounts) {
  auto pool = pool_of(64, 0);
  RingPortSettings s;
  s.depth = 4;
  auto port = ring(s, pool);
  for (unsigned i = 0; i < 4; ++i) ASSERT_TRUE(port->inject(std::vector<base::Byte>(60, 1), 0));
  EXPECT_FALSE(port->inject(std::vector<base::Byte>(60, 1), 0));
  EXPECT_EQ(port->counters().rx_dropped, 1u);
  EXPECT_EQ(pool->free_count(), 60u);
  std::vector<void*> made;
  for (unsigned i = 0; i < 6; ++i) {
    base::Byte* data = nullptr;
    made.push_back(port->allocate(0, 60, data));
    port->set_length(made.back(), 60);
  }
  EXPECT_EQ(port->transmit(0, made.data(), 6), 4u);
  EXPECT_EQ(port->counters().tx_dropped, 2u);
  EXPECT_EQ(pool->free_count(), 56u);
  port.reset();
  EXPECT_EQ(pool->free_count(), 64u);
}

TEST(RingPort, LinkIsToldBothWays) {
  auto port = ring({}, pool_of(4));
  EXPECT_FALSE(port->poll_link());
  port->set_carrier(false);
  EXPECT_TRUE(port->poll_link());
  EXPECT_FALSE(port->poll_link());
  EXPECT_FALSE(port->info().is_link_up);
  EXPECT_FALSE(port->inject(std::vector<base::Byte>{1}, 0));
  EXPECT_TRUE(port->is_peer_told_up());
  EXPECT_TRUE(port->set_link(false).ok());
  EXPECT_FALSE(port->is_peer_told_up());
}

TEST(RingPort, RefusesBadDepth) {
  RingPortSettings s;
  s.depth = 1000;
  EXPECT_FALSE(RingPort::create(s, pool_of(4)).ok());
}

}  // namespace
}  // namespace merlon::io
