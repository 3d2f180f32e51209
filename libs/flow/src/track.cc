// SPDX-License-Identifier: Apache-2.0
#include "merlon/flow/track.h"

#include <algorithm>

#include "sctp.h"

namespace merlon::flow {

namespace {

using base::DropReason;
using packet::Burst;
using packet::Headers;
using packet::Kind;
using packet::Verdict;
using What = TrackVerdict::What;

constexpr std::uint8_t kTcpProtocol = 6;
constexpr std::size_t kTcpHeaderSize = 20;

// Bytes from `begin` to `end`, both offsets in the frame, as far as they were captured.
base::ByteSpan frame_bytes(const Burst& b, unsigned i, std::size_t begin,
                           std::size_t end) noexcept {
  const std::size_t limit = std::min<std::size_t>(end, b.captured[i]);
  return begin < limit ? base::ByteSpan(b.data[i] + begin, limit - begin) : base::ByteSpan();
}

base::ByteSpan tcp_options(const Burst& b, unsigned i) noexcept {
  const Headers& h = b.headers[i];
  return frame_bytes(b, i, h.l4_offset + kTcpHeaderSize, h.payload_offset);
}

base::ByteSpan sctp_bytes(const Burst& b, unsigned i) noexcept {
  return frame_bytes(b, i, b.headers[i].l4_offset, b.captured[i]);
}

void on_answered(Session& s, unsigned side, SessionState unreplied, SessionState replied,
                 SessionState stream) noexcept {
  if (s.state == unreplied && side == 1)
    s.state = replied;
  else if (s.state == replied && side == 0)
    s.state = stream;
}

TrackVerdict track_icmp_query(const Headers& h, unsigned side) noexcept {
  const bool is_reply = h.is(Headers::kIsReply);
  if (is_reply == (side == 1)) return TrackVerdict::forward();
  // A request against the session's direction is not what policy was asked about.
  return TrackVerdict::drop(is_reply ? DropReason::kIcmpNoRequest : DropReason::kStateInvalid);
}

TrackVerdict track_icmp_error(const Session& s, const Headers& h, const TrackOptions& options,
                              TableCounters& counters) noexcept {
  if (s.key.protocol == kTcpProtocol && options.tcp.window == WindowCheck::kStrict) {
    const unsigned quoted_side = s.side(h.direction) ^ 1;
    if (!h.is(Headers::kQuoteHasSequence) || !tcp_quote_fits(s, quoted_side, h.tcp_sequence))
      return TrackVerdict::drop(DropReason::kIcmpNoSession);
  }
  ++counters.icmp_errors;
  return TrackVerdict::pass();
}

TrackVerdict dispatch(Session& s, const Burst& b, unsigned i, unsigned side,
                      const TrackOptions& options, TableCounters& counters) noexcept {
  const Headers& h = b.headers[i];
  switch (h.kind) {
    case Kind::kTcp:
      if (track_tcp_fast(s, h, side)) return TrackVerdict::forward();
      return track_tcp_slow(s, h, side, tcp_options(b, i), options.tcp, counters);
    case Kind::kUdp:
      on_answered(s, side, SessionState::kUdpUnreplied, SessionState::kUdpReplied,
                  SessionState::kUdpStream);
      return TrackVerdict::forward();
    case Kind::kIcmpQuery:
      return track_icmp_query(h, side);
    case Kind::kIcmpError:
      return track_icmp_error(s, h, options, counters);
    case Kind::kSctp:
      return track_sctp(s, sctp_bytes(b, i), side);
    case Kind::kFragment:
      if (s.key.protocol == kTcpProtocol) tcp_fragment(s, side, h.payload_length);
      return TrackVerdict::forward();
    default:
      on_answered(s, side, SessionState::kOtherUnreplied, SessionState::kOtherReplied,
                  SessionState::kOtherReplied);
      return TrackVerdict::forward();
  }
}

inline void count_packet(Session& s, unsigned side, std::uint32_t length) noexcept {
  ++s.packets[side];
  s.bytes[side] += length;
}

TrackVerdict track_denied(Session& s, const Burst& b, unsigned i, unsigned side) noexcept {
  const bool is_error = b.headers[i].kind == Kind::kIcmpError;
  if (side == 1 && !is_error) return TrackVerdict::replace();
  const DropReason why =
      s.drop_reason != DropReason::kNone ? s.drop_reason : DropReason::kPolicyDeny;
  if (!is_error) {
    s.last_seen = b.now_ticks;
    count_packet(s, side, b.length[i]);
  }
  return TrackVerdict::drop(why);
}

// All but a plain TCP segment in its window and a datagram that changes nothing.
void track_rest(Burst& b, unsigned i, SessionTable& table, const TrackOptions& options,
                EndList& ends) noexcept {
  const std::uint32_t index = b.session[i];
  Session& s = table.at(index);
  TrackVerdict v{What::kExpire, DropReason::kNone, false};
  if (!table.is_over(s, b.now_ticks)) {
    const SessionState before = s.state;
    v = track_packet(s, b, i, options, table.counters());
    if (s.state != before) table.state_changed(index, before, b.now_ticks);
  }
  switch (v.what) {
    case What::kForward:
      b.verdict[i] = Verdict::kForward;
      return;
    case What::kDrop:
      b.drop(i, v.reason);
      return;
    default:
      break;
  }
  const auto why =
      v.what == What::kReplace ? base::SessionEnd::kReplaced : base::SessionEnd::kTimeout;
  ends.ends[ends.count++] = {index, why};
  for (unsigned k = 0; k < b.count; ++k)
    if (b.session[k] == index && b.verdict[k] == Verdict::kUndecided) b.session[k] = kNoSession;
}

constexpr std::uint32_t bit_of(SessionState s) noexcept { return 1U << static_cast<unsigned>(s); }

// A datagram that leaves the session's state as it is.
inline bool keeps_udp_state(const Session& s, unsigned side) noexcept {
  static constexpr std::uint32_t kKeeps[2] = {
      bit_of(SessionState::kUdpStream) | bit_of(SessionState::kUdpUnreplied),
      bit_of(SessionState::kUdpStream) | bit_of(SessionState::kUdpReplied)};
  return (kKeeps[side] >> static_cast<unsigned>(s.state) & 1) != 0;
}

inline void track_at(Burst& b, unsigned i, SessionTable& table, const TrackOptions& options,
                     EndList& ends) noexcept {
  const std::uint32_t index = b.session[i];
  if (index == kNoSession || b.verdict[i] != Verdict::kUndecided) return;
  Session& s = table.at(index);
  const Headers& h = b.headers[i];
  const unsigned side = s.side(h.direction);
  const bool is_plain =
      h.kind == Kind::kUdp
          ? keeps_udp_state(s, side) && !table.is_over(s, b.now_ticks)
          : h.kind == Kind::kTcp && !table.is_over(s, b.now_ticks) && track_tcp_fast(s, h, side);
  if (is_plain) [[likely]] {
    s.last_seen = b.now_ticks;
    count_packet(s, side, b.length[i]);
    b.verdict[i] = Verdict::kForward;
    return;
  }
  track_rest(b, i, table, options, ends);
}

SessionState first_state(const Burst& b, unsigned i, const TrackOptions& options) noexcept {
  switch (b.headers[i].kind) {
    case Kind::kTcp:
      return tcp_may_open(b.headers[i], options.tcp).state;
    case Kind::kUdp:
      return SessionState::kUdpUnreplied;
    case Kind::kIcmpQuery:
      return SessionState::kIcmpQuery;
    case Kind::kSctp:
      return SessionState::kSctpInit;
    default:
      return SessionState::kOtherUnreplied;
  }
}

}  // namespace

void track(Burst& burst, SessionTable& table, const TrackOptions& options, EndList& ends) noexcept {
  ends.count = 0;
  for (unsigned i = 0; i < burst.count; ++i) track_at(burst, i, table, options, ends);
}

void track(Burst& burst, SessionTable& table, const TrackOptions& options, EndList& ends,
           std::span<const std::uint8_t> list) noexcept {
  ends.count = 0;
  for (const std::uint8_t i : list) track_at(burst, i, table, options, ends);
}

TrackVerdict track_packet(Session& s, const Burst& burst, unsigned i, const TrackOptions& options,
                          TableCounters& counters) noexcept {
  const Headers& h = burst.headers[i];
  const unsigned side = s.side(h.direction);
  if (s.is(Session::kDropAll)) return track_denied(s, burst, i, side);
  const TrackVerdict v = dispatch(s, burst, i, side, options, counters);
  if (v.what == What::kForward && h.kind != Kind::kIcmpError) {
    if (v.is_refreshing) s.last_seen = burst.now_ticks;
    count_packet(s, side, burst.length[i]);
  }
  return v;
}

DropReason may_open(const Burst& burst, unsigned i, const TrackOptions& options) noexcept {
  const Headers& h = burst.headers[i];
  switch (h.kind) {
    case Kind::kTcp:
      return tcp_may_open(h, options.tcp).reason;
    case Kind::kIcmpQuery:
      return h.is(Headers::kIsReply) ? DropReason::kIcmpNoRequest : DropReason::kNone;
    case Kind::kIcmpError:
      return DropReason::kIcmpNoSession;
    case Kind::kSctp:
      return sctp_may_open(sctp_bytes(burst, i)) ? DropReason::kNone : DropReason::kSctpState;
    case Kind::kUdp:
    case Kind::kIcmpOther:
    case Kind::kOtherIp:
      return DropReason::kNone;
    default:
      return DropReason::kStateInvalid;
  }
}

OpenPlan plan_open(const Burst& burst, unsigned i, SessionTable& table, const TrackOptions& options,
                   const Opening& opening) noexcept {
  OpenPlan plan;
  if (opening.drop_reason != DropReason::kNone) {
    plan.state = SessionState::kDenied;
    return plan;
  }
  plan.state = first_state(burst, i, options);
  const SessionLimits& limits = options.limits;
  const packet::FlowKey& key = burst.key[i];
  if (plan.state == SessionState::kFree) {
    plan.refusal = DropReason::kStateInvalid;
  } else if (opening.max_per_rule != 0 && table.rule_count(opening.rule) >= opening.max_per_rule) {
    plan.refusal = DropReason::kRuleLimit;
  } else if (limits.max_per_source != 0 &&
             table.sources().count_of(burst.headers[i].direction == 0 ? key.a : key.b) >=
                 limits.max_per_source) {
    plan.refusal = DropReason::kSourceLimit;
  } else if (limits.max_half_open != 0 && session_class(plan.state) == SessionClass::kHalfOpen &&
             table.count(SessionClass::kHalfOpen) >= limits.max_half_open) {
    plan.evict_first = table.oldest(SessionClass::kHalfOpen);
  }
  return plan;
}

void fill_session(Burst& burst, unsigned i, SessionTable& table, const Opening& opening,
                  std::uint32_t index) noexcept {
  const Headers& h = burst.headers[i];
  Session& s = table.at(index);
  s.generation = opening.generation;
  s.rule = opening.rule;
  s.flags =
      static_cast<std::uint8_t>(opening.flags | (h.direction != 0 ? Session::kInitiatorIsB : 0));
  count_packet(s, 0, burst.length[i]);
  SessionCold& cold = table.cold(index);
  cold.start = opening.start != 0 ? opening.start : burst.now;
  cold.flow_id = make_flow_id(burst.hash[i], cold.start);
  cold.in_port = burst.in_port[i];
  cold.out_port = burst.out_port[i];
  cold.zone_source = opening.zone_source;
  cold.zone_destination = opening.zone_destination;
  cold.first_packet_number = opening.packet_number;
  burst.session[i] = index;
  if (h.kind == Kind::kTcp) s.tcp_flags_seen[0] = h.tcp_flags;
  if (opening.drop_reason != DropReason::kNone) {
    s.flags |= Session::kDropAll;
    s.drop_reason = opening.drop_reason;
    burst.drop(i, opening.drop_reason);
    return;
  }
  const SessionState before = s.state;
  if (h.kind == Kind::kTcp) tcp_start(s, h, tcp_options(burst, i));
  if (h.kind == Kind::kSctp) sctp_start(s, sctp_bytes(burst, i));
  if (s.state != before) table.state_changed(index, before, burst.now_ticks);
  table.count_source(index);
  // Also without a limit: one that a commit adds must know who is there.
  table.count_rule(index, opening.rule);
  burst.verdict[i] = Verdict::kForward;
}

std::uint64_t make_flow_id(std::uint64_t hash, base::Nanos start) noexcept {
  constexpr std::uint64_t kMask = (1ULL << 53) - 1;
  const std::uint64_t id =
      base::fold_multiply(hash ^ 0x2d358dccaa6c78a5ULL,
                          static_cast<std::uint64_t>(start) ^ 0x8bb84b93962eacc9ULL) &
      kMask;
  return id != 0 ? id : 1;
}

}  // namespace merlon::flow
