// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engine's own steps on the way of a packet; the rest are calls into the rooms. Each works on
// the context's burst and leaves packets that already have a verdict alone.
#include "merlon/engine/worker.h"

namespace merlon::engine {

// hand_over.cc: gives packets to the workers that own them. All fragments of a datagram meet on one
// worker first, which knows what they belong to; then each goes where its session is, like any
// other packet.
void hand_over_fragments(WorkerContext& ctx) noexcept;
void hand_over(WorkerContext& ctx) noexcept;
// Virtual reassembly of the fragments that are this worker's to resolve.
void resolve_fragments(WorkerContext& ctx) noexcept;

// admit.cc: judges again the sessions whose verdict comes from an older snapshot.
void judge_stale(WorkerContext& ctx) noexcept;
// Lets the trackers of flow update sessions and judge packets by their state.
void track(WorkerContext& ctx) noexcept;
// Opens sessions for packets that have none, as policy says.
void admit(WorkerContext& ctx) noexcept;
// Decides frames that never have sessions: ARP, neighbour discovery, non-IP.
void pass_unsessioned(WorkerContext& ctx) noexcept;
void choose_zones(policy::Query& query, std::uint16_t vlan,
                  const policy::Snapshot& policy) noexcept;
base::DropReason refusal_reason(const policy::Decision& decision) noexcept;
policy::Query query_of_packet(const EngineSnapshot& snapshot, const packet::Burst& burst,
                              unsigned i) noexcept;

// report.cc: drop reasons, drop ring and events for what does not leave; while the frames are still
// ours.
void report(WorkerContext& ctx) noexcept;
// Sends, releases, and counts what left. `is_uniform`: the whole burst has one output port.
void transmit(WorkerContext& ctx, bool is_uniform) noexcept;
void report_policy(WorkerContext& ctx, unsigned i, const policy::Query& query,
                   const policy::Decision& decision, std::uint64_t flow_id) noexcept;
void report_flow(WorkerContext& ctx, const flow::Session& session, const flow::SessionCold& cold,
                 base::SessionEnd end) noexcept;
// Says that a session ends: event and counters, and no packet of the burst in hand points to it any
// more.
void note_session_end(WorkerContext& ctx, std::uint32_t index, base::SessionEnd end) noexcept;
// Notes it, then frees it.
void end_session(WorkerContext& ctx, std::uint32_t index, base::SessionEnd end) noexcept;
base::Nanos time_of(const WorkerContext& ctx, base::Ticks ticks) noexcept;

// explain.cc: what carry() would do with the one packet of the burst, without doing it.
void judge(WorkerContext& ctx, JudgeRequest& request) noexcept;

// serve.cc: a bounded piece of control's request; true when there was one.
bool serve(WorkerContext& ctx) noexcept;
SessionView view_of(const WorkerContext& ctx, std::uint32_t index) noexcept;

}  // namespace merlon::engine
