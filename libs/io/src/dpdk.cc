// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/dpdk.h"

#include <fmt/format.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_version.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "merlon/base/log.h"
#include "merlon/base/make_error.h"

namespace merlon::io {
namespace {

namespace fs = std::filesystem;

struct State {
  std::mutex mutex;
  bool is_started = false;
  bool was_stopped = false;
  bool uses_huge_pages = false;
  std::vector<std::string> arguments;
  std::string last_error;
  FILE* log = nullptr;
  std::string private_folder;  // made for the EAL's files, removed at the end
};
State& state() {
  static State s;
  return s;
}

// DPDK's log goes to ours: its errors as warnings (ours say what they mean), the rest for
// debugging.
ssize_t take_log(void*, const char* text, std::size_t size) {
  std::string line(text, size);
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  if (line.empty()) return static_cast<ssize_t>(size);
  const int level = rte_log_cur_msg_loglevel();
  const bool is_error = level >= 0 && level <= static_cast<int>(RTE_LOG_ERR);
  if (is_error) {
    const std::lock_guard lock(state().mutex);
    state().last_error = line;
  }
  base::log(is_error ? base::LogLevel::kWarning : base::LogLevel::kDebug, "dpdk", "{}", line);
  return static_cast<ssize_t>(size);
}

void route_log() {
  cookie_io_functions_t functions{};
  functions.write = take_log;
  FILE* log = ::fopencookie(nullptr, "w", functions);
  if (log == nullptr) return;
  ::setvbuf(log, nullptr, _IOLBF, 0);
  state().log = log;
  rte_openlog_stream(log);
}

unsigned first_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) return cpu;
  return 0;
}

bool wants_huge_pages(const DpdkOptions& options) {
  using HugePages = DpdkOptions::HugePages;
  if (options.huge_pages != HugePages::kAuto) return options.huge_pages == HugePages::kAlways;
  return ::geteuid() == 0 && Dpdk::free_huge_memory_mib() >= options.memory_mib;
}

std::vector<std::string> make_arguments(const DpdkOptions& options, bool huge) {
  std::vector<std::string> a = {"merlon", "-l", std::to_string(first_cpu()), "--no-telemetry",
                                "--log-level=warning"};
  if (huge) {
    // Pages without a file system: private to this process, so daemons never meet.
    a.insert(a.end(), {"--in-memory", "--single-file-segments"});
  } else {
    a.insert(a.end(), {"--no-huge", "--no-shconf"});
  }
  a.push_back(fmt::format("--file-prefix=merlon-{}", options.instance.empty()
                                                         ? std::to_string(::getpid())
                                                         : options.instance));
  a.insert(a.end(), {"-m", std::to_string(options.memory_mib)});
  if (options.pci_addresses.empty()) {
    a.insert(a.end(), {"--no-pci", "--iova-mode=va"});
  } else {
    for (const std::string& address : options.pci_addresses) a.insert(a.end(), {"-a", address});
  }
  a.insert(a.end(), options.extra_arguments.begin(), options.extra_arguments.end());
  return a;
}

// A packet pool whose buffers lie side by side. With ordinary pages the library's own helper starts
// each buffer on its own page when two don't fit one: 1.6 times the memory, and the AF_XDP driver,
// which takes the pool for one dense area, then gives the kernel buffers outside of what it
// registered. Where addresses of devices are virtual ones there is no reason for it.
rte_mempool* make_pool(const MbufPoolSettings& s, std::uint32_t cache) {
  const unsigned flags = rte_eal_iova_mode() == RTE_IOVA_VA ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
  const auto room = static_cast<std::uint16_t>(s.data_size + RTE_PKTMBUF_HEADROOM);
  rte_pktmbuf_pool_private shape{};
  shape.mbuf_data_room_size = room;
  rte_mempool* pool = rte_mempool_create_empty(s.name.c_str(), s.count,
                                               static_cast<unsigned>(sizeof(rte_mbuf)) + room,
                                               cache, sizeof shape, s.numa_node, flags);
  if (pool == nullptr) return nullptr;
  int r = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr);
  if (r == 0) {
    rte_pktmbuf_pool_init(pool, &shape);
    r = rte_mempool_populate_default(pool);
  }
  if (r < 0) {
    rte_mempool_free(pool);
    rte_errno = -r;
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

// Without root the EAL keeps files under XDG_RUNTIME_DIR, else under /tmp/dpdk, which belongs to
// whoever came first. Where there is no such variable it gets a folder of our own for as long as it
// runs.
class RuntimeFolder {
 public:
  RuntimeFolder() {
    if (::geteuid() == 0 || std::getenv(kVariable) != nullptr) return;
    char path[] = "/tmp/merlon-dpdk-XXXXXX";
    if (::mkdtemp(path) == nullptr) return;
    state().private_folder = path;
    ::setenv(kVariable, path, 1);
  }
  ~RuntimeFolder() {
    if (!state().private_folder.empty()) ::unsetenv(kVariable);
  }
  RuntimeFolder(const RuntimeFolder&) = delete;
  RuntimeFolder& operator=(const RuntimeFolder&) = delete;

 private:
  static constexpr const char* kVariable = "XDG_RUNTIME_DIR";
};

base::Error start_error(int code) {
  std::string why = Dpdk::last_error();
  if (why.empty()) why = rte_strerror(code);
  return make_error(
      base::Errc::kInternal, fmt::format("DPDK can't start: {}", why),
      "docs/operator-guide.md says what huge pages, drivers and permissions are needed");
}

}  // namespace

