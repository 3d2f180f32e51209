// SPDX-License-Identifier: Apache-2.0
#include "merlon/engine/worker.h"

#include <time.h>

#include <algorithm>

#include "merlon/packet/parse.h"
#include "stages.h"

namespace merlon::engine {
namespace {

using packet::Burst;
using packet::Verdict;

// Sessions that end and requests that are served in one turn: small, so that no burst waits long
// for them.
constexpr unsigned kExpiriesPerTurn = 64;
// After this many turns without work a live worker sleeps between looks at its queues.
constexpr unsigned kIdleTurnsBeforeSleep = 2000;
constexpr long kSleepNanos = 50'000;

flow::TableOptions table_share(const EngineConfig& config) {
  flow::TableOptions o = config.table;
  o.max_sessions = std::max<std::uint32_t>(1, o.max_sessions / std::max(1U, config.workers));
  return o;
}

std::uint64_t bytes_of(const Burst& burst) noexcept {
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < burst.count; ++i) bytes += burst.length[i];
  return bytes;
}

}  // namespace

WorkerContext::WorkerContext(Shared& s, unsigned i, std::unique_ptr<flow::SessionTable> sessions,
                             const base::Nanos* replay_time)
    : shared(s),
      index(i),
      clock(replay_time),
      table_memory(std::move(sessions)),
      table(*table_memory),
      fragments(s.config.fragments),
      output(s.ports, i),
      drop_ring(s.config.drop_ring_packets),
      events(s.config.event_ring_records),
      drop_events(s.config.drop_events_per_second),
      rejects(s.config.reject_per_second) {}

base::Result<std::unique_ptr<Worker>> Worker::create(Shared& shared, unsigned index,
                                                     const base::Nanos* replay_time) {
  auto table = flow::SessionTable::create_table(table_share(shared.config));
  if (!table) return table.error();
  return std::unique_ptr<Worker>(
      new Worker(std::make_unique<WorkerContext>(shared, index, std::move(*table), replay_time)));
}

void WorkerContext::read_clock(std::uint64_t tsc) noexcept {
  clock.read(tsc);
  now = clock.wall();
  now_ticks =
      static_cast<base::Ticks>((clock.steady() - shared.steady_epoch) / base::kNanosPerTick);
}

Worker::Worker(std::unique_ptr<WorkerContext> context) : context_(std::move(context)) {
  // A port with a queue per worker gives each worker its own; ports with fewer are dealt out in
  // turn, and the worker that polls such a port spreads its packets.
  const Shared& shared = context_->shared;
  for (std::size_t p = 0; p < shared.ports.size(); ++p) {
    const unsigned queues = shared.ports[p]->info().rx_queues;
    for (unsigned q = 0; q < queues; ++q)
      if ((queues == 1 ? p : q) % shared.config.workers == context_->index)
        queues_.push_back({static_cast<std::uint16_t>(p), static_cast<std::uint16_t>(q)});
  }
}

bool Worker::turn_at(std::uint64_t tsc) noexcept {
  WorkerContext& ctx = *context_;
  SnapshotCell& snapshots = *ctx.shared.snapshots;
  ctx.snapshot = snapshots.read();
  ctx.burst.count = 0;
  if (ctx.snapshot != seen_snapshot_) {
    seen_snapshot_ = ctx.snapshot;
    ctx.stale_count = ctx.table.count();
    ctx.table.set_timeouts(ctx.snapshot->timeouts);
    ctx.table.set_source_counting(ctx.snapshot->counts_sources);
  }

  const Source source = receive();
  ctx.read_clock(tsc);
  ctx.burst.now = ctx.now;
  ctx.burst.now_ticks = ctx.now_ticks;

  if (source != Source::kNothing) carry(source);
  const bool had_chores = housekeep();
  snapshots.quiescent(ctx.index);
  return source != Source::kNothing || had_chores;
}

