// SPDX-License-Identifier: Apache-2.0
#include "stages.h"

namespace merlon::engine {

using packet::Verdict;

void hand_over(WorkerContext& ctx) noexcept {
  const unsigned workers = ctx.shared.config.workers;
  if (workers == 1) return;
  packet::Burst& b = ctx.burst;
  for (unsigned i = 0; i < b.count; ++i) {
    // Without a key any worker will do: link control, and packets that are dropped already.
    if (b.verdict[i] != Verdict::kUndecided || b.headers[i].kind <= packet::Kind::kNeighbour) continue;
    const unsigned owner = packet::owner_of(b.hash[i], workers);
    if (owner == ctx.index) continue;
    HandOver* h = ctx.shared.rings[owner * workers + ctx.index]->begin_push();
    if (h == nullptr) {
      b.drop(i, base::DropReason::kHandOverFull);
      continue;
    }
    *h = {.handle = b.handle[i],
          .data = b.data[i],
          .hash = b.hash[i],
          .number = b.number[i],
          .time = b.time[i],
          .captured = b.captured[i],
          .length = b.length[i],
          .key = b.key[i],
          .headers = b.headers[i],
          .in_port = b.in_port[i]};
    ctx.shared.rings[owner * workers + ctx.index]->end_push();
    b.verdict[i] = Verdict::kHandOver;
    ctx.counters.handed_over_packets.add();
  }
}

}  // namespace merlon::engine
