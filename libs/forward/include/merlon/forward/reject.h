// SPDX-License-Identifier: Apache-2.0
#pragma once
// Telling a sender that its packet was refused: RST for TCP, ICMP unreachable for the rest, sent
// back through the port the packet came in by. worker-owned; rate limited, because a reject can be
// asked for with a forged source. Never on tap ports, never in answer to what must not be answered
// (packet/reply.h).
#include "merlon/forward/output.h"
#include "merlon/telemetry/rate_limit.h"
#include "merlon/telemetry/worker_counters.h"

namespace merlon::forward {

void reject(const packet::Burst& burst, unsigned i, Output& output, telemetry::TokenBucket& budget,
            base::Ticks now, telemetry::WorkerCounters& counters) noexcept;

}  // namespace merlon::forward