// The way of a packet.
void Worker::carry(Source source) noexcept {
  WorkerContext& ctx = *context_;
  Burst& burst = ctx.burst;
  burst.rule.fill(base::kNoRule);

  // Plain: whole TCP and UDP packets only, nothing refused; uniform: one input port. The usual
  // burst is both.
  const bool is_plain = source == Source::kPort && parse();
  // After parse(): summing lengths that the port has only just stored would wait for those stores,
  // about 75 cycles a burst.
  ctx.burst_bytes = bytes_of(burst);
  if (source == Source::kPort) ctx.counters.add_burst(burst.count, ctx.burst_bytes);
  const bool is_uniform = source == Source::kPort && !ctx.clock.is_replay();
  ctx.shared.wires->choose_output(burst, is_uniform);
  if (!is_plain) {
    if (source == Source::kPort) hand_over_fragments(ctx);
    resolve_fragments(ctx);
  }
  hand_over(ctx);

  if (is_plain && ctx.shared.config.workers == 1) {
    ctx.table.find_all(burst);
  } else {
    ctx.table.find_bulk(burst, 0, burst.count);
  }
  if (ctx.stale_count != 0) judge_stale(ctx);
  track(ctx);
  if (burst.verdict_mask(Verdict::kUndecided) != 0) {
    admit(ctx);
    pass_unsessioned(ctx);
  }

  ctx.shared.wires->check_output(burst, is_uniform);
  report(ctx);
  if (!is_plain) ctx.fragments.settle(burst);
  transmit(ctx, is_uniform);
}

bool Worker::parse() noexcept {
  WorkerContext& ctx = *context_;
  const io::LinkType type = last_port_->link_type();
  if (type == io::LinkType::kEthernet) [[likely]]
    return packet::parse(ctx.burst, ctx.snapshot->parse, ctx.snapshot->domains.data());
  packet::ParseOptions options = ctx.snapshot->parse;
  options.link_layer = io::link_layer_of(type).value_or(options.link_layer);
  return packet::parse(ctx.burst, options, ctx.snapshot->domains.data());
}

Worker::Source Worker::receive() noexcept {
  WorkerContext& ctx = *context_;
  if (ctx.fragments.held_count() != 0) {
    ctx.fragments.take_ready(ctx.burst);
    if (ctx.burst.count != 0) {
      ctx.is_resolved.fill(true);
      return Source::kFragments;
    }
  }
  if (receive_from_workers()) return Source::kOtherWorker;
  if (receive_from_ports()) return Source::kPort;
  return Source::kNothing;
}

bool Worker::receive_from_workers() noexcept {
  WorkerContext& ctx = *context_;
  const unsigned workers = ctx.shared.config.workers;
  if (workers == 1) return false;
  Burst& b = ctx.burst;
  for (unsigned from = 0; from < workers && b.count < Burst::kCapacity; ++from) {
    HandOverRing* ring = ctx.shared.rings[ctx.index * workers + from].get();
    HandOver h;
    while (ring != nullptr && b.count < Burst::kCapacity && ring->pop(h)) {
      const unsigned i = b.count++;
      b.handle[i] = h.handle;
      b.data[i] = h.data;
      b.captured[i] = h.captured;
      b.length[i] = h.length;
      b.in_port[i] = h.in_port;
      b.time[i] = h.time;
      b.number[i] = h.number;
      b.key[i] = h.key;
      b.hash[i] = h.hash;
      b.headers[i] = h.headers;
      b.verdict[i] = h.reason == base::DropReason::kNone ? Verdict::kUndecided : Verdict::kDrop;
      b.reason[i] = h.reason;
      ctx.is_resolved[i] = h.is_resolved;
    }
  }
  if (b.count != 0) ctx.counters.taken_over_packets.add(b.count);
  return b.count != 0;
}

bool Worker::receive_from_ports() noexcept {
  WorkerContext& ctx = *context_;
  for (std::size_t tried = 0; tried < queues_.size(); ++tried) {
    const PortQueue q = queues_[next_queue_];
    next_queue_ = next_queue_ + 1 == queues_.size() ? 0 : next_queue_ + 1;
    ctx.shared.ports[q.port]->receive(q.queue, ctx.burst, Burst::kCapacity);
    if (ctx.burst.count == 0) continue;
    last_port_ = ctx.shared.ports[q.port];
    if (ctx.shared.config.workers != 1 || ctx.is_resolved[0]) ctx.is_resolved.fill(false);
    return true;
  }
  return false;
}

