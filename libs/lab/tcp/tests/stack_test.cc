// SPDX-License-Identifier: Apache-2.0
// The stack segment by segment: a test is the peer and says what the RFC lets it say.
#include "merlon/lab_tcp/stack.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "merlon/io/ring_port.h"

namespace merlon::lab::tcp {
namespace {

using base::Nanos;

constexpr Nanos kMs = 1'000'000;
constexpr std::uint32_t kPeerIss = 0xfffffff0;  // wraps soon

struct Sent {
  std::vector<base::Byte> bytes;
  Segment s;
};

// One connection of a stack and its peer.
class StackTest : public testing::Test {
 protected:
  StackTest()
      : pool_(*io::BufferPool::create({.small_count = 1024, .large_count = 1})),
        port_(std::move(*io::RingPort::create({.name = "t", .depth = 1024}, pool_))),
        out_(*port_),
        book_({1024, 65'536}, false) {
    StackSettings s;
    stack_ = std::make_unique<Stack>(s, book_, out_);
    c_ = {};
    c_.local_ip = 0x0a090001;
    c_.remote_ip = 0x0a0a0001;
    c_.local_port = 1024;
    c_.remote_port = 80;
  }

  std::vector<Sent> sent() {
    out_.flush();
    std::vector<Sent> all;
    for (auto& f : port_->take()) {
      Sent one{std::move(f.bytes), {}};
      Frame frame;
      EXPECT_EQ(read_frame(one.bytes, true, frame), FrameKind::kTcp);
      one.s = frame.segment;
      all.push_back(std::move(one));
    }
    return all;
  }
  Segment from_peer(std::uint32_t sequence, std::uint32_t ack, std::uint8_t flags,
                    std::size_t size = 0) {
    Segment s;
    s.source_ip = c_.remote_ip;
    s.destination_ip = c_.local_ip;
    s.source_port = c_.remote_port;
    s.destination_port = c_.local_port;
    s.sequence = sequence;
    s.acknowledgment = ack;
    s.flags = flags;
    s.window = window_;
    s.mss = 1460;
    payload_.resize(std::max(payload_.size(), size));
    s.payload = base::ByteSpan(payload_).first(size);
    return s;
  }
  // The peer speaks, the application takes all of it.
  Input hear(const Segment& s) {
    const Input in = stack_->receive(c_, s, now_);
    stack_->take(c_, in, static_cast<std::uint32_t>(in.payload.size()), now_);
    stack_->output(c_, now_);
    return in;
  }
  void open() {
    stack_->connect(c_, now_);
    const auto syn = sent();
    ASSERT_EQ(syn.size(), 1U);
    iss_ = syn[0].s.sequence;
    EXPECT_EQ(syn[0].s.mss, 1460);
    EXPECT_TRUE(hear(from_peer(kPeerIss, iss_ + 1, kSyn | kAck)).has_connected);
    const auto ack = sent();
    ASSERT_EQ(ack.size(), 1U);
    EXPECT_EQ(ack[0].s.flags, kAck);
    EXPECT_EQ(ack[0].s.acknowledgment, kPeerIss + 1);
  }
  // A message of 64 KiB and its head, and what of it left at once.
  std::vector<Sent> say_much() {
    stack_->say(c_, book_.answer(book_.request(1, false)));
    stack_->output(c_, now_);
    return sent();
  }

  std::shared_ptr<io::BufferPool> pool_;
  std::unique_ptr<io::RingPort> port_;
  Transmitter out_;
  MessageBook book_;
  std::unique_ptr<Stack> stack_;
  Connection c_;
  Nanos now_ = 1'000'000'000;
  std::uint32_t iss_ = 0;
  std::uint16_t window_ = 65'535;
  std::vector<base::Byte> payload_;
};

constexpr std::uint32_t kPeer = kPeerIss + 1;  // the peer's first byte

TEST_F(StackTest, SynIsRetriedWithDoubledTimeoutsThenGivenUp) {
  stack_->connect(c_, now_);
  EXPECT_EQ(sent().size(), 1U);
  for (const Nanos wait : {1000, 2000, 4000}) {
    EXPECT_EQ(Stack::next_deadline(c_), now_ + wait * kMs);
    now_ += wait * kMs;
    EXPECT_TRUE(stack_->on_timer(c_, now_));
    EXPECT_EQ(sent().size(), 1U);
  }
  now_ += 8000 * kMs;
  EXPECT_FALSE(stack_->on_timer(c_, now_));
  EXPECT_EQ(stack_->counters().syn_retransmissions, 3U);
}

TEST_F(StackTest, EverySecondSegmentIsAcknowledgedAtOnce) {
  open();
  hear(from_peer(kPeer, iss_ + 1, kAck, 1460));
  EXPECT_TRUE(sent().empty());
  hear(from_peer(kPeer + 1460, iss_ + 1, kAck, 1460));
  auto acks = sent();
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].s.acknowledgment, kPeer + 2920);
  hear(from_peer(kPeer + 2920, iss_ + 1, kAck, 100));
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(Stack::next_deadline(c_), now_ + 40 * kMs);
  now_ += 40 * kMs;
  EXPECT_TRUE(stack_->on_timer(c_, now_));
  acks = sent();
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].s.acknowledgment, kPeer + 3020);
}

