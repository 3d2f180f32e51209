// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kit.h"

namespace merlon::flow {
namespace {

using base::DropReason;
using base::SessionEnd;
using packet::Headers;
using packet::Kind;
using packet::Verdict;
using testing::Endpoint;
using testing::Turn;
using S = SessionState;

constexpr Endpoint kClient{0x0a000001, 40'000}, kServer{0xc0a80001, 53};

struct TrackTest : ::testing::Test {
  Turn t;
  base::Ticks now = 1'000;

  // One packet, one turn.
  unsigned one(Kind kind, Endpoint from, Endpoint to, std::uint8_t protocol,
               std::vector<base::Byte> l4 = {}) {
    t.restart();
    t.add(kind, from, to, protocol, 100, std::move(l4));
    t.run(now);
    return 0;
  }
  void udp(Endpoint from, Endpoint to) { one(Kind::kUdp, from, to, 17); }
  void icmp(bool is_reply, Endpoint from, Endpoint to) {
    t.restart();
    Headers& h = t.add(Kind::kIcmpQuery, {from.address, 7}, {to.address, 8}, 1, 98, {}, false);
    if (is_reply) h.flags |= Headers::kIsReply;
    t.run(now);
  }
  void tcp(Endpoint from, Endpoint to, std::uint8_t flags, std::uint32_t seq, std::uint32_t ack,
           std::uint32_t length = 0) {
    t.restart();
    Headers& h = t.add(Kind::kTcp, from, to, 6, 54 + length);
    h.tcp_flags = flags;
    h.tcp_sequence = seq;
    h.tcp_acknowledgment = ack;
    h.tcp_window = 65'535;
    h.payload_length = length;
    t.run(now);
  }
  void establish() {
    tcp(kClient, kServer, 2, 100, 0);
    tcp(kServer, kClient, 18, 500, 101);
    tcp(kClient, kServer, 16, 101, 501);
    ASSERT_EQ(session().state, S::kEstablished);
  }
  Session& session() { return t.table->at(t.burst->session[0]); }
  Verdict verdict(unsigned i = 0) { return t.burst->verdict[i]; }
  DropReason reason(unsigned i = 0) { return t.burst->reason[i]; }
  void expect_drop(DropReason why) {
    EXPECT_EQ(verdict(), Verdict::kDrop);
    EXPECT_EQ(base::drop_reason_name(reason()), base::drop_reason_name(why));
  }
};

TEST_F(TrackTest, UdpUnrepliedRepliedStream) {
  udp(kClient, kServer);
  EXPECT_EQ(verdict(), Verdict::kForward);
  EXPECT_EQ(session().state, S::kUdpUnreplied);
  udp(kClient, kServer);
  EXPECT_EQ(session().state, S::kUdpUnreplied);
  udp(kServer, kClient);
  EXPECT_EQ(session().state, S::kUdpReplied);
  udp(kServer, kClient);
  EXPECT_EQ(session().state, S::kUdpReplied);
  udp(kClient, kServer);
  EXPECT_EQ(session().state, S::kUdpStream);
  EXPECT_EQ(t.table->count(), 1U);
  EXPECT_EQ(session().packets[0], 3U);
  EXPECT_EQ(session().packets[1], 2U);
  EXPECT_EQ(session().bytes[1], 200U);
  EXPECT_EQ(t.table->count(SessionClass::kLive), 1U);
}

TEST_F(TrackTest, InitiatorMayBeTheLargerAddress) {
  udp(kServer, kClient);
  EXPECT_TRUE(session().is(Session::kInitiatorIsB));
  udp(kClient, kServer);
  EXPECT_EQ(session().state, S::kUdpReplied);
  EXPECT_EQ(session().packets[0], 1U);
}

TEST_F(TrackTest, TwoPacketsOfANewSessionInOneBurst) {
  t.restart();
  t.add(Kind::kUdp, kClient, kServer, 17, 100);
  t.add(Kind::kUdp, kServer, kClient, 17, 200);
  t.run(now);
  EXPECT_EQ(t.table->count(), 1U);
  EXPECT_EQ(t.burst->session[0], t.burst->session[1]);
  EXPECT_EQ(session().state, S::kUdpReplied);
  EXPECT_EQ(session().bytes[1], 200U);
}

TEST_F(TrackTest, PacketAfterTheTimeoutOpensANewSessionHoweverLateTheWheel) {
  udp(kClient, kServer);
  session().rule = 77;
  now += 120'000 - 1;
  udp(kClient, kServer);
  EXPECT_EQ(session().rule, 77U);
  now += 120'000;
  udp(kClient, kServer);
  EXPECT_EQ(session().rule, base::kNoRule) << "policy was asked again";
  EXPECT_EQ(session().packets[0], 1U);
  ASSERT_EQ(t.ended.size(), 1U);
  EXPECT_EQ(t.ended[0].why, SessionEnd::kTimeout);
}

TEST_F(TrackTest, AllPacketsOfAnOverSessionInABurstMeetTheNewOne) {
  udp(kClient, kServer);
  now += 200'000;
  t.restart();
  for (int k = 0; k < 3; ++k) t.add(Kind::kUdp, kClient, kServer, 17, 100);
  t.run(now);
  EXPECT_EQ(t.ended.size(), 1U);
  EXPECT_EQ(session().packets[0], 3U);
  EXPECT_EQ(verdict(2), Verdict::kForward);
}

TEST_F(TrackTest, IcmpReplyWithoutRequest) {
  icmp(true, kServer, kClient);
  expect_drop(DropReason::kIcmpNoRequest);
  EXPECT_EQ(t.table->count(), 0U);
}

TEST_F(TrackTest, IcmpRequestAndReply) {
  icmp(false, kClient, kServer);
  EXPECT_EQ(session().state, S::kIcmpQuery);
  icmp(true, kServer, kClient);
  EXPECT_EQ(verdict(), Verdict::kForward);
  EXPECT_EQ(session().packets[1], 1U);
}

TEST_F(TrackTest, IcmpAgainstTheDirectionOfTheSession) {
  icmp(false, kClient, kServer);
  icmp(true, kClient, kServer);
  expect_drop(DropReason::kIcmpNoRequest);
  icmp(false, kServer, kClient);
  expect_drop(DropReason::kStateInvalid);
}

TEST_F(TrackTest, OtherIp) {
  one(Kind::kOtherIp, kClient, kServer, 47);
  EXPECT_EQ(session().state, S::kOtherUnreplied);
  one(Kind::kOtherIp, kServer, kClient, 47);
  EXPECT_EQ(session().state, S::kOtherReplied);
}

// The error travels to the sender of the quoted packet: its direction is the opposite of the quoted
// one's.
void icmp_error(TrackTest& f, Endpoint quoted_from, Endpoint quoted_to, std::uint8_t protocol,
                bool has_sequence, std::uint32_t sequence) {
  f.t.restart();
  Headers& h = f.t.add(Kind::kIcmpError, quoted_from, quoted_to, protocol, 70);
  h.direction ^= 1;
  if (has_sequence) h.flags |= Headers::kQuoteHasSequence;
  h.tcp_sequence = sequence;
  f.t.run(f.now);
}

TEST_F(TrackTest, IcmpErrorOfAUdpSessionPassesAndChangesNothing) {
  udp(kClient, kServer);
  const Session before = session();
  now += 500;
  icmp_error(*this, kClient, kServer, 17, false, 0);
  EXPECT_EQ(verdict(), Verdict::kForward);
  EXPECT_EQ(std::memcmp(&before, &session(), sizeof before), 0) << "state, counts and last_seen";
  EXPECT_EQ(t.table->counters().icmp_errors, 1U);
}

TEST_F(TrackTest, IcmpErrorWithoutSession) {
  icmp_error(*this, kClient, kServer, 17, false, 0);
  expect_drop(DropReason::kIcmpNoSession);
}

TEST_F(TrackTest, IcmpErrorQuotesTcpInWindow_Rfc5927) {
  establish();
  icmp_error(*this, kClient, kServer, 6, true, 100);
  EXPECT_EQ(verdict(), Verdict::kForward);
  icmp_error(*this, kServer, kClient, 6, true, 501);
  EXPECT_EQ(verdict(), Verdict::kForward);
  icmp_error(*this, kClient, kServer, 6, true, 102);
  expect_drop(DropReason::kIcmpNoSession);
  icmp_error(*this, kClient, kServer, 6, true, 0x70000000);
  expect_drop(DropReason::kIcmpNoSession);
  icmp_error(*this, kClient, kServer, 6, false, 0);
  expect_drop(DropReason::kIcmpNoSession);
  EXPECT_EQ(session().state, S::kEstablished);
}

TEST_F(TrackTest, DeniedSessionDropsWithItsReasonAndIsCounted) {
  t.opening.drop_reason = DropReason::kPolicyReject;
  t.opening.flags = Session::kReject;
  udp(kClient, kServer);
  expect_drop(DropReason::kPolicyReject);
  udp(kClient, kServer);
  expect_drop(DropReason::kPolicyReject);
  EXPECT_EQ(session().state, S::kDenied);
  EXPECT_EQ(session().packets[0], 2U);
  EXPECT_TRUE(session().is(Session::kReject));
}

// What is denied from one side may be permitted from the other, and must not be blocked by it.
TEST_F(TrackTest, DeniedSessionDoesNotBlockTheOtherSide) {
  t.opening.drop_reason = DropReason::kDefaultDeny;
  udp(kServer, kClient);
  t.opening.drop_reason = DropReason::kNone;
  udp(kClient, kServer);
  EXPECT_EQ(verdict(), Verdict::kForward);
  ASSERT_EQ(t.ended.size(), 1U);
  EXPECT_EQ(t.ended[0].why, SessionEnd::kReplaced);
  udp(kServer, kClient);
  EXPECT_EQ(verdict(), Verdict::kForward) << "now it is a reply";
}

TEST_F(TrackTest, DroppingASessionThatWasEstablished) {
  establish();
  session().flags |= Session::kDropAll;
  session().drop_reason = DropReason::kSessionKilled;
  tcp(kClient, kServer, 16, 101, 501);
  expect_drop(DropReason::kSessionKilled);
}

TEST_F(TrackTest, SourceLimit) {
  t.options.limits.max_per_source = 2;
  for (std::uint16_t port = 1; port <= 2; ++port) udp({kClient.address, port}, kServer);
  EXPECT_EQ(verdict(), Verdict::kForward);
  udp({kClient.address, 3}, kServer);
  expect_drop(DropReason::kSourceLimit);
  udp({kClient.address + 1, 3}, kServer);
  EXPECT_EQ(verdict(), Verdict::kForward);
  udp(kServer, {kClient.address, 9});
  EXPECT_EQ(verdict(), Verdict::kForward) << "the limit is on the initiator";
  now += 200'000;
  t.table->expire(now, 100, [](auto, auto) {});
  udp({kClient.address, 3}, kServer);
  EXPECT_EQ(verdict(), Verdict::kForward);
}

TEST_F(TrackTest, RuleLimit) {
  t.opening.rule = 4;
  t.opening.max_per_rule = 1;
  udp({kClient.address, 1}, kServer);
  EXPECT_EQ(t.table->rule_count(4), 1U);
  udp({kClient.address, 2}, kServer);
  expect_drop(DropReason::kRuleLimit);
  t.opening.rule = 5;
  udp({kClient.address, 2}, kServer);
  EXPECT_EQ(verdict(), Verdict::kForward);
}

TEST_F(TrackTest, HalfOpenLimitTakesTheOldest) {
  t.options.limits.max_half_open = 3;
  for (std::uint16_t port = 1; port <= 5; ++port) udp({kClient.address, port}, kServer);
  EXPECT_EQ(t.table->count(SessionClass::kHalfOpen), 3U);
  EXPECT_EQ(t.ended.size(), 2U);
  udp({kClient.address, 1}, kServer);
  EXPECT_EQ(session().packets[0], 1U) << "the first one had gone";
}

TEST_F(TrackTest, FullTable) {
  Turn small({.max_sessions = 1, .max_sources = 0, .max_rules = 0, .adaptive_start_percent = 0});
  small.add(Kind::kUdp, kClient, kServer, 17);
  small.add(Kind::kUdp, kServer, kClient, 17);
  small.add(Kind::kUdp, {kClient.address, 9}, kServer, 17);
  small.run(now);
  EXPECT_EQ(small.burst->verdict[1], Verdict::kForward);
  EXPECT_EQ(small.burst->verdict[2], Verdict::kDrop);
  EXPECT_EQ(small.burst->reason[2], DropReason::kSessionTableFull);
}

TEST_F(TrackTest, FragmentFollowsItsSession) {
  one(Kind::kFragment, kClient, kServer, 17);
  expect_drop(DropReason::kStateInvalid);
  udp(kClient, kServer);
  one(Kind::kFragment, kClient, kServer, 17);
  EXPECT_EQ(verdict(), Verdict::kForward);
  EXPECT_EQ(session().packets[0], 2U);
}

TEST_F(TrackTest, AcknowledgmentOfFragmentedTcp) {
  establish();
  t.restart();
  Headers& first = t.add(Kind::kTcp, kClient, kServer, 6, 1'500);
  first.tcp_flags = 16;
  first.tcp_sequence = 101;
  first.tcp_acknowledgment = 501;
  first.tcp_window = 65'535;
  first.payload_length = 1'000;
  first.flags = Headers::kFirstFragment;
  t.add(Kind::kFragment, kClient, kServer, 6, 500).payload_length = 400;
  t.run(now);
  EXPECT_EQ(verdict(1), Verdict::kForward);
  tcp(kServer, kClient, 16, 501, 1'501);
  EXPECT_EQ(verdict(), Verdict::kForward);
  tcp(kServer, kClient, 16, 501, 1'502);
  expect_drop(DropReason::kTcpWindow);
}

TEST_F(TrackTest, ColdRecordAndFlowId) {
  t.opening.rule = 12;
  t.opening.generation = 3;
  t.opening.zone_source = 5;
  t.opening.start = 123'456;
  t.opening.packet_number = 9;
  udp(kClient, kServer);
  const SessionCold& c = t.table->cold(t.burst->session[0]);
  EXPECT_EQ(c.start, 123'456);
  EXPECT_EQ(c.in_port, 1);
  EXPECT_EQ(c.out_port, 2);
  EXPECT_EQ(c.zone_source, 5);
  EXPECT_EQ(c.first_packet_number, 9U);
  EXPECT_EQ(c.flow_id, make_flow_id(t.burst->hash[0], 123'456));
  EXPECT_LT(c.flow_id, 1ULL << 53);
  EXPECT_NE(c.flow_id, make_flow_id(t.burst->hash[0], 123'457));
  EXPECT_EQ(session().rule, 12U);
  EXPECT_EQ(session().generation, 3U);
}

TEST_F(TrackTest, RetransmittedFinInTimeWaitOpensNothing) {
  establish();
  tcp(kClient, kServer, 17, 101, 501);
  tcp(kServer, kClient, 17, 501, 102);
  tcp(kClient, kServer, 16, 102, 502);
  EXPECT_EQ(session().state, S::kTimeWait);
  tcp(kServer, kClient, 17, 501, 102);
  EXPECT_EQ(verdict(), Verdict::kForward);
  EXPECT_EQ(t.table->count(), 1U);
  EXPECT_EQ(session().state, S::kTimeWait);
}

TEST_F(TrackTest, SynInTimeWaitOpensANewSession) {
  establish();
  tcp(kClient, kServer, 17, 101, 501);
  tcp(kServer, kClient, 17, 501, 102);
  tcp(kClient, kServer, 16, 102, 502);
  session().rule = 77;
  tcp(kClient, kServer, 2, 70'000, 0);
  EXPECT_EQ(verdict(), Verdict::kForward);
  EXPECT_EQ(session().state, S::kSynSent);
  EXPECT_EQ(session().rule, base::kNoRule);
  ASSERT_EQ(t.ended.size(), 1U);
  EXPECT_EQ(t.ended[0].why, SessionEnd::kReplaced);
}

// SCTP: common header (ports, tag, checksum) and the first chunk.
std::vector<base::Byte> sctp(std::uint32_t tag, std::uint8_t type, std::uint8_t flags = 0,
                             std::uint32_t initiate = 0) {
  std::vector<base::Byte> p(type == 1 || type == 2 ? 32 : 16);
  base::store_be<std::uint32_t>(p.data() + 4, tag);
  p[12] = type;
  p[13] = flags;
  if (p.size() > 16) base::store_be<std::uint32_t>(p.data() + 16, initiate);
  return p;
}

struct SctpTest : TrackTest {
  void send(Endpoint from, Endpoint to, std::vector<base::Byte> p) {
    one(Kind::kSctp, from, to, 132, std::move(p));
  }
  void ok(Endpoint from, Endpoint to, std::vector<base::Byte> p, S state) {
    send(from, to, std::move(p));
    ASSERT_EQ(verdict(), Verdict::kForward);
    EXPECT_EQ(session_state_name(session().state), session_state_name(state));
  }
  void refused(Endpoint from, Endpoint to, std::vector<base::Byte> p) {
    send(from, to, std::move(p));
    expect_drop(DropReason::kSctpState);
  }
  void associate() {
    ok(kClient, kServer, sctp(0, 1, 0, 111), S::kSctpInit);
    ok(kServer, kClient, sctp(111, 2, 0, 222), S::kSctpInit);
    ok(kClient, kServer, sctp(222, 10), S::kSctpInit);
    ok(kServer, kClient, sctp(111, 11), S::kSctpEstablished);
  }
};

TEST_F(SctpTest, Association_Rfc9260) {
  associate();
  ok(kClient, kServer, sctp(222, 0), S::kSctpEstablished);
  ok(kServer, kClient, sctp(111, 3), S::kSctpEstablished);
  ok(kClient, kServer, sctp(222, 7), S::kSctpShutdown);
  ok(kServer, kClient, sctp(111, 8), S::kSctpShutdown);
  ok(kClient, kServer, sctp(222, 14), S::kSctpShutdown);
}

TEST_F(SctpTest, OnlyInitOrHeartbeatOpens) {
  for (const std::uint8_t type :
       std::initializer_list<std::uint8_t>{0, 2, 3, 5, 6, 7, 8, 9, 10, 11, 14})
    refused(kClient, kServer, sctp(5, type, 0, 9));
  refused(kClient, kServer, sctp(5, 1, 0, 9));  // INIT with a tag, section 8.5.1
  refused(kClient, kServer, sctp(0, 1, 0, 0));  // initiate tag 0, section 3.3.2
  refused(kClient, kServer, {1, 2, 3});
  EXPECT_EQ(t.table->count(), 0U);
}

TEST_F(SctpTest, StatesInOrder) {
  ok(kClient, kServer, sctp(0, 1, 0, 111), S::kSctpInit);
  refused(kServer, kClient, sctp(111, 0));
  refused(kClient, kServer, sctp(222, 10));         // no INIT ACK yet
  refused(kServer, kClient, sctp(112, 2, 0, 222));  // wrong tag
  refused(kServer, kClient, sctp(111, 11));         // COOKIE ACK before COOKIE ECHO's tag
}

TEST_F(SctpTest, BlindAbort) {
  associate();
  refused(kServer, kClient, sctp(999, 6));
  ok(kServer, kClient, sctp(222, 6, 1),
     S::kSctpShutdown);  // T bit: the tag reflected, section 8.5.1
}

TEST_F(SctpTest, RestartKeepsTheSession) {
  associate();
  ok(kClient, kServer, sctp(0, 1, 0, 333), S::kSctpEstablished);
  ok(kServer, kClient, sctp(333, 2, 0, 444), S::kSctpEstablished);
  ok(kClient, kServer, sctp(444, 10), S::kSctpEstablished);
}

TEST_F(SctpTest, SecondPathByHeartbeat) {
  ok(kClient, kServer, sctp(222, 4), S::kSctpInit);
  refused(kClient, kServer, sctp(222, 0));
  refused(kClient, kServer, sctp(223, 4));
  ok(kServer, kClient, sctp(111, 5), S::kSctpEstablished);
  ok(kClient, kServer, sctp(222, 0), S::kSctpEstablished);
}

}  // namespace
}  // namespace merlon::flow
