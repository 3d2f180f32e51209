// SPDX-License-Identifier: Apache-2.0
// What became of a burst, told once: counters, the ring of last drops, events.
#include <algorithm>
#include <bit>

#include "stages.h"

namespace merlon::engine {
namespace {

using base::DropReason;
using base::EventKind;
using base::EventRecord;
using flow::Session;
using packet::Burst;
using packet::Kind;
using packet::Verdict;

bool is_replay_time(const WorkerContext& ctx) noexcept { return ctx.clock.is_replay(); }

EventRecord* begin_event(WorkerContext& ctx) noexcept {
  EventRecord* r = ctx.events.begin_push();
  if (r == nullptr) {
    ctx.counters.events_lost.add();
    return nullptr;
  }
  ctx.counters.events_written.add();
  *r = EventRecord{};
  r->worker = static_cast<std::uint8_t>(ctx.index);
  r->generation = ctx.snapshot->revision;
  return r;
}

base::Nanos packet_time(const WorkerContext& ctx, unsigned i) noexcept {
  return is_replay_time(ctx) ? ctx.burst.time[i] : ctx.now;
}

std::uint64_t packet_number(const WorkerContext& ctx, unsigned i) noexcept {
  return is_replay_time(ctx) ? ctx.burst.number[i] : 0;
}

// Addresses as they stand in the packet, from its key. A packet that was refused before it had a
// key has none.
void fill_endpoints(EventRecord& r, const Burst& b, unsigned i) noexcept {
  const packet::FlowKey& k = b.key[i];
  const packet::Headers& h = b.headers[i];
  const bool swapped = h.direction != 0;
  r.source = swapped ? k.b : k.a;
  r.destination = swapped ? k.a : k.b;
  // A later fragment carries no ports, though its datagram's may be known by now.
  if (k.protocol != 1 && k.protocol != 58 && h.kind != Kind::kFragment) {
    r.source_port = swapped ? k.port_b : k.port_a;
    r.destination_port = swapped ? k.port_a : k.port_b;
  }
  r.protocol = k.protocol;
  r.icmp_type = h.icmp_type;
  r.icmp_code = h.icmp_code;
  r.vlan_outer = k.vlan_outer;
  r.vlan_inner = k.vlan_inner;
}

void report_drop(WorkerContext& ctx, unsigned i, bool is_tap) noexcept {
  const Burst& b = ctx.burst;
  ctx.counters.add_drop(b.reason[i], b.length[i]);
  if (is_tap) ctx.counters.add_would_drop(b.reason[i]);
  std::uint64_t flow_id = 0;
  if (b.session[i] != packet::kNoSession) flow_id = ctx.table.cold(b.session[i]).flow_id;
  ctx.drop_ring.write({.time = packet_time(ctx, i),
                       .packet_number = packet_number(ctx, i),
                       .flow_id = flow_id,
                       .length = b.length[i],
                       .rule = b.rule[i],
                       .generation = ctx.snapshot->revision,
                       .in_port = b.in_port[i],
                       .out_port = b.out_port[i],
                       .reason = b.reason[i],
                       .worker = static_cast<std::uint8_t>(ctx.index),
                       .is_would_drop = is_tap},
                      b.data[i], b.captured[i]);
  if (!is_replay_time(ctx) && !ctx.drop_events.take(ctx.now_ticks)) {
    ctx.counters.drop_events_suppressed.add();
    return;
  }
  EventRecord* r = begin_event(ctx);
  if (r == nullptr) return;
  r->kind = EventKind::kDrop;
  r->action = base::Action::kDrop;
  r->reason = b.reason[i];
  r->is_would_drop = is_tap;
  r->time = packet_time(ctx, i);
  r->packet_number = packet_number(ctx, i);
  r->flow_id = flow_id;
  r->in_port = b.in_port[i];
  r->out_port = b.out_port[i];
  r->rule = b.rule[i];
  r->length = b.length[i];
  r->tcp_flags[0] = b.headers[i].tcp_flags;
  fill_endpoints(*r, b, i);
  ctx.events.end_push();
}

}  // namespace

base::Nanos time_of(const WorkerContext& ctx, base::Ticks ticks) noexcept {
  const base::Nanos into_tick =
      (ctx.clock.steady() - ctx.shared.steady_epoch) % base::kNanosPerTick;
  const base::Nanos now_floor = ctx.now - into_tick;
  return now_floor - static_cast<base::Nanos>(static_cast<std::int32_t>(ctx.now_ticks - ticks)) *
                         base::kNanosPerTick;
}

void report(WorkerContext& ctx) noexcept {
  const Burst& b = ctx.burst;
  for (std::uint64_t left = b.verdict_mask(Verdict::kDrop); left != 0; left &= left - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(left));
    report_drop(ctx, i, b.out_port[i] == base::kNoPort);
  }
}

