// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "capture_bytes.h"
#include "merlon/io/pcap_file.h"

namespace merlon::io {
namespace {

using test::CaptureBytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<base::Byte> copy(base::ByteSpan s) { return {s.begin(), s.end()}; }

class RoundTrip : public ::testing::TestWithParam<std::tuple<CaptureFormat, std::uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(
    Formats, RoundTrip,
    ::testing::Combine(::testing::Values(CaptureFormat::kPcapMicros, CaptureFormat::kPcapNanos,
                                         CaptureFormat::kPcapng),
                       ::testing::Values(0, 1, 9, 12, 14, 50, 101, 105, 108, 113, 228, 229, 276)));

TEST_P(RoundTrip, KeepsEverything) {
  const auto [format, link_type] = GetParam();
  auto w = CaptureWriter::to_memory(format, static_cast<LinkType>(link_type), "wan");
  for (std::uint32_t i = 0; i < 9; ++i) {
    const std::vector<base::Byte> bytes(i * 37, static_cast<base::Byte>(i));
    ASSERT_TRUE(w->write(bytes, i * 37 + i, 1'700'000'000'123'456'789 + i));
  }
  const auto bytes = w->take_bytes();
  auto r = CaptureReader::open(base::ByteSpan(bytes), "round");
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_EQ((*r)->format(), format);
  CapturePacket p;
  for (std::uint32_t i = 0; i < 9; ++i) {
    ASSERT_TRUE((*r)->next(p));
    EXPECT_EQ(copy(p.bytes), std::vector<base::Byte>(i * 37, static_cast<base::Byte>(i)));
    EXPECT_EQ(p.length, i * 37 + i);
    EXPECT_EQ(static_cast<std::uint32_t>(p.link_type), link_type);
    EXPECT_EQ(p.time, format == CaptureFormat::kPcapMicros ? 1'700'000'000'123'456'000
                                                           : 1'700'000'000'123'456'789 + i);
  }
  EXPECT_FALSE((*r)->next(p));
  EXPECT_TRUE((*r)->status().ok());
  if (format == CaptureFormat::kPcapng) {
    EXPECT_EQ((*r)->interfaces().at(0).name, "wan");
  }
}

TEST(CaptureWriter, ExactBytesOfAPcapFile) {
  auto w = CaptureWriter::to_memory(CaptureFormat::kPcapNanos);
  ASSERT_TRUE(w->write(std::vector<base::Byte>{0xab}, 60, 2'000'000'003));
  CaptureBytes expected(false);
  expected.u32(0xa1b23c4d).u16(2).u16(4).u32(0).u32(0).u32(262'144).u32(1);
  expected.pcap_record(2, 3, 1, 60, {0xab});
  EXPECT_EQ(w->take_bytes(), expected.bytes);
}

TEST(CaptureWriter, PcapngHasInterfacesAndComments) {
  auto w = CaptureWriter::to_memory(CaptureFormat::kPcapng, LinkType::kEthernet, "lan");
  auto second = w->add_interface("tun0", LinkType::kRaw);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*second, 1u);
  ASSERT_TRUE(w->write(std::vector<base::Byte>{1, 2}, 2, 5, 1, "tcp_window"));
  EXPECT_FALSE(w->write(std::vector<base::Byte>{1}, 1, 5, 2));  // no such interface
  EXPECT_EQ(w->refused_count(), 1u);
  const auto bytes = w->take_bytes();
  // The last block is the packet: its options are the comment (code 1, 10 bytes, padded) and the
  // end.
  CaptureBytes packet(false);
  packet.block(6, packet.body()
                      .u32(1)
                      .u32(0)
                      .u32(5)
                      .u32(2)
                      .u32(2)
                      .raw({1, 2, 0, 0})
                      .u16(1)
                      .u16(10)
                      .text("tcp_window")
                      .u16(0)
                      .u32(0));
  ASSERT_GT(bytes.size(), packet.bytes.size());
  EXPECT_EQ(std::vector<base::Byte>(bytes.end() - static_cast<std::ptrdiff_t>(packet.bytes.size()),
                                    bytes.end()),
            packet.bytes);
  auto r = CaptureReader::open(base::ByteSpan(bytes), "comment");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  EXPECT_THAT(copy(p.bytes), ElementsAre(1, 2));
  EXPECT_EQ((*r)->interfaces()[p.interface].name, "tun0");
  EXPECT_EQ(p.link_type, LinkType::kRaw);
}

TEST(CaptureWriter, PcapHasOneInterface) {
  auto w = CaptureWriter::to_memory(CaptureFormat::kPcapNanos);
  auto second = w->add_interface("x", LinkType::kRaw);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, base::Errc::kUnsupported);
}

TEST(CaptureWriter, DiskFullIsStickyAndTold) {
  auto w = CaptureWriter::create("/dev/full", CaptureFormat::kPcapNanos);
  ASSERT_TRUE(w.ok());
  const std::vector<base::Byte> big(200'000, 1);
  EXPECT_TRUE((*w)->write(big, 200'000, 1));   // stays in the buffer
  EXPECT_FALSE((*w)->write(big, 200'000, 1));  // meets the full device
  EXPECT_FALSE((*w)->write(big, 200'000, 1));
  EXPECT_EQ((*w)->refused_count(), 1u);
  auto closed = (*w)->close();
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, base::Errc::kIo);
  EXPECT_THAT(closed.error().message, HasSubstr("No space left"));
}

TEST(CaptureWriter, FileIsCompleteAfterClose) {
  char path[] = "/tmp/merlon-io-XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  ::close(fd);
  auto w = CaptureWriter::create(path, CaptureFormat::kPcapng);
  ASSERT_TRUE(w.ok());
  const std::vector<base::Byte> frame(1500, 7);
  for (unsigned i = 0; i < 1000; ++i) ASSERT_TRUE((*w)->write(frame, 1500, i));
  ASSERT_TRUE((*w)->close().ok());
  EXPECT_FALSE((*w)->write(frame, 1500, 1));
  auto r = CaptureReader::open(path);
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  unsigned n = 0;
  while ((*r)->next(p)) {
    EXPECT_EQ(p.time, n);
    ++n;
  }
  EXPECT_EQ(n, 1000u);
  EXPECT_TRUE((*r)->status().ok());
  ::unlink(path);
}

TEST(CaptureWriter, CantCreate) {
  auto w = CaptureWriter::create("/nonexistent/x.pcap", CaptureFormat::kPcapNanos);
  ASSERT_FALSE(w.ok());
  EXPECT_EQ(w.error().where.file, "/nonexistent/x.pcap");
}

}  // namespace
}  // namespace merlon::io
