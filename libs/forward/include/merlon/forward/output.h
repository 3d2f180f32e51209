// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of a turn: forwarded packets go to their ports in the order they came, dropped ones and
// those of tap ports give their buffers back. worker-owned; one transmit call per port and burst. A
// burst that leaves whole through one port, the usual one, is sent from the burst's own handle
// column without a copy.
#include <array>
#include <cstdint>
#include <vector>

#include "merlon/io/port.h"
#include "merlon/packet/burst.h"

namespace merlon::forward {

// What the output queues did not take.
struct Lost {
  unsigned packets = 0;
  std::uint64_t bytes = 0;
};

class Output {
 public:
  // Ports by number; `queue` is this worker's transmit queue on each.
  Output(std::vector<io::Port*> ports, unsigned queue);

  // Sends and releases; held and handed-over packets are not ours any more and are left alone. What
  // is lost is gone; the caller counts it as transmit_full. `is_uniform`: all have the first one's
  // output port.
  Lost finish(const packet::Burst& burst, bool is_uniform = false) noexcept;

  // Sends one packet that we made, from a buffer of port `port`.
  bool send(std::uint16_t port, void* handle) noexcept;

  [[nodiscard]] io::Port& port(std::uint16_t number) const noexcept { return *ports_[number]; }
  [[nodiscard]] unsigned queue() const noexcept { return queue_; }

 private:
  Lost send_mixed(const packet::Burst& burst) noexcept;

  std::vector<io::Port*> ports_;
  unsigned queue_;
};

}  // namespace merlon::forward
