// SPDX-License-Identifier: Apache-2.0
#include "merlon/forward/wire.h"

#include <algorithm>

namespace merlon::forward {

using base::DropReason;
using packet::Verdict;

WireTable::WireTable(std::size_t port_count) : ports_(std::make_unique<PortState[]>(port_count)) {}

void WireTable::pair(std::uint16_t a, std::uint16_t b) noexcept {
  ports_[a].peer = b;
  ports_[b].peer = a;
}

void WireTable::choose_output(packet::Burst& burst, bool is_uniform) const noexcept {
  if (is_uniform) {
    burst.out_port.fill(ports_[burst.in_port[0]].peer);
    return;
  }
  for (unsigned i = 0; i < burst.count; ++i) burst.out_port[i] = ports_[burst.in_port[i]].peer;
}

void WireTable::check_output(packet::Burst& burst, bool is_uniform) const noexcept {
  if (is_uniform) {
    if (burst.out_port[0] == base::kNoPort) return;
    std::uint32_t longest = 0;
    for (unsigned i = 0; i < burst.count; ++i) longest = std::max(longest, burst.length[i]);
    const PortState& out = ports_[burst.out_port[0]];
    if (out.is_link_up.load(std::memory_order_relaxed) &&
        longest <= out.max_frame.load(std::memory_order_relaxed)) [[likely]]
      return;
  }
  for (unsigned i = 0; i < burst.count; ++i) {
    if (burst.verdict[i] != Verdict::kForward || burst.out_port[i] == base::kNoPort) continue;
    const PortState& out = ports_[burst.out_port[i]];
    if (!out.is_link_up.load(std::memory_order_relaxed)) [[unlikely]] {
      burst.drop(i, DropReason::kLinkDown);
    } else if (burst.length[i] > out.max_frame.load(std::memory_order_relaxed)) [[unlikely]] {
      burst.drop(i, DropReason::kMtuExceeded);
    }
  }
}

}  // namespace merlon::forward
