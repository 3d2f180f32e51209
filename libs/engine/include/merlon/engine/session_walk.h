// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pulls sessions out of all workers in pieces, with constant memory on both sides: a worker that
// has filled its ring waits with its walk, not with its packets, until the reader comes back.
// control-only; may be given up at any time.
#include <functional>
#include <memory>
#include <vector>

#include "merlon/engine/engine.h"

namespace merlon::engine {

class SessionWalk {
 public:
  using Match =
      std::function<bool(const flow::Session&, const flow::SessionCold&, base::Ticks now)>;

  // `match` runs on the workers' threads.
  SessionWalk(Engine& engine, Match match);
  ~SessionWalk();
  SessionWalk(const SessionWalk&) = delete;
  SessionWalk& operator=(const SessionWalk&) = delete;

  // Replaces `views` with up to 256 more sessions; waits for the first of them. False at the end.
  bool next(std::vector<SessionView>& views);

 private:
  void ask();

  Engine& engine_;
  Match match_;
  std::atomic<bool> is_given_up_{false};
  unsigned worker_ = 0;
  std::unique_ptr<SessionRequest> request_;
};

}  // namespace merlon::engine