bool Worker::housekeep() noexcept {
  WorkerContext& ctx = *context_;
  unsigned ended = 0;
  ctx.table.expire(ctx.now_ticks, kExpiriesPerTurn,
                   [&](std::uint32_t index, base::SessionEnd why) noexcept {
                     note_session_end(ctx, index, why);
                     ++ended;
                   });
  finish_fragments();
  // Levels change slowly; one store in 64 turns keeps them off the fast path.
  if ((++turns_ & 63) == 0 || ctx.burst.count == 0) store_gauges();
  return serve(ctx) || ended != 0;
}

void Worker::store_gauges() noexcept {
  WorkerContext& ctx = *context_;
  const flow::TableCounters& c = ctx.table.counters();
  ctx.gauges.store({.sessions = ctx.table.count(),
                    .sessions_max = ctx.table.capacity(),
                    .half_open = ctx.table.count(flow::SessionClass::kHalfOpen),
                    .sessions_peak = static_cast<std::uint32_t>(c.peak),
                    .sources = ctx.table.sources().active(),
                    .fragments_held = ctx.fragments.held_count(),
                    .fragment_datagrams = ctx.fragments.datagram_count(),
                    .timeout_scale = ctx.table.timeout_scale(),
                    .table_full = c.table_full,
                    .window_passed = c.window_passed,
                    .syn_passed = c.syn_passed,
                    .icmp_errors = c.icmp_errors});
}

void Worker::serve_request() noexcept {
  WorkerContext& ctx = *context_;
  ctx.snapshot = ctx.shared.snapshots->read();
  ctx.burst.count = 0;
  ctx.read_clock(base::read_tsc());
  serve(ctx);
}

void Worker::finish_fragments() noexcept {
  WorkerContext& ctx = *context_;
  if (ctx.fragments.held_count() == 0) return;
  ctx.burst.count = 0;
  ctx.fragments.expire(ctx.burst, ctx.now_ticks);
  if (ctx.burst.count == 0) return;
  ctx.burst.session.fill(packet::kNoSession);
  ctx.burst.rule.fill(base::kNoRule);
  ctx.burst_bytes = bytes_of(ctx.burst);
  ctx.shared.wires->choose_output(ctx.burst, false);
  report(ctx);
  transmit(ctx, false);
}

void Worker::run(const std::atomic<bool>& stop) noexcept {
  WorkerContext& ctx = *context_;
  ctx.shared.snapshots->online(ctx.index);
  // No turn has so much work: the processor ran something else, or nothing.
  const auto late = static_cast<std::uint64_t>(base::TscClock::frequency() / 100);
  // `before`: the end of the turn before; `now`: the beginning of this one, after a sleep a later
  // moment.
  std::uint64_t before = base::read_tsc(), now = before;
  unsigned idle = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    const bool was_busy = turn_at(now);
    const std::uint64_t after = base::read_tsc();
    const std::uint64_t took = after - now, passed = after - before;
    before = now = after;
    ctx.counters.cycles.add(passed);
    if (passed > late) [[unlikely]] {
      ctx.counters.late_turns.add();
      ctx.counters.late_cycles.add(passed);
    }
    if (was_busy) {
      ctx.counters.busy_turns.add();
      ctx.counters.busy_cycles.add(took);
      if (took > ctx.longest_turn.load(std::memory_order_relaxed))
        ctx.longest_turn.store(took, std::memory_order_relaxed);
      idle = 0;
      continue;
    }
    ctx.counters.idle_turns.add();
    if (++idle > kIdleTurnsBeforeSleep) {
      const timespec pause{.tv_sec = 0, .tv_nsec = kSleepNanos};
      nanosleep(&pause, nullptr);
      now = base::read_tsc();
    }
  }
  ctx.shared.snapshots->offline(ctx.index);
}

bool Worker::end_sessions(std::uint32_t most) noexcept {
  WorkerContext& ctx = *context_;
  ctx.snapshot = ctx.shared.snapshots->read();
  ctx.burst.count = 0;
  for (std::uint32_t ended = 0; next_to_end_ < ctx.table.capacity(); ++next_to_end_) {
    if (!ctx.table.is_live(next_to_end_)) continue;
    if (ended++ == most) return false;
    end_session(ctx, next_to_end_, base::SessionEnd::kShutdown);
  }
  store_gauges();
  return true;
}

}  // namespace merlon::engine