TEST_F(StackTest, BytesBeyondHolesAreKept) {
  open();
  const auto at = [](std::uint32_t n) { return kPeer + n * 100; };
  // 4, 2, 6 (three apart), 8 finds no room, 5 joins 4 and 6, 3 joins all.
  for (const std::uint32_t n : {4U, 2U, 6U, 8U, 5U, 3U})
    hear(from_peer(at(n), iss_ + 1, kAck, 100));
  auto acks = sent();
  ASSERT_EQ(acks.size(), 6U);
  for (const auto& a : acks) EXPECT_EQ(a.s.acknowledgment, kPeer);
  EXPECT_EQ(c_.held_count, 1);
  hear(from_peer(kPeer, iss_ + 1, kAck, 200));
  acks = sent();
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].s.acknowledgment, at(7));
  EXPECT_EQ(c_.held_count, 0);
}

TEST_F(StackTest, SlowStartOpensWithTenSegments) {
  open();
  auto data = say_much();
  ASSERT_EQ(data.size(), 10U);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(data[i].s.sequence, iss_ + 1 + i * 1460);
  hear(from_peer(kPeer, iss_ + 1 + 2920, kAck));
  // Two acknowledged and the window two larger.
  EXPECT_EQ(sent().size(), 4U);
}

TEST_F(StackTest, ThreeDuplicateAcksSendTheHoleAgain) {
  open();
  say_much();
  hear(from_peer(kPeer, iss_ + 1 + 1460, kAck));
  sent();
  for (int i = 0; i < 2; ++i) hear(from_peer(kPeer, iss_ + 1 + 1460, kAck));
  EXPECT_TRUE(sent().empty());
  hear(from_peer(kPeer, iss_ + 1 + 1460, kAck));
  auto again = sent();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].s.sequence, iss_ + 1 + 1460);
  EXPECT_EQ(stack_->counters().fast_retransmissions, 1U);
  // A partial acknowledgment shows the next hole.
  hear(from_peer(kPeer, iss_ + 1 + 2 * 1460, kAck));
  again = sent();
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again[0].s.sequence, iss_ + 1 + 2 * 1460);
  EXPECT_EQ(stack_->counters().timeouts, 0U);
}

