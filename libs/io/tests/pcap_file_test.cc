// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/pcap_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "capture_bytes.h"

namespace merlon::io {
namespace {

using test::CaptureBytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<base::Byte> copy(base::ByteSpan s) { return {s.begin(), s.end()}; }

class BothOrders : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Order, BothOrders, ::testing::Bool(),
                         [](const auto& i) { return i.param ? "big" : "little"; });

TEST_P(BothOrders, MicrosecondsBecomeNanoseconds) {
  CaptureBytes c(GetParam());
  c.pcap_header(0xa1b2c3d4, 113)
      .pcap_record(1'700'000'000, 123'456, 3, 60, {1, 2, 3})
      .pcap_record(1'700'000'001, 7, 0, 0, {});
  auto r = CaptureReader::open(c.bytes, "micros");
  ASSERT_TRUE(r.ok());
  EXPECT_EQ((*r)->format(), CaptureFormat::kPcapMicros);
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  EXPECT_THAT(copy(p.bytes), ElementsAre(1, 2, 3));
  EXPECT_EQ(p.length, 60u);
  EXPECT_EQ(p.time, 1'700'000'000'123'456'000);
  EXPECT_EQ(p.number, 1u);
  EXPECT_EQ(p.link_type, LinkType::kLinuxCooked1);
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.number, 2u);
  EXPECT_EQ(p.time, 1'700'000'001'000'007'000);
  EXPECT_TRUE(p.bytes.empty());
  EXPECT_FALSE((*r)->next(p));
  EXPECT_TRUE((*r)->status().ok());
  EXPECT_EQ((*r)->counters().packets, 2u);
}

TEST_P(BothOrders, NanosecondsAreKept) {
  CaptureBytes c(GetParam());
  c.pcap_header(0xa1b23c4d, 1).pcap_record(0xffffffff, 999'999'999, 1, 1, {9});
  auto r = CaptureReader::open(c.bytes, "nanos");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.time, 4'294'967'295'999'999'999);
  EXPECT_EQ((*r)->format(), CaptureFormat::kPcapNanos);
}

TEST_P(BothOrders, ModifiedRecordHeaderIsSkipped) {
  CaptureBytes c(GetParam());
  c.pcap_header(0xa1b2cd34, 1);
  c.pcap_record(5, 6, 2, 2, {}).u32(3).u16(0x800).u8(0).u8(0).raw({0xaa, 0xbb});
  auto r = CaptureReader::open(c.bytes, "modified");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  EXPECT_THAT(copy(p.bytes), ElementsAre(0xaa, 0xbb));
  EXPECT_EQ(p.time, 5'000'006'000);
  EXPECT_FALSE((*r)->next(p));
  EXPECT_TRUE((*r)->status().ok());
}

TEST(PcapFile, FrameCheckLengthInTheLinkTypeFieldIsIgnored) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b2c3d4, 0x24000001);
  auto r = CaptureReader::open(c.bytes, "fcs");
  ASSERT_TRUE(r.ok());
  EXPECT_EQ((*r)->interfaces().at(0).link_type, LinkType::kEthernet);
}

TEST(PcapFile, OldVersionsHaveTheLengthsExchanged) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b2c3d4, 1, 2).pcap_record(1, 0, 60, 2, {7, 8});
  auto r = CaptureReader::open(c.bytes, "old");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  EXPECT_THAT(copy(p.bytes), ElementsAre(7, 8));
  EXPECT_EQ(p.length, 60u);
}

TEST(PcapFile, MoreCapturedThanOnTheWireIsToleratedAndCounted) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b2c3d4, 1).pcap_record(1, 0, 4, 2, {1, 2, 3, 4});
  auto r = CaptureReader::open(c.bytes, "long");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.bytes.size(), 4u);
  EXPECT_EQ(p.length, 4u);
  EXPECT_EQ((*r)->counters().longer_than_wire, 1u);
}

TEST(PcapFile, TruncatedRecordEndsWithAnErrorAfterThePacketsBefore) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b2c3d4, 1).pcap_record(1, 0, 1, 1, {1}).pcap_record(2, 0, 100, 100, {1, 2});
  auto r = CaptureReader::open(c.bytes, "cut.pcap");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  EXPECT_TRUE((*r)->next(p));
  EXPECT_FALSE((*r)->next(p));
  ASSERT_FALSE((*r)->status().ok());
  EXPECT_EQ((*r)->status().error().code, base::Errc::kIo);
  EXPECT_EQ((*r)->status().error().message,
            "cut.pcap: the file ends inside a record (18 of 116 bytes are there) at byte 41");
  EXPECT_FALSE((*r)->next(p));
}

