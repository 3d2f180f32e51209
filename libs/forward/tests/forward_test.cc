// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "merlon/forward/output.h"
#include "merlon/forward/reject.h"
#include "merlon/forward/wire.h"
#include "merlon/io/ring_port.h"

namespace merlon::forward {
namespace {

using base::DropReason;
using packet::Burst;
using packet::Verdict;

class ForwardTest : public testing::Test {
 protected:
  void SetUp() override {
    pool_ = *io::BufferPool::create({.small_count = 256, .large_count = 4});
    for (std::uint16_t n = 0; n < 3; ++n) {
      ports_.push_back(*io::RingPort::create({.name = "p", .number = n, .depth = 64}, pool_));
      raw_.push_back(ports_.back().get());
    }
  }
  // `count` frames of one port, each with its ordinal in the first byte.
  void receive(std::uint16_t port, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      std::vector<base::Byte> bytes(60 + next_, static_cast<base::Byte>(next_));
      ++next_;
      ASSERT_TRUE(ports_[port]->inject(bytes, 0));
    }
    ports_[port]->receive(0, burst_, Burst::kCapacity);
    for (unsigned i = 0; i < burst_.count; ++i) {
      burst_.verdict[i] = Verdict::kForward;
      burst_.reason[i] = DropReason::kNone;
    }
  }
  std::vector<unsigned> sent(std::uint16_t port) {
    std::vector<unsigned> ordinals;
    for (const auto& f : ports_[port]->take()) ordinals.push_back(f.bytes[0]);
    return ordinals;
  }

  std::shared_ptr<io::BufferPool> pool_;
  std::vector<std::unique_ptr<io::RingPort>> ports_;
  std::vector<io::Port*> raw_;
  Burst burst_;
  unsigned next_ = 0;
};

TEST_F(ForwardTest, WireSendsIntoThePeerAndTapNowhere) {
  WireTable wires(3);
  wires.pair(0, 1);
  receive(0, 2);
  receive(2, 1);
  wires.choose_output(burst_, false);
  EXPECT_EQ(burst_.out_port[0], 1);
  EXPECT_EQ(burst_.out_port[2], base::kNoPort);
  EXPECT_TRUE(wires.is_tap(2));
  Output output(raw_, 0);
  EXPECT_EQ(output.finish(burst_).packets, 0U);
  EXPECT_EQ(sent(1), (std::vector<unsigned>{0, 1}));
  EXPECT_TRUE(sent(0).empty());
  EXPECT_TRUE(sent(2).empty());
  EXPECT_EQ(pool_->free_count(), pool_->total_count());
}

TEST_F(ForwardTest, MixedBurstKeepsOrderPerPortAndFreesDrops) {
  receive(0, 6);
  burst_.out_port.fill(1);
  burst_.out_port[1] = burst_.out_port[4] = 2;
  burst_.drop(2, DropReason::kPolicyDeny);
  burst_.verdict[5] = Verdict::kHold;
  void* held = burst_.handle[5];
  Output output(raw_, 0);
  EXPECT_EQ(output.finish(burst_).packets, 0U);
  EXPECT_EQ(sent(1), (std::vector<unsigned>{0, 3}));
  EXPECT_EQ(sent(2), (std::vector<unsigned>{1, 4}));
  EXPECT_EQ(pool_->free_count() + 1, pool_->total_count());
  io::BufferPool::release(&held, 1);
}

TEST_F(ForwardTest, LinkDownAndTooLongAreDropsWithTheirNames) {
  WireTable wires(3);
  wires.pair(0, 1);
  receive(0, 3);
  wires.choose_output(burst_, false);
  wires.set_max_frame(1, burst_.length[1]);
  wires.check_output(burst_, false);
  EXPECT_EQ(burst_.verdict[1], Verdict::kForward);
  EXPECT_EQ(burst_.reason[2], DropReason::kMtuExceeded);
  wires.set_link(1, false);
  wires.check_output(burst_, false);
  EXPECT_EQ(burst_.reason[0], DropReason::kLinkDown);
  EXPECT_EQ(burst_.reason[2], DropReason::kMtuExceeded);
  Output(raw_, 0).finish(burst_);
}

TEST_F(ForwardTest, UniformBurstsMeetTheSameChecks) {
  WireTable wires(3);
  wires.pair(0, 1);
  receive(0, 3);
  wires.choose_output(burst_, true);
  EXPECT_EQ(burst_.out_port[2], 1);
  wires.check_output(burst_, true);
  EXPECT_EQ(burst_.verdict_mask(Verdict::kForward), 7U);
  wires.set_max_frame(1, burst_.length[1]);
  wires.check_output(burst_, true);
  EXPECT_EQ(burst_.verdict_mask(Verdict::kForward), 3U);
  EXPECT_EQ(burst_.reason[2], DropReason::kMtuExceeded);
  wires.set_link(1, false);
  wires.check_output(burst_, true);
  EXPECT_EQ(burst_.verdict_mask(Verdict::kDrop), 7U);
  Output(raw_, 0).finish(burst_);
}

TEST_F(ForwardTest, FullOutputQueueIsALossWithItsBytes) {
  Output output(raw_, 0);
  std::uint64_t lost_bytes = 0;
  unsigned lost = 0, all = 0;
  for (int round = 0; round < 3; ++round) {
    burst_.count = 0;
    next_ = 0;
    receive(0, 32);
    burst_.out_port.fill(1);
    all += burst_.count;
    const Lost l = output.finish(burst_);
    lost += l.packets;
    lost_bytes += l.bytes;
  }
  EXPECT_EQ(sent(1).size() + lost, all);
  EXPECT_EQ(lost, 32U);
  EXPECT_EQ(lost_bytes, 32U * 60 + 31 * 32 / 2);
}

}  // namespace
}  // namespace merlon::forward
