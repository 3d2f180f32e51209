// SPDX-License-Identifier: Apache-2.0
#include "merlon/engine/session_walk.h"

namespace merlon::engine {

SessionWalk::SessionWalk(Engine& engine, Match match) : engine_(engine), match_(std::move(match)) {
  ask();
}

SessionWalk::~SessionWalk() {
  if (request_ == nullptr) return;
  // The worker may hold the request: let it run through without matching. It goes on only with room
  // in the ring.
  is_given_up_.store(true, std::memory_order_relaxed);
  SessionView view;
  while (!request_->done.load(std::memory_order_acquire)) {
    while (request_->views.pop(view)) {
    }
    engine_.let_work(worker_);
  }
}

void SessionWalk::ask() {
  request_ = std::make_unique<SessionRequest>();
  request_->match = [this](const flow::Session& s, const flow::SessionCold& c, base::Ticks now) {
    return !is_given_up_.load(std::memory_order_relaxed) && match_(s, c, now);
  };
  engine_.post(worker_, *request_);
}

bool SessionWalk::next(std::vector<SessionView>& views) {
  constexpr std::size_t kPiece = 256;
  views.clear();
  while (request_ != nullptr) {
    // `done` first: what it announces is in the ring already.
    const bool is_done = request_->done.load(std::memory_order_acquire);
    SessionView view;
    while (views.size() < kPiece && request_->views.pop(view)) views.push_back(view);
    if (!views.empty()) return true;
    if (!is_done) {
      engine_.let_work(worker_);
      continue;
    }
    request_.reset();
    if (++worker_ < engine_.worker_count()) ask();
  }
  return false;
}

}  // namespace merlon::engine