void transmit(WorkerContext& ctx, bool is_uniform) noexcept {
  const Burst& b = ctx.burst;
  std::uint64_t packets = 0, bytes = 0, tapped = 0;
  const std::uint64_t forwarded = b.verdict_mask(Verdict::kForward);
  if (is_uniform && forwarded == b.used_mask() && b.out_port[0] != base::kNoPort) [[likely]] {
    packets = b.count;
    bytes = ctx.burst_bytes;
  } else {
    const std::uint64_t judged = forwarded | b.verdict_mask(Verdict::kDrop);
    for (unsigned i = 0; i < b.count; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << i;
      const bool is_tap = b.out_port[i] == base::kNoPort;
      packets += (forwarded & bit) != 0 && !is_tap ? 1U : 0U;
      bytes += (forwarded & bit) != 0 && !is_tap ? b.length[i] : 0U;
      tapped += is_tap && (judged & bit) != 0 ? 1U : 0U;
    }
  }
  const forward::Lost lost = ctx.output.finish(b, is_uniform);
  if (packets != 0) {
    ctx.counters.forwarded_packets.add(packets - lost.packets);
    ctx.counters.forwarded_bytes.add(bytes - lost.bytes);
  }
  if (tapped != 0) ctx.counters.tapped_packets.add(tapped);
  if (lost.packets != 0) [[unlikely]]
    ctx.counters.add_drops(DropReason::kTransmitFull, lost.packets, lost.bytes);
}

void report_policy(WorkerContext& ctx, unsigned i, const policy::Query& q,
                   const policy::Decision& d, std::uint64_t flow_id) noexcept {
  EventRecord* r = begin_event(ctx);
  if (r == nullptr) return;
  r->kind = EventKind::kPolicy;
  r->action = d.action;
  r->reason = d.action == base::Action::kPermit ? DropReason::kNone : ctx.burst.reason[i];
  r->is_would_drop = ctx.burst.out_port[i] == base::kNoPort && d.action != base::Action::kPermit;
  r->time = r->start = packet_time(ctx, i);
  r->packet_number = packet_number(ctx, i);
  r->flow_id = flow_id;
  r->rule = d.rule;
  r->length = ctx.burst.length[i];
  fill_endpoints(*r, ctx.burst, i);
  r->source = q.source;
  r->destination = q.destination;
  r->in_port = q.in_port;
  r->out_port = q.out_port;
  r->zone_source = q.zone_source;
  r->zone_destination = q.zone_destination;
  ctx.events.end_push();
}

void report_flow(WorkerContext& ctx, const Session& s, const flow::SessionCold& cold,
                 base::SessionEnd end) noexcept {
  EventRecord* r = begin_event(ctx);
  if (r == nullptr) return;
  const policy::Query q = query_of(s, cold);
  r->kind = EventKind::kFlow;
  r->generation = ctx.shared.revision_of(s.generation);  // whose zone numbers the session holds
  r->action = base::Action::kPermit;
  r->end = end;
  r->protocol = q.protocol;
  r->icmp_type = q.icmp_type;
  r->icmp_code = q.icmp_code;
  r->state = static_cast<std::uint8_t>(s.state);
  r->tcp_flags[0] = s.tcp_flags_seen[0];
  r->tcp_flags[1] = s.tcp_flags_seen[1];
  r->time = std::max(cold.start, time_of(ctx, s.last_seen));
  r->packet_number = cold.first_packet_number;
  r->flow_id = cold.flow_id;
  r->source = q.source;
  r->destination = q.destination;
  r->source_port = q.source_port;
  r->destination_port = q.destination_port;
  r->vlan_outer = s.key.vlan_outer;
  r->vlan_inner = s.key.vlan_inner;
  r->in_port = cold.in_port;
  r->out_port = cold.out_port;
  r->zone_source = cold.zone_source;
  r->zone_destination = cold.zone_destination;
  r->rule = s.rule;
  r->start = cold.start;
  for (unsigned side = 0; side < 2; ++side) {
    r->packets[side] = s.packets[side];
    r->bytes[side] = s.bytes[side];
  }
  ctx.events.end_push();
}

void note_session_end(WorkerContext& ctx, std::uint32_t index, base::SessionEnd end) noexcept {
  const Session& s = ctx.table.at(index);
  // A closed connection's entry is kept a while; how it was closed is why it ended.
  if (end == base::SessionEnd::kTimeout && s.state == flow::SessionState::kTimeWait)
    end = base::SessionEnd::kTcpFin;
  if (end == base::SessionEnd::kTimeout && s.state == flow::SessionState::kReset)
    end = base::SessionEnd::kTcpRst;
  if (s.is(Session::kLogEnd)) report_flow(ctx, s, ctx.table.cold(index), end);
  ctx.shared.hits->add_traffic(ctx.index, s.rule, s.packets[0] + s.packets[1],
                               s.bytes[0] + s.bytes[1]);
  ctx.counters.add_session_end(end);
  if (ctx.snapshot != nullptr && s.generation != ctx.snapshot->generation && ctx.stale_count != 0)
    --ctx.stale_count;
  for (unsigned i = 0; i < ctx.burst.count; ++i)
    if (ctx.burst.session[i] == index) ctx.burst.session[i] = packet::kNoSession;
}

void end_session(WorkerContext& ctx, std::uint32_t index, base::SessionEnd end) noexcept {
  note_session_end(ctx, index, end);
  ctx.table.erase(index, end);
}

}  // namespace merlon::engine
