// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "capture_bytes.h"
#include "merlon/io/pcap_file.h"

namespace merlon::io {
namespace {

using test::CaptureBytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<base::Byte> copy(base::ByteSpan s) { return {s.begin(), s.end()}; }

class Pcapng : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Order, Pcapng, ::testing::Bool(),
                         [](const auto& i) { return i.param ? "big" : "little"; });

TEST_P(Pcapng, SectionsInterfacesAndPacketBlocks) {
  CaptureBytes c(GetParam());
  c.section();
  c.block(
      1,
      c.body().u16(1).u16(0).u32(0).u16(2).u16(4).text("eth0").u16(9).u16(1).u8(9).pad4().u32(0));
  c.interface(101, 2);
  c.block(0xbad, c.body().u32(1));  // an unknown block
  c.enhanced(0, 1'700'000'000'000'000'001, {1, 2, 3}, 64);
  c.enhanced(1, 2'000'000, {4}, 1);  // µs by default
  c.block(2, c.body().u16(1).u16(77).u32(0).u32(3'000'000).u32(2).u32(9).raw({5, 6}));  // obsolete
  c.section().interface(276, 2);
  c.block(3, c.body().u32(5).raw({7, 8}));  // simple, cut by the snap length

  auto r = CaptureReader::open(c.bytes, "ng");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.time, 1'700'000'000'000'000'001);
  EXPECT_EQ(p.length, 64u);
  EXPECT_THAT(copy(p.bytes), ElementsAre(1, 2, 3));
  EXPECT_EQ((*r)->interfaces()[p.interface].name, "eth0");
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.time, 2'000'000'000);
  EXPECT_EQ(p.link_type, LinkType::kRaw);
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.time, 3'000'000'000);
  EXPECT_THAT(copy(p.bytes), ElementsAre(5, 6));
  EXPECT_EQ(p.interface, 1u);
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.interface, 2u);  // numbering goes on over sections
  EXPECT_EQ(p.link_type, LinkType::kLinuxCooked2);
  EXPECT_THAT(copy(p.bytes), ElementsAre(7, 8));
  EXPECT_EQ(p.length, 5u);
  EXPECT_EQ(p.time, 3'000'000'000);
  EXPECT_EQ(p.number, 4u);
  EXPECT_FALSE((*r)->next(p));
  EXPECT_TRUE((*r)->status().ok()) << (*r)->status().error().message;
  EXPECT_EQ((*r)->counters().skipped_blocks, 1u);
}

TEST(PcapngMixed, SectionsMayDifferInByteOrder) {
  CaptureBytes little(false), big(true);
  little.section().interface(1).enhanced(0, 1, {1}, 1);
  big.section().interface(1).enhanced(0, 2, {2}, 1);
  little.raw(big.bytes);
  auto r = CaptureReader::open(little.bytes, "mixed");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.time, 2000);
  EXPECT_THAT(copy(p.bytes), ElementsAre(2));
  EXPECT_FALSE((*r)->next(p));
  EXPECT_TRUE((*r)->status().ok());
}

struct StampCase {
  std::uint8_t resolution;
  std::int64_t offset;
  std::uint64_t ticks;
  base::Nanos time;
  std::uint64_t out_of_range;
};

