// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/fragments.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "support.h"

namespace merlon::packet {
namespace {

using base::DropReason;
using test::Bytes;
using test::packet;

// Runs turns like a worker: released packets first, then new ones, every first fragment gets
// `verdict`.
class Fragments : public ::testing::Test {
 protected:
  void use(const FragmentOptions& o) { table_ = std::make_unique<FragmentTable>(o); }

  // One turn with these frames; appends what came out.
  void turn(const std::vector<Bytes>& frames, Verdict verdict = Verdict::kForward) {
    burst_.clear();
    burst_->now_ticks = now_;
    is_waiting_ = table_->take_ready(*burst_);
    const unsigned first = burst_->count;
    for (const Bytes& f : frames) burst_.add(f);
    burst_.parse({}, 0, first);
    table_->process(*burst_, first);
    for (unsigned i = 0; i < burst_->count; ++i) {
      if (burst_->verdict[i] == Verdict::kHold) continue;
      if (burst_->verdict[i] == Verdict::kUndecided) {
        burst_->verdict[i] = verdict;
        keys_.insert(burst_->hash[i]);
      }
      out_.emplace_back(burst_->verdict[i], burst_->reason[i]);
      handles_.push_back(burst_->handle[i]);
    }
    table_->settle(*burst_);
  }
  void expire() {
    burst_.clear();
    burst_->now_ticks = now_;
    while (table_->expire(*burst_, now_)) {
    }
    for (unsigned i = 0; i < burst_->count; ++i)
      out_.emplace_back(burst_->verdict[i], burst_->reason[i]);
  }
  std::size_t count(Verdict v) const {
    return static_cast<std::size_t>(
        std::count_if(out_.begin(), out_.end(), [v](auto& o) { return o.first == v; }));
  }
  std::size_t count(DropReason r) const {
    return static_cast<std::size_t>(std::count_if(out_.begin(), out_.end(), [r](auto& o) {
      return o.first == Verdict::kDrop && o.second == r;
    }));
  }
  static std::vector<Bytes> pieces(std::string_view text, unsigned mtu, std::uint32_t id = 1) {
    auto parts = fragment_packet(packet(text), mtu, id);
    EXPECT_TRUE(parts.ok());
    return *parts;
  }