std::uint64_t Dpdk::free_huge_memory_mib(const std::string& sysfs) {
  std::uint64_t mib = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(sysfs) / "kernel/mm/hugepages", error)) {
    // hugepages-2048kB
    const std::string name = entry.path().filename().string();
    const auto dash = name.find('-');
    if (dash == std::string::npos) continue;
    std::uint64_t pages = 0;
    std::ifstream(entry.path() / "free_hugepages") >> pages;
    mib += std::strtoull(name.c_str() + dash + 1, nullptr, 10) * pages / 1024;
  }
  return mib;
}

base::Result<void> Dpdk::start(const DpdkOptions& options) {
  State& s = state();
  if (s.is_started) return {};
  if (s.was_stopped)
    return make_error(base::Errc::kRefused,
                      "DPDK was stopped and can't start again in this process");
  s.uses_huge_pages = wants_huge_pages(options);
  s.arguments = make_arguments(options, s.uses_huge_pages);
  std::vector<char*> argv;
  for (std::string& a : s.arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  route_log();

  // The EAL pins the calling thread to its first core; where threads run is the engine's business.
  cpu_set_t before;
  const bool known = ::pthread_getaffinity_np(::pthread_self(), sizeof before, &before) == 0;
  int used = -1;
  {
    const RuntimeFolder folder;
    used = rte_eal_init(static_cast<int>(argv.size()) - 1, argv.data());
  }
  const int error = rte_errno;
  if (known) ::pthread_setaffinity_np(::pthread_self(), sizeof before, &before);
  if (used < 0) {
    s.was_stopped = true;
    return start_error(error);
  }
  s.is_started = true;
  base::log(base::LogLevel::kInfo, "dpdk", "started version={} memory_mib={} huge_pages={}",
            rte_version() + 5, options.memory_mib, s.uses_huge_pages ? "yes" : "no");
  return {};
}

bool Dpdk::is_started() noexcept { return state().is_started; }
bool Dpdk::uses_huge_pages() noexcept { return state().uses_huge_pages; }
const std::vector<std::string>& Dpdk::arguments() noexcept { return state().arguments; }

std::string Dpdk::last_error() {
  const std::lock_guard lock(state().mutex);
  return state().last_error;
}

void Dpdk::stop() {
  State& s = state();
  if (!s.is_started) return;
  const char* runtime = rte_eal_get_runtime_dir();
  const std::string folder = runtime == nullptr ? "" : runtime;
  rte_eal_cleanup();
  // Left behind otherwise, one per process id.
  std::error_code ignored;
  if (folder.find("/merlon-") != std::string::npos) fs::remove_all(folder, ignored);
  if (!s.private_folder.empty()) fs::remove_all(s.private_folder, ignored);
  rte_openlog_stream(nullptr);
  if (s.log != nullptr) ::fclose(s.log);
  s.log = nullptr;
  s.is_started = false;
  s.was_stopped = true;
}

DpdkThread::DpdkThread() {
  // A thread that has an identity (the one that started DPDK) keeps it.
  if (Dpdk::is_started() && rte_lcore_id() == LCORE_ID_ANY)
    registered_ = rte_thread_register() == 0;
}
DpdkThread::~DpdkThread() {
  if (registered_) rte_thread_unregister();
}

base::Result<std::shared_ptr<MbufPool>> MbufPool::create(const MbufPoolSettings& settings) {
  if (!Dpdk::is_started()) return make_error(base::Errc::kRefused, "DPDK is not started");
  if (settings.count < 64 || settings.data_size < 128 || settings.data_size > 65'000 - 128)
    return make_error(base::Errc::kInvalidValue,
                      fmt::format("a pool of {} buffers of {} bytes is out of range",
                                  settings.count, settings.data_size));
  // A cache may hold half as much again as its size; a small pool must not vanish in caches.
  const std::uint32_t cache = std::min({settings.cache_count, settings.count / 4,
                                        static_cast<std::uint32_t>(RTE_MEMPOOL_CACHE_MAX_SIZE)});
  rte_mempool* pool = make_pool(settings, cache);
  if (pool == nullptr)
    return make_error(
        base::Errc::kCapacity,
        fmt::format("no memory for {} packet buffers of {} bytes ({})", settings.count,
                    settings.data_size, rte_strerror(rte_errno)),
        fmt::format("they need {} MiB of DPDK memory",
                    (mbuf_memory_size(settings.count, settings.data_size) >> 20) + 1));
  return std::shared_ptr<MbufPool>(new MbufPool(pool, settings));
}

MbufPool::~MbufPool() {
  // After stop() the memory is gone already.
  if (Dpdk::is_started()) rte_mempool_free(pool_);
}

std::uint32_t MbufPool::free_count() const noexcept { return rte_mempool_avail_count(pool_); }

std::uint32_t mbufs_needed(const MbufDemand& d) noexcept {
  constexpr std::uint64_t kBurst = 64;
  const std::uint64_t n = std::uint64_t{d.rx_queues} * d.rx_descriptors +
                          std::uint64_t{d.tx_queues} * d.tx_descriptors +
                          std::uint64_t{d.workers} * (d.held_packets + 2 * kBurst) +
                          std::uint64_t{d.workers} * (d.workers - 1) * d.ring_slots +
                          // Drivers and control keep caches too; a cache overfills by half.
                          std::uint64_t{d.workers + 2} * d.cache_count * 3 / 2;
  return static_cast<std::uint32_t>(std::bit_ceil(std::min<std::uint64_t>(n + 1, 1U << 30)) - 1);
}

std::uint64_t mbuf_memory_size(std::uint32_t count, std::uint32_t data_size) noexcept {
  const std::uint64_t element =
      (sizeof(rte_mbuf) + RTE_PKTMBUF_HEADROOM + data_size + 64 + 63) / 64 * 64;
  // The pool's own ring holds one pointer per buffer.
  return count * (element + 2 * sizeof(void*)) + (2U << 20);
}

}  // namespace merlon::io
