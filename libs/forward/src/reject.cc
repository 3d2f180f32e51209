// SPDX-License-Identifier: Apache-2.0
#include "merlon/forward/reject.h"

#include <array>
#include <cstring>

#include "merlon/packet/reply.h"

namespace merlon::forward {

void reject(const packet::Burst& burst, unsigned i, Output& output, telemetry::TokenBucket& budget,
            base::Ticks now, telemetry::WorkerCounters& counters) noexcept {
  if (burst.out_port[i] == base::kNoPort) return;
  std::array<base::Byte, packet::kMaxReplySize> message;
  const unsigned length = burst.headers[i].kind == packet::Kind::kTcp
                              ? packet::make_reset(burst, i, message)
                              : packet::make_unreachable(burst, i, message);
  if (length == 0) return;
  if (!budget.take(now)) {
    counters.rejects_suppressed.add();
    return;
  }
  io::Port& port = output.port(burst.in_port[i]);
  base::Byte* data = nullptr;
  void* handle = port.allocate(output.queue(), length, data);
  if (handle == nullptr) {
    counters.rejects_suppressed.add();
    return;
  }
  std::memcpy(data, message.data(), length);
  port.set_length(handle, length);
  if (output.send(burst.in_port[i], handle)) counters.rejects_sent.add();
}

}  // namespace merlon::forward
