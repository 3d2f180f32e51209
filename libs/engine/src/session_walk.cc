// SPDX-License-Identifier: Apache-2.0
#include "merlon/engine/session_walk.h"

#include "merlon/base/log.h"
#include "patience.h"

namespace merlon::engine {

SessionWalk::SessionWalk(Engine& engine, Match match) : engine_(engine), match_(std::move(match)) {
  ask();
}

SessionWalk::~SessionWalk() {
  if (request_ != nullptr) engine_.give_up(worker_, std::move(request_));
}

// The next worker that takes a request.
void SessionWalk::ask() {
  for (; worker_ < engine_.worker_count(); ++worker_) {
    auto request = std::make_unique<SessionRequest>();
    request->match = match_;
    if (engine_.post(worker_, *request)) {
      request_ = std::move(request);
      return;
    }
    is_complete_ = false;
  }
}

// Waits for sessions or for the end of the worker's; false when neither comes in time.
bool SessionWalk::take(std::vector<SessionView>& views) {
  constexpr std::size_t kPiece = 256;
  for (Patience patience(engine_.config().publish_patience);;) {
    // `done` first: what it announces is in the ring already.
    const bool is_done = request_->done.load(std::memory_order_acquire);
    SessionView view;
    while (views.size() < kPiece && request_->views.pop(view)) views.push_back(view);
    if (!views.empty() || is_done) return true;
    if (!patience.lasts(request_->pieces.load(std::memory_order_relaxed))) return false;
    engine_.let_work(worker_);
  }
}

bool SessionWalk::next(std::vector<SessionView>& views) {
  views.clear();
  while (request_ != nullptr) {
    if (!take(views)) {
      is_complete_ = false;
      base::log(base::LogLevel::kError, "engine",
                "worker {} did not answer within {} ms; its sessions are left out", worker_,
                engine_.config().publish_patience / 1'000'000);
    }
    if (!views.empty()) return true;
    engine_.give_up(worker_, std::move(request_));
    ++worker_;
    ask();
  }
  return false;
}

}  // namespace merlon::engine
