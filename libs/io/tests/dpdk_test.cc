// SPDX-License-Identifier: Apache-2.0
// DPDK ports that need neither root nor network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "dpdk_fixture.h"
#include "merlon/io/pcap_file.h"

namespace merlon::io {
namespace {

using test::open_port;
using test::receive_frames;
using test::send_frames;
using test::shared_pool;
using test::test_frame;
using ::testing::HasSubstr;

class DpdkEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    cpu_set_t before, after;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    DpdkOptions o;
    o.memory_mib = 96;
    o.huge_pages = DpdkOptions::HugePages::kNever;
    auto r = Dpdk::start(o);
    ASSERT_TRUE(r.ok()) << r.error().to_string();
    ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
    MbufPoolSettings p;
    p.count = 8191;
    auto pool = MbufPool::create(p);
    ASSERT_TRUE(pool.ok()) << pool.error().to_string();
    shared_pool() = *pool;
  }
  void TearDown() override {
    shared_pool().reset();
    Dpdk::stop();
    EXPECT_FALSE(Dpdk::start({}).ok());
  }
};
const auto* const g_environment = ::testing::AddGlobalTestEnvironment(new DpdkEnvironment);

TEST(DpdkEal, StartingTwiceIsFine) {
  EXPECT_TRUE(Dpdk::start({}).ok());
  EXPECT_FALSE(Dpdk::uses_huge_pages());
  EXPECT_THAT(Dpdk::arguments(), ::testing::Contains("--no-huge"));
}

TEST(DpdkEal, FreeHugeMemoryIsTheSumOfSizes) {
  char path[] = "/tmp/merlon-huge-XXXXXX";
  ASSERT_NE(::mkdtemp(path), nullptr);
  const std::filesystem::path root = path;
  const auto add = [&](const char* size, const char* pages) {
    const auto folder = root / "kernel/mm/hugepages" / size;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "free_hugepages") << pages << "\n";
  };
  add("hugepages-2048kB", "100");
  add("hugepages-1048576kB", "2");
  EXPECT_EQ(Dpdk::free_huge_memory_mib(path), 200u + 2048u);
  std::filesystem::remove_all(root);
  EXPECT_EQ(Dpdk::free_huge_memory_mib(path), 0u);
}

TEST(DpdkEal, OtherThreadsGetAnIdentity) {
  bool first = false, second = true;
  std::thread([&] {
    const DpdkThread outer;
    first = outer.is_registered();
    const DpdkThread inner;  // has one already
    second = inner.is_registered();
  }).join();
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
}

