// SPDX-License-Identifier: Apache-2.0
#pragma once
// A place packets come in and go out. One virtual call per burst, none per packet. A queue belongs
// to one worker; different queues of a port may be used by different threads at once.
//
// Buffers: a handle names a buffer of the port's BufferKind. Native handles (pcap, ring) are
// io::Buffer*; DPDK handles are rte_mbuf*. All ports of one engine share one kind, so a handle
// received on one port can be transmitted on another.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "merlon/base/address.h"
#include "merlon/base/result.h"
#include "merlon/io/link_type.h"
#include "merlon/packet/burst.h"

namespace merlon::io {

enum class BufferKind : std::uint8_t { kNative, kDpdk };

struct PortCounters {
  std::uint64_t rx_packets = 0, rx_bytes = 0, rx_errors = 0;
  std::uint64_t rx_dropped = 0;    // lost before a worker saw them: ring full, no buffer
  std::uint64_t rx_ring_full = 0;  // of these: the receive ring was full, the worker too late
  std::uint64_t tx_packets = 0, tx_bytes = 0, tx_errors = 0, tx_dropped = 0;
  std::uint64_t rx_link_type =
      0;                     // not delivered: DropReason::kLinkTypeUnsupported; only capture files
  std::uint64_t rx_cut = 0;  // delivered with fewer bytes than were there: larger than any buffer
};

struct PortInfo {
  std::string name;    // from the configuration
  std::string device;  // device string, PCI address or file
  std::string driver;  // "pcap", "ring", "net_af_packet", "net_ixgbe", ...
  base::MacAddress mac{};
  bool is_link_up = false;
  bool is_held_down = false;     // by set_link(false): what the peer does is not seen
  bool is_link_by_peer = false;  // up while another program is connected (memif, vhost): any time
  bool is_full_duplex = true;
  std::uint32_t speed_mbps = 0;  // 0: unknown or meaningless
  std::uint16_t mtu = 0;
  unsigned rx_queues = 1, tx_queues = 1;
  bool has_rss = false;  // symmetric RSS accepted by the driver
  int numa_node = -1;
};

class Port {
 public:
  virtual ~Port() = default;

  // Fills the frame columns of `burst` from burst.count on, at most up to `limit` packets in all,
  // and adds to burst.count. Ports that know capture time and packet number fill time[] and
  // number[] too.
  virtual void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept = 0;

  // Sends `count` handles in order and takes them over; those the port can't take are released and
  // counted in tx_dropped. Returns how many were sent.
  virtual unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept = 0;

  // Gives buffers back unsent.
  virtual void release(unsigned queue, void* const* handles, unsigned count) noexcept = 0;

  // A fresh buffer with room for `size` bytes for packets that we make (RST, ICMP); nullptr when
  // none is free. `data` is where to write; set_length() before transmit.
  virtual void* allocate(unsigned queue, std::uint32_t size, base::Byte*& data) noexcept = 0;
  virtual void set_length(void* handle, std::uint32_t length) noexcept = 0;

  [[nodiscard]] virtual BufferKind buffer_kind() const noexcept = 0;
  [[nodiscard]] virtual PortInfo info() const = 0;          // control threads
  [[nodiscard]] virtual PortCounters counters() const = 0;  // control threads
  // True when a finite source (a capture) has been read to its end.
  [[nodiscard]] virtual bool is_exhausted() const noexcept { return false; }
  // Link type of the packets that the last receive() appended: one call never mixes two. Worker of
  // queue 0.
  [[nodiscard]] virtual LinkType link_type() const noexcept { return LinkType::kEthernet; }

  // control threads: from now on the checksums of received frames are going to be verified, so they
  // must be there even where the sender left them to hardware. Never taken back.
  virtual void complete_checksums() {}

  // control threads: looks at the link without waiting; true when it changed since the last look
  // (logged).
  virtual bool poll_link() { return false; }
  // control threads: raises or lowers the link towards the peer, so that a wire's two sides agree.
  // kUnsupported where neither driver nor kernel can.
  virtual base::Result<void> set_link(bool up) {
    static_cast<void>(up);
    return base::Error{base::Errc::kUnsupported, "the port can't change its link"};
  }
};

}  // namespace merlon::io
