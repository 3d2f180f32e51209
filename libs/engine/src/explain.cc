// SPDX-License-Identifier: Apache-2.0
// The stages of Worker::carry() on a burst of one packet, on a copy of what they would change.
#include "merlon/flow/track.h"
#include "stages.h"

namespace merlon::engine {

using base::DropReason;
using packet::Kind;
using packet::Verdict;

namespace {

// The limits that open() would meet; counts stay as they are.
DropReason limit_reason(WorkerContext& ctx, const policy::Query& q,
                        const policy::Decision& d) noexcept {
  const std::uint32_t have = ctx.table.sources().count_of(q.source);
  const std::uint32_t most = ctx.snapshot->limits.max_per_source;
  if (d.max_sessions != 0 && ctx.table.rule_count(d.rule) >= d.max_sessions)
    return DropReason::kRuleLimit;
  if ((most != 0 && have >= most) ||
      (d.max_sessions_per_source != 0 && have >= d.max_sessions_per_source))
    return DropReason::kSourceLimit;
  // Full, and nobody in it who would have to make room.
  using flow::SessionClass;
  bool is_full = ctx.table.count() == ctx.table.capacity();
  for (const SessionClass c :
       {SessionClass::kHalfOpen, SessionClass::kClosing, SessionClass::kDenied})
    is_full = is_full && ctx.table.oldest(c) == packet::kNoSession;
  const bool is_open =
      ctx.snapshot->table_full == Pass::kForward || ctx.snapshot->fails_open[q.in_port] != 0;
  return is_full && !is_open ? DropReason::kSessionTableFull : DropReason::kNone;
}

void judge_opening(WorkerContext& ctx, JudgeRequest& r, flow::TrackOptions options) noexcept;

// In an existing session: policy again when the verdict is stale, then the tracker, both on a copy.
void judge_in_session(WorkerContext& ctx, JudgeRequest& r,
                      const flow::TrackOptions& options) noexcept {
  packet::Burst& b = ctx.burst;
  const std::uint32_t index = b.session[0];
  flow::Session copy = ctx.table.at(index);
  r.has_session = true;
  r.session = view_of(ctx, index);
  r.zone_source = r.session.cold.zone_source;
  r.zone_destination = r.session.cold.zone_destination;
  if (copy.generation != ctx.snapshot->generation && !copy.is(flow::Session::kKeepOnChange) &&
      !copy.is(flow::Session::kDropAll)) {
    r.asks_policy = true;
    r.query = query_of(copy, r.session.cold, *ctx.snapshot->policy);
    r.decision = ctx.snapshot->policy->decide(r.query, ctx.now);
    if (r.decision.action != base::Action::kPermit) {
      b.drop(0, refusal_reason(r.decision));
      return;
    }
    if (copy.is(flow::Session::kKillOnChange) && r.decision.rule != copy.rule) {
      b.drop(0, DropReason::kSessionKilled);
      return;
    }
  }
  flow::TableCounters scratch;
  const flow::TrackVerdict verdict = flow::track_packet(copy, b, 0, options, scratch);
  if (verdict.what == flow::TrackVerdict::What::kDrop) {
    b.drop(0, verdict.reason);
  } else if (verdict.what == flow::TrackVerdict::What::kForward) {
    b.verdict[0] = Verdict::kForward;
  } else {
    r.has_session = false;  // the packet would take the tuple over
    judge_opening(ctx, r, options);
  }
}

void judge_opening(WorkerContext& ctx, JudgeRequest& r, flow::TrackOptions options) noexcept {
  packet::Burst& b = ctx.burst;
  r.query = query_of_packet(*ctx.snapshot, b, 0);
  r.zone_source = r.query.zone_source;
  r.zone_destination = r.query.zone_destination;
  flow::TrackOptions widest = options;
  widest.tcp.allow_midstream |= ctx.snapshot->has_midstream_rules;
  DropReason why = flow::may_open(b, 0, widest);
  if (why == DropReason::kNone) {
    r.asks_policy = true;
    r.decision = ctx.snapshot->policy->decide(r.query, ctx.now);
    if (r.decision.midstream != 0) options.tcp.allow_midstream = r.decision.midstream == 1;
    if (ctx.snapshot->has_midstream_rules) why = flow::may_open(b, 0, options);
    if (why == DropReason::kNone && ctx.snapshot->judges_zones &&
        (r.zone_source == base::kNoZone || r.zone_destination == base::kNoZone))
      why = DropReason::kNoZone;
    if (why == DropReason::kNone && r.decision.action != base::Action::kPermit)
      why = refusal_reason(r.decision);
    if (why == DropReason::kNone) why = limit_reason(ctx, r.query, r.decision);
  }
  if (why != DropReason::kNone) {
    b.drop(0, why);
  } else {
    b.verdict[0] = Verdict::kForward;
  }
}

// The session that the packet would belong to if it came in by the other side of its wire.
void look_at_other_side(WorkerContext& ctx, JudgeRequest& r) noexcept {
  packet::FlowKey key = ctx.burst.key[0];
  if ((key.domain & packet::kTellsSides) == 0) return;
  key.domain ^= packet::kSideBit;
  const std::uint32_t index =
      ctx.table.find(key, packet::hash_flow_key(key, ctx.snapshot->parse.seed));
  if (index == packet::kNoSession || ctx.table.is_over(ctx.table.at(index), ctx.now_ticks)) return;
  r.has_other_side = true;
  r.other_side = view_of(ctx, index);
}

}  // namespace

void judge(WorkerContext& ctx, JudgeRequest& r) noexcept {
  packet::Burst& b = ctx.burst;
  if (b.verdict[0] == Verdict::kUndecided && b.headers[0].kind > Kind::kNeighbour) {
    b.session[0] = ctx.table.find(b.key[0], b.hash[0]);
    const flow::TrackOptions options{ctx.snapshot->tcp, ctx.snapshot->limits};
    if (b.session[0] != packet::kNoSession &&
        !ctx.table.is_over(ctx.table.at(b.session[0]), ctx.now_ticks)) {
      judge_in_session(ctx, r, options);
    } else {
      look_at_other_side(ctx, r);
      judge_opening(ctx, r, options);
    }
  }
  if (b.verdict[0] == Verdict::kUndecided) {
    if (b.headers[0].kind == Kind::kNonIp && ctx.snapshot->non_ip == Pass::kDrop) {
      b.drop(0, DropReason::kNonIp);
    } else {
      b.verdict[0] = Verdict::kForward;
    }
  }
  ctx.shared.wires->check_output(b, false);
}

}  // namespace merlon::engine
