// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/parse.h"

#include <gtest/gtest.h>

#include "support.h"

namespace merlon::packet {
namespace {

using test::Bytes;
using test::packet;
using test::parse_one;
using test::Parsed;
using test::reason_of;

base::IpAddress ip(std::string_view text) { return *base::parse_address(text); }

TEST(Parse, FillsEveryColumnOfATcpSegment) {
  const Parsed p = parse_one(
      "ipv4 src=10.0.0.5 dst=192.0.2.9 ttl=61 / tcp sport=40000 dport=23 flags=PA seq=4000000001 "
      "ack=7 win=513 "
      "opt=ts:1:2 / payload \"hello\"");
  EXPECT_EQ(p.verdict, Verdict::kUndecided);
  EXPECT_EQ(p.key.a, ip("10.0.0.5"));
  EXPECT_EQ(p.key.b, ip("192.0.2.9"));
  EXPECT_EQ(p.key.port_a, 40000);
  EXPECT_EQ(p.key.port_b, 23);
  EXPECT_EQ(p.key.protocol, 6);
  EXPECT_EQ(p.h.kind, Kind::kTcp);
  EXPECT_EQ(p.h.direction, 0);
  EXPECT_EQ(p.h.ttl, 61);
  EXPECT_EQ(p.h.tcp_flags, kTcpPsh | kTcpAck);
  EXPECT_EQ(p.h.tcp_sequence, 4000000001U);
  EXPECT_EQ(p.h.tcp_acknowledgment, 7U);
  EXPECT_EQ(p.h.tcp_window, 513);
  EXPECT_EQ(p.h.l3_offset, 14);
  EXPECT_EQ(p.h.l4_offset, 34);
  EXPECT_EQ(p.h.payload_offset, 34 + 32);
  EXPECT_EQ(p.h.payload_length, 5U);
  EXPECT_EQ(p.h.ethertype, 0x0800);
  EXPECT_EQ(p.h.flags, 0);
  EXPECT_EQ(p.hash, hash_flow_key(p.key, {}));
}

TEST(Parse, BothDirectionsHaveOneKey) {
  const Parsed there = parse_one("ipv4 src=10.0.0.5 dst=192.0.2.9 / tcp sport=40000 dport=23");
  const Parsed back =
      parse_one("ipv4 src=192.0.2.9 dst=10.0.0.5 / tcp sport=23 dport=40000 flags=SA");
  EXPECT_EQ(there.key, back.key);
  EXPECT_EQ(there.hash, back.hash);
  EXPECT_EQ(there.h.direction, 0);
  EXPECT_EQ(back.h.direction, 1);
  const Parsed there6 = parse_one("ipv6 src=2001:db8::9 dst=2001:db8::1 / udp sport=1 dport=2");
  const Parsed back6 = parse_one("ipv6 src=2001:db8::1 dst=2001:db8::9 / udp sport=2 dport=1");
  EXPECT_EQ(there6.key, back6.key);
  EXPECT_EQ(there6.h.direction, 1);
  EXPECT_EQ(there6.key.port_a, 2);
  const Parsed self = parse_one("ipv4 src=127.0.0.1 dst=127.0.0.1 / udp sport=9 dport=5");
  EXPECT_EQ(self.key.port_a, 5);
  EXPECT_EQ(self.h.direction, 1);
}

// The fast path and the general parser must agree to the last byte; verify_checksums forces the
// general one.
TEST(Parse, FastAndGeneralPathAgree) {
  const char* texts[] = {
      "ipv4 / tcp flags=S opt=mss:1460,sackok / trailer pad",
      "ipv4 src=203.0.113.9 dst=10.0.0.1 / tcp flags=FA seq=9 ack=8 / trailer pad",
      "vlan 77 pcp=5 / ipv4 ttl=1 tos=3 df id=4 / udp / payload len=30",
      "ipv4 src=198.51.100.7 dst=192.0.2.7 / udp sport=53 dport=9 / payload len=1400",
      "ipv4 / tcp flags=AEC win=0 / trailer pad",
      "raw / ipv4 / udp / payload len=20",
      "raw / ipv6 / udp / payload len=20",
      "ipv6 src=2001:db8::9 dst=2001:db8::1 hop=7 / tcp flags=PA seq=5 ack=6 win=7 "
      "opt=nop,nop,ts:1:2 / payload len=20",
      "vlan 5 / ipv6 src=2001:db8::1 dst=2001:db8::9 tc=3 flow=7 / udp / payload len=20 / trailer "
      "00",
      "ipv6 src=2001:db9::1 dst=2001:db8::9 / udp len=200 / payload len=20",
      "ipv6 src=ff02::1 / udp / payload len=20",
      "ipv6 src=::1 dst=::1 / udp sport=7 dport=7 / payload len=20",
      "ipv6 / tcp flags=SF",
      "ipv6 / udp",
      "ipv6 next=6 / payload len=19",
      "ipv6 len=99 / udp / payload len=40",
      "ipv4 src=9.9.9.9 dst=9.9.9.9 / tcp flags=SF / trailer pad",
      "ipv4 / tcp off=4 / trailer pad",
      "ipv4 / udp len=7 / payload len=20",
      "ipv4 len=1000 / udp / payload len=20",
  };
  ParseOptions fast;
  ParseOptions general;
  general.judge_inner = true;
  for (const char* text : texts) {
    fast.link_layer = general.link_layer = std::string_view(text).starts_with("raw")
                                               ? ParseOptions::LinkLayer::kRawIp
                                               : ParseOptions::LinkLayer::kEthernet;
    const Parsed f = parse_one(text, fast), g = parse_one(text, general);
    EXPECT_EQ(f.key, g.key) << text;
    EXPECT_EQ(f.hash, g.hash) << text;
    EXPECT_EQ(std::memcmp(&f.h, &g.h, sizeof f.h), 0) << text;
    EXPECT_EQ(f.verdict, g.verdict) << text;
    EXPECT_EQ(f.reason, g.reason) << text;
  }
}

// What a packet's columns say must not depend on who its neighbours are: a burst of 64, whose first
// frames go eight by eight, against the same frames one by one.
void expect_neighbours_do_not_matter(const std::vector<Bytes>& frames,
                                     const std::vector<std::uint32_t>& lengths) {
  test::TestBurst b;
  for (std::size_t i = 0; i < frames.size(); ++i) b.add(frames[i], lengths[i]);
  b.parse({}, 5);
  for (unsigned i = 0; i < b->count; ++i) {
    test::TestBurst alone;
    alone.add(frames[i], lengths[i]);
    alone.parse({}, 5);
    EXPECT_EQ(b->key[i], alone->key[0]) << i;
    EXPECT_EQ(b->hash[i], alone->hash[0]) << i;
    EXPECT_EQ(std::memcmp(&b->headers[i], &alone->headers[0], sizeof(Headers)), 0) << i;
    EXPECT_EQ(b->verdict[i], alone->verdict[0]) << i;
    EXPECT_EQ(b->reason[i], alone->reason[0]) << i;
  }
}

std::vector<Bytes> plain_frames(std::string_view link) {
  std::vector<Bytes> frames;
  for (const char* transport :
       {"ipv4 src=10.0.0.5 dst=192.0.2.9 ttl=9 / udp sport=7 dport=53 / payload len=20",
        "ipv4 src=192.0.2.9 dst=10.0.0.5 tos=3 df / udp sport=53 dport=7 / payload len=400",
        "ipv4 src=10.0.0.5 dst=192.0.2.9 / tcp flags=S seq=4000000001 win=513 / trailer "
        "000000000000",
        "ipv4 src=223.255.255.255 dst=10.0.0.5 ttl=255 / tcp flags=SA seq=1 ack=4000000002 "
        "win=65535 "
        "opt=mss:1460,sackok",
        "ipv4 src=0.0.0.1 dst=255.255.255.255 / tcp flags=PAUEC seq=9 ack=8 win=7 "
        "opt=nop,nop,ts:1:2 / "
        "payload len=900",
        "ipv4 src=10.0.0.6 dst=10.0.0.5 / udp sport=65535 dport=1 / payload len=18"})
    frames.push_back(packet(std::string(link) + transport));
  return frames;
}

TEST(Parse, EightByEightAsOneByOne) {
  for (const char* link : {"", "vlan 4095 pcp=7 / ", "vlan 1 / "}) {
    const std::vector<Bytes> plain = plain_frames(link);
    std::vector<Bytes> frames;
    for (unsigned i = 0; i < 61; ++i) frames.push_back(plain[i * 5 % plain.size()]);
    expect_neighbours_do_not_matter(frames, std::vector<std::uint32_t>(61, 0));
    test::TestBurst b;
    for (const Bytes& f : frames) b.add(f);
    const std::uint16_t domain = 5;
    EXPECT_TRUE(packet::parse(*b, {}, &domain, 0)) << link;
  }
}

// Every byte of the headers turned into others, and every length cut, among plain neighbours.
TEST(Parse, OddOnesAmongEightAsOneByOne) {
  for (const char* link : {"", "vlan 77 / "}) {
    const std::vector<Bytes> plain = plain_frames(link);
    std::vector<Bytes> odd;
    for (const Bytes& frame : plain) {
      for (std::size_t at = 12; at < std::min<std::size_t>(frame.size(), 60); ++at)
        for (const int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
          odd.push_back(frame);
          odd.back()[at] = static_cast<base::Byte>(odd.back()[at] ^ change);
        }
      for (std::size_t size = 0; size < std::min<std::size_t>(frame.size(), 100); ++size)
        odd.emplace_back(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    }
    for (std::size_t n = 0; n < odd.size(); ++n) {
      std::vector<Bytes> frames;
      for (unsigned i = 0; i < 16; ++i) frames.push_back(plain[(n + i) % plain.size()]);
      frames[n % 16] = odd[n];
      std::vector<std::uint32_t> lengths(16, 0);
      if (n % 3 == 0) lengths[n % 16] = 1500;
      expect_neighbours_do_not_matter(frames, lengths);
      if (HasFailure()) FAIL() << "odd frame " << n << " behind '" << link << "'";
    }
  }
}

TEST(Parse, EightsOfSeveralPorts) {
  const std::vector<Bytes> plain = plain_frames("");
  test::TestBurst b;
  for (unsigned i = 0; i < 24; ++i) b.add(plain[i % plain.size()]);
  for (unsigned i = 0; i < 24; ++i) b->in_port[i] = static_cast<std::uint16_t>(i / 9);
  const std::uint16_t domains[] = {3, 4, 5};
  packet::parse(*b, {}, domains, 0);
  for (unsigned i = 0; i < 24; ++i)
    EXPECT_EQ(b->key[i].domain, domain_in_direction(domains[i / 9], b->headers[i].direction != 0))
        << i;
}

TEST(Parse, LeavesPacketsBeforeFirstAlone) {
  test::TestBurst b;
  b.add("ipv4 / udp");
  b.add("ipv4 / udp");
  b->verdict[0] = Verdict::kHandOver;
  b->verdict[1] = Verdict::kHandOver;
  b.parse({}, 0, 1);
  EXPECT_EQ(b->verdict[0], Verdict::kHandOver);
  EXPECT_EQ(b->verdict[1], Verdict::kUndecided);
}

TEST(Parse, TagsAndDomainAreInTheKey) {
  test::TestBurst b;
  b.add("qinq 100 / vlan 200 / ipv4 / udp / payload len=20");
  b.add("vlan 100 / ipv4 / udp / payload len=20");
  b.parse({}, 7);
  EXPECT_EQ(b->key[0].vlan_outer, 100);
  EXPECT_EQ(b->key[0].vlan_inner, 200);
  EXPECT_EQ(b->key[0].domain, 7);
  EXPECT_EQ(b->headers[0].l3_offset, 22);
  EXPECT_EQ(b->key[1].vlan_outer, 100);
  EXPECT_EQ(b->key[1].vlan_inner, 0);
  EXPECT_EQ(b->key[1].domain, 7);
  EXPECT_EQ(reason_of("vlan 1 / vlan 2 / vlan 3 / ipv4 / udp"), "malformed_ethernet");
  EXPECT_EQ(parse_one("eth type=0x9100 / vlan 5 / ipv4 / udp").key.vlan_outer, 5);
}

TEST(Parse, SideIsInTheKeyOfBothDirections) {
  constexpr std::uint16_t kLeft = 7 | kTellsSides, kRight = kLeft | kSideBit;
  constexpr std::pair<const char*, const char*> kForthAndBack[] = {
      {"ipv4 src=10.0.0.5 dst=192.0.2.9 / udp sport=9 dport=53",
       "ipv4 src=192.0.2.9 dst=10.0.0.5 / udp sport=53 dport=9"},
      {"ipv6 src=2001:db8::1 dst=2001:db8::2 / tcp sport=9 dport=53",
       "ipv6 src=2001:db8::2 dst=2001:db8::1 / tcp sport=53 dport=9"},
      {"ipv4 src=10.0.0.5 dst=192.0.2.9 / icmp type=8 id=7",
       "ipv4 src=192.0.2.9 dst=10.0.0.5 / icmp type=0 id=7"},
      {"ipv4 src=10.0.0.5 dst=10.0.0.5 / udp sport=9 dport=53",
       "ipv4 src=10.0.0.5 dst=10.0.0.5 / udp sport=53 dport=9"},
      {"ipv4 src=10.0.0.5 dst=192.0.2.9 proto=47 / payload len=8",
       "ipv4 src=192.0.2.9 dst=10.0.0.5 proto=47 / payload len=8"}};
  for (const auto& [forth, back] : kForthAndBack) {
    test::TestBurst left, right;
    for (test::TestBurst* b : {&left, &right})
      for (const char* text : {forth, back}) b->add(text);
    left.parse({}, kLeft);
    right.parse({}, kRight);
    EXPECT_EQ(left->key[0], right->key[1]) << forth;
    EXPECT_EQ(left->hash[0], right->hash[1]) << forth;
    EXPECT_EQ(left->key[1], right->key[0]) << forth;
    EXPECT_FALSE(left->key[0] == left->key[1]) << forth;
    EXPECT_NE(left->hash[0], left->hash[1]) << forth;
  }
}

TEST(Parse, MplsFindsIpByItsFirstNibble) {
  EXPECT_EQ(parse_one("mpls 16 / mpls 17 / ipv6 / udp").h.kind, Kind::kUdp);
  EXPECT_EQ(parse_one("mpls 16 / ipv4 / tcp").h.l3_offset, 18);
  EXPECT_EQ(parse_one("mpls 16 / payload 0x00010203").h.kind, Kind::kNonIp);
  EXPECT_EQ(reason_of("eth type=0x8847 / payload 0x0001"), "malformed_mpls");
  EXPECT_EQ(reason_of("mpls / mpls / mpls / mpls / mpls / mpls / mpls / mpls / mpls / ipv4 / udp"),
            "malformed_mpls");
}

TEST(Parse, LinkLayers) {
  using L = ParseOptions::LinkLayer;
  const auto kind = [](L link, std::string_view text) {
    ParseOptions o;
    o.link_layer = link;
    return parse_one(text, o).h.kind;
  };
  EXPECT_EQ(kind(L::kRawIp, "raw / ipv6 / udp"), Kind::kUdp);
  EXPECT_EQ(kind(L::kRawIp, "raw / ipv4 / tcp"), Kind::kTcp);
  EXPECT_EQ(kind(L::kLinuxCooked1, "raw / payload 00000001000602000000000100000800 / ipv4 / udp"),
            Kind::kUdp);
  EXPECT_EQ(
      kind(L::kLinuxCooked2, "raw / payload 86dd000000000002000100060200000000010000 / ipv6 / tcp"),
      Kind::kTcp);
  EXPECT_EQ(kind(L::kNull, "raw / payload 02000000 / ipv4 / udp"), Kind::kUdp);
  EXPECT_EQ(kind(L::kNull, "raw / payload 0000001e / ipv6 / udp"), Kind::kUdp);
  EXPECT_EQ(kind(L::kNull, "raw / payload 00000007 / ipv6 / udp"), Kind::kNonIp);
  EXPECT_EQ(kind(L::kPpp, "raw / payload ff030021 / ipv4 / udp"), Kind::kUdp);
  EXPECT_EQ(kind(L::kPpp, "raw / payload 0057 / ipv6 / udp"), Kind::kUdp);
  EXPECT_EQ(kind(L::kPpp, "raw / payload 21 / ipv4 / udp"), Kind::kUdp);
  EXPECT_EQ(kind(L::kPpp, "raw / payload ff03c021 / payload len=20"), Kind::kNonIp);
}

TEST(Parse, LyingAndTruncatedLengths) {
  EXPECT_EQ(reason_of("ipv4 len=100 / udp / payload len=20"), "malformed_ipv4");
  EXPECT_EQ(reason_of("ipv4 len=19 / udp"), "malformed_ipv4");
  EXPECT_EQ(reason_of("ipv4 ihl=4 / udp"), "malformed_ipv4");
  EXPECT_EQ(reason_of("ipv4 version=5 / udp / payload len=30"), "malformed_ipv4");
  EXPECT_EQ(reason_of("ipv6 len=100 / udp"), "malformed_ipv6");
  EXPECT_EQ(reason_of("ipv4 / tcp off=4"), "malformed_tcp");
  EXPECT_EQ(reason_of("ipv4 / tcp off=6"), "malformed_tcp");
  EXPECT_EQ(reason_of("ipv4 / udp len=9"), "malformed_udp");
  EXPECT_EQ(reason_of("ipv4 proto=6 / payload len=19"), "malformed_tcp");
  EXPECT_EQ(reason_of("ipv4 proto=17 / payload len=7"), "malformed_udp");
  EXPECT_EQ(reason_of("ipv4 proto=1 / payload len=7"), "malformed_icmp");
  EXPECT_EQ(reason_of("ipv4 proto=132 / payload len=15"), "malformed_sctp");
  EXPECT_EQ(reason_of("ipv4 / sctp chunklen=5"), "malformed_sctp");
  EXPECT_EQ(reason_of("eth / truncate 13"), "malformed_ethernet");
  EXPECT_EQ(reason_of("eth type=0x8100 / payload 00"), "malformed_ethernet");
  EXPECT_EQ(reason_of("arp plen=6"), "malformed_arp");
  EXPECT_EQ(reason_of("arp / truncate 41"), "malformed_arp");
  const auto whole = packet("ipv4 / tcp / payload len=100");
  const auto cut = [&whole](std::size_t n) {
    return base::drop_reason_name(
        parse_one(test::Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)), {},
                  static_cast<std::uint32_t>(whole.size()))
            .reason);
  };
  EXPECT_EQ(cut(10), "capture_truncated");
  EXPECT_EQ(cut(33), "capture_truncated");
  EXPECT_EQ(cut(53), "capture_truncated");
  EXPECT_EQ(cut(54), "none");
}

TEST(Parse, PaddingIsNotPayload) {
  const Parsed p = parse_one("ipv4 / udp / payload \"ab\" / trailer pad");
  EXPECT_EQ(p.h.payload_length, 2U);
  EXPECT_EQ(p.h.payload_offset, 42);
}

TEST(Parse, Ipv4Options) {
  const Parsed p = parse_one("ipv4 opts=94040000 / udp");
  EXPECT_TRUE(p.h.is(Headers::kHasIpOptions));
  EXPECT_EQ(p.h.l4_offset, 38);
  ParseOptions o;
  o.drop_ipv4_options = true;
  EXPECT_EQ(reason_of("ipv4 opts=94040000 / udp", o), "ipv4_options");
}

TEST(Parse, TcpFlagsThatNoConversationHas) {
  for (const char* flags : {"none", "SF", "SR", "F", "P", "U", "FPU", "SFRPAU", "FR", "EC"})
    EXPECT_EQ(reason_of(std::string("ipv4 / tcp flags=") + flags), "tcp_flags") << flags;
  for (const char* flags : {"S", "SA", "SEC", "A", "PA", "FA", "FPA", "R", "RA", "UA", "SU", "FRA"})
    EXPECT_EQ(reason_of(std::string("ipv4 / tcp flags=") + flags + " / trailer pad"), "none")
        << flags;
}

TEST(Parse, AddressesThatCantSend) {
  EXPECT_EQ(reason_of("ipv4 src=224.0.0.1 / udp"), "source_address");
  EXPECT_EQ(reason_of("ipv4 src=255.255.255.255 / udp"), "source_address");
  EXPECT_EQ(reason_of("ipv4 src=0.0.0.0 / udp"), "source_address");
  EXPECT_EQ(reason_of("ipv4 src=0.0.0.0 dst=255.255.255.255 / udp sport=68 dport=67"), "none");
  EXPECT_EQ(reason_of("ipv4 src=0.0.0.0 dst=224.0.0.1 proto=2 / payload len=8"), "none");
  EXPECT_EQ(reason_of("ipv4 src=240.0.0.1 / udp"), "none");
  EXPECT_EQ(reason_of("ipv6 src=ff02::1 / udp"), "source_address");
  EXPECT_EQ(reason_of("ipv6 src=:: / udp"), "source_address");
  EXPECT_EQ(
      reason_of("ipv6 src=:: dst=ff02::1:ff00:1 hop=255 / icmpv6 type=135 / payload zeros=16"),
      "none");
  const auto mapped = [](std::size_t at) {
    auto f = packet("ipv6 / udp");
    std::fill_n(f.begin() + 14 + static_cast<std::ptrdiff_t>(at), 10, base::Byte{0});
    f[14 + at + 10] = f[14 + at + 11] = 0xff;
    return base::drop_reason_name(parse_one(f).reason);
  };
  EXPECT_EQ(mapped(8), "source_address");
  EXPECT_EQ(mapped(24), "malformed_ipv6");
}

TEST(Parse, LandAttack) {
  EXPECT_EQ(reason_of("ipv4 src=10.0.0.1 dst=10.0.0.1 / tcp sport=139 dport=139"), "land_attack");
  EXPECT_EQ(reason_of("ipv6 src=2001:db8::1 dst=2001:db8::1 / udp sport=53 dport=53"),
            "land_attack");
  EXPECT_EQ(reason_of("ipv4 src=10.0.0.1 dst=10.0.0.1 / tcp sport=139 dport=138"), "none");
  EXPECT_EQ(reason_of("ipv4 src=127.0.0.1 dst=127.0.0.1 / udp sport=53 dport=53"), "none");
}

TEST(Parse, Ipv6ExtensionChain) {
  const Parsed p = parse_one(
      "ipv6 / hopopts / dstopts opts=0104000000000104000000000000 / routing type=4 / ah / tcp");
  EXPECT_EQ(p.reason, base::DropReason::kNone);
  EXPECT_EQ(p.h.kind, Kind::kTcp);
  EXPECT_EQ(p.h.l4_offset, 14 + 40 + 8 + 16 + 8 + 24);
  EXPECT_TRUE(p.h.is(Headers::kHasIpOptions));
  EXPECT_EQ(reason_of("ipv6 / routing type=0 left=1 / tcp"), "ipv6_routing_header");
  EXPECT_EQ(reason_of("ipv6 / dstopts / hopopts / tcp"), "ipv6_extension_chain");
  EXPECT_EQ(reason_of("ipv6 / dstopts len=9 / tcp"), "ipv6_extension_chain");
  EXPECT_EQ(reason_of("ipv6 / frag / frag / tcp"), "ipv6_extension_chain");
  EXPECT_EQ(reason_of("ipv6 / dstopts / dstopts / dstopts / dstopts / dstopts / dstopts / dstopts "
                      "/ dstopts / tcp"),
            "none");
  EXPECT_EQ(
      reason_of(
          "ipv6 / dstopts / dstopts / dstopts / dstopts / dstopts / dstopts / dstopts / dstopts / "
          "dstopts / tcp"),
      "ipv6_extension_chain");
  EXPECT_EQ(parse_one("ipv6 next=135 / payload 3b000000000000000000").key.protocol, 135);
  EXPECT_EQ(parse_one("ipv6 next=59").h.kind, Kind::kOtherIp);
}

TEST(Parse, FragmentsAreMarked) {
  const Parsed first = parse_one("ipv4 id=9 mf / udp len=100 / payload len=16");
  EXPECT_TRUE(first.h.is(Headers::kFirstFragment));
  EXPECT_EQ(first.h.kind, Kind::kUdp);
  EXPECT_EQ(first.h.more_fragments, 1);
  const Parsed rest = parse_one("ipv4 id=9 frag=24 proto=17 / payload len=16");
  EXPECT_EQ(rest.h.kind, Kind::kFragment);
  EXPECT_EQ(rest.h.fragment_offset, 24);
  EXPECT_EQ(rest.h.tcp_sequence, 9U);
  EXPECT_EQ(rest.h.payload_length, 16U);
  EXPECT_EQ(rest.key.port_a, 0);
  const Parsed atomic = parse_one("ipv6 / frag id=5 / tcp flags=S");
  EXPECT_EQ(atomic.h.kind, Kind::kTcp);
  EXPECT_FALSE(atomic.h.is(Headers::kFirstFragment));
  EXPECT_FALSE(atomic.h.is(Headers::kHasIpOptions));
  EXPECT_EQ(parse_one("ipv6 / frag id=70000 offset=8 next=17 / payload len=8").h.tcp_sequence,
            70000U);
}

TEST(Parse, ImpossibleFragments) {
  EXPECT_EQ(reason_of("ipv4 mf frag=8 proto=17 / payload len=7"), "fragment_invalid");
  EXPECT_EQ(reason_of("ipv4 frag=65528 proto=17 / payload len=8"), "fragment_invalid");
  EXPECT_EQ(reason_of("ipv4 frag=65528 proto=17 / payload len=7"), "none");
  EXPECT_EQ(reason_of("ipv4 frag=16 proto=17"), "fragment_invalid");
  EXPECT_EQ(reason_of("ipv4 mf proto=6 / payload len=16"), "fragment_tiny");
  EXPECT_EQ(reason_of("ipv4 frag=8 proto=6 / payload len=16"), "fragment_tiny");
  EXPECT_EQ(reason_of("ipv6 / frag mf next=6 / payload len=16"), "fragment_tiny");
  EXPECT_EQ(reason_of("ipv6 / frag mf next=60 / payload 0603000000000000"), "fragment_tiny");
}

TEST(Parse, IcmpQueries) {
  const Parsed ask =
      parse_one("ipv4 src=10.0.0.9 dst=10.0.0.1 / icmp type=echo id=77 seq=1 / payload len=20");
  const Parsed answer = parse_one(
      "ipv4 src=10.0.0.1 dst=10.0.0.9 / icmp type=echo-reply id=77 seq=1 / payload len=20");
  EXPECT_EQ(ask.h.kind, Kind::kIcmpQuery);
  EXPECT_EQ(ask.key, answer.key);
  EXPECT_EQ(ask.key.port_a, 77);
  EXPECT_EQ(ask.key.port_b, 8);
  EXPECT_EQ(ask.h.direction, 1);
  EXPECT_FALSE(ask.h.is(Headers::kIsReply));
  EXPECT_TRUE(answer.h.is(Headers::kIsReply));
  EXPECT_EQ(parse_one("ipv4 / icmp type=14").key.port_b, 13);
  EXPECT_EQ(parse_one("ipv6 / icmpv6 type=echo-reply id=3").key.port_b, 128);
  EXPECT_EQ(parse_one("ipv4 / icmp type=9").h.kind, Kind::kIcmpOther);
  EXPECT_EQ(parse_one("ipv4 / icmp type=9 code=16").key.port_b, 16);
}

TEST(Parse, LinkControlOnlyFromTheLink) {
  EXPECT_EQ(parse_one("ipv6 hop=255 / icmpv6 type=135 / payload zeros=16").h.kind,
            Kind::kNeighbour);
  EXPECT_EQ(parse_one("ipv6 hop=254 / icmpv6 type=135 / payload zeros=16").h.kind,
            Kind::kIcmpOther);
  EXPECT_EQ(parse_one("ipv6 hop=1 / hopopts opts=05020000 / icmpv6 type=143").h.kind,
            Kind::kNeighbour);
  EXPECT_EQ(parse_one("ipv6 hop=2 / icmpv6 type=143").h.kind, Kind::kIcmpOther);
  EXPECT_EQ(parse_one("arp").h.kind, Kind::kArp);
}

struct QuoteCase {
  const char* original;  // as it passed us
  const char* error;
};

TEST(Parse, IcmpErrorsHaveTheKeyOfWhatTheyQuote) {
  const QuoteCase cases[] = {
      {"ipv4 src=10.0.0.5 dst=192.0.2.9 / tcp sport=40000 dport=23 seq=99",
       "ipv4 src=192.0.2.1 dst=10.0.0.5 / icmp type=3 code=1 / quote(ipv4 src=10.0.0.5 "
       "dst=192.0.2.9 / tcp sport=40000 "
       "dport=23 seq=99 / truncate 28)"},
      {"ipv4 src=198.51.100.5 dst=192.0.2.9 / udp sport=5 dport=7",
       "ipv4 src=192.0.2.1 dst=198.51.100.5 / icmp type=11 / quote(ipv4 src=198.51.100.5 "
       "dst=192.0.2.9 opts=01010101 / udp "
       "sport=5 dport=7)"},
      {"ipv4 src=10.0.0.5 dst=192.0.2.9 / icmp id=6",
       "ipv4 src=192.0.2.1 dst=10.0.0.5 / icmp type=3 / quote(ipv4 src=10.0.0.5 dst=192.0.2.9 / "
       "icmp id=6)"},
      {"ipv4 src=10.0.0.5 dst=192.0.2.9 / gre key=70000 / ipv4 / udp",
       "ipv4 src=192.0.2.1 dst=10.0.0.5 / icmp type=3 / quote(ipv4 src=10.0.0.5 dst=192.0.2.9 / "
       "gre key=70000 / ipv4 "
       "/ udp)"},
      {"ipv4 src=10.0.0.5 dst=192.0.2.9 / ipip / ipv4 / udp",
       "ipv4 src=192.0.2.1 dst=10.0.0.5 / icmp type=3 code=4 / quote(ipv4 src=10.0.0.5 "
       "dst=192.0.2.9 / ipip / ipv4 / udp)"},
      {"ipv4 src=10.0.0.5 dst=192.0.2.9 / esp spi=5",
       "ipv4 src=192.0.2.1 dst=10.0.0.5 / icmp type=3 / quote(ipv4 src=10.0.0.5 dst=192.0.2.9 / "
       "esp spi=5)"},
      {"ipv4 src=10.0.0.5 dst=192.0.2.9 / sctp sport=7 dport=8",
       "ipv4 src=192.0.2.1 dst=10.0.0.5 / icmp type=3 / quote(ipv4 src=10.0.0.5 dst=192.0.2.9 / "
       "sctp sport=7 dport=8)"},
      {"ipv6 src=2001:db8::5 dst=2001:db8::9 / udp sport=5 dport=7",
       "ipv6 src=2001:db8::ff dst=2001:db8::5 / icmpv6 type=too-big mtu=1280 / quote(ipv6 "
       "src=2001:db8::5 "
       "dst=2001:db8::9 / dstopts / frag mf / udp sport=5 dport=7)"},
  };
  for (const QuoteCase& c : cases) {
    const Parsed original = parse_one(c.original), error = parse_one(c.error);
    EXPECT_EQ(error.h.kind, Kind::kIcmpError) << c.error;
    EXPECT_EQ(error.key, original.key) << c.error;
    EXPECT_EQ(error.h.direction, original.h.direction ^ 1) << c.error;
    EXPECT_FALSE(error.h.is(Headers::kQuoteUnknown)) << c.error;
    EXPECT_EQ(error.h.is(Headers::kQuoteHasSequence), original.h.kind == Kind::kTcp) << c.error;
    EXPECT_EQ(error.h.tcp_sequence, original.h.kind == Kind::kTcp ? 99U : 0U) << c.error;
  }
}

TEST(Parse, QuotesThatCantBeKeyed) {
  for (const char* quote : {
           "ipv4 src=10.0.0.5 frag=800 proto=17 / payload len=8",  // not the first fragment
           "ipv4 src=10.0.0.5 / udp / truncate 23",                // ports missing
           "ipv4 src=10.0.0.6 / udp",                              // not the receiver's packet
           "ipv4 src=10.0.0.5 / icmp type=3",                      // error about an error
           "ipv4 src=10.0.0.5 ihl=3 / udp",
       }) {
    const Parsed p = parse_one(
        std::string("ipv4 src=192.0.2.1 dst=10.0.0.5 / icmp type=3 / quote(") + quote + ")");
    EXPECT_EQ(p.h.kind, Kind::kIcmpError) << quote;
    EXPECT_TRUE(p.h.is(Headers::kQuoteUnknown)) << quote;
    EXPECT_EQ(p.key.protocol, 1) << quote;
  }
  EXPECT_TRUE(parse_one("ipv4 / icmp type=3").h.is(Headers::kQuoteUnknown));
}

TEST(Parse, OtherProtocols) {
  const Parsed gre = parse_one("ipv4 / gre key=0x00012345 / ipv4 / udp");
  EXPECT_EQ(gre.h.kind, Kind::kOtherIp);
  EXPECT_EQ(gre.key.port_a, 1);
  EXPECT_EQ(gre.key.port_b, 0x2345);
  EXPECT_EQ(gre.key.protocol, 47);
  EXPECT_EQ(parse_one("ipv4 / gre version=1 call=600 / payload len=9").key.port_a, 600);
  EXPECT_EQ(reason_of("ipv4 proto=47 / payload 4000"), "malformed_tunnel");
  EXPECT_EQ(reason_of("ipv4 / gre flags=0x4000"), "malformed_tunnel");
  EXPECT_EQ(reason_of("ipv4 proto=4 / payload len=19"), "malformed_tunnel");
  EXPECT_EQ(parse_one("ipv4 / esp spi=9").h.kind, Kind::kOtherIp);
  EXPECT_EQ(reason_of("ipv4 proto=50 / payload len=4"), "malformed_ipv4");
  const Parsed sctp = parse_one("ipv4 / sctp sport=5 dport=6 tag=77 chunk=10");
  EXPECT_EQ(sctp.h.kind, Kind::kSctp);
  EXPECT_EQ(sctp.h.icmp_type, 10);
  EXPECT_EQ(sctp.h.tcp_sequence, 77U);
  EXPECT_EQ(parse_one("ipv4 / udplite sport=5 dport=6").key.port_a, 5);
  EXPECT_EQ(parse_one("eth type=0x88cc / payload len=40").h.kind, Kind::kNonIp);
}

TEST(Parse, InnerPacketOfATunnel) {
  ParseOptions o;
  o.judge_inner = true;
  for (const char* text : {
           "vlan 9 / ipv4 / gre / ipv4 src=10.1.0.1 dst=10.2.0.1 / tcp sport=1 dport=2",
           "vlan 9 / ipv4 / ipv4 src=10.1.0.1 dst=10.2.0.1 / tcp sport=1 dport=2",
           "vlan 9 / ipv6 / ipv4 src=10.1.0.1 dst=10.2.0.1 / tcp sport=1 dport=2",
           "vlan 9 / ipv4 / udp dport=4789 / vxlan / eth / vlan 4 / ipv4 src=10.1.0.1 dst=10.2.0.1 "
           "/ tcp sport=1 dport=2",
           "vlan 9 / ipv4 / udp dport=2152 / gtpu seq=5 / ipv4 src=10.1.0.1 dst=10.2.0.1 / tcp "
           "sport=1 dport=2",
           "vlan 9 / ipv4 / udp dport=2152 / gtpu flags=0x34 len=48 / payload 000000c001aabb00 / "
           "ipv4 src=10.1.0.1 "
           "dst=10.2.0.1 / tcp sport=1 dport=2",
       }) {
    const Parsed p = parse_one(text, o);
    EXPECT_EQ(p.reason, base::DropReason::kNone) << text;
    EXPECT_EQ(p.h.kind, Kind::kTcp) << text;
    EXPECT_EQ(p.key.a, ip("10.1.0.1")) << text;
    EXPECT_EQ(p.key.vlan_outer, 9) << text;
    EXPECT_EQ(p.key.vlan_inner, 0) << text;
    EXPECT_TRUE(p.h.is(Headers::kInTunnel)) << text;
    EXPECT_FALSE(parse_one(text).h.is(Headers::kInTunnel)) << text;
  }
  EXPECT_EQ(reason_of("ipv4 / gre / ipv4 / gre / ipv4 / gre / ipv4 / udp", o), "tunnel_depth");
  EXPECT_EQ(reason_of("ipv4 / udp dport=4789 / payload 0800", o), "malformed_tunnel");
  EXPECT_EQ(parse_one("ipv4 / udp dport=4789 / vxlan flags=0 / eth / arp", o).h.kind, Kind::kUdp);
  EXPECT_EQ(parse_one("ipv4 / udp dport=4789 / vxlan / eth / arp", o).h.kind, Kind::kUdp);
  EXPECT_EQ(reason_of("ipv4 / ipv4 len=200 / udp", o), "malformed_ipv4");
}

TEST(Parse, ChecksumsWhenAsked) {
  ParseOptions o;
  o.verify_checksums = true;
  for (const char* layer : {"tcp", "udp", "icmp"}) {
    EXPECT_EQ(reason_of(std::string("ipv4 / ") + layer + " / payload len=33", o), "none") << layer;
    EXPECT_EQ(reason_of(std::string("ipv4 / ") + layer + " chk=bad / payload len=33", o),
              "bad_checksum")
        << layer;
    EXPECT_EQ(reason_of(std::string("ipv4 / ") + layer + " chk=bad / payload len=33"), "none")
        << layer;
  }
  EXPECT_EQ(reason_of("ipv6 / icmpv6", o), "none");
  EXPECT_EQ(reason_of("ipv6 / icmpv6 chk=bad", o), "bad_checksum");
  EXPECT_EQ(reason_of("ipv4 / udp chk=none", o), "none");
  EXPECT_EQ(reason_of("ipv4 chk=bad / udp", o), "bad_checksum");
  EXPECT_EQ(reason_of("ipv4 mf / udp chk=bad / payload len=32", o), "none");
}

}  // namespace
}  // namespace merlon::packet
