// SPDX-License-Identifier: Apache-2.0
// What ports alone cost: one core moves bursts from one device to another through the Port
// interface and does nothing else. Compare with dpdk-testpmd in io mode on the same devices.
//   io_forward_bench [--rx DEVICE] [--tx DEVICE] [--seconds N] [--runs N] [--burst N] [--size
//   BYTES] [--core N]
// Without --rx an endless net_pcap replay of 1,024 UDP frames is made. Prints one JSON object.
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "merlon/base/time.h"
#include "merlon/io/dpdk_port.h"
#include "merlon/io/pcap_file.h"

namespace {

using namespace merlon;
using namespace merlon::io;

struct Options {
  std::map<std::string, std::string> values{{"--seconds", "1"},
                                            {"--runs", "5"},
                                            {"--burst", "32"},
                                            {"--size", "64"},
                                            {"--core", ""},
                                            {"--rx", ""},
                                            {"--tx", "net_null_tx,size=64"}};
  unsigned number(const char* key) const {
    return static_cast<unsigned>(std::strtoul(values.at(key).c_str(), nullptr, 10));
  }
};

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "io_forward_bench: {}\n", message);
  std::exit(1);
}

// UDP frames of `size` bytes (without check sequence), each of another flow.
std::string make_capture(unsigned size) {
  const std::string path = fmt::format("/tmp/merlon-io-bench-{}.pcap", ::getpid());
  auto w = CaptureWriter::create(path, CaptureFormat::kPcapMicros);
  if (!w.ok()) fail(w.error().to_string());
  std::vector<base::Byte> f(std::max(size, 60U));
  const std::array<base::Byte, 24> head = {2, 0, 0,    0, 0, 1, 2, 0, 0,    0, 0,  2,
                                           8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17};
  std::copy(head.begin(), head.end(), f.begin());
  base::store_be<std::uint16_t>(f.data() + 16, static_cast<std::uint16_t>(f.size() - 14));
  base::store_be<std::uint16_t>(f.data() + 38, static_cast<std::uint16_t>(f.size() - 34));
  for (std::uint32_t i = 0; i < 1024; ++i) {
    base::store_be<std::uint32_t>(f.data() + 26, 0x0a000001 + i);
    base::store_be<std::uint32_t>(f.data() + 30, 0x0a800001);
    base::store_be<std::uint16_t>(f.data() + 34, static_cast<std::uint16_t>(1024 + i));
    base::store_be<std::uint16_t>(f.data() + 36, 53);
    (*w)->write(f, static_cast<std::uint32_t>(f.size()), i);
  }
  if (auto r = (*w)->close(); !r.ok()) fail(r.error().to_string());
  return path;
}

std::unique_ptr<DpdkPort> open(const std::string& name, const std::string& device,
                               const std::shared_ptr<MbufPool>& pool) {
  DpdkPortSettings s;
  s.name = name;
  s.device = device;
  s.link_wait_ms = 0;
  auto port = DpdkPort::create(s, pool);
  if (!port.ok()) fail(port.error().to_string());
  return std::move(*port);
}

// Packets per second over about `seconds`.
double run(Port& rx, Port& tx, unsigned burst_size, unsigned seconds, packet::Burst& burst) {
  const double ticks = base::TscClock::frequency() * seconds;
  const std::uint64_t start = base::read_tsc();
  std::uint64_t packets = 0, now = start;
  do {
    for (unsigned turn = 0; turn < 1024; ++turn) {
      burst.count = 0;
      rx.receive(0, burst, burst_size);
      if (burst.count == 0) continue;
      packets += tx.transmit(0, burst.handle.data(), burst.count);
    }
    now = base::read_tsc();
  } while (static_cast<double>(now - start) < ticks);
  return static_cast<double>(packets) * base::TscClock::frequency() /
         static_cast<double>(now - start);
}

void pin(const std::string& core) {
  if (core.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(std::strtoul(core.c_str(), nullptr, 10)), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!o.values.contains(argv[i])) fail(fmt::format("unknown option {}", argv[i]));
    o.values[argv[i]] = argv[i + 1];
  }
  DpdkOptions dpdk;
  dpdk.memory_mib = 256;
  if (auto r = Dpdk::start(dpdk); !r.ok()) fail(r.error().to_string());
  MbufPoolSettings pool_settings;
  pool_settings.count = 65'535;
  auto pool = MbufPool::create(pool_settings);
  if (!pool.ok()) fail(pool.error().to_string());
  std::string capture;
  if (o.values["--rx"].empty()) {
    capture = make_capture(o.number("--size"));
    o.values["--rx"] = pcap_device("rx", capture, "", true);
  }
  std::vector<double> results;
  {
    auto rx = open("rx", o.values["--rx"], *pool);
    auto tx = open("tx", o.values["--tx"], *pool);
    pin(o.values["--core"]);
    static packet::Burst burst;
    run(*rx, *tx, o.number("--burst"), 1, burst);  // warms caches and page tables
    for (unsigned i = 0; i < o.number("--runs"); ++i)
      results.push_back(run(*rx, *tx, o.number("--burst"), o.number("--seconds"), burst) / 1e6);
  }
  std::sort(results.begin(), results.end());
  if (results.empty()) fail("--runs must be at least 1");
  const double median = results[results.size() / 2];
  fmt::print(
      "{{\"name\": \"io_forward\", \"unit\": \"Mpps\", \"value\": {:.2f}, \"spread\": {:.3f}, "
      "\"runs\": {}, \"rx\": \"{}\", \"tx\": \"{}\", \"burst\": {}, \"huge_pages\": {}}}\n",
      median, (results.back() - results.front()) / median, results.size(),
      o.values["--rx"].substr(0, o.values["--rx"].find(',')),
      o.values["--tx"].substr(0, o.values["--tx"].find(',')), o.number("--burst"),
      Dpdk::uses_huge_pages());
  pool = base::Error{};
  Dpdk::stop();
  if (!capture.empty()) std::filesystem::remove(capture);
  return 0;
}
