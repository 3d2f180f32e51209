// SPDX-License-Identifier: Apache-2.0
#include "merlon/forward/output.h"

#include <utility>

namespace merlon::forward {

using packet::Burst;
using packet::Verdict;

Output::Output(std::vector<io::Port*> ports, unsigned queue)
    : ports_(std::move(ports)), queue_(queue) {}

Lost Output::finish(const Burst& burst, bool is_uniform) noexcept {
  if (burst.count == 0) return {};
  const std::uint16_t out = burst.out_port[0];
  unsigned other_ports = 0;
  if (!is_uniform)
    for (unsigned i = 0; i < burst.count; ++i)
      other_ports |= static_cast<unsigned>(burst.out_port[i] ^ out);
  if (out == base::kNoPort || other_ports != 0 ||
      burst.verdict_mask(Verdict::kForward) != burst.used_mask()) [[unlikely]]
    return send_mixed(burst);
  Lost lost;
  const unsigned sent = ports_[out]->transmit(queue_, burst.handle.data(), burst.count);
  for (unsigned i = sent; i < burst.count; ++i) {
    ++lost.packets;
    lost.bytes += burst.length[i];
  }
  return lost;
}

Lost Output::send_mixed(const Burst& burst) noexcept {
  std::array<void*, Burst::kCapacity> handles;
  std::array<std::uint32_t, Burst::kCapacity> lengths;
  std::array<bool, Burst::kCapacity> is_done{};
  Lost lost;
  for (unsigned first = 0; first < burst.count; ++first) {
    if (is_done[first] || burst.verdict[first] == Verdict::kHold ||
        burst.verdict[first] == Verdict::kHandOver)
      continue;
    // All packets that share the first one's fate, in order.
    const bool is_sent =
        burst.verdict[first] == Verdict::kForward && burst.out_port[first] != base::kNoPort;
    const std::uint16_t port = is_sent ? burst.out_port[first] : burst.in_port[first];
    unsigned count = 0;
    for (unsigned i = first; i < burst.count; ++i) {
      if (is_done[i] || burst.verdict[i] == Verdict::kHold ||
          burst.verdict[i] == Verdict::kHandOver)
        continue;
      const bool same_fate =
          burst.verdict[i] == Verdict::kForward && burst.out_port[i] != base::kNoPort;
      if (same_fate != is_sent || (same_fate ? burst.out_port[i] : burst.in_port[i]) != port)
        continue;
      is_done[i] = true;
      lengths[count] = burst.length[i];
      handles[count++] = burst.handle[i];
    }
    if (is_sent) {
      for (unsigned i = ports_[port]->transmit(queue_, handles.data(), count); i < count; ++i) {
        ++lost.packets;
        lost.bytes += lengths[i];
      }
    } else {
      ports_[port]->release(queue_, handles.data(), count);
    }
  }
  return lost;
}

bool Output::send(std::uint16_t port, void* handle) noexcept {
  return ports_[port]->transmit(queue_, &handle, 1) == 1;
}

}  // namespace merlon::forward
