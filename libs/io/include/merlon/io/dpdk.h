// SPDX-License-Identifier: Apache-2.0
#pragma once
// DPDK's environment and packet memory without its headers: only this room's sources see rte_*.
// control-only except where said. The environment can be started once per process and not again
// after stop().
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "merlon/base/result.h"

struct rte_mempool;

namespace merlon::io {

struct DpdkOptions {
  enum class HugePages : std::uint8_t {
    kAuto,   // when enough are free and we may map them
    kNever,  // runs anywhere; about half the speed of software ports
    kAlways,
  };

  unsigned memory_mib = 256;  // all packet memory and driver rings; see mbuf_memory_size()
  HugePages huge_pages = HugePages::kAuto;
  std::string instance;                    // names this daemon among several; empty: the process id
  std::vector<std::string> pci_addresses;  // NICs to open; empty: the PCI bus is left alone
  std::vector<std::string> extra_arguments;  // for the EAL, as they are
};

class Dpdk {
 public:
  // Starts the EAL with one core for itself: threads and their cores are ours. Restores the
  // caller's CPU affinity. Works without root and without huge pages; with kAuto falls back to
  // ordinary pages.
  static base::Result<void> start(const DpdkOptions& options);
  static bool is_started() noexcept;
  static bool uses_huge_pages() noexcept;
  // The arguments start() gave to the EAL, for the log and for support.
  static const std::vector<std::string>& arguments() noexcept;
  // Every port and pool must be gone.
  static void stop();
  // The last line DPDK logged as an error; drivers tell there why they refused.
  static std::string last_error();
  // MiB in free huge pages of all sizes.
  static std::uint64_t free_huge_memory_mib(const std::string& sysfs = "/sys");
};

// Gives the thread that makes it an EAL identity, which lets it use the per-thread caches of the
// packet pool; about 10 ns per packet without. Lives on the thread's stack for as long as it
// touches ports.
class DpdkThread {
 public:
  DpdkThread();
  ~DpdkThread();
  DpdkThread(const DpdkThread&) = delete;
  DpdkThread& operator=(const DpdkThread&) = delete;
  // False when DPDK has no identity left (128 threads) or is not started: slower, but works.
  [[nodiscard]] bool is_registered() const noexcept { return registered_; }

 private:
  bool registered_ = false;
};

struct MbufPoolSettings {
  std::string name = "merlon";
  std::uint32_t count = 16'383;  // 2^n - 1 wastes nothing
  std::uint32_t data_size =
      2048;  // bytes of a frame in one buffer; 128 bytes of headroom come on top
  std::uint32_t cache_count = 256;  // per thread
  int numa_node = -1;               // -1: any
};

// Packet buffers for every DPDK port of one engine. shared-atomic.
class MbufPool {
 public:
  static base::Result<std::shared_ptr<MbufPool>> create(const MbufPoolSettings& settings);
  ~MbufPool();
  MbufPool(const MbufPool&) = delete;
  MbufPool& operator=(const MbufPool&) = delete;

  [[nodiscard]] std::uint32_t count() const noexcept { return settings_.count; }
  [[nodiscard]] std::uint32_t data_size() const noexcept { return settings_.data_size; }
  // In the pool and in thread caches; walks the caches, control threads only.
  [[nodiscard]] std::uint32_t free_count() const noexcept;
  [[nodiscard]] rte_mempool* raw() const noexcept { return pool_; }

 private:
  MbufPool(rte_mempool* pool, MbufPoolSettings settings)
      : pool_(pool), settings_(std::move(settings)) {}
  rte_mempool* pool_;
  MbufPoolSettings settings_;
};

// Where buffers can be at one time.
struct MbufDemand {
  std::uint32_t rx_queues = 1, rx_descriptors = 1024;  // of all ports: the sum over ports of queues
  std::uint32_t tx_queues = 1, tx_descriptors = 1024;
  std::uint32_t workers = 1;
  std::uint32_t held_packets = 1024;  // fragments, per worker
  std::uint32_t ring_slots = 1024;    // hand-over rings, per pair of workers
  std::uint32_t cache_count = 256;
};
// Buffers that never run out under `demand`, as 2^n - 1: with fewer, full queues would starve
// reception.
std::uint32_t mbufs_needed(const MbufDemand& demand) noexcept;
// Bytes that a pool takes.
std::uint64_t mbuf_memory_size(std::uint32_t count, std::uint32_t data_size) noexcept;

}  // namespace merlon::io
