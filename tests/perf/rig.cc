// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "merlon/base/log.h"
#include "rules.h"
#include "synthetic_port.h"
#ifdef MERLON_WITH_DPDK
#include "merlon/io/dpdk_port.h"
#endif

namespace merlon::perf {
namespace {

// Small buffers, so that 200,000 frames fit beside the other programs'; testpmd gets the same.
constexpr std::uint32_t kDataSize = 256;

engine::EngineConfig make_config(const RigSettings& s) {
  engine::EngineConfig c;
  c.workers = s.workers;
  c.worker_cores = s.cores;
  c.ports.resize(2);
  c.ports[0].name = "left";
  c.ports[1].name = "right";
  c.wires = {{.name = "wire", .port_a = 0, .port_b = 1}};
  c.parse.seed = c.table.seed = base::HashSeed::random();
  c.table.max_sessions = s.max_sessions;
  if (s.keeps_sessions) c.timeouts.fill(3'600'000);
  return c;
}

// The kernel's clock of a thread of this process: the number's low bits say that it is one
// thread's, by the scheduler's account (include/linux/posix-timers.h).
std::uint64_t cpu_nanos(int thread_id) noexcept {
  constexpr clockid_t kPerThread = 4, kScheduler = 2;
  timespec t{};
  clock_gettime((~static_cast<clockid_t>(thread_id) << 3) | kPerThread | kScheduler, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

void fail(const std::string& message) {
  fmt::print(stderr, "merlon_perf: {}\n", message);
  std::exit(1);
}

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

void pin_this_thread(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

Rig::Rig(const RigSettings& settings) : settings_(settings), config_(make_config(settings)) {
  auto ports = settings.capture.empty() ? synthetic_ports() : device_ports();
  if (settings.is_io_only) {
    start_io(std::move(ports));
  } else {
    start_engine(std::move(ports));
  }
  find_threads();
  warm_up();
}

Rig::~Rig() {
  stop_.store(true);
  if (io_thread_.joinable()) io_thread_.join();
  if (engine_ != nullptr) engine_->stop();
  engine_.reset();
  ports_.clear();
#ifdef MERLON_WITH_DPDK
  if (!settings_.capture.empty()) io::Dpdk::stop();
#endif
}

std::vector<std::unique_ptr<io::Port>> Rig::synthetic_ports() const {
  std::vector<std::shared_ptr<Traffic>> traffic;
  for (unsigned q = 0; q < settings_.workers; ++q)
    traffic.push_back(std::make_shared<Traffic>(TrafficSettings{.kind = settings_.kind,
                                                                .flows = settings_.flows,
                                                                .queue = q,
                                                                .queues = settings_.workers,
                                                                .seed = config_.parse.seed}));
  std::vector<std::unique_ptr<io::Port>> ports;
  ports.push_back(std::make_unique<SyntheticPort>("left", 0, traffic, settings_.checks_order));
  ports.push_back(std::make_unique<SyntheticPort>("right", 1, traffic, settings_.checks_order));
  return ports;
}

std::vector<std::unique_ptr<io::Port>> Rig::device_ports() const {
  std::vector<std::unique_ptr<io::Port>> ports;
#ifdef MERLON_WITH_DPDK
  // net_pcap keeps every frame of the capture in a buffer and copies it to another for each replay.
  std::uint32_t buffers = 16'384;
  while (buffers < settings_.flows + 8'192) buffers *= 2;
  io::DpdkOptions dpdk;
  dpdk.memory_mib = 96 + static_cast<unsigned>(io::mbuf_memory_size(buffers, kDataSize) >> 20);
  if (auto r = io::Dpdk::start(dpdk); !r) fail(r.error().to_string());
  auto pool = io::MbufPool::create({.count = buffers - 1, .data_size = kDataSize});
  if (!pool) fail(pool.error().to_string());
  const std::string devices[] = {io::pcap_device("left", settings_.capture, "", true),
                                 "net_null_right,no-rx=1"};
  for (std::uint16_t n = 0; n < 2; ++n) {
    io::DpdkPortSettings port_settings;
    port_settings.name = n == 0 ? "left" : "right";
    port_settings.number = n;
    port_settings.device = devices[n];
    port_settings.tx_queues = settings_.workers;
    port_settings.link_wait_ms = 0;
    auto port = io::DpdkPort::create(port_settings, *pool);
    if (!port) fail(port.error().to_string());
    ports.push_back(std::move(*port));
  }
#else
  fail("this build has no device ports");
#endif
  return ports;
}

void Rig::start_engine(std::vector<std::unique_ptr<io::Port>> ports) {
  const policy::PolicyModel model = blocks_then_allow(settings_.rules);
  policy::CompileResult compiled = policy::compile(model, slots_);
  if (compiled.snapshot == nullptr) fail(compiled.errors.front().to_string());
  auto engine =
      engine::Engine::create(config_, std::move(ports),
                             engine::make_snapshot(config_, model, std::move(compiled.snapshot)));
  if (!engine) fail(engine.error().to_string());
  engine_ = std::move(*engine);
  engine_->start();
}

// What testpmd does in io mode, over the same Port interface.
void Rig::start_io(std::vector<std::unique_ptr<io::Port>> ports) {
  ports_ = std::move(ports);
  io_thread_ = std::thread([this] {
    pin_this_thread(settings_.cores.front());
    pthread_setname_np(pthread_self(), "merlon-w0");
#ifdef MERLON_WITH_DPDK
    const io::DpdkThread identity;
#endif
    const auto burst = std::make_unique<packet::Burst>();
    std::uint64_t moved = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      for (unsigned p = 0; p < 2; ++p) {
        burst->count = 0;
        ports_[p]->receive(0, *burst, packet::Burst::kCapacity);
        if (burst->count != 0)
          moved += ports_[1 - p]->transmit(0, burst->handle.data(), burst->count);
      }
      moved_.store(moved, std::memory_order_relaxed);
    }
  });
}

// Engine names its workers; a thread takes a moment to have its name.
void Rig::find_threads() {
  for (unsigned tries = 0; thread_ids_.size() != settings_.workers; ++tries) {
    if (tries > 1000) fail("the workers' threads can't be found in /proc/self/task");
    sleep_seconds(0.01);
    thread_ids_.clear();
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      if (name.starts_with("merlon-w")) thread_ids_.push_back(std::stoi(task.path().filename()));
    }
  }
}

void Rig::warm_up() const {
  const bool has_known = settings_.kind == TrafficSettings::Kind::kKnown;
  const Reading start = read();
  for (unsigned tries = 0;; ++tries) {
    sleep_seconds(0.02);
    const Reading now = read();
    const bool is_warm = settings_.is_io_only || !has_known || now.sessions >= settings_.flows;
    if (is_warm && now.packets - start.packets > settings_.max_sessions) return;
    if (tries > 3000)
      fail(fmt::format("{} packets and {} sessions after a minute", now.packets, now.sessions));
  }
}

Reading Rig::read() const {
  Reading r;
  for (const int id : thread_ids_) r.busy_nanos += cpu_nanos(id);
  if (engine_ == nullptr) {
    r.packets = r.received = moved_.load(std::memory_order_relaxed);
    r.tsc = base::read_tsc();
    return r;
  }
  for (unsigned w = 0; w < settings_.workers; ++w) {
    const engine::WorkerReading reading = engine_->read_worker(w);
    r.packets += reading.counters.forwarded_packets;
    r.received += reading.counters.received_packets;
    r.dropped += reading.counters.dropped_packets;
    r.created += reading.counters.sessions_created;
    r.sessions += reading.gauges.sessions;
  }
  r.tsc = base::read_tsc();
  return r;
}

double Rig::busy_seconds(const Reading& from, const Reading& to) const {
  return static_cast<double>(to.busy_nanos - from.busy_nanos) / 1e9 / settings_.workers;
}

engine::PublishReport Rig::publish(const policy::PolicyModel& model,
                                   std::shared_ptr<const policy::Snapshot> policy) {
  return engine_->publish(engine::make_snapshot(config_, model, std::move(policy)));
}

}  // namespace merlon::perf
