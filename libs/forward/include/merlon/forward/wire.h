// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a packet leaves: wire ports are paired and forwarded into one another untouched, tap ports
// have no other side. The table is shared by all workers: the pairing is immutable, link states and
// largest frames are shared-atomic, written by control when a link changes. Costs two loads per
// packet.
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "merlon/packet/burst.h"

namespace merlon::forward {

class WireTable {
 public:
  explicit WireTable(std::size_t port_count);

  // control, before workers start.
  void pair(std::uint16_t a, std::uint16_t b) noexcept;

  // control, at any time. max_frame counts bytes from the Ethernet header on, without the check
  // sequence.
  void set_link(std::uint16_t port, bool is_up) noexcept {
    ports_[port].is_link_up.store(is_up, std::memory_order_relaxed);
  }
  void set_max_frame(std::uint16_t port, std::uint32_t bytes) noexcept {
    ports_[port].max_frame.store(bytes, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint16_t peer(std::uint16_t port) const noexcept { return ports_[port].peer; }
  [[nodiscard]] bool is_tap(std::uint16_t port) const noexcept {
    return ports_[port].peer == base::kNoPort;
  }

  // Writes burst.out_port; kNoPort for tap ports. `is_uniform` promises that all packets came in by
  // one port.
  void choose_output(packet::Burst& burst, bool is_uniform) const noexcept;

  // Turns kForward into a drop with link_down or mtu_exceeded where the output can't take the
  // frame.
  void check_output(packet::Burst& burst, bool is_uniform) const noexcept;

 private:
  struct PortState {
    std::uint16_t peer = base::kNoPort;
    std::atomic<bool> is_link_up{true};
    std::atomic<std::uint32_t> max_frame{0xffffffff};
  };
  std::unique_ptr<PortState[]> ports_;
};

}  // namespace merlon::forward