TEST(MbufSizing, CoversQueuesWorkersAndRings) {
  MbufDemand d;
  d.rx_queues = 4;
  d.tx_queues = 4;
  d.workers = 2;
  // 4096 + 4096 + 2 * 1152 + 2 * 1024 + 4 * 384 = 14080
  EXPECT_EQ(mbufs_needed(d), 16'383u);
  d.held_packets = 4096;
  EXPECT_EQ(mbufs_needed(d), 32'767u);
  EXPECT_GT(mbuf_memory_size(16'383, 2048), 16'383u * 2048u);
  EXPECT_LT(mbuf_memory_size(16'383, 2048), 16'383u * 2600u);
}

TEST(MbufPools, TooLargeIsToldWithItsNeed) {
  MbufPoolSettings s;
  s.name = "huge";
  s.count = (1U << 20) - 1;
  auto pool = MbufPool::create(s);
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.error().code, base::Errc::kCapacity);
  EXPECT_THAT(pool.error().hint, HasSubstr("MiB of DPDK memory"));
}

// 96 MiB are there; with a page for each buffer this would not fit beside the shared pool.
TEST(MbufPools, BuffersLieSideBySide) {
  MbufPoolSettings s;
  s.name = "dense";
  s.count = 16'383;
  ASSERT_LT(mbuf_memory_size(s.count, s.data_size), 42u << 20);
  auto pool = MbufPool::create(s);
  ASSERT_TRUE(pool.ok()) << pool.error().to_string();
  EXPECT_EQ((*pool)->free_count(), 16'383u);
}

TEST(DpdkPorts, NullDeviceGivesAndTakes) {
  const auto free_before = shared_pool()->free_count();
  {
    DpdkPortSettings s;
    s.name = "wan";
    s.number = 5;
    s.device = null_device("a", 64);
    auto port = open_port(s);
    ASSERT_NE(port, nullptr);
    packet::Burst burst;
    port->receive(0, burst, 32);
    ASSERT_EQ(burst.count, 32u);
    EXPECT_EQ(burst.captured[31], 64u);
    EXPECT_EQ(burst.length[31], 64u);
    EXPECT_EQ(burst.in_port[0], 5);
    port->receive(0, burst, 40);
    EXPECT_EQ(burst.count, 40u);
    packet::Burst none;
    port->receive(1, none, 32);  // no such queue
    EXPECT_EQ(none.count, 0u);
    EXPECT_EQ(port->transmit(0, burst.handle.data(), 30), 30u);
    port->release(0, burst.handle.data() + 30, 10);
    const PortCounters c = port->counters();
    EXPECT_EQ(c.rx_packets, 40u);
    EXPECT_EQ(c.tx_packets, 30u);
    const PortInfo i = port->info();
    EXPECT_EQ(i.name, "wan");
    EXPECT_EQ(i.driver, "net_null");
    EXPECT_TRUE(i.is_link_up);
    EXPECT_EQ(i.rx_queues, 1u);
    EXPECT_EQ(port->buffer_kind(), BufferKind::kDpdk);
    EXPECT_FALSE(port->poll_link());
  }
  EXPECT_EQ(shared_pool()->free_count(), free_before);
}

TEST(DpdkPorts, RingDeviceCarriesBytes) {
  auto port = open_port("net_ring0");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(send_frames(*port, 20), 20u);
  const auto frames = receive_frames(*port, 20);
  ASSERT_EQ(frames.size(), 20u);
  for (unsigned i = 0; i < 20; ++i) EXPECT_EQ(frames[i], test_frame(i));
}

TEST(DpdkPorts, FullQueueReleasesAndCounts) {
  const auto free_before = shared_pool()->free_count();
  {
    auto port = open_port("net_ring1");  // its ring takes 1,023
    ASSERT_NE(port, nullptr);
    unsigned sent = 0;
    for (unsigned round = 0; round < 20; ++round) sent += send_frames(*port, 64);
    EXPECT_EQ(sent, 1023u);
    EXPECT_EQ(port->counters().tx_dropped, 20u * 64 - 1023);
    EXPECT_EQ(shared_pool()->free_count(), free_before - 1023);
    EXPECT_EQ(receive_frames(*port, 1023).size(), 1023u);
  }
  EXPECT_EQ(shared_pool()->free_count(), free_before);
}

TEST(DpdkPorts, PcapDeviceReadsAndWrites) {
  char in[] = "/tmp/merlon-in-XXXXXX", out[] = "/tmp/merlon-out-XXXXXX";
  ::close(::mkstemp(in));
  ::close(::mkstemp(out));
  {
    auto w = CaptureWriter::create(in, CaptureFormat::kPcapNanos);
    ASSERT_TRUE(w.ok());
    for (unsigned i = 0; i < 10; ++i) ASSERT_TRUE((*w)->write(test_frame(i), 60, i));
    // Longer than one buffer: comes as a chain, of which the first segment is judged.
    ASSERT_TRUE((*w)->write(test_frame(10, 5000), 5000, 10));
    ASSERT_TRUE((*w)->close().ok());
  }
  {
    auto port = open_port(pcap_device("x", in, out));
    ASSERT_NE(port, nullptr);
    packet::Burst burst;
    while (burst.count < 11) {
      const unsigned before = burst.count;
      port->receive(0, burst, 64);
      if (burst.count == before) break;
    }
    ASSERT_EQ(burst.count, 11u);
    EXPECT_EQ(burst.captured[10], 2048u);
    EXPECT_EQ(burst.length[10], 5000u);
    EXPECT_EQ(port->transmit(0, burst.handle.data(), 11), 11u);
  }
  auto r = CaptureReader::open(out);
  ASSERT_TRUE(r.ok());
  CapturePacket p;
  for (unsigned i = 0; i < 11; ++i) {
    ASSERT_TRUE((*r)->next(p));
    const auto expected = test_frame(i, i < 10 ? 60 : 5000);
    EXPECT_TRUE(std::equal(p.bytes.begin(), p.bytes.end(), expected.begin(), expected.end())) << i;
  }
  EXPECT_FALSE((*r)->next(p));
  ::unlink(in);
  ::unlink(out);
}

TEST(DpdkPorts, MemifPairInOneProcess) {
  char folder[] = "/tmp/merlon-memif-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string socket = std::string(folder) + "/s";
  {
    auto server = open_port(memif_device("s", true, socket));
    auto client = open_port(memif_device("c", false, socket));
    ASSERT_TRUE(server != nullptr && client != nullptr);
    EXPECT_TRUE(server->info().is_link_by_peer);
    for (unsigned i = 0; i < 2'000'000 && !(server->info().is_link_up && client->info().is_link_up);
         ++i) {
      server->poll_link();
      client->poll_link();
      ::sched_yield();
    }
    ASSERT_TRUE(server->info().is_link_up && client->info().is_link_up);
    EXPECT_EQ(send_frames(*client, 8), 8u);
    const auto frames = receive_frames(*server, 8);
    ASSERT_EQ(frames.size(), 8u);
    EXPECT_EQ(frames[7], test_frame(7));
    // A client lends the server its buffers when it polls, as workers always do.
    packet::Burst lend;
    client->receive(0, lend, 64);
    EXPECT_EQ(send_frames(*server, 3), 3u);
    EXPECT_EQ(receive_frames(*client, 3).size(), 3u);
  }
  std::filesystem::remove_all(folder);
}

TEST(DpdkPorts, VhostServesItsSocket) {
  char folder[] = "/tmp/merlon-vhost-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string socket = std::string(folder) + "/s";
  {
    auto port = open_port(vhost_device("v", socket));
    ASSERT_NE(port, nullptr);
    EXPECT_TRUE(std::filesystem::is_socket(socket));
    EXPECT_FALSE(port->info().is_link_up);  // no guest yet
    EXPECT_EQ(port->info().driver, "net_vhost");
    EXPECT_TRUE(port->info().is_link_by_peer);
  }
  std::filesystem::remove_all(folder);
}

TEST(DpdkPorts, FewerQueuesThanWorkersAreShared) {
  DpdkPortSettings s;
  s.device = "net_ring2";
  s.tx_queues = 4;
  auto port = open_port(s);
  ASSERT_NE(port, nullptr);
  const unsigned queues = port->info().tx_queues;
  ASSERT_LE(queues, 4u);
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < 4; ++w)
    threads.emplace_back([&, w] {
      const DpdkThread identity;
      for (unsigned i = 0; i < 20; ++i) send_frames(*port, 8, w);
    });
  for (auto& t : threads) t.join();
  if (queues == 1) {
    EXPECT_EQ(receive_frames(*port, 640).size(), 640u);
  }
}

TEST(DpdkPorts, FaultsAreNamed) {
  DpdkPortSettings s;
  s.name = "wan";
  s.link_wait_ms = 0;
  s.device = "net_nosuch0";
  auto port = DpdkPort::create(s, shared_pool());
  ASSERT_FALSE(port.ok());
  EXPECT_THAT(port.error().message, HasSubstr("port wan: can't open net_nosuch0"));

  s.device = "ffff:ff:1f.7";
  port = DpdkPort::create(s, shared_pool());
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, base::Errc::kNotFound);

  s.device = "net_af_packet9,iface=nosuch0";
  port = DpdkPort::create(s, shared_pool());
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, base::Errc::kNotFound);
  EXPECT_THAT(port.error().message,
              HasSubstr("port wan: there is no network interface \"nosuch0\""));

  s.device = "net_null9";
  s.rx_queues = 65;
  port = DpdkPort::create(s, shared_pool());
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, base::Errc::kInvalidValue);

  s.rx_queues = 1;
  auto first = open_port(s);
  port = DpdkPort::create(s, shared_pool());
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, base::Errc::kConflict);
  first.reset();
  EXPECT_NE(open_port(s), nullptr);  // free again
}

}  // namespace
}  // namespace merlon::io
