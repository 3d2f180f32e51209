// SPDX-License-Identifier: Apache-2.0
// DPDK ports over kernel interfaces, in a network namespace that lives as long as the test; root
// only.
#include <gtest/gtest.h>
#include <sched.h>

#include <string>

#include "dpdk_fixture.h"
#include "merlon/io/af_packet_port.h"
#include "netns_fixture.h"

namespace merlon::io {
namespace {

using test::open_port;
using test::receive_frames;
using test::run;
using test::send_frames;
using test::test_frame;

class Namespace : public test::VethNamespace {
 protected:
  // The kernel activates an interface some time after its carrier came: what is sent before is
  // lost.
  static void expect_carries_in_time(DpdkPort& from, DpdkPort& to) {
    std::vector<std::vector<base::Byte>> frames;
    for (unsigned turn = 0; turn < 50 && frames.empty(); ++turn) {
      send_frames(from, 16);
      frames = receive_frames(to, 16);
    }
    ASSERT_FALSE(frames.empty()) << from.info().driver << " sent " << from.counters().tx_packets
                                 << " to " << to.info().driver;
    EXPECT_EQ(frames[0], test_frame(0));
  }

  // The kernel tells a change of carrier up to a second late.
  static bool link_changes(DpdkPort& port) {
    for (unsigned turn = 0; turn < 5'000'000; ++turn) {
      if (port.poll_link()) return true;
      ::sched_yield();
    }
    return false;
  }

