// SPDX-License-Identifier: Apache-2.0
// The AF_PACKET port beside DPDK's net_af_packet on a veth pair in a network namespace of its own,
// alternated, in nanoseconds of the thread's processor time per packet, the kernel's work included.
// Root only.
//   io_af_packet_bench [--rounds N] [--size BYTES]
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "merlon/base/log.h"
#include "merlon/io/af_packet_port.h"
#include "merlon/io/dpdk_port.h"

namespace merlon::io {
namespace {

constexpr unsigned kPackets = 64'000;  // of one measurement

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  std::exit(1);
}

bool run(const char* command) { return std::system(command) == 0; }

double thread_nanos() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Fills `handles` with fresh frames; how many there were buffers for.
unsigned make_burst(Port& port, unsigned count, std::uint32_t size, void** handles) {
  static const base::Byte head[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
  for (unsigned i = 0; i < count; ++i) {
    base::Byte* data = nullptr;
    handles[i] = port.allocate(0, size, data);
    if (handles[i] == nullptr) return i;
    std::memcpy(data, head, sizeof head);
    port.set_length(handles[i], size);
  }
  return count;
}

struct Figure {
  double nanos = 0;  // per packet sent
  double share = 0;  // of what was sent, received
};

// Sends in bursts and, where there is a receiver, takes them on the other end.
Figure measure(Port& from, Port* to, unsigned burst_size, std::uint32_t size) {
  void* handles[packet::Burst::kCapacity];
  packet::Burst burst;
  unsigned sent = 0, received = 0;
  const double start = thread_nanos();
  for (unsigned done = 0; done < kPackets; done += burst_size) {
    sent += from.transmit(0, handles, make_burst(from, burst_size, size, handles));
    if (to == nullptr) continue;
    burst.count = 0;
    to->receive(0, burst, packet::Burst::kCapacity);
    received += burst.count;
    to->release(0, burst.handle.data(), burst.count);
  }
  const double nanos = (thread_nanos() - start) / std::max(sent, 1U);
  return {nanos, to == nullptr ? 1.0 : static_cast<double>(received) / std::max(sent, 1U)};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Case {
  const char* name;
  std::function<Figure()> run;
  std::vector<double> nanos{};
  double share = 1;
};

std::unique_ptr<Port> native(const char* interface, bool is_bypassed, bool carries,
                             std::uint32_t ring = 2048) {
  static const auto pool = *BufferPool::create({.small_count = 4096, .large_count = 64});
  AfPacketPortSettings s;
  s.name = interface;
  s.interface = interface;
  s.is_qdisc_bypassed = is_bypassed;
  s.carries_offloads = carries;
  s.rx_frames = ring;
  auto port = AfPacketPort::create(std::move(s), pool);
  if (!port.ok()) fail(port.error().to_string());
  return std::move(*port);
}

std::unique_ptr<Port> driver(const char* name, const char* interface,
                             const std::shared_ptr<MbufPool>& pool) {
  DpdkPortSettings s;
  s.name = name;
  s.device = af_packet_device(name, interface);
  s.link_wait_ms = 0;
  auto port = DpdkPort::create(s, pool);
  if (!port.ok()) fail(port.error().to_string());
  return std::move(*port);
}

void print(const std::vector<Case>& cases) {
  const double base = median(cases[0].nanos);
  for (const Case& c : cases) {
    const auto [low, high] = std::ranges::minmax(c.nanos);
    fmt::print(
        "{:<44} {:>7.0f} ns/packet ({:.0f} to {:.0f})  {:.2f} of the first, {:.1f} % arrived\n",
        c.name, median(c.nanos), low, high, median(c.nanos) / base, 100 * c.share);
  }
}

void compare(unsigned rounds, std::uint32_t size) {
  DpdkOptions dpdk;
  dpdk.memory_mib = 128;
  if (auto r = Dpdk::start(dpdk); !r.ok()) fail(r.error().to_string());
  auto pool = MbufPool::create({.count = 8191});
  if (!pool.ok()) fail(pool.error().to_string());
  // Each pair of ports on a pair of interfaces of its own: a second listener would cost the first
  // one.
  const auto na = native("na", true, false), nb = native("nb", true, false);
  const auto qa = native("qa", false, false), qb = native("qb", false, false);
  const auto oa = native("oa", false, true), ob = native("ob", false, true);
  const auto da = driver("da", "da", *pool), db = driver("db", "db", *pool);
  const auto ra = native("ra", true, false, 512), rb = native("rb", true, false, 512);
  const auto ta = native("ta", true, false, 16'384), tb = native("tb", true, false, 16'384);
  const auto ea = native("ea", true, false);
  const auto fa = driver("fa", "fa", *pool);
  std::vector<Case> pairs{
      {"both ends, bursts of 32: net_af_packet", [&] { return measure(*da, db.get(), 32, size); }},
      {"both ends, bursts of 32: own", [&] { return measure(*na, nb.get(), 32, size); }},
      {"both ends, bursts of 32: own, ring of 512",
       [&] { return measure(*ra, rb.get(), 32, size); }},
      {"both ends, bursts of 32: own, ring of 16,384",
       [&] { return measure(*ta, tb.get(), 32, size); }},
      {"both ends, bursts of 32: own, with qdisc",
       [&] { return measure(*qa, qb.get(), 32, size); }},
      {"both ends, bursts of 32: own, offloads", [&] { return measure(*oa, ob.get(), 32, size); }}};
  std::vector<Case> sends{
      {"send only, bursts of 32: transmit ring", [&] { return measure(*fa, nullptr, 32, size); }},
      {"send only, bursts of 32: sendmmsg", [&] { return measure(*ea, nullptr, 32, size); }},
      {"send only, bursts of 8: transmit ring", [&] { return measure(*fa, nullptr, 8, size); }},
      {"send only, bursts of 8: sendmmsg", [&] { return measure(*ea, nullptr, 8, size); }},
      {"send only, one by one: transmit ring", [&] { return measure(*fa, nullptr, 1, size); }},
      {"send only, one by one: sendmmsg", [&] { return measure(*ea, nullptr, 1, size); }}};
  for (unsigned round = 0; round < rounds; ++round) {
    for (auto* cases : {&pairs, &sends}) {
      for (Case& c : *cases) {
        const Figure f = c.run();
        c.nanos.push_back(f.nanos);
        c.share = std::min(c.share, f.share);
      }
    }
  }
  print(pairs);
  print(sends);
}

}  // namespace
}  // namespace merlon::io

int main(int argc, char** argv) {
  unsigned rounds = 9;
  std::uint32_t size = 60;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0)
      rounds = static_cast<unsigned>(std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--size") == 0)
      size = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
  }
  rounds = std::clamp(rounds, 1U, 1000U);
  size = std::clamp(size, 14U, 1514U);
  using merlon::io::fail;
  merlon::base::set_log_level(merlon::base::LogLevel::kError);
  if (::unshare(CLONE_NEWNET) != 0) fail("needs root: network namespaces");
  for (const char* pair : {"n", "r", "t", "q", "o", "d", "e", "f"}) {
    const auto command = fmt::format(
        "ip link add {0}a type veth peer name {0}b && ip link set {0}a up && ip link set {0}b up "
        "&& "
        "sysctl -qw net.ipv6.conf.{0}a.disable_ipv6=1 net.ipv6.conf.{0}b.disable_ipv6=1",
        pair);
    if (!merlon::io::run(command.c_str())) fail("no veth here");
  }
  merlon::io::compare(rounds, size);
  return 0;
}
