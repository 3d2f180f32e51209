// SPDX-License-Identifier: Apache-2.0
// The AF_PACKET port over a veth pair in a network namespace of the test; root only.
#include "merlon/io/af_packet_port.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <numeric>
#include <set>

#include "merlon/packet/checksum.h"
#include "netns_fixture.h"

namespace merlon::io {
namespace {

using Frame = std::vector<base::Byte>;
using test::run;

// EtherType 0x88b5 (local experimental) unless said: what the kernel sends by itself is told apart.
Frame frame_of(std::size_t size, std::vector<base::Byte> type = {0x88, 0xb5}, unsigned seed = 1) {
  Frame f(size);
  for (std::size_t i = 12; i < size; ++i) f[i] = static_cast<base::Byte>(i * 7 + i / 256 + seed);
  const base::Byte macs[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
  std::copy(std::begin(macs), std::end(macs), f.begin());
  // A frame may be too short for its type.
  std::copy_n(type.begin(), std::min(type.size(), size - 12), f.begin() + 12);
  return f;
}

// An IPv4 frame with a transport header at byte 34 whose checksum is `offset` bytes into it; the
// field holds the sum of the pseudo header, as a sender leaves it for hardware.
Frame unfinished(std::uint8_t protocol, unsigned offset, std::size_t payload) {
  Frame f = frame_of(34 + 20 + payload, {0x08, 0x00});
  const auto total = static_cast<std::uint16_t>(f.size() - 14);
  const base::Byte ip[] = {0x45,
                           0,
                           static_cast<base::Byte>(total >> 8),
                           static_cast<base::Byte>(total),
                           0,
                           1,
                           0x40,
                           0,
                           64,
                           protocol,
                           0,
                           0,
                           10,
                           9,
                           0,
                           1,
                           10,
                           10,
                           0,
                           1};
  std::copy(std::begin(ip), std::end(ip), f.begin() + 14);
  base::store_be<std::uint16_t>(f.data() + 24, packet::internet_checksum({f.data() + 14, 20}));
  if (protocol == 6) f[46] = 0x50;  // a TCP header of 20 bytes
  if (protocol == 17)
    base::store_be<std::uint16_t>(f.data() + 38, static_cast<std::uint16_t>(total - 20));
  const auto sum = packet::pseudo_header_sum(
      base::IpAddress::v4(0x0a090001), base::IpAddress::v4(0x0a0a0001), protocol, total - 20U);
  base::store_be<std::uint16_t>(f.data() + 34 + offset,
                                static_cast<std::uint16_t>(~packet::checksum_finish(sum)));
  return f;
}

bool is_transport_checksum_right(const Frame& f, unsigned l3 = 14) {
  return packet::transport_checksum(base::IpAddress::v4(0x0a090001),
                                    base::IpAddress::v4(0x0a0a0001), f[l3 + 9],
                                    {f.data() + l3 + 20, f.size() - l3 - 20}) == 0;
}

class AfPacket : public test::VethNamespace {
 protected:
  static std::shared_ptr<BufferPool> pool(std::uint32_t small = 2048, std::uint32_t large = 32) {
    return *BufferPool::create({.small_count = small, .large_count = large});
  }
  static std::unique_ptr<AfPacketPort> open(AfPacketPortSettings s,
                                            std::shared_ptr<BufferPool> buffers = pool()) {
    s.name = s.interface;
    auto port = AfPacketPort::create(s, std::move(buffers));
    EXPECT_TRUE(port.ok()) << port.error().to_string();
    return port.ok() ? std::move(*port) : nullptr;
  }
  static std::unique_ptr<AfPacketPort> open_plain(const std::string& interface) {
    return open({.interface = interface});
  }
  static unsigned send(AfPacketPort& port, const std::vector<Frame>& frames,
                       const FrameOffload& offload = {}) {
    std::vector<void*> handles;
    for (const Frame& f : frames) {
      base::Byte* data = nullptr;
      void* h = port.allocate(0, static_cast<std::uint32_t>(f.size()), data);
      if (h == nullptr) break;
      std::copy(f.begin(), f.end(), data);
      port.set_length(h, static_cast<std::uint32_t>(f.size()));
      static_cast<Buffer*>(h)->offload = offload;
      handles.push_back(h);
    }
    return port.transmit(0, handles.data(), static_cast<unsigned>(handles.size()));
  }
  // What comes in until nothing has come for a while; the kernel's own frames are left out.
  static std::vector<Frame> receive(AfPacketPort& port, unsigned queue = 0,
                                    std::vector<FrameOffload>* notes = nullptr) {
    std::vector<Frame> frames;
    packet::Burst burst;
    for (unsigned idle = 0; idle < 2000; ++idle) {
      burst.count = 0;
      port.receive(queue, burst, packet::Burst::kCapacity);
      for (unsigned i = 0; i < burst.count; ++i) {
        const base::Byte* d = burst.data[i];
        if (burst.captured[i] < 14 || d[0] != 2 || d[5] > 9) continue;
        frames.emplace_back(d, d + burst.captured[i]);
        if (notes != nullptr) notes->push_back(static_cast<Buffer*>(burst.handle[i])->offload);
      }
      port.release(queue, burst.handle.data(), burst.count);
      if (burst.count != 0) idle = 0;
      ::sched_yield();
    }
    return frames;
  }
  static void expect_carries(AfPacketPort& from, AfPacketPort& to,
                             const std::vector<Frame>& frames) {
    EXPECT_EQ(send(from, frames), frames.size());
    const auto got = receive(to);
    ASSERT_EQ(got.size(), frames.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], frames[i]) << "frame " << i;
  }
  // After a change of link the kernel takes some time before it carries frames.
  static bool carries_in_time(AfPacketPort& from, AfPacketPort& to) {
    for (unsigned turn = 0; turn < 200; ++turn) {
      send(from, {frame_of(60)});
      if (!receive(to).empty()) return true;
    }
    return false;
  }
  static bool link_changes(AfPacketPort& port) {
    for (unsigned turn = 0; turn < 5'000'000; ++turn) {
      if (port.poll_link()) return true;
      ::sched_yield();
    }
    return false;
  }
};

TEST_F(AfPacket, FramesCrossBothWaysAndOwnOnesAreNotHeard) {
  auto a = open_plain("va"), b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  std::vector<Frame> frames;
  for (unsigned i = 0; i < 100; ++i) frames.push_back(frame_of(60 + i, {0x88, 0xb5}, i));
  expect_carries(*a, *b, frames);
  expect_carries(*b, *a, frames);
  EXPECT_TRUE(receive(*a).empty());
  EXPECT_TRUE(receive(*b).empty());
  const auto sent = std::accumulate(frames.begin(), frames.end(), std::size_t{0},
                                    [](std::size_t n, const Frame& f) { return n + f.size(); });
  const PortCounters c = a->counters();
  EXPECT_EQ(c.tx_packets, 100u);
  EXPECT_EQ(c.tx_bytes, sent);
  EXPECT_GE(c.rx_packets, 100u);
  EXPECT_GE(c.rx_bytes, sent);
  EXPECT_EQ(c.tx_errors + c.tx_dropped + c.rx_errors + c.rx_dropped + c.rx_cut, 0u);
}

TEST_F(AfPacket, TellsWhatItIs) {
  auto a = open_plain("va");
  ASSERT_NE(a, nullptr);
  const PortInfo i = a->info();
  EXPECT_EQ(i.driver, "af_packet");
  EXPECT_EQ(i.device, "va");
  EXPECT_TRUE(i.is_link_up);
  EXPECT_EQ(i.speed_mbps, 10'000u);
  EXPECT_EQ(i.mtu, 1500);
  EXPECT_NE(i.mac, base::MacAddress{});
  EXPECT_FALSE(i.has_rss);
  EXPECT_GE(a->fd(0), 0);
  EXPECT_EQ(a->fd(1), -1);
}

TEST_F(AfPacket, TagsStayAsTheyWere) {
  auto a = open_plain("va"), b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  expect_carries(*a, *b,
                 {frame_of(64, {0x81, 0x00, 0x60, 0x64, 0x88, 0xb5}),  // 802.1Q, priority 3
                  frame_of(64, {0x81, 0x00, 0xa0, 0x00, 0x88, 0xb5}),  // priority tag, VLAN 0
                  frame_of(64, {0x81, 0x00, 0x10, 0x05, 0x88, 0xb5}),  // DEI set
                  frame_of(64, {0x88, 0xa8, 0x00, 0x64, 0x88, 0xb5}),  // 802.1ad
                  frame_of(72, {0x88, 0xa8, 0x00, 0x64, 0x81, 0x00, 0x00, 0xc8, 0x88, 0xb5}),
                  frame_of(72, {0x81, 0x00, 0x00, 0x64, 0x81, 0x00, 0x00, 0xc8, 0x88, 0xb5}),
                  frame_of(72, {0x88, 0xa8, 0x00, 0x64, 0x88, 0xa8, 0x00, 0xc8, 0x88, 0xb5}),
                  frame_of(1518, {0x81, 0x00, 0x00, 0x64, 0x88, 0xb5})});
}

TEST_F(AfPacket, FragmentsAreNotJoined) {
  auto a = open_plain("va"), b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  std::vector<Frame> fragments;
  for (unsigned i = 0; i < 3; ++i) {
    Frame f = unfinished(17, 6, 1460);
    base::store_be<std::uint16_t>(f.data() + 20,
                                  static_cast<std::uint16_t>((i < 2 ? 0x2000 : 0) | i * 185));
    f[24] = f[25] = 0;
    base::store_be<std::uint16_t>(f.data() + 24, packet::internet_checksum({f.data() + 14, 20}));
    fragments.push_back(f);
  }
  std::swap(fragments[0], fragments[2]);
  expect_carries(*a, *b, fragments);
}

TEST_F(AfPacket, AnySizeArrivesWhole) {
  ASSERT_TRUE(run("ip link set va mtu 65535 && ip link set vb mtu 65535"));
  auto a = open_plain("va");
  auto b = open({.interface = "vb", .frame_size = 1518});
  ASSERT_TRUE(a != nullptr && b != nullptr);
  std::vector<Frame> frames;
  for (const std::size_t size : {14u, 15u, 59u, 1514u, 1940u, 1960u, 1980u, 2048u, 4096u, 9014u,
                                 16'000u, 65'535u, 65'549u, 60u})
    frames.push_back(frame_of(size));
  frames.push_back(frame_of(9018, {0x88, 0xa8, 0x00, 0x64, 0x88, 0xb5}));
  expect_carries(*a, *b, frames);
  EXPECT_GE(b->details().rx_large, 6u);
  EXPECT_EQ(b->counters().rx_cut, 0u);
  // Slots that fit need no system call.
  b = open({.interface = "vb", .rx_frames = 32, .frame_size = 65'549});
  ASSERT_NE(b, nullptr);
  expect_carries(*a, *b, frames);
  EXPECT_EQ(b->details().rx_large, 0u);
}

TEST_F(AfPacket, FrameWithoutKernelMemoryIsCutAndCountedAndNotSentOn) {
  ASSERT_TRUE(run("ip link set va mtu 65535 && ip link set vb mtu 65535"));
  auto a = open({.interface = "va", .frame_size = 1518});
  auto b = open({.interface = "vb", .frame_size = 1518, .rx_large_bytes = 4096});
  ASSERT_TRUE(a != nullptr && b != nullptr);
  send(*a, {frame_of(60'000), frame_of(60'000), frame_of(60'000)});
  packet::Burst burst;
  b->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 3u);
  EXPECT_EQ(burst.captured[0], 60'000u);
  EXPECT_LT(burst.captured[2], 2048u);
  EXPECT_EQ(burst.length[2], 60'000u);
  EXPECT_EQ(b->counters().rx_cut, 2u);
  EXPECT_EQ(b->transmit(0, burst.handle.data(), 3), 1u);
  EXPECT_EQ(b->counters().tx_errors, 2u);
}

TEST_F(AfPacket, FrameTooLargeIsCountedAndHoldsNothingUp) {
  auto a = open_plain("va"), b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(send(*a, {frame_of(60), frame_of(1600), frame_of(61), frame_of(3000), frame_of(13),
                      frame_of(62)}),
            3u);
  const auto got = receive(*b);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[2], frame_of(62));
  EXPECT_EQ(a->counters().tx_packets, 3u);
  EXPECT_EQ(a->counters().tx_errors, 3u);
  EXPECT_EQ(a->details().tx_too_large, 2u);
}

TEST_F(AfPacket, FullRingIsCounted) {
  auto a = open_plain("va");
  auto b = open({.interface = "vb", .rx_frames = 32});
  ASSERT_TRUE(a != nullptr && b != nullptr);
  receive(*b);
  const auto before = b->counters();
  for (unsigned i = 0; i < 10; ++i) EXPECT_EQ(send(*a, std::vector<Frame>(20, frame_of(60))), 20u);
  const auto got = receive(*b).size();
  EXPECT_GE(got, 16u);
  EXPECT_LE(got, 32u);
  const auto c = b->counters();
  EXPECT_EQ(c.rx_packets - before.rx_packets + c.rx_dropped - before.rx_dropped, 200u);
  EXPECT_EQ(b->counters().rx_dropped, c.rx_dropped);  // not told twice, not forgotten
  EXPECT_EQ(c.rx_ring_full, c.rx_dropped);
  EXPECT_EQ(b->details().rx_ring_full, c.rx_dropped);
}

TEST_F(AfPacket, FramesWaitInTheRingForBuffers) {
  auto a = open_plain("va");
  auto b = open({.interface = "vb"}, pool(4, 0));
  ASSERT_TRUE(a != nullptr && b != nullptr);
  receive(*b);
  std::vector<Frame> frames;
  for (unsigned i = 0; i < 8; ++i) frames.push_back(frame_of(60, {0x88, 0xb5}, i));
  send(*a, frames);
  packet::Burst burst;
  b->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 4u);
  packet::Burst more;
  b->receive(0, more, 64);
  EXPECT_EQ(more.count, 0u);
  b->release(0, burst.handle.data(), 4);
  b->receive(0, more, 64);
  ASSERT_EQ(more.count, 4u);
  EXPECT_EQ(Frame(more.data[3], more.data[3] + 60), frames[7]);
  b->release(0, more.handle.data(), 4);
  EXPECT_EQ(b->counters().rx_dropped, 0u);
}

TEST_F(AfPacket, BurstIsFilledUpToTheLimit) {
  auto a = open_plain("va"), b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  send(*a, std::vector<Frame>(40, frame_of(60)));
  packet::Burst burst;
  b->receive(0, burst, 10);
  EXPECT_EQ(burst.count, 10u);
  b->receive(0, burst, 16);
  EXPECT_EQ(burst.count, 16u);
  b->receive(0, burst, 16);
  EXPECT_EQ(burst.count, 16u);
  b->receive(0, burst, 1000);
  EXPECT_EQ(burst.count, 40u);
  b->release(0, burst.handle.data(), burst.count);
}

TEST_F(AfPacket, QueuesShareFramesAndKeepConversationsTogether) {
  auto a = open_plain("va");
  auto b = open({.interface = "vb", .rx_queues = 4});
  ASSERT_TRUE(a != nullptr && b != nullptr);
  std::vector<Frame> frames;
  for (std::uint16_t c = 0; c < 64; ++c) {
    for (const bool back : {false, true}) {
      Frame f = unfinished(17, 6, 20);
      const auto client = static_cast<std::uint16_t>(2000 + c);
      base::store_be<std::uint16_t>(f.data() + 34, back ? 53 : client);
      base::store_be<std::uint16_t>(f.data() + 36, back ? client : 53);
      if (back) std::swap_ranges(f.begin() + 26, f.begin() + 30, f.begin() + 30);
      frames.push_back(f);
    }
  }
  EXPECT_EQ(send(*a, frames), 128u);
  std::map<unsigned, std::set<unsigned>> queues_of;
  std::set<unsigned> used;
  unsigned total = 0;
  for (unsigned q = 0; q < 4; ++q) {
    for (const Frame& f : receive(*b, q)) {
      if (f[12] != 8 || f[23] != 17) continue;
      const unsigned x = base::load_be<std::uint16_t>(f.data() + 34);
      const unsigned y = base::load_be<std::uint16_t>(f.data() + 36);
      queues_of[std::max(x, y)].insert(q);
      used.insert(q);
      ++total;
    }
  }
  EXPECT_EQ(total, 128u);
  EXPECT_GT(used.size(), 1u);
  ASSERT_EQ(queues_of.size(), 64u);
  for (const auto& [port, queues] : queues_of)
    EXPECT_EQ(queues.size(), 1u) << "client port " << port;
}

TEST_F(AfPacket, ChecksumsLeftToHardwareAreCompleted) {
  auto a = open({.interface = "va", .carries_offloads = true});
  auto b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  for (const auto& [protocol, offset] : {std::pair{6, 16u}, {17, 6u}, {6, 16u}}) {
    const Frame f = unfinished(static_cast<std::uint8_t>(protocol), offset, 101);
    ASSERT_FALSE(is_transport_checksum_right(f));
    FrameOffload note{.flags = FrameOffload::kNeedsChecksum,
                      .checksum_start = 34,
                      .checksum_offset = static_cast<std::uint16_t>(offset)};
    ASSERT_EQ(send(*a, {f}, note), 1u);
    std::vector<FrameOffload> notes;
    const auto got = receive(*b, 0, &notes);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_TRUE(is_transport_checksum_right(got[0])) << protocol;
    EXPECT_TRUE(notes[0].is_none());
  }
  EXPECT_EQ(b->details().rx_checksums_completed, 3u);
}

TEST_F(AfPacket, NotesOfAFrameAreCarriedOn) {
  auto a = open({.interface = "va", .carries_offloads = true});
  auto b = open({.interface = "vb", .carries_offloads = true});
  ASSERT_TRUE(a != nullptr && b != nullptr);
  const Frame whole = unfinished(6, 16, 30'000);
  Frame tagged = unfinished(6, 16, 100);
  const base::Byte tag[] = {0x88, 0xa8, 0, 100};
  tagged.insert(tagged.begin() + 12, std::begin(tag), std::end(tag));
  // VIRTIO_NET_HDR_GSO_TCPV4 is 1.
  ASSERT_EQ(send(*a, {whole},
                 {.flags = 1,
                  .gso_type = 1,
                  .header_length = 54,
                  .segment_length = 1448,
                  .checksum_start = 34,
                  .checksum_offset = 16}),
            1u);
  ASSERT_EQ(send(*a, {tagged}, {.flags = 1, .checksum_start = 38, .checksum_offset = 16}), 1u);
  std::vector<FrameOffload> notes;
  const auto got = receive(*b, 0, &notes);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0], whole);
  EXPECT_EQ(notes[0].flags, FrameOffload::kNeedsChecksum);
  EXPECT_EQ(notes[0].gso_type, 1);
  EXPECT_EQ(notes[0].segment_length, 1448);
  EXPECT_EQ(notes[0].checksum_start, 34);
  EXPECT_EQ(notes[0].checksum_offset, 16);
  EXPECT_EQ(got[1], tagged);
  EXPECT_EQ(notes[1].checksum_start, 38);
  EXPECT_EQ(b->details().rx_super_frames, 1u);
}

TEST_F(AfPacket, ChecksumsAreCompletedWhenTheyWillBeVerifiedAndSuperFramesGoOn) {
  auto a = open({.interface = "va", .carries_offloads = true});
  auto b = open({.interface = "vb", .carries_offloads = true});
  ASSERT_TRUE(a != nullptr && b != nullptr);
  receive(*b);
  b->complete_checksums();
  a->complete_checksums();  // the kernel may have made it a partial one again
  const Frame whole = unfinished(6, 16, 30'000);
  ASSERT_EQ(send(*a, {whole},
                 {.flags = 1,
                  .gso_type = 1,
                  .header_length = 54,
                  .segment_length = 1448,
                  .checksum_start = 34,
                  .checksum_offset = 16}),
            1u);
  packet::Burst burst;
  b->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 1u);
  EXPECT_TRUE(is_transport_checksum_right(Frame(burst.data[0], burst.data[0] + burst.captured[0])));
  EXPECT_EQ(b->transmit(0, burst.handle.data(), 1), 1u);
  std::vector<FrameOffload> notes;
  const auto back = receive(*a, 0, &notes);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_TRUE(is_transport_checksum_right(back[0]));
  EXPECT_EQ(notes[0].gso_type, 1);
  EXPECT_EQ(notes[0].segment_length, 1448);
}

TEST_F(AfPacket, NonsenseInANoteIsRefusedByTheKernelOrUs) {
  auto a = open({.interface = "va", .carries_offloads = true});
  auto b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(send(*a, {unfinished(6, 16, 10)},
                 {.flags = 1, .checksum_start = 60'000, .checksum_offset = 16}),
            0u);
  EXPECT_EQ(send(*a, {unfinished(6, 16, 10)},
                 {.flags = 1,
                  .gso_type = 77,
                  .segment_length = 4,
                  .checksum_start = 34,
                  .checksum_offset = 16}),
            0u);
  EXPECT_EQ(a->counters().tx_errors, 2u);
  expect_carries(*a, *b, {frame_of(60)});
}

TEST_F(AfPacket, KernelStampsAreDelivered) {
  auto a = open_plain("va");
  auto b = open({.interface = "vb", .has_kernel_stamps = true});
  ASSERT_TRUE(a != nullptr && b != nullptr);
  receive(*b);
  const auto now = [] {
    timespec t{};
    ::clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * base::Nanos{1'000'000'000} + t.tv_nsec;
  };
  const base::Nanos before = now();
  send(*a, {frame_of(60), frame_of(60)});
  const base::Nanos after = now();
  packet::Burst burst;
  burst.time.fill(0);
  pollfd p{b->fd(0), POLLIN, 0};
  EXPECT_EQ(::poll(&p, 1, 1000), 1);
  b->receive(0, burst, 64);
  ASSERT_EQ(burst.count, 2u);
  EXPECT_GE(burst.time[0], before);
  EXPECT_LE(burst.time[0], burst.time[1]);
  EXPECT_LE(burst.time[1], after);
  b->release(0, burst.handle.data(), burst.count);
  EXPECT_EQ(::poll(&p, 1, 0), 0);
}

TEST_F(AfPacket, LinkIsFollowedAndSet) {
  auto a = open_plain("va"), b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_FALSE(a->poll_link());
  ASSERT_TRUE(run("ip link set vb down"));
  EXPECT_TRUE(link_changes(*a));
  EXPECT_FALSE(a->info().is_link_up);
  ASSERT_TRUE(run("ip link set vb up"));
  EXPECT_TRUE(link_changes(*a));
  EXPECT_TRUE(a->info().is_link_up);
  ASSERT_TRUE(a->set_link(false).ok());
  EXPECT_TRUE(run("test \"$(ip -br link show vb | grep -c NO-CARRIER)\" = 1"));
  EXPECT_TRUE(a->info().is_held_down);
  EXPECT_FALSE(a->poll_link());
  EXPECT_EQ(send(*a, {frame_of(60), frame_of(60)}), 0u);
  EXPECT_EQ(a->counters().tx_dropped, 2u);
  EXPECT_EQ(a->details().tx_link_down, 2u);
  ASSERT_TRUE(a->set_link(true).ok());
  EXPECT_TRUE(carries_in_time(*a, *b));
  EXPECT_TRUE(carries_in_time(*b, *a));
}

TEST_F(AfPacket, DeletedInterfaceIsALinkDownAndItsSuccessorIsFollowed) {
  auto a = open_plain("va"), b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  ASSERT_TRUE(run("ip link del va"));
  EXPECT_TRUE(a->poll_link());
  EXPECT_FALSE(a->info().is_link_up);
  EXPECT_TRUE(receive(*a).empty());
  EXPECT_EQ(send(*a, std::vector<Frame>(3, frame_of(60))), 0u);
  EXPECT_EQ(a->counters().tx_dropped, 3u);
  EXPECT_FALSE(a->set_link(true).ok());
  ASSERT_TRUE(make_pair());
  EXPECT_TRUE(link_changes(*a));
  b->poll_link();
  EXPECT_TRUE(carries_in_time(*a, *b));
  EXPECT_TRUE(carries_in_time(*b, *a));
}

TEST_F(AfPacket, StaysWithItsNamespace) {
  auto a = open_plain("va"), b = open_plain("vb");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  const int inside = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::setns(home(), CLONE_NEWNET), 0);
  EXPECT_FALSE(a->poll_link());
  EXPECT_EQ(a->info().mtu, 1500);
  expect_carries(*a, *b, {frame_of(60)});
  ASSERT_EQ(::setns(inside, CLONE_NEWNET), 0);
  ::close(inside);
}

TEST_F(AfPacket, RefusesWhatItCantOpen) {
  const auto code = [](const AfPacketPortSettings& s) {
    auto port = AfPacketPort::create(s, pool(64, 0));
    EXPECT_FALSE(port.ok());
    return port.ok() ? base::Errc::kInternal : port.error().code;
  };
  EXPECT_EQ(code({.name = "p", .interface = "nosuch"}), base::Errc::kNotFound);
  EXPECT_EQ(code({.name = "p", .interface = "va", .rx_queues = 0}), base::Errc::kInvalidValue);
  EXPECT_EQ(code({.name = "p", .interface = "va", .tx_queues = 65}), base::Errc::kInvalidValue);
  EXPECT_EQ(code({.name = "p", .interface = "va", .rx_frames = 1U << 30}),
            base::Errc::kInvalidValue);
  EXPECT_EQ(code({.name = "p", .interface = "va", .mtu = 20}), base::Errc::kInvalidValue);
}

}  // namespace
}  // namespace merlon::io
