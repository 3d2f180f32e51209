// SPDX-License-Identifier: Apache-2.0
#pragma once
// The way of a burst through the sessions. worker-owned; no state but the table's. A worker's turn:
//
//   table.find_bulk(burst, 0, burst.count);
//   track(burst, table, options, ends);                 // packets with a session: verdict, counts,
//   state for (auto& e : ends.span()) { log(e); table.erase(e.session, e.why); } for each i still
//   kUndecided with a findable kind:   // packets without one, in order
//     if ((burst.session[i] = table.find(key, hash)) != kNoSession) track_one(...), as above
//     else if (reason = may_open(burst, i, options); reason != kNone) burst.drop(i, reason)
//     else { ask policy; open(burst, i, table, options, opening, on_end) }
//
// A packet's outcome depends on the packets before it and on its time only, never on burst borders
// or on how far expiry has got.
#include <array>
#include <cstdint>
#include <span>

#include "merlon/flow/session_table.h"
#include "merlon/flow/tcp.h"

namespace merlon::flow {

// Sessions that a track() call found to be over. The caller logs and erases each before it creates
// any.
struct EndList {
  struct End {
    std::uint32_t session;
    base::SessionEnd why;  // kTimeout or kReplaced
  };
  std::array<End, packet::Burst::kCapacity> ends;
  unsigned count = 0;

  [[nodiscard]] std::span<const End> span() const noexcept { return {ends.data(), count}; }
};

// Tracks each packet that is kUndecided and has a session: kForward, or kDrop with its reason.
// Packets whose session is over (time-out, or a new connection with the same tuple) get kNoSession
// and stay kUndecided, and so do later packets of that session; `ends` is filled from empty.
//
// ICMP errors: forwarded when the quoted TCP sequence fits (RFC 5927), with state, counts and
// last_seen of the session untouched; in the counter icmp_errors. Denied sessions drop what their
// initiator sends; a packet of the other side ends them, as it may be permitted in its own right.
void track(packet::Burst& burst, SessionTable& table, const TrackOptions& options,
           EndList& ends) noexcept;
// The same for the listed packets, in the order of the list.
void track(packet::Burst& burst, SessionTable& table, const TrackOptions& options, EndList& ends,
           std::span<const std::uint8_t> list) noexcept;

// One packet against one session, without the table's side of it: for tests and tools.
TrackVerdict track_packet(Session& s, const packet::Burst& burst, unsigned i,
                          const TrackOptions& options, TableCounters& counters) noexcept;

// kNone when a packet without a session may ask policy for one; else why not: tcp_not_syn,
// icmp_no_session, icmp_no_request, sctp_state, state_invalid (a fragment whose first one has no
// session).
base::DropReason may_open(const packet::Burst& burst, unsigned i,
                          const TrackOptions& options) noexcept;

// What policy decided for a new session.
struct Opening {
  std::uint32_t rule = base::kNoRule;
  std::uint32_t generation = 0;
  std::uint8_t flags = 0;  // Session::Flag: kLogStart, kLogEnd, kReject, k(Keep|Kill)OnChange
  base::DropReason drop_reason = base::DropReason::kNone;  // other than kNone: a denied session
  std::uint32_t max_per_rule = 0;  // 0: no limit, and the rule is not counted
  std::uint16_t zone_source = base::kNoZone, zone_destination = base::kNoZone;
  base::Nanos start = 0;            // 0: burst.now; a replay gives the packet's own time
  std::uint64_t packet_number = 0;  // 1-based in a replay, 0 in a live run
};

// The parts of open() that need no on_end.
struct OpenPlan {
  SessionState state = SessionState::kFree;
  base::DropReason refusal = base::DropReason::kNone;
  std::uint32_t evict_first = kNoSession;  // half-open limit
};
OpenPlan plan_open(const packet::Burst& burst, unsigned i, SessionTable& table,
                   const TrackOptions& options, const Opening& opening) noexcept;
void fill_session(packet::Burst& burst, unsigned i, SessionTable& table, const Opening& opening,
                  std::uint32_t index) noexcept;

// Opens a session for packet i, which may_open() let pass and find() did not find. Sets session,
// rule and verdict of the packet: kForward, or kDrop with the opening's reason, session_table_full,
// source_limit or rule_limit. A denied session that finds no room is simply not kept. Returns the
// session's index or kNoSession.
template <class OnEnd>
std::uint32_t open(packet::Burst& burst, unsigned i, SessionTable& table,
                   const TrackOptions& options, const Opening& opening, OnEnd&& on_end) noexcept {
  burst.session[i] = kNoSession;
  burst.rule[i] = opening.rule;
  const OpenPlan plan = plan_open(burst, i, table, options, opening);
  if (plan.refusal != base::DropReason::kNone) {
    burst.drop(i, plan.refusal);
    return kNoSession;
  }
  if (plan.evict_first != kNoSession) {
    on_end(plan.evict_first, base::SessionEnd::kEvicted);
    table.erase(plan.evict_first, base::SessionEnd::kEvicted);
  }
  const std::uint32_t index =
      table.create(burst.key[i], burst.hash[i], plan.state, burst.now_ticks, on_end);
  if (index == kNoSession) {
    burst.drop(i, opening.drop_reason != base::DropReason::kNone
                      ? opening.drop_reason
                      : base::DropReason::kSessionTableFull);
    return kNoSession;
  }
  fill_session(burst, i, table, opening, index);
  return index;
}

// Identity of a session in events: 53 bits, so that JSON readers keep it exactly; never 0.
std::uint64_t make_flow_id(std::uint64_t hash, base::Nanos start) noexcept;

}  // namespace merlon::flow
