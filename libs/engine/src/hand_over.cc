// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/steering.h"
#include "stages.h"

namespace merlon::engine {
namespace {

using packet::Burst;
using packet::Headers;
using packet::Kind;
using packet::Verdict;

bool is_fragment(const Headers& h) noexcept {
  return h.kind == Kind::kFragment || h.is(Headers::kFirstFragment);
}

void give(WorkerContext& ctx, unsigned i, unsigned owner, bool is_resolved) noexcept {
  Burst& b = ctx.burst;
  HandOverRing& ring = *ctx.shared.rings[owner * ctx.shared.config.workers + ctx.index];
  HandOver* h = ring.begin_push();
  if (h == nullptr) {
    if (b.verdict[i] != Verdict::kDrop) b.drop(i, base::DropReason::kHandOverFull);
    return;
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
        .in_port = b.in_port[i],
        .reason = b.verdict[i] == Verdict::kDrop ? b.reason[i] : base::DropReason::kNone,
        .is_resolved = is_resolved};
  ring.end_push();
  b.verdict[i] = Verdict::kHandOver;
  ctx.counters.handed_over_packets.add();
}

// Pure in the key, so that all packets of a session agree wherever they came in: fragments, ICMP
// errors and what a card can't hash the same way included.
unsigned owner_of(const WorkerContext& ctx, unsigned i) noexcept {
  const unsigned workers = ctx.shared.config.workers;
  if (!ctx.shared.owns_by_rss) return packet::owner_of(ctx.burst.hash[i], workers);
  // Cards' tables have a power of two of entries, as have the workers here: the size drops out.
  return io::rss_queue(io::symmetric_rss_hash(ctx.burst.key[i], true), workers, workers);
}

}  // namespace

void hand_over_fragments(WorkerContext& ctx) noexcept {
  const unsigned workers = ctx.shared.config.workers;
  Burst& b = ctx.burst;
  for (unsigned i = 0; i < b.count; ++i) {
    if (!is_fragment(b.headers[i])) [[likely]]
      continue;
    ctx.counters.fragment_packets.add();
    if (workers == 1) continue;
    const unsigned owner =
        packet::owner_of(packet::fragment_hash(b, i, ctx.snapshot->parse.seed), workers);
    if (owner != ctx.index) give(ctx, i, owner, false);
  }
}

void resolve_fragments(WorkerContext& ctx) noexcept {
  Burst& b = ctx.burst;
  bool has_fragments = false;
  for (unsigned i = 0; i < b.count; ++i) has_fragments |= is_fragment(b.headers[i]);
  if (!has_fragments) [[likely]]
    return;
  // The table looks at undecided packets; what is resolved already passes by it.
  for (unsigned i = 0; i < b.count; ++i)
    if (ctx.is_resolved[i] && b.verdict[i] == Verdict::kUndecided) b.verdict[i] = Verdict::kForward;
  ctx.fragments.process(b);
  for (unsigned i = 0; i < b.count; ++i)
    if (ctx.is_resolved[i] && b.verdict[i] == Verdict::kForward) b.verdict[i] = Verdict::kUndecided;
}

void hand_over(WorkerContext& ctx) noexcept {
  const unsigned workers = ctx.shared.config.workers;
  if (workers == 1) return;
  Burst& b = ctx.burst;
  for (unsigned i = 0; i < b.count; ++i) {
    // Without a key any worker will do: link control, and packets that are dropped already.
    if (b.verdict[i] != Verdict::kUndecided || b.headers[i].kind <= Kind::kNeighbour) continue;
    const unsigned owner = owner_of(ctx, i);
    if (owner != ctx.index) give(ctx, i, owner, is_fragment(b.headers[i]));
  }
}

}  // namespace merlon::engine