TEST_F(StackTest, TimeoutGoesBackToOneSegment) {
  open();
  say_much();
  now_ += 1000 * kMs;
  EXPECT_TRUE(stack_->on_timer(c_, now_));
  const auto again = sent();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].s.sequence, iss_ + 1);
  EXPECT_EQ(stack_->counters().timeouts, 1U);
  // All ten had arrived: nothing of them is sent a third time.
  hear(from_peer(kPeer, iss_ + 1 + 14'600, kAck));
  for (const auto& s : sent()) EXPECT_FALSE(is_before(s.s.sequence, iss_ + 1 + 14'600));
}

TEST_F(StackTest, ShutWindowIsProbedForAsLongAsThePeerAnswers) {
  open();
  window_ = 0;
  hear(from_peer(kPeer, iss_ + 1, kAck));
  EXPECT_TRUE(say_much().empty());
  for (int i = 0; i < 10; ++i) {
    now_ = Stack::next_deadline(c_);
    ASSERT_NE(now_, 0);
    ASSERT_TRUE(stack_->on_timer(c_, now_)) << i;
    const auto probe = sent();
    ASSERT_EQ(probe.size(), 1U);
    EXPECT_EQ(probe[0].s.payload.size(), 1U);
    EXPECT_EQ(probe[0].s.sequence, iss_ + 1);
    hear(from_peer(kPeer, iss_ + 1, kAck));
    EXPECT_TRUE(sent().empty());
  }
  window_ = 65'535;
  hear(from_peer(kPeer, iss_ + 1, kAck));
  const auto data = sent();
  ASSERT_EQ(data.size(), 10U);
  EXPECT_EQ(data[0].s.sequence, iss_ + 1);
  EXPECT_EQ(data[0].s.payload.size(), 1460U);
}

TEST_F(StackTest, PeersWindowIsKept) {
  open();
  window_ = 4000;
  hear(from_peer(kPeer, iss_ + 1, kAck));
  // Two full segments; a third of 1,080 bytes would be a silly one.
  EXPECT_EQ(say_much().size(), 2U);
}

TEST_F(StackTest, ResetIsBelievedAtTheWindowsEdgeOnly) {
  open();
  EXPECT_FALSE(hear(from_peer(kPeer + 1, 0, kRst)).is_reset);
  EXPECT_EQ(sent().size(), 1U);  // the challenge
  EXPECT_FALSE(hear(from_peer(kPeer - 1, 0, kRst)).is_reset);
  EXPECT_FALSE(hear(from_peer(kPeer + 70'000, 0, kRst)).is_reset);
  EXPECT_TRUE(sent().empty());
  EXPECT_TRUE(stack_->receive(c_, from_peer(kPeer, 0, kRst), now_).is_reset);
}

TEST_F(StackTest, SynInAnOpenConnectionIsChallenged) {
  open();
  hear(from_peer(kPeer + 100, iss_ + 1, kSyn));
  const auto ack = sent();
  ASSERT_EQ(ack.size(), 1U);
  EXPECT_EQ(ack[0].s.acknowledgment, kPeer);
  EXPECT_EQ(c_.state, State::kOpen);
}

TEST_F(StackTest, SynAckAgainIsAcknowledgedAgain) {
  open();
  hear(from_peer(kPeerIss, iss_ + 1, kSyn | kAck));
  const auto ack = sent();
  ASSERT_EQ(ack.size(), 1U);
  EXPECT_EQ(ack[0].s.acknowledgment, kPeer);
  EXPECT_EQ(ack[0].s.sequence, iss_ + 1);
}

TEST_F(StackTest, AcknowledgmentOfTheUnsentIsRefused) {
  open();
  hear(from_peer(kPeer, iss_ + 50, kAck, 10));
  EXPECT_EQ(c_.rcv_nxt, kPeer);
  EXPECT_EQ(stack_->counters().bad_acks, 1U);
}

TEST_F(StackTest, BothMayCloseAtOnce) {
  open();
  stack_->close(c_);
  stack_->output(c_, now_);
  auto fin = sent();
  ASSERT_EQ(fin.size(), 1U);
  EXPECT_EQ(fin[0].s.flags, kFin | kAck);
  // The peer's FIN crossed ours: it does not acknowledge it.
  hear(from_peer(kPeer, iss_ + 1, kFin | kAck));
  const auto ack = sent();
  ASSERT_EQ(ack.size(), 1U);
  EXPECT_EQ(ack[0].s.acknowledgment, kPeer + 1);
  EXPECT_FALSE(Stack::is_over(c_));
  hear(from_peer(kPeer + 1, iss_ + 2, kAck));
  EXPECT_TRUE(Stack::is_over(c_));
}

TEST_F(StackTest, FinWaitsForTheHole) {
  open();
  hear(from_peer(kPeer + 100, iss_ + 1, kFin | kAck, 100));
  EXPECT_FALSE(c_.is(Connection::kPeerClosed));
  hear(from_peer(kPeer, iss_ + 1, kAck, 100));
  EXPECT_FALSE(c_.is(Connection::kPeerClosed));
  hear(from_peer(kPeer + 100, iss_ + 1, kFin | kAck, 100));
  EXPECT_TRUE(c_.is(Connection::kPeerClosed));
  EXPECT_EQ(c_.rcv_nxt, kPeer + 201);
}

TEST_F(StackTest, LateFinIsAnsweredWithoutAConnection) {
  EXPECT_TRUE(stack_->answer_stray(from_peer(500, 900, kFin | kAck, 20)));
  const auto ack = sent();
  ASSERT_EQ(ack.size(), 1U);
  EXPECT_EQ(ack[0].s.flags, kAck);
  EXPECT_EQ(ack[0].s.sequence, 900U);
  EXPECT_EQ(ack[0].s.acknowledgment, 521U);
  EXPECT_EQ(ack[0].s.destination_ip, c_.remote_ip);
  for (const std::uint8_t flags : {kAck, kSyn, kRst, kSyn})
    EXPECT_FALSE(stack_->answer_stray(from_peer(1, 1, flags)));
  EXPECT_TRUE(sent().empty());
}

TEST_F(StackTest, NumbersWrap) {
  // The first connection shows the hash of its tuple; the second opens when the clock takes it to
  // the edge.
  stack_->connect(c_, 0);
  const std::uint32_t hash = sent()[0].s.sequence;
  now_ = Nanos{0xffffff00U - hash} * 4000;
  open();
  EXPECT_EQ(iss_, 0xffffff00U);
  std::uint32_t received = 0;
  auto data = say_much();
  const std::uint32_t length = book_.length(book_.answer(book_.request(1, false)));
  for (int turn = 0; turn < 200 && received < length; ++turn) {
    for (const auto& s : data) received += static_cast<std::uint32_t>(s.s.payload.size());
    hear(from_peer(kPeer, iss_ + 1 + received, kAck));
    data = sent();
  }
  EXPECT_EQ(received, length);
  EXPECT_TRUE(c_.is_all_acknowledged());
  EXPECT_EQ(stack_->counters().retransmissions, 0U);
}

}  // namespace
}  // namespace merlon::lab::tcp
