// SPDX-License-Identifier: Apache-2.0
// Control's questions, answered between bursts in bounded pieces.
#include <algorithm>

#include "merlon/packet/parse.h"
#include "stages.h"

namespace merlon::engine {
namespace {

using packet::Verdict;

constexpr std::uint32_t kSessionsPerTurn = 256;

// True when the whole table was visited.
bool serve_sessions(WorkerContext& ctx, SessionRequest& r) {
  // A listing stops where its ring is full and goes on there in the next turn.
  const std::uint32_t room = r.act == SessionRequest::Act::kList
                                 ? static_cast<std::uint32_t>(r.views.capacity() - r.views.count())
                                 : kSessionsPerTurn;
  std::uint32_t taken = 0;
  const std::uint32_t next = ctx.table.for_each(
      r.next, std::min(kSessionsPerTurn, room),
      [&](std::uint32_t index, const flow::Session& s, const flow::SessionCold& c) {
        if (!r.match(s, c, ctx.now_ticks)) return;
        ++taken;
        if (r.act == SessionRequest::Act::kList) {
          r.views.push(view_of(ctx, index));
        } else {
          end_session(ctx, index, base::SessionEnd::kCleared);
        }
      });
  r.matched.fetch_add(taken, std::memory_order_relaxed);
  r.next = next;
  return next == packet::kNoSession;
}

// The stages that a live packet meets, on a burst of one, with everything that would change a
// session left out.
void serve_judge(WorkerContext& ctx, JudgeRequest& r) {
  packet::Burst& b = ctx.burst;
  static_cast<JudgeAnswer&>(r) = JudgeAnswer{};
  b.count = 1;
  b.data[0] = r.frame.data();
  b.captured[0] = b.length[0] = static_cast<std::uint32_t>(r.frame.size());
  b.in_port[0] = r.in_port;
  packet::parse(b, ctx.snapshot->parse, ctx.snapshot->domains.data());
  ctx.shared.wires->choose_output(b, false);
  r.key = b.key[0];
  r.kind = static_cast<std::uint8_t>(b.headers[0].kind);
  r.direction = b.headers[0].direction;
  r.out_port = b.out_port[0];
  r.is_tap = b.out_port[0] == base::kNoPort;
  r.generation = ctx.snapshot->revision;
  judge(ctx, r);
  r.reason = b.verdict[0] == Verdict::kDrop ? b.reason[0] : base::DropReason::kNone;
  b.count = 0;
}

}  // namespace

SessionView view_of(const WorkerContext& ctx, std::uint32_t index) noexcept {
  const flow::Session& s = ctx.table.at(index);
  return {.session = s,
          .cold = ctx.table.cold(index),
          .taken = ctx.now_ticks,
          .taken_time = ctx.now,
          .timeout = ctx.snapshot->timeouts[static_cast<std::size_t>(s.state)],
          .worker = static_cast<std::uint8_t>(ctx.index)};
}

bool serve(WorkerContext& ctx) noexcept {
  if (ctx.serving_count < ctx.serving.size() && ctx.mailbox.pop(ctx.serving[ctx.serving_count]))
    ++ctx.serving_count;
  if (ctx.serving_count == 0) return false;
  const unsigned at = ctx.serving_next++ % ctx.serving_count;
  Request* request = ctx.serving[at];
  request->pieces.fetch_add(1, std::memory_order_relaxed);
  bool is_done = true;
  if (request->is_given_up.load(std::memory_order_acquire)) {
    // Nobody reads the answer.
  } else if (auto* sessions = dynamic_cast<SessionRequest*>(request)) {
    is_done = serve_sessions(ctx, *sessions);
  } else if (auto* judge = dynamic_cast<JudgeRequest*>(request)) {
    serve_judge(ctx, *judge);
  }
  if (is_done) {
    ctx.serving[at] = ctx.serving[--ctx.serving_count];
    request->done.store(true, std::memory_order_release);
  }
  return true;
}

}  // namespace merlon::engine