  std::unique_ptr<FragmentTable> table_ = std::make_unique<FragmentTable>(FragmentOptions{});
  test::TestBurst burst_;
  base::Ticks now_ = 1000;
  bool is_waiting_ = false;
  std::vector<std::pair<Verdict, DropReason>> out_;
  std::vector<void*> handles_;
  std::set<std::uint64_t> keys_;
};

const char* const kUdp4 = "ipv4 id=7 / udp sport=5 dport=53 / payload len=200";
const char* const kUdp6 = "ipv6 / udp sport=5 dport=53 / payload len=200";

TEST_F(Fragments, InOrderInSeparateTurnsNothingIsHeld) {
  for (const char* text : {kUdp4, kUdp6}) {
    const auto parts = pieces(text, 120);
    ASSERT_GE(parts.size(), 3U);
    out_.clear();
    keys_.clear();
    for (const Bytes& p : parts) turn({p});
    EXPECT_EQ(count(Verdict::kForward), parts.size());
    EXPECT_EQ(keys_.size(), 1U);
    EXPECT_EQ(table_->datagram_count(), 0U) << "complete datagrams are forgotten";
  }
  EXPECT_EQ(table_->counters().held, 0U);
  EXPECT_EQ(table_->counters().completed, 2U);
}

TEST_F(Fragments, KeyIsTheFirstOnesInBothDirections) {
  turn({packet(
      "ipv4 src=192.0.2.9 dst=10.0.0.1 id=3 mf / udp sport=53 dport=999 len=48 / payload len=24")});
  turn({packet("ipv4 src=192.0.2.9 dst=10.0.0.1 id=3 frag=32 proto=17 / payload len=16")});
  EXPECT_EQ(burst_->key[0].port_a, 999);
  EXPECT_EQ(burst_->key[0].port_b, 53);
  EXPECT_EQ(burst_->headers[0].direction, 1);
  EXPECT_EQ(burst_->headers[0].kind, Kind::kFragment);
  EXPECT_EQ(burst_->hash[0], hash_flow_key(burst_->key[0], {}));
}

TEST_F(Fragments, SameBurstWaitsForTheVerdict) {
  turn(pieces(kUdp4, 120));
  EXPECT_EQ(count(Verdict::kForward), 1U);
  EXPECT_EQ(table_->held_count(), 2U);
  turn({});
  EXPECT_EQ(count(Verdict::kForward), 3U);
  EXPECT_EQ(table_->held_count(), 0U);
  EXPECT_EQ(table_->datagram_count(), 0U);
}

TEST_F(Fragments, DropOfTheFirstRefusesAll) {
  auto parts = pieces(kUdp4, 120);
  const Bytes last = parts.back();
  parts.pop_back();
  turn(parts, Verdict::kDrop);
  turn({last});
  turn({});
  EXPECT_EQ(count(Verdict::kForward), 0U);
  EXPECT_EQ(count(DropReason::kFragmentDatagram), 2U);
}

TEST_F(Fragments, PropertyAnyOrderForwardsThemAll) {
  EXPECT_TRUE(
      rc::check("order does not matter", [this](std::uint32_t seed, bool is_v6, bool is_permitted) {
        use({});
        out_.clear();
        keys_.clear();
        handles_.clear();
        const unsigned mtu = 72 + seed % 200;
        std::string text = is_v6 ? "ipv6" : "ipv4 id=9";
        text += " / udp / payload len=" + std::to_string(200 + seed % 1200);
        auto parts = pieces(text, mtu);
        RC_PRE(parts.size() <= 64U);
        auto random = seed | 1U;
        for (std::size_t n = parts.size(); n > 1; --n) {
          random = random * 1664525U + 1013904223U;
          std::swap(parts[n - 1], parts[random % n]);
        }
        for (std::size_t at = 0; at < parts.size();) {
          random = random * 1664525U + 1013904223U;
          const std::size_t n = std::min<std::size_t>(random % 5, parts.size() - at);
          turn({parts.begin() + static_cast<std::ptrdiff_t>(at),
                parts.begin() + static_cast<std::ptrdiff_t>(at + n)},
               is_permitted ? Verdict::kForward : Verdict::kDrop);
          at += n;
        }
        do turn({}, is_permitted ? Verdict::kForward : Verdict::kDrop);
        while (is_waiting_);
        RC_ASSERT(out_.size() == parts.size());
        RC_ASSERT(count(Verdict::kForward) == (is_permitted ? parts.size() : 0U));
        RC_ASSERT(std::set<void*>(handles_.begin(), handles_.end()).size() == parts.size());
        RC_ASSERT(table_->held_count() == 0U);
        RC_ASSERT(!is_permitted || keys_.size() == 1U);
        RC_ASSERT(!is_permitted || table_->datagram_count() == 0U);
      }));
}

TEST_F(Fragments, FortyFivePiecesLastFirst) {
  auto parts = pieces("ipv4 id=2 / udp / payload len=65000", 1500);
  ASSERT_EQ(parts.size(), 44U);
  std::reverse(parts.begin(), parts.end());
  for (const Bytes& p : parts) turn({p});
  turn({});
  EXPECT_EQ(count(Verdict::kForward), 44U);
}

TEST_F(Fragments, OverlapCondemnsTheDatagram) {
  turn({packet("ipv4 id=3 mf / udp len=200 / payload len=24"),
        packet("ipv4 id=3 mf frag=64 proto=17 / payload len=32")});
  turn({packet("ipv4 id=3 mf frag=56 proto=17 / payload len=16")});
  turn({packet("ipv4 id=3 frag=96 proto=17 / payload len=16")});
  EXPECT_EQ(count(DropReason::kFragmentOverlap), 1U);
  EXPECT_EQ(count(DropReason::kFragmentDatagram), 1U);
  EXPECT_EQ(count(Verdict::kForward), 2U);
}

TEST_F(Fragments, OverlapInTheSameBurstStopsTheFirst) {
  turn({packet("ipv4 id=3 mf / udp len=200 / payload len=24"),
        packet("ipv4 id=3 frag=24 proto=17 / payload len=32")});
  EXPECT_EQ(count(DropReason::kFragmentOverlap), 1U);
  EXPECT_EQ(count(DropReason::kFragmentDatagram), 1U);
  EXPECT_EQ(count(Verdict::kForward), 0U);
}

TEST_F(Fragments, ExactDuplicateIsRefusedAlone) {
  const auto parts = pieces(kUdp4, 120);
  turn({parts[0]});
  turn({parts[1]});
  turn({parts[1]});
  turn({parts[0]});
  turn({parts[2]});
  EXPECT_EQ(count(DropReason::kFragmentOverlap), 2U);
  EXPECT_EQ(count(Verdict::kForward), 3U);
  EXPECT_EQ(table_->datagram_count(), 0U);
}

TEST_F(Fragments, ContradictoryEndsAreInvalid) {
  turn({packet("ipv4 id=3 frag=64 proto=17 / payload len=16")});
  turn({packet("ipv4 id=3 mf frag=128 proto=17 / payload len=16")});
  turn({});
  EXPECT_EQ(count(DropReason::kFragmentInvalid), 1U);
  EXPECT_EQ(count(DropReason::kFragmentDatagram), 1U);
  turn({packet("ipv4 id=4 mf frag=128 proto=17 / payload len=16"),
        packet("ipv4 id=4 frag=64 proto=17 / payload len=16")});
  EXPECT_EQ(count(DropReason::kFragmentInvalid), 2U);
}

TEST_F(Fragments, RefusedByTheParserRefusesTheRest) {
  turn({packet("ipv4 id=3 mf proto=6 / payload len=16")});
  turn({packet("ipv4 id=3 frag=16 proto=6 / payload len=16")});
  EXPECT_EQ(count(DropReason::kFragmentTiny), 1U);
  EXPECT_EQ(count(DropReason::kFragmentDatagram), 1U);
}

TEST_F(Fragments, WhatTellsDatagramsApart) {
  const std::string rest = " / payload len=16";
  for (const char* other :
       {"ipv4 id=3 frag=64 proto=17", "ipv4 id=4 frag=64 proto=17", "ipv4 id=3 frag=64 proto=50",
        "ipv4 id=3 frag=64 proto=17 dst=1.2.3.4",
        "ipv4 src=198.51.100.1 dst=192.0.2.1 id=3 frag=64 proto=17",
        "vlan 9 / ipv4 id=3 frag=64 proto=17", "ipv6 / frag id=3 offset=64 next=17"})
    turn({packet(other + rest)});
  EXPECT_EQ(table_->datagram_count(), 7U);
  turn({packet("ipv6 / dstopts / frag id=3 offset=128 next=6 / payload len=16")});
  EXPECT_EQ(table_->datagram_count(), 7U)
      << "extension headers in front and the next header do not matter";
}

TEST_F(Fragments, LimitPerDatagram) {
  FragmentOptions o;
  o.max_fragments = 3;
  use(o);
  for (unsigned n = 1; n <= 4; ++n)
    turn({packet("ipv4 id=3 mf frag=" + std::to_string(64 * n) + " proto=17 / payload len=16")});
  turn({});
  EXPECT_EQ(count(DropReason::kFragmentLimit), 1U);
  EXPECT_EQ(count(DropReason::kFragmentDatagram), 3U);
}

TEST_F(Fragments, FullTableRefusesNewDatagramsUntilOldOnesExpire) {
  FragmentOptions o;
  o.max_datagrams = 2;
  use(o);
  const auto piece = [](unsigned id) {
    return packet("ipv4 frag=64 proto=17 id=" + std::to_string(id) + " / payload len=16");
  };
  turn({piece(1)});
  now_ += 10;
  turn({piece(2)});
  turn({piece(3)});
  EXPECT_EQ(count(DropReason::kFragmentTableFull), 1U);
  now_ += o.timeout_v4 - 10;
  turn({piece(4)});
  EXPECT_EQ(count(DropReason::kFragmentTableFull), 1U);
  EXPECT_EQ(table_->datagram_count(), 2U);
  expire();
  EXPECT_EQ(count(DropReason::kFragmentTimeout), 1U);
  now_ += 10;
  expire();
  EXPECT_EQ(count(DropReason::kFragmentTimeout), 2U);
  EXPECT_EQ(table_->held_count(), 1U);
}

TEST_F(Fragments, NoRoomToHold) {
  FragmentOptions o;
  o.max_held = 1;
  use(o);
  turn({packet("ipv4 id=1 mf frag=64 proto=17 / payload len=16")});
  turn({packet("ipv4 id=1 frag=80 proto=17 / payload len=16")});
  turn({packet("ipv4 id=2 frag=80 proto=17 / payload len=16")});
  EXPECT_EQ(count(DropReason::kFragmentTableFull), 1U);
  EXPECT_EQ(count(DropReason::kFragmentDatagram), 1U) << "the held one can't be completed any more";
  EXPECT_EQ(table_->held_count(), 1U);
}

TEST_F(Fragments, TimeoutsDifferByFamily) {
  turn({packet("ipv4 id=1 frag=64 proto=17 / payload len=16"),
        packet("ipv6 / frag id=1 offset=64 next=17 / payload len=16")});
  now_ += 29'999;
  expire();
  EXPECT_EQ(count(DropReason::kFragmentTimeout), 0U);
  now_ += 1;
  expire();
  EXPECT_EQ(count(DropReason::kFragmentTimeout), 1U);
  now_ += 30'000;
  expire();
  EXPECT_EQ(count(DropReason::kFragmentTimeout), 2U);
  EXPECT_EQ(table_->datagram_count(), 0U);
}

TEST_F(Fragments, ReusedIdentificationAfterTheTimeoutStartsAnew) {
  turn({packet("ipv4 id=1 frag=64 proto=17 / payload len=16")});
  now_ += 31'000;
  turn({packet("ipv4 id=1 frag=64 proto=17 / payload len=16")});
  EXPECT_EQ(count(DropReason::kFragmentOverlap), 0U);
  EXPECT_EQ(table_->datagram_count(), 1U);
  expire();
  EXPECT_EQ(count(DropReason::kFragmentTimeout), 1U);
}

TEST_F(Fragments, AtomicFragmentPasses) {
  turn({packet("ipv6 / frag id=1 / udp / payload len=16")});
  EXPECT_EQ(count(Verdict::kForward), 1U);
  EXPECT_EQ(table_->counters().fragments, 0U);
}

TEST_F(Fragments, OneHashForAllFragments) {
  for (const char* text : {kUdp4, kUdp6}) {
    std::set<std::uint64_t> hashes;
    burst_.clear();
    for (const Bytes& p : pieces(text, 120)) burst_.add(p);
    burst_.parse();
    for (unsigned i = 0; i < burst_->count; ++i) hashes.insert(fragment_hash(*burst_, i, {}));
    EXPECT_EQ(hashes.size(), 1U);
    EXPECT_EQ(hashes.count(0), 0U);
  }
}

}  // namespace
}  // namespace merlon::packet
