// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/segment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "merlon/packet/parse.h"

namespace merlon::lab::tcp {
namespace {

using Bytes = std::vector<base::Byte>;

SegmentHeader header(std::uint8_t flags) {
  SegmentHeader h;
  h.source_mac.bytes = {2, 0, 0, 0, 0, 1};
  h.destination_mac.bytes = {2, 0, 0, 0, 0, 2};
  h.source_ip = 0x0a090001;
  h.destination_ip = 0x0a0a0001;
  h.source_port = 1024;
  h.destination_port = 80;
  h.sequence = 0xfffffff0;
  h.acknowledgment = 77;
  h.flags = flags;
  h.window = 65'535;
  return h;
}

Bytes write(const SegmentHeader& h, std::uint32_t payload_size) {
  Bytes frame(std::max(kHeaderSize + payload_size, kMinimumFrame));
  for (std::uint32_t i = 0; i < payload_size; ++i)
    frame[kHeaderSize + i] = static_cast<base::Byte>(i * 7);
  frame.resize(write_segment(frame.data(), h, payload_size));
  return frame;
}

TEST(Segment, ReadsWhatItWrites) {
  for (const std::uint32_t size : {0U, 1U, 5U, 6U, 7U, 536U, 1459U, 1460U}) {
    const Bytes bytes = write(header(kAck | kPsh), size);
    EXPECT_GE(bytes.size(), kMinimumFrame);
    Frame f;
    ASSERT_EQ(read_frame(bytes, true, f), FrameKind::kTcp) << size;
    EXPECT_EQ(f.segment.sequence, 0xfffffff0);
    EXPECT_EQ(f.segment.acknowledgment, 77U);
    EXPECT_EQ(f.segment.flags, kAck | kPsh);
    EXPECT_EQ(f.segment.payload.size(), size);
    EXPECT_EQ(f.segment.length(), size);
    EXPECT_EQ(f.segment.mss, 0);
  }
  SegmentHeader syn = header(kSyn);
  syn.mss = 1460;
  Frame f;
  ASSERT_EQ(read_frame(write(syn, 0), true, f), FrameKind::kTcp);
  EXPECT_EQ(f.segment.mss, 1460);
  EXPECT_EQ(f.segment.length(), 1U);
}

// The product's parser, which verifies every checksum, as a second opinion.
TEST(Segment, IsWellFormedToTheParser) {
  for (const std::uint32_t size : {0U, 3U, 1460U}) {
    Bytes bytes = write(header(kAck), size);
    auto burst = std::make_unique<packet::Burst>();
    burst->count = 1;
    burst->data[0] = bytes.data();
    burst->captured[0] = burst->length[0] = static_cast<std::uint32_t>(bytes.size());
    burst->in_port[0] = 0;
    packet::ParseOptions options;
    options.verify_checksums = true;
    const std::uint16_t domain = 0;
    packet::parse(*burst, options, &domain);
    EXPECT_EQ(burst->verdict[0], packet::Verdict::kUndecided);
    EXPECT_EQ(burst->headers[0].kind, packet::Kind::kTcp);
    EXPECT_EQ(burst->headers[0].payload_length, size);
  }
}

TEST(Segment, AnyChangedBitIsSeen) {
  const Bytes good = write(header(kAck), 32);
  Frame f;
  for (std::size_t at = 14; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0x04;
    EXPECT_NE(read_frame(bad, true, f), FrameKind::kTcp) << at;
  }
}

TEST(Segment, ShortFramesAreMalformed) {
  const Bytes good = write(header(kAck), 100);
  Frame f;
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(read_frame(base::ByteSpan(good).first(size), false, f), FrameKind::kMalformed)
        << size;
}

TEST(Arp, ReadsWhatItWrites) {
  Bytes bytes(kMinimumFrame);
  const base::MacAddress us{{2, 0, 0, 0, 0, 9}}, them{{2, 0, 0, 0, 0, 8}};
  EXPECT_EQ(write_arp(bytes.data(), ArpMessage::kRequest, us, 0x0a090001, {}, 0x0a0a0001),
            kMinimumFrame);
  Frame f;
  ASSERT_EQ(read_frame(bytes, true, f), FrameKind::kArp);
  EXPECT_EQ(f.arp.operation, ArpMessage::kRequest);
  EXPECT_EQ(f.arp.sender_mac, us);
  EXPECT_EQ(f.arp.sender_ip, 0x0a090001U);
  EXPECT_EQ(f.arp.target_ip, 0x0a0a0001U);
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.begin() + 6, [](auto b) { return b == 0xff; }));
  write_arp(bytes.data(), ArpMessage::kReply, us, 1, them, 2);
  EXPECT_TRUE(std::equal(them.bytes.begin(), them.bytes.end(), bytes.begin()));
  EXPECT_EQ(read_frame(base::ByteSpan(bytes).first(41), true, f), FrameKind::kMalformed);
}

}  // namespace
}  // namespace merlon::lab::tcp