TEST(PcapFile, TruncatedRecordHeaderIsTold) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b2c3d4, 1).u32(1).u32(2);
  auto r = CaptureReader::open(c.bytes, "cut");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  EXPECT_FALSE((*r)->next(p));
  ASSERT_FALSE((*r)->status().ok());
  EXPECT_THAT((*r)->status().error().message, HasSubstr("record header (8 of 16"));
}

TEST(PcapFile, HugeRecordIsRefused) {
  CaptureBytes c(false);
  c.pcap_header(0xa1b2c3d4, 1).pcap_record(1, 0, 0x7fffffff, 60, {1});
  auto r = CaptureReader::open(c.bytes, "huge");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  EXPECT_FALSE((*r)->next(p));
  ASSERT_FALSE((*r)->status().ok());
  EXPECT_EQ((*r)->status().error().code, base::Errc::kInvalidValue);
  EXPECT_THAT((*r)->status().error().message, HasSubstr("claims 2147483647 bytes"));
}

TEST(PcapFile, WhatIsNoCaptureIsRefusedByName) {
  const std::vector<base::Byte> text = {'h', 'e', 'l', 'l', 'o'};
  auto r = CaptureReader::open(base::ByteSpan(text), "x");
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message, HasSubstr("no packet capture (starts with 68656c6c)"));
  const std::vector<base::Byte> gzip = {0x1f, 0x8b, 8, 0, 0};
  auto z = CaptureReader::open(base::ByteSpan(gzip), "x.gz");
  ASSERT_FALSE(z.ok());
  EXPECT_THAT(z.error().message, HasSubstr("compressed with gzip"));
  EXPECT_FALSE(z.error().hint.empty());
  auto none = CaptureReader::open(base::ByteSpan(), "empty");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("0 of 4"));
}

TEST(PcapFile, MissingFileAndFolderAreErrors) {
  auto r = CaptureReader::open("/nonexistent/file.pcap");
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, base::Errc::kIo);
  EXPECT_EQ(r.error().where.file, "/nonexistent/file.pcap");
  EXPECT_FALSE(CaptureReader::open("/tmp").ok());
}

// More than the reader's window, through a pipe: partial reads and the window's turn-over are met.
TEST(PcapFile, StreamsThroughAPipe) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  const std::string path = "/dev/fd/" + std::to_string(fds[0]);
  constexpr unsigned kPackets = 3000;
  const pid_t child = ::fork();
  if (child == 0) {
    CaptureBytes c(false);
    c.pcap_header(0xa1b23c4d, 1);
    for (unsigned i = 0; i < kPackets; ++i)
      c.pcap_record(i, 0, 1001, 1001, std::vector<base::Byte>(1001, static_cast<base::Byte>(i)));
    for (std::size_t at = 0; at < c.bytes.size();) {
      const ssize_t n =
          ::write(fds[1], c.bytes.data() + at, std::min<std::size_t>(70'001, c.bytes.size() - at));
      if (n <= 0) ::_exit(1);
      at += static_cast<std::size_t>(n);
    }
    ::_exit(0);
  }
  ::close(fds[1]);
  auto r = CaptureReader::open(path);
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  unsigned n = 0;
  bool all_right = true;
  while ((*r)->next(p)) {
    all_right &= p.bytes.size() == 1001 && p.bytes[0] == static_cast<base::Byte>(n) &&
                 p.bytes[1000] == static_cast<base::Byte>(n) && p.time == n * base::kNanosPerSecond;
    ++n;
  }
  EXPECT_TRUE((*r)->status().ok());
  EXPECT_EQ(n, kPackets);
  EXPECT_TRUE(all_right);
  ::close(fds[0]);
}

TEST(LinkTypes, KnownOnesMapToTheParser) {
  using LinkLayer = packet::ParseOptions::LinkLayer;
  const std::pair<std::uint32_t, LinkLayer> expected[] = {{1, LinkLayer::kEthernet},
                                                          {12, LinkLayer::kRawIp},
                                                          {14, LinkLayer::kRawIp},
                                                          {101, LinkLayer::kRawIp},
                                                          {228, LinkLayer::kRawIp},
                                                          {229, LinkLayer::kRawIp},
                                                          {113, LinkLayer::kLinuxCooked1},
                                                          {276, LinkLayer::kLinuxCooked2},
                                                          {0, LinkLayer::kNull},
                                                          {108, LinkLayer::kNull},
                                                          {9, LinkLayer::kPpp},
                                                          {50, LinkLayer::kPpp}};
  for (const auto& [type, layer] : expected)
    EXPECT_EQ(link_layer_of(static_cast<LinkType>(type)), layer) << type;
  EXPECT_FALSE(link_layer_of(static_cast<LinkType>(105)).has_value());
  EXPECT_EQ(link_type_name(static_cast<LinkType>(105)), "IEEE 802.11");
  EXPECT_EQ(link_type_name(static_cast<LinkType>(4711)), "link type 4711");
}

}  // namespace
}  // namespace merlon::io
