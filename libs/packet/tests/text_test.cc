// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "merlon/packet/checksum.h"
#include "support.h"

namespace merlon::packet {
namespace {

using test::Bytes;
using test::packet;

std::string hex(base::ByteSpan b) {
  std::string out;
  for (const base::Byte x : b) out += "0123456789abcdef"[x >> 4], out += "0123456789abcdef"[x & 15];
  return out;
}

TEST(PacketText, KnownBytes) {
  EXPECT_EQ(hex(packet("eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 / ipv4 src=10.0.0.1 "
                       "dst=10.0.0.2 id=1 / udp "
                       "sport=1 dport=2 / payload \"A\"")),
            "0200000000020200000000010800"
            "4500001d000100004011"
            "66cd"
            "0a0000010a000002"
            "000100020009"
            "aad6"
            "41");
  EXPECT_EQ(
      hex(packet("vlan 10 pcp=5 / arp op=reply tha=02:00:00:00:00:09 spa=1.2.3.4 tpa=5.6.7.8")),
      "0200000000020200000000018100a00a0806"
      "0001080006040002020000000001010203040200000000090506"
      "0708");
}

// What the computed parts must be, by a parser that checks them.
TEST(PacketText, ComputedChecksumsAreRight) {
  ParseOptions o;
  o.verify_checksums = true;
  for (const char* text :
       {"ipv4 / tcp opt=mss:1460,ws:7,sackok,ts:1:2 / payload len=99", "ipv6 / tcp / payload \"x\"",
        "ipv4 opts=01010101 / udp / payload len=3", "ipv6 / icmpv6 type=echo / payload len=56",
        "ipv4 / icmp type=3 / quote(ipv4 / udp / payload len=9)"})
    EXPECT_EQ(test::reason_of(text, o), "none") << text;
}

TEST(PacketText, OverridesLie) {
  const Bytes honest = packet("ipv4 / udp / payload len=4"),
              lying = packet("ipv4 len=99 / udp len=1 / payload len=4");
  EXPECT_EQ(base::load_be<std::uint16_t>(&honest[16]), 32);
  EXPECT_EQ(base::load_be<std::uint16_t>(&lying[16]), 99);
  EXPECT_EQ(base::load_be<std::uint16_t>(&lying[38]), 1);
  EXPECT_EQ(packet("ipv4 proto=99 / udp")[23], 99);
  EXPECT_EQ(packet("ipv4 / udp / truncate 20").size(), 20U);
  EXPECT_EQ(packet("ipv4 / udp / trailer pad").size(), 60U);
  EXPECT_EQ(packet("raw / ipv4 / udp").size(), 28U);
  EXPECT_EQ(base::load_be<std::uint16_t>(&packet("ipv4 mf frag=1480 / payload")[20]), 0x2000 | 185);
}

struct ErrorCase {
  const char* text;
  unsigned line, column;
  const char* message;
};

TEST(PacketText, ErrorsHaveTheirPlace) {
  const ErrorCase cases[] = {
      {"ipv5 src=1.2.3.4", 3, 5, "unknown layer \"ipv5\""},
      {"ipv4 srd=1.2.3.4", 3, 10, "ipv4 has no field \"srd\""},
      {"ipv4 src=1.2.3", 3, 10, "src is \"1.2.3\", not an IPv4 address"},
      {"ipv4 /\n  tcp dport=70000", 4, 7, "dport is 70000, the largest possible is 65535"},
      {"ipv4 / tcp dport=x", 3, 16, "dport is \"x\", not a number"},
      {"ipv4 / tcp flags=SX", 3, 16, "flags is \"SX\", not letters out of FSRPAUEC"},
      {"ipv4 / tcp opt=mss", 3, 16, "opt is \"mss\", not a list of TCP options"},
      {"ipv4 / payload \"abc", 3, 24, "the string has no end"},
      {"ipv4 / / udp", 3, 12, "a layer's name is missing"},
      {"ipv4 ttl=1 ttl=2", 3, 16, "ttl is given twice"},
      {"ipv4 / icmp / quote(ipv4", 3, 29, "\")\" is missing at the end of quote("},
      {"ipv4 / udp / raw", 3, 18, "raw does not belong here"},
      {"ipv4 frag=9", 3, 10, "frag is not a multiple of 8"},
      {"ipv4 / icmp / quote(ipv4 ttl=999)", 3, 30, "ttl is 999, the largest possible is 255"},
      {"", 3, 5, "a layer's name is missing"},
  };
  for (const ErrorCase& c : cases) {
    const auto r = packet_from_text(c.text, {"case.txt", 3, 5, 0});
    ASSERT_FALSE(r.ok()) << c.text;
    EXPECT_EQ(r.error().message, c.message);
    EXPECT_EQ(r.error().where.file, "case.txt");
    EXPECT_EQ(r.error().where.line, c.line) << c.text;
    EXPECT_EQ(r.error().where.column, c.column) << c.text;
    EXPECT_FALSE(r.error().hint.empty()) << c.text;
  }
}

// These come back in words, with every layer named.
const char* const kSpoken[] = {
    "eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 / vlan 10 / ipv4 src=10.0.0.5 dst=192.0.2.9 "
    "ttl=64 / tcp "
    "sport=40000 dport=23 flags=S seq=1 ack=0 win=65535 opt=mss:1460,ws:7,sackok,eol,eol,eol / "
    "payload \"GET\"",
    "eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 / ipv4 src=10.0.0.5 dst=192.0.2.9 ttl=1 "
    "tos=0x10 id=7 df "
    "opts=0x01010101 / udp sport=1 dport=2 len=9 / payload len=40",
    "eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 / ipv4 src=10.0.0.5 dst=192.0.2.9 ttl=64 id=1 "
    "mf frag=1480 "
    "proto=17 / payload zeros=40",
    "eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 / ipv6 src=2001:db8::1 dst=2001:db8::2 hop=9 "
    "/ hopopts "
    "opts=0x050200000100 / frag id=9 offset=0 mf / udp sport=5 dport=6 chk=0x0102 / payload len=32",
    "eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 / ipv4 src=10.0.0.5 dst=192.0.2.9 ttl=64 / "
    "icmp type=3 code=1 / "
    "quote(ipv4 src=192.0.2.9 dst=10.0.0.5 ttl=3 len=1500 / udp sport=9 dport=10 len=1480 "
    "chk=0x1234)",
    "eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 / ipv4 src=10.0.0.5 dst=192.0.2.9 ttl=64 / "
    "udp sport=1 dport=4789 "
    "/ vxlan vni=7 / eth src=02:00:00:00:00:03 dst=02:00:00:00:00:04 / arp op=request "
    "sha=02:00:00:00:00:03 "
    "spa=1.1.1.1 tha=00:00:00:00:00:00 tpa=2.2.2.2",
    "eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 / mpls 16 ttl=64 / mpls 17 ttl=63 / ipv4 "
    "src=10.0.0.5 "
    "dst=192.0.2.9 ttl=64 / gre key=5 / ipv6 src=2001:db8::1 dst=2001:db8::2 hop=9 / icmpv6 "
    "type=128 code=0 id=1 seq=2",
    "eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 / ipv4 src=10.0.0.5 dst=192.0.2.9 ttl=64 / "
    "sctp sport=1 dport=2 "
    "tag=3 chunk=1 / payload 0x00ff / trailer pad",
    "eth src=02:00:00:00:00:01 dst=02:00:00:00:00:02 type=0x88cc / payload \"a / b \\\"c\\\"\\n\"",
};

TEST(PacketText, SaysWhatWasSaid) {
  for (const char* text : kSpoken) EXPECT_EQ(packet_to_text(packet(text)), text);
}

TEST(PacketText, AnyLinkLayerComesBack) {
  using L = ParseOptions::LinkLayer;
  for (const L link :
       {L::kRawIp, L::kLinuxCooked1, L::kLinuxCooked2, L::kNull, L::kPpp, L::kEthernet}) {
    const Bytes frame =
        packet("raw / payload 02000000000000000000000000000800 / ipv4 / udp / payload \"x\"");
    EXPECT_EQ(packet(packet_to_text(frame, link)), frame);
  }
  EXPECT_EQ(
      packet_to_text(
          packet("raw / payload 02000000 / ipv4 src=1.1.1.1 dst=2.2.2.2 ttl=3 / esp spi=1 seq=2"),
          L::kNull),
      "raw / payload 0x02000000 / ipv4 src=1.1.1.1 dst=2.2.2.2 ttl=3 / esp spi=1 seq=2");
  EXPECT_EQ(packet_to_text({}), "raw");
  EXPECT_TRUE(packet("raw").empty());
}

TEST(PacketText, EveryFrameComesBack) {
  EXPECT_TRUE(rc::check("bytes -> text -> bytes",
                        [](const std::vector<base::Byte>& noise, std::uint8_t which) {
                          Bytes frame = packet(kSpoken[which % std::size(kSpoken)]);
                          for (std::size_t i = 0; i + 1 < noise.size() && i < 8; i += 2)
                            frame[noise[i] % frame.size()] = noise[i + 1];
                          if (noise.size() % 3 == 0)
                            frame.insert(frame.end(), noise.begin(), noise.end());
                          if (noise.size() % 3 == 1) frame.resize(noise[0] % frame.size());
                          const auto again = packet_from_text(packet_to_text(frame), {});
                          RC_ASSERT(again.ok());
                          RC_ASSERT(*again == frame);
                        }));
}

TEST(FragmentPacket, Version4) {
  const Bytes frame = packet("vlan 5 / ipv4 id=77 / udp / payload len=3000");
  const auto parts = fragment_packet(frame, 1500);
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->size(), 3U);
  Bytes data;
  for (const Bytes& p : *parts) {
    EXPECT_LE(p.size(), 1518U);
    EXPECT_EQ(internet_checksum({&p[18], 20}), 0);
    EXPECT_EQ(base::load_be<std::uint16_t>(&p[22]), 77);
    const unsigned field = base::load_be<std::uint16_t>(&p[24]);
    EXPECT_EQ((field & 0x1fffU) * 8, data.size());
    EXPECT_EQ((field & 0x2000U) != 0, &p != &parts->back());
    data.insert(data.end(), p.begin() + 38, p.end());
  }
  EXPECT_EQ(data, Bytes(frame.begin() + 38, frame.end()));
}

TEST(FragmentPacket, Version6KeepsHopByHopInFront) {
  const Bytes frame = packet("ipv6 / hopopts / dstopts / udp / payload len=2000");
  const auto parts = fragment_packet(frame, 1280, 0xabcdef01);
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->size(), 2U);
  Bytes data;
  for (const Bytes& p : *parts) {
    const test::Parsed parsed = test::parse_one(p);
    EXPECT_EQ(parsed.reason, base::DropReason::kNone);
    EXPECT_EQ(p[14 + 6], 0);
    EXPECT_EQ(p[54], 44);
    EXPECT_EQ(base::load_be<std::uint32_t>(&p[66]), 0xabcdef01U);
    data.insert(data.end(), p.begin() + 70, p.end());
  }
  EXPECT_EQ(data, Bytes(frame.begin() + 62, frame.end()));
}

TEST(FragmentPacket, Refusals) {
  EXPECT_EQ(fragment_packet(packet("ipv4 / udp"), 1500)->size(), 1U);
  EXPECT_FALSE(fragment_packet(packet("arp"), 1500).ok());
  EXPECT_FALSE(fragment_packet(packet("ipv4 len=99 / udp"), 1500).ok());
  EXPECT_FALSE(fragment_packet(packet("ipv4 / udp / payload len=40"), 27).ok());
}

}  // namespace
}  // namespace merlon::packet