class Stamps : public ::testing::TestWithParam<std::tuple<bool, StampCase>> {};
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
INSTANTIATE_TEST_SUITE_P(
    Resolutions, Stamps,
    ::testing::Combine(
        ::testing::Bool(),
        ::testing::Values(StampCase{0, 0, 5, 5'000'000'000, 0}, StampCase{3, 0, 5, 5'000'000, 0},
                          StampCase{6, 10, 5, 10'000'005'000, 0},
                          StampCase{9, -1, 5, -999'999'995, 0}, StampCase{12, 0, 5'999, 5, 0},
                          StampCase{28, 0, ~std::uint64_t{0}, 1, 0},
                          StampCase{29, 0, ~std::uint64_t{0}, 0, 0},
                          StampCase{127, 0, ~std::uint64_t{0}, 0, 0},
                          StampCase{0x80 | 1, 0, 3, 1'500'000'000, 0},
                          StampCase{0x80 | 30, 0, std::uint64_t{1} << 31, 2'000'000'000, 0},
                          StampCase{0xff, 0, ~std::uint64_t{0}, 0, 0},
                          StampCase{0, 0, ~std::uint64_t{0}, kHighest, 1},
                          StampCase{9, kLowest, 0, kLowest, 1})));

TEST_P(Stamps, AreConverted) {
  const auto& [big_endian, s] = GetParam();
  CaptureBytes c(big_endian);
  c.section();
  c.block(1, c.body()
                 .u16(1)
                 .u16(0)
                 .u32(0)
                 .u16(9)
                 .u16(1)
                 .u8(s.resolution)
                 .u8(0)
                 .u16(0)
                 .u16(14)
                 .u16(8)
                 .u64(static_cast<std::uint64_t>(s.offset)));
  c.enhanced(0, s.ticks, {1}, 1);
  auto r = CaptureReader::open(c.bytes, "stamps");
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  ASSERT_TRUE((*r)->next(p));
  EXPECT_EQ(p.time, s.time);
  EXPECT_EQ((*r)->counters().time_out_of_range, s.out_of_range);
}

std::string fault_of(const CaptureBytes& c, unsigned packets_before) {
  auto r = CaptureReader::open(c.bytes, "f");
  if (!r.ok()) return r.error().message;
  CapturePacket p;
  unsigned n = 0;
  while ((*r)->next(p)) ++n;
  EXPECT_EQ(n, packets_before);
  return (*r)->status().ok() ? "" : (*r)->status().error().message;
}

TEST(PcapngFaults, AreNamed) {
  CaptureBytes cut(false);
  cut.section().interface(1).enhanced(0, 1, {1, 2, 3, 4}, 4).enhanced(0, 1, {1, 2, 3, 4}, 4);
  cut.bytes.resize(cut.bytes.size() - 3);
  EXPECT_EQ(fault_of(cut, 1),
            "f: the file ends inside a block (33 of 36 bytes are there) at byte 84");

  CaptureBytes two_lengths(false);
  two_lengths.section().interface(1);
  two_lengths.bytes[two_lengths.bytes.size() - 4] = 99;
  EXPECT_THAT(fault_of(two_lengths, 0), HasSubstr("has two lengths, 20 and 99"));

  CaptureBytes unknown(false);
  unknown.section().enhanced(0, 1, {1}, 1);
  EXPECT_THAT(fault_of(unknown, 0), HasSubstr("unknown interface 0"));

  // Interfaces of an earlier section are not visible in a later one.
  CaptureBytes stale(false);
  stale.section().interface(1).section().enhanced(0, 1, {1}, 1);
  EXPECT_THAT(fault_of(stale, 0), HasSubstr("unknown interface 0"));

  CaptureBytes lying(false);
  lying.section().interface(1);
  lying.block(6, lying.body().u32(0).u32(0).u32(0).u32(1000).u32(1000).u32(7));
  EXPECT_THAT(fault_of(lying, 0), HasSubstr("claims 1000 of 4 bytes"));

  CaptureBytes huge(false);
  huge.section().u32(6).u32(0x10000000).u32(0);
  EXPECT_THAT(fault_of(huge, 0), HasSubstr("claims 268435456 bytes"));

  CaptureBytes tiny(false);
  tiny.section().u32(6).u32(8).u32(0);
  EXPECT_THAT(fault_of(tiny, 0), HasSubstr("claims 8 bytes"));

  CaptureBytes option(false);
  option.section();
  option.block(1, option.body().u16(1).u16(0).u32(0).u16(2).u16(400).u32(0));
  EXPECT_THAT(fault_of(option, 0), HasSubstr("option claims 400 of 4"));

  CaptureBytes order(false);
  order.block(0x0a0d0d0a, order.body().u32(0x11111111).u16(1).u16(0).u64(0));
  EXPECT_THAT(fault_of(order, 0), HasSubstr("byte order 11111111"));

  CaptureBytes version(false);
  version.block(0x0a0d0d0a, version.body().u32(0x1a2b3c4d).u16(2).u16(0).u64(0));
  EXPECT_THAT(fault_of(version, 0), HasSubstr("pcapng version 2"));

  CaptureBytes many(false);
  many.section();
  for (unsigned i = 0; i <= kMaxCaptureInterfaces; ++i) many.interface(1);
  EXPECT_THAT(fault_of(many, 0), HasSubstr("more than 4096 interfaces"));
}

}  // namespace
}  // namespace merlon::io
