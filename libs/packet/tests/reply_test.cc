// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/reply.h"

#include <gtest/gtest.h>

#include "support.h"

namespace merlon::packet {
namespace {

using test::Bytes;

using Maker = unsigned (*)(const Burst&, unsigned, std::span<base::Byte>) noexcept;

// The answer in words; its checksums have been verified by the parser. "" when there is none.
std::string answer(Maker make, std::string_view text, std::size_t room = kMaxReplySize) {
  test::TestBurst b;
  b.add(text);
  b.parse();
  EXPECT_EQ(b->verdict[0], Verdict::kUndecided) << text;
  Bytes out(room);
  out.resize(make(*b, 0, out));
  if (out.empty()) return "";
  ParseOptions o;
  o.verify_checksums = true;
  EXPECT_EQ(test::parse_one(out, o).reason, base::DropReason::kNone) << text;
  return packet_to_text(out);
}

const std::string kMirrored = "eth src=02:00:00:00:00:02 dst=02:00:00:00:00:01";

TEST(Reset, FollowsTheSequenceRules) {
  EXPECT_EQ(
      answer(make_reset,
             "vlan 7 / ipv4 src=10.0.0.1 dst=192.0.2.9 / tcp sport=5 dport=23 flags=S seq=100"),
      kMirrored +
          " / vlan 7 / ipv4 src=192.0.2.9 dst=10.0.0.1 ttl=64 df / tcp sport=23 dport=5 flags=RA "
          "seq=0 "
          "ack=101 win=0");
  EXPECT_EQ(
      answer(make_reset,
             "ipv4 src=10.0.0.1 dst=192.0.2.9 / tcp sport=5 dport=23 flags=PA seq=100 ack=900 / "
             "payload len=10"),
      kMirrored +
          " / ipv4 src=192.0.2.9 dst=10.0.0.1 ttl=64 df / tcp sport=23 dport=5 flags=R seq=900 "
          "ack=0 win=0");
  EXPECT_EQ(
      answer(make_reset,
             "ipv6 src=2001:db8::1 dst=2001:db8::9 / tcp sport=5 dport=23 flags=S seq=4294967295 / "
             "payload \"ab\""),
      kMirrored +
          " / ipv6 src=2001:db8::9 dst=2001:db8::1 hop=64 / tcp sport=23 dport=5 flags=RA seq=0 "
          "ack=2 win=0");
}

TEST(Unreachable, NamesPortOrProhibition) {
  EXPECT_EQ(
      answer(
          make_unreachable,
          "ipv4 src=10.0.0.1 dst=192.0.2.9 / udp sport=5 dport=53 / payload \"q\" / trailer pad"),
      kMirrored +
          " / ipv4 src=192.0.2.9 dst=10.0.0.1 ttl=64 df / icmp type=3 code=3 / quote(ipv4 "
          "src=10.0.0.1 "
          "dst=192.0.2.9 ttl=64 / udp sport=5 dport=53 / payload \"q\")");
  EXPECT_NE(answer(make_unreachable, "ipv4 src=10.0.0.1 / icmp").find("icmp type=3 code=13"),
            std::string::npos);
  EXPECT_NE(answer(make_unreachable, "ipv4 src=10.0.0.1 / gre").find("icmp type=3 code=13"),
            std::string::npos);
  EXPECT_NE(answer(make_unreachable, "ipv6 / udp").find("icmpv6 type=1 code=4"), std::string::npos);
  EXPECT_NE(answer(make_unreachable, "ipv6 / sctp").find("icmpv6 type=1 code=1"),
            std::string::npos);
}

TEST(Unreachable, QuotesNoMoreThanItMay) {
  test::TestBurst b;
  b.add("ipv4 / udp / payload len=1400");
  b.add("ipv6 / udp / payload len=1400");
  b.parse();
  Bytes out(2000);
  EXPECT_EQ(make_unreachable(*b, 0, out), 14U + 576U);
  EXPECT_EQ(make_unreachable(*b, 1, out), 14U + 1280U);
  EXPECT_EQ(make_unreachable(*b, 0, std::span(out).first(14 + 28 + 28)), 14U + 28U + 28U);
  EXPECT_EQ(make_unreachable(*b, 0, std::span(out).first(14 + 28 + 27)), 0U);
}

TEST(Reply, NeverWhereItMustNot) {
  for (const char* text : {
           "ipv4 / tcp flags=R",
           "ipv4 / tcp flags=RA",
           "ipv4 mf / tcp flags=S / payload len=20",
           "ipv4 frag=800 proto=6 / payload len=8",
           "ipv4 / icmp type=3 / quote(ipv4 / udp)",
           "ipv4 / icmp type=echo-reply",
           "ipv4 / icmp type=5",
           "ipv4 / icmp type=9",
           "eth dst=ff:ff:ff:ff:ff:ff / ipv4 / udp",
           "eth dst=01:00:5e:00:00:01 / ipv4 / tcp",
           "ipv4 dst=224.0.0.5 / udp",
           "ipv4 dst=255.255.255.255 / udp",
           "ipv4 src=127.0.0.1 / udp",
           "ipv6 dst=ff02::5 / udp",
           "ipv6 hop=255 src=:: / icmpv6 type=135 / payload zeros=16",
           "mpls / ipv4 / udp",
           "arp",
       }) {
    EXPECT_EQ(answer(make_reset, text), "") << text;
    EXPECT_EQ(answer(make_unreachable, text), "") << text;
  }
  EXPECT_EQ(answer(make_reset, "ipv4 / udp"), "");
  EXPECT_EQ(answer(make_reset, "ipv4 / tcp", 53), "");
}

}  // namespace
}  // namespace merlon::packet
