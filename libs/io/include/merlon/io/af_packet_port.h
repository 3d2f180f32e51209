// SPDX-License-Identifier: Apache-2.0
#pragma once
// A port on a kernel interface through AF_PACKET sockets, without DPDK's drivers. Frames come and
// go as they are on the wire: no reassembly, tags where they were (802.1Q and 802.1ad, nested), any
// size up to 64 KiB, every loss counted. Receiving reads a ring shared with the kernel and makes no
// system call, unless a frame is larger than a slot; sending is one system call per burst.
//
// Threads as in io::Port; a queue's file descriptor belongs to the queue's worker. The interface is
// looked for in the network namespace of the thread that calls create(), and the port stays with
// that namespace whatever its callers do later.
// Cost: over the kernel's own work little; a larger ring costs cache (libs/io/NOTES.md has
// figures).
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "merlon/io/buffer.h"
#include "merlon/io/port.h"
#include "merlon/io/queue_counters.h"

namespace merlon::io {

class MbufPool;

struct AfPacketPortSettings {
  std::string name{};
  std::uint16_t number = 0;  // goes to burst.in_port
  std::string interface {};  // kernel interface: "eth1"
  unsigned rx_queues = 1;    // the kernel spreads conversations over them, both directions alike
  unsigned tx_queues = 1;    // one per worker; no lock among them
  std::uint32_t rx_frames = 2048;  // frames that may wait per receive queue; rounded up
  // Bytes of a frame that fit a slot of the ring. 0: those of the interface's MTU, 9 KB at most.
  // Larger frames still arrive whole, at the price of a system call each.
  std::uint32_t frame_size = 0;
  // Kernel memory per queue, for received frames larger than a slot and for frames on their way
  // out.
  std::uint32_t rx_large_bytes = 16U << 20;
  std::uint32_t tx_bytes = 4U << 20;
  std::uint16_t mtu = 0;  // set on the interface; 0: leave it
  bool is_promiscuous = true;
  bool has_kernel_stamps = false;  // burst.time: when the kernel got the frame, CLOCK_REALTIME ns
  // Send past the kernel's queueing discipline; not together with carries_offloads, where the
  // kernel may have to cut super-frames first.
  bool is_qdisc_bypassed = true;
  // Virtual interfaces hand over frames whose checksum is not filled in yet, and super-frames of
  // many segments. True: they leave as they came, with the kernel's notes. False: checksums are
  // completed on receipt; super-frames come whole and are too large to be sent again. Native
  // buffers only.
  bool carries_offloads = false;
  unsigned link_wait_ms = 0;  // at most this long for the link at start
};

// What happened on an AF_PACKET port beyond PortCounters.
struct AfPacketCounters {
  std::uint64_t rx_ring_full = 0;  // dropped by the kernel: ring full (in rx_dropped)
  std::uint64_t rx_large = 0;      // larger than a slot, fetched by a system call
  std::uint64_t rx_checksums_completed = 0;
  std::uint64_t rx_super_frames = 0;  // of several segments
  std::uint64_t tx_too_large = 0;    // refused by the kernel: larger than MTU allows (in tx_errors)
  std::uint64_t tx_link_down = 0;    // in tx_dropped
  std::uint64_t tx_kernel_full = 0;  // in tx_dropped
};

class AfPacketPort : public Port {
 public:
  // Opens the sockets and rings and logs what the port is. kNotFound without such an interface,
  // kRefused without the capability (CAP_NET_RAW), kInvalidValue for settings out of range.
  static base::Result<std::unique_ptr<AfPacketPort>> create(AfPacketPortSettings settings,
                                                            std::shared_ptr<BufferPool> pool);
  // The same over DPDK's packet memory, for engines that have DPDK ports too.
  static base::Result<std::unique_ptr<AfPacketPort>> create(AfPacketPortSettings settings,
                                                            std::shared_ptr<MbufPool> pool);
  ~AfPacketPort() override;

  // To wait on with poll(POLLIN); readable while the queue's ring holds frames.
  [[nodiscard]] int fd(unsigned queue) const noexcept;

  [[nodiscard]] PortInfo info() const override;
  [[nodiscard]] PortCounters counters() const override;
  [[nodiscard]] AfPacketCounters details() const;  // control threads
  // Follows an interface that was deleted and made again under its name, unless there are several
  // receive queues.
  bool poll_link() override;
  base::Result<void> set_link(bool up) override;
  void complete_checksums() override {
    completes_checksums_.store(true, std::memory_order_relaxed);
  }

 protected:
  struct RxQueue;
  struct TxQueue;
  // `segments`: the most pieces of memory that a frame to send has.
  AfPacketPort(AfPacketPortSettings settings, unsigned segments);
  base::Result<void> open();

  const AfPacketPortSettings settings_;
  std::vector<std::unique_ptr<RxQueue>> rx_;
  std::vector<std::unique_ptr<TxQueue>> tx_;
  std::atomic<bool> completes_checksums_{false};  // though carries_offloads

 private:
  struct Link {
    bool is_up = false, is_full_duplex = true;
    std::uint32_t speed_mbps = 0;
    bool operator==(const Link&) const = default;
  };
  base::Result<void> find_interface();
  base::Result<void> open_queues(std::uint32_t slot);
  base::Result<void> share_queues();
  base::Result<void> bind_queues();
  void read_mac();
  [[nodiscard]] Link read_link() const;
  void wait_for_link();
  void log_link() const;
  void tell_refused_frames();
  void follow_interface();

  const unsigned segments_;
  int control_ = -1;          // a socket of the port's namespace, for what control asks
  int index_ = 0;             // of the interface
  mutable std::mutex mutex_;  // control threads: all below
  base::MacAddress mac_{};
  Link link_;
  bool is_held_down_ = false;
  bool has_told_too_large_ = false;
};

}  // namespace merlon::io