  static void expect_carries(DpdkPort& from, DpdkPort& to) {
    EXPECT_EQ(send_frames(from, 16), 16u);
    const auto frames = receive_frames(to, 16);
    ASSERT_EQ(frames.size(), 16u);
    EXPECT_EQ(frames[15], test_frame(15));
  }
};

TEST_F(Namespace, AfPacketOverVeth) {
  auto a = open_port(af_packet_device("a", "va"));
  auto b = open_port(af_packet_device("b", "vb"));
  ASSERT_TRUE(a != nullptr && b != nullptr);
  expect_carries(*a, *b);
  expect_carries(*b, *a);
  const PortInfo i = a->info();
  EXPECT_EQ(i.driver, "net_af_packet");
  EXPECT_TRUE(i.is_link_up);
  EXPECT_EQ(i.speed_mbps, 10'000u);
  EXPECT_EQ(i.mtu, 1500);
  EXPECT_NE(i.mac, base::MacAddress{});
}

// Our own AF_PACKET port beside DPDK's ports: frames in chains of mbufs, there and back.
TEST_F(Namespace, OwnPortOverDpdkMemoryKeepsFramesWhole) {
  ASSERT_TRUE(run("ip link set va mtu 65535 && ip link set vb mtu 65535"));
  const auto buffers = *BufferPool::create({.small_count = 512, .large_count = 32});
  AfPacketPortSettings s;
  s.name = s.interface = "va";
  s.frame_size = 1518;
  auto native = AfPacketPort::create(s, buffers);
  s.name = s.interface = "vb";
  auto own = AfPacketPort::create(s, test::shared_pool());
  ASSERT_TRUE(native.ok() && own.ok());
  EXPECT_EQ((*own)->buffer_kind(), BufferKind::kDpdk);
  std::vector<std::vector<base::Byte>> frames;
  for (const std::size_t size : {60U, 1514U, 2048U, 2049U, 9014U, 65'549U}) {
    frames.push_back(test_frame(static_cast<unsigned>(size % 251), size));
    auto tagged = frames.back();
    const base::Byte tag[] = {0x88, 0xa8, 0, 100};
    tagged.insert(tagged.begin() + 12, std::begin(tag), std::end(tag));
    frames.push_back(tagged);
  }
  frames.pop_back();  // with a tag it is larger than the interface takes
  for (const auto& f : frames) {
    base::Byte* data = nullptr;
    void* h = (*native)->allocate(0, static_cast<std::uint32_t>(f.size()), data);
    ASSERT_NE(h, nullptr);
    std::copy(f.begin(), f.end(), data);
    (*native)->set_length(h, static_cast<std::uint32_t>(f.size()));
    ASSERT_EQ((*native)->transmit(0, &h, 1), 1u);
    packet::Burst burst;
    std::vector<base::Byte> back;
    for (unsigned turn = 0; turn < 10'000 && back.empty(); ++turn) {
      burst.count = 0;
      (*own)->receive(0, burst, 64);
      EXPECT_EQ((*own)->transmit(0, burst.handle.data(), burst.count), burst.count);
      burst.count = 0;
      (*native)->receive(0, burst, 64);
      for (unsigned i = 0; i < burst.count; ++i)
        if (burst.length[i] == f.size())
          back.assign(burst.data[i], burst.data[i] + burst.captured[i]);
      (*native)->release(0, burst.handle.data(), burst.count);
    }
    EXPECT_EQ(back, f) << f.size();
  }
  EXPECT_EQ((*own)->counters().rx_cut, 0u);
}

TEST_F(Namespace, LinkOfAnInterfaceIsFollowed) {
  auto a = open_port(af_packet_device("a", "va"));
  ASSERT_NE(a, nullptr);
  EXPECT_FALSE(a->poll_link());
  ASSERT_TRUE(run("ip link set vb down"));
  EXPECT_TRUE(link_changes(*a));
  EXPECT_FALSE(a->info().is_link_up);
  ASSERT_TRUE(run("ip link set vb up"));
  EXPECT_TRUE(link_changes(*a));
  EXPECT_TRUE(a->info().is_link_up);
  // Held down by us: the peer loses its carrier, and nothing is reported here.
  ASSERT_TRUE(a->set_link(false).ok());
  EXPECT_TRUE(run("test \"$(ip -br link show vb | grep -c NO-CARRIER)\" = 1"));
  EXPECT_TRUE(a->info().is_held_down);
  EXPECT_FALSE(a->poll_link());
  ASSERT_TRUE(a->set_link(true).ok());
  EXPECT_FALSE(a->info().is_held_down);
  EXPECT_TRUE(link_changes(*a));
  EXPECT_TRUE(a->info().is_link_up);
}

TEST_F(Namespace, AfPacketWorksAgainAfterTheLinkWasDown) {
  auto a = open_port(af_packet_device("a", "va"));
  auto b = open_port(af_packet_device("b", "vb"));
  ASSERT_TRUE(a != nullptr && b != nullptr);
  ASSERT_TRUE(a->set_link(false).ok());
  ASSERT_TRUE(a->set_link(true).ok());
  expect_carries_in_time(*a, *b);
  expect_carries_in_time(*b, *a);
}

TEST_F(Namespace, TapMeetsTheKernel) {
  auto tap = open_port(tap_device("t", "mtap"));
  ASSERT_NE(tap, nullptr);
  auto probe = open_port(af_packet_device("p", "mtap"));
  ASSERT_NE(probe, nullptr);
  expect_carries(*tap, *probe);
  expect_carries(*probe, *tap);
  EXPECT_EQ(tap->info().driver, "net_tap");
}

TEST_F(Namespace, AfXdpOverVeth) {
  DpdkPortSettings s;
  s.name = "x";
  s.device = af_xdp_device("x", "va");
  s.link_wait_ms = 0;
  auto x = DpdkPort::create(s, test::shared_pool());
  if (!x.ok()) GTEST_SKIP() << x.error().to_string();
  auto b = open_port(af_packet_device("b", "vb"));
  ASSERT_NE(b, nullptr);
  expect_carries_in_time(**x, *b);
  expect_carries_in_time(*b, **x);
  EXPECT_EQ((*x)->info().driver, "net_af_xdp");
  EXPECT_TRUE((*x)->info().is_link_up);
}

TEST_F(Namespace, MissingInterfaceIsTold) {
  DpdkPortSettings s;
  s.name = "wan";
  s.device = af_packet_device("w", "nosuch");
  auto port = DpdkPort::create(s, test::shared_pool());
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, base::Errc::kNotFound);
}

}  // namespace
}  // namespace merlon::io
