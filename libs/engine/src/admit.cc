// SPDX-License-Identifier: Apache-2.0
// Sessions begin here, and meet policy again here after a commit. The common case, a burst of known
// sessions with a current verdict, costs two compares per packet; all else goes through an index
// list.
#include "merlon/flow/track.h"
#include "merlon/forward/reject.h"
#include "stages.h"

namespace merlon::engine {
namespace {

using base::Action;
using base::DropReason;
using flow::Session;
using packet::Burst;
using packet::Headers;
using packet::Kind;
using packet::Verdict;

constexpr std::uint8_t kNoQuestion = 0xff;
constexpr std::uint8_t kUdpLite = 136;
// Records of new sessions are fetched this many ahead.
constexpr unsigned kPrefetchEvery = 16;

bool has_sessions(Kind kind) noexcept { return kind > Kind::kNeighbour; }

// Packets whose session carries a verdict of an older snapshot.
void collect_stale(WorkerContext& ctx) noexcept {
  const Burst& b = ctx.burst;
  const std::uint32_t generation = ctx.snapshot->generation;
  unsigned n = 0;
  for (unsigned i = 0; i < b.count; ++i) {
    const std::uint32_t s = b.session[i];
    ctx.misses[n] = static_cast<std::uint8_t>(i);
    n += b.verdict[i] == Verdict::kUndecided && s != packet::kNoSession &&
                 ctx.table.at(s).generation != generation
             ? 1U
             : 0U;
  }
  ctx.miss_count = n;
}

// Packets that have no session and could have one.
void collect_misses(WorkerContext& ctx) noexcept {
  const Burst& b = ctx.burst;
  unsigned n = 0;
  for (unsigned i = 0; i < b.count; ++i) {
    ctx.misses[n] = static_cast<std::uint8_t>(i);
    n += b.verdict[i] == Verdict::kUndecided && has_sessions(b.headers[i].kind) ? 1U : 0U;
  }
  ctx.miss_count = n;
}

std::uint8_t session_flags(const policy::Decision& d) noexcept {
  std::uint8_t f = 0;
  if (d.log == policy::LogMode::kStart || d.log == policy::LogMode::kBoth) f |= Session::kLogStart;
  if (d.log == policy::LogMode::kEnd || d.log == policy::LogMode::kBoth) f |= Session::kLogEnd;
  if (d.on_change == policy::OnChange::kKeep) f |= Session::kKeepOnChange;
  if (d.on_change == policy::OnChange::kKill) f |= Session::kKillOnChange;
  return f;
}

void refuse(WorkerContext& ctx, unsigned i, const policy::Decision& d) noexcept {
  Burst& b = ctx.burst;
  b.drop(i, refusal_reason(d));
  b.rule[i] = d.rule;
  if (d.action == Action::kReject)
    forward::reject(b, i, ctx.output, ctx.rejects, ctx.now_ticks, ctx.counters);
}

// A session whose verdict comes from an older snapshot asks again, as its rule wants.
void judge_again(WorkerContext& ctx, unsigned i) noexcept {
  constexpr std::uint8_t kPolicyFlags =
      Session::kLogStart | Session::kLogEnd | Session::kKeepOnChange | Session::kKillOnChange;
  Burst& b = ctx.burst;
  const std::uint32_t index = b.session[i];
  // An earlier packet of this burst may have asked, or ended the session.
  if (index == packet::kNoSession || ctx.table.at(index).generation == ctx.snapshot->generation)
    return;
  Session& s = ctx.table.at(index);
  const bool is_late = ctx.table.is_over(s, ctx.now_ticks);  // track() will end it as timed out
  if (s.is(Session::kKeepOnChange) || s.is(Session::kDropAll) || is_late) {
    s.generation = ctx.snapshot->generation;
    --ctx.stale_count;
    return;
  }
  flow::SessionCold& cold = ctx.table.cold(index);
  const policy::Query q = query_of(s, cold, *ctx.snapshot->policy);
  const policy::Decision d = ctx.snapshot->policy->decide(q, ctx.now);
  ctx.counters.policy_rechecks.add();
  if (d.action == Action::kPermit && (!s.is(Session::kKillOnChange) || d.rule == s.rule)) {
    if (d.rule != s.rule) ctx.table.count_rule(index, d.rule);
    s.generation = ctx.snapshot->generation;
    --ctx.stale_count;
    cold.zone_source = q.zone_source;
    cold.zone_destination = q.zone_destination;
    s.flags = static_cast<std::uint8_t>((s.flags & ~kPolicyFlags) | session_flags(d));
    return;
  }
  if (d.action == Action::kPermit) {
    b.drop(i, DropReason::kSessionKilled);
    b.rule[i] = s.rule;
  } else {
    refuse(ctx, i, d);
    if (d.log != policy::LogMode::kNone) report_policy(ctx, i, q, d, cold.flow_id);
  }
  end_session(ctx, index, base::SessionEnd::kPolicy);
}

bool passes_when_full(const WorkerContext& ctx, unsigned i) noexcept {
  return ctx.snapshot->table_full == Pass::kForward ||
         ctx.snapshot->fails_open[ctx.burst.in_port[i]] != 0;
}

// The rest of a datagram whose first fragment opened no session, on this worker or on the one that
// owns the datagram.
void admit_rest(WorkerContext& ctx, unsigned i) noexcept {
  if (ctx.table.count() == ctx.table.capacity() && passes_when_full(ctx, i)) {
    ctx.burst.verdict[i] = Verdict::kForward;
  } else {
    ctx.burst.drop(i, DropReason::kFragmentDatagram);
  }
}

// Policy permits: a new session, if the limits and the table allow one.
void open(WorkerContext& ctx, unsigned i, const policy::Query& q, const policy::Decision& d,
          const flow::TrackOptions& options) noexcept {
  Burst& b = ctx.burst;
  if (d.max_sessions_per_source != 0 &&
      ctx.table.sources().count_of(q.source) >= d.max_sessions_per_source) {
    b.rule[i] = d.rule;
    b.drop(i, DropReason::kSourceLimit);
    ctx.shared.hits->add_limit_drop(ctx.index, d.rule);
    return;
  }
  const flow::Opening opening{.rule = d.rule,
                              .generation = ctx.snapshot->generation,
                              .flags = session_flags(d),
                              .drop_reason = DropReason::kNone,
                              .max_per_rule = d.max_sessions,
                              .zone_source = q.zone_source,
                              .zone_destination = q.zone_destination,
                              .start = ctx.clock.is_replay() ? b.time[i] : ctx.now,
                              .packet_number = ctx.clock.is_replay() ? b.number[i] : 0};
  const std::uint32_t index =
      flow::open(b, i, ctx.table, options, opening,
                 [&ctx](std::uint32_t victim, base::SessionEnd why) noexcept {
                   note_session_end(ctx, victim, why);
                 });
  if (index == packet::kNoSession) {
    if (b.reason[i] == DropReason::kSessionTableFull && passes_when_full(ctx, i))
      b.verdict[i] = Verdict::kForward;
    if (b.reason[i] == DropReason::kRuleLimit) ctx.shared.hits->add_limit_drop(ctx.index, d.rule);
    return;
  }
  ctx.counters.sessions_created.add();
  ctx.table.at(index).start = ctx.now_ticks;
  if (ctx.table.at(index).is(Session::kLogStart))
    report_policy(ctx, i, q, d, ctx.table.cold(index).flow_id);
}

void apply(WorkerContext& ctx, unsigned i, const policy::Query& q, const policy::Decision& d,
           flow::TrackOptions options) noexcept {
  Burst& b = ctx.burst;
  if (d.midstream != 0) options.tcp.allow_midstream = d.midstream == 1;
  if (ctx.snapshot->has_midstream_rules) {
    if (const DropReason why = flow::may_open(b, i, options); why != DropReason::kNone) {
      b.drop(i, why);
      return;
    }
  }
  if (ctx.snapshot->judges_zones &&
      (q.zone_source == base::kNoZone || q.zone_destination == base::kNoZone)) {
    b.drop(i, DropReason::kNoZone);
    return;
  }
  ctx.shared.hits->add(ctx.index, d.rule, ctx.now);
  if (d.action == Action::kPermit) {
    open(ctx, i, q, d, options);
    return;
  }
  refuse(ctx, i, d);
  if (d.log != policy::LogMode::kNone) report_policy(ctx, i, q, d, 0);
}

}  // namespace

DropReason refusal_reason(const policy::Decision& d) noexcept {
  if (d.rule == policy::kDefaultRuleSlot) return DropReason::kDefaultDeny;
  return d.action == Action::kReject ? DropReason::kPolicyReject : DropReason::kPolicyDeny;
}

void judge_stale(WorkerContext& ctx) noexcept {
  collect_stale(ctx);
  for (unsigned m = 0; m < ctx.miss_count; ++m) judge_again(ctx, ctx.misses[m]);
}

void track(WorkerContext& ctx) noexcept {
  flow::EndList ends;
  flow::track(ctx.burst, ctx.table, {ctx.snapshot->tcp, ctx.snapshot->limits}, ends);
  for (const auto& e : ends.span()) end_session(ctx, e.session, e.why);
}

policy::Query query_of_packet(const EngineSnapshot& snapshot, const Burst& b, unsigned i) noexcept {
  const packet::FlowKey& k = b.key[i];
  const Headers& h = b.headers[i];
  policy::Query q;
  const bool swapped = h.direction != 0;
  q.source = swapped ? k.b : k.a;
  q.destination = swapped ? k.a : k.b;
  q.protocol = k.protocol;
  if (h.kind == Kind::kTcp || h.kind == Kind::kUdp || h.kind == Kind::kSctp ||
      h.kind == Kind::kFragment || k.protocol == kUdpLite) {
    q.source_port = swapped ? k.port_b : k.port_a;
    q.destination_port = swapped ? k.port_a : k.port_b;
  }
  q.icmp_type = h.icmp_type;
  q.icmp_code = h.icmp_code;
  q.in_port = b.in_port[i];
  q.out_port = b.out_port[i];
  choose_zones(q, k.vlan_outer, *snapshot.policy);
  return q;
}

void admit(WorkerContext& ctx) noexcept {
  collect_misses(ctx);
  if (ctx.miss_count == 0) [[likely]]
    return;
  Burst& b = ctx.burst;
  const EngineSnapshot& snapshot = *ctx.snapshot;
  // What some rule might allow is asked; what the rule that matches says holds.
  const flow::TrackOptions options{snapshot.tcp, snapshot.limits};
  flow::TrackOptions widest = options;
  widest.tcp.allow_midstream |= snapshot.has_midstream_rules;

  std::array<policy::Query, Burst::kCapacity> queries;
  std::array<policy::Decision, Burst::kCapacity> decisions;
  std::array<std::uint8_t, Burst::kCapacity> question;  // by position in misses
  unsigned n = 0;
  for (unsigned m = 0; m < ctx.miss_count; ++m) {
    const unsigned i = ctx.misses[m];
    question[m] = kNoQuestion;
    if (flow::may_open(b, i, widest) != DropReason::kNone) continue;
    queries[n] = query_of_packet(snapshot, b, i);
    question[m] = static_cast<std::uint8_t>(n++);
  }
  snapshot.policy->decide_bulk(queries.data(), decisions.data(), n, ctx.now);
  ctx.counters.policy_lookups.add(n);
  for (unsigned m = 0; m < ctx.miss_count; ++m) {
    const unsigned i = ctx.misses[m];
    if (m % kPrefetchEvery == 0) ctx.table.prefetch_for_create(2 * kPrefetchEvery);
    // An earlier packet of this burst may have opened the session.
    b.session[i] = ctx.table.find(b.key[i], b.hash[i]);
    if (b.session[i] != packet::kNoSession) {
      flow::EndList ends;
      flow::track(b, ctx.table, options, ends, {&ctx.misses[m], 1});
      for (const auto& e : ends.span()) end_session(ctx, e.session, e.why);
      if (b.verdict[i] != Verdict::kUndecided) continue;
    }
    if (question[m] == kNoQuestion) {
      if (b.headers[i].kind == Kind::kFragment) {
        admit_rest(ctx, i);
      } else {
        b.drop(i, flow::may_open(b, i, widest));
      }
    } else {
      apply(ctx, i, queries[question[m]], decisions[question[m]], options);
    }
  }
}

void pass_unsessioned(WorkerContext& ctx) noexcept {
  Burst& b = ctx.burst;
  for (unsigned i = 0; i < b.count; ++i) {
    if (b.verdict[i] != Verdict::kUndecided) continue;
    if (has_sessions(b.headers[i].kind)) {
      b.drop(i, DropReason::kStateInvalid);  // its session was evicted for another of this burst
    } else if (b.headers[i].kind == Kind::kNonIp && ctx.snapshot->non_ip == Pass::kDrop) {
      b.drop(i, DropReason::kNonIp);
    } else {
      b.verdict[i] = Verdict::kForward;
    }
  }
}

}  // namespace merlon::engine
