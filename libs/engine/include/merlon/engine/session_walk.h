// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pulls sessions out of all workers in pieces, with constant memory on both sides: a worker that
// has filled its ring waits with its walk, not with its packets, until the reader comes back. A
// worker that does not answer within EngineConfig::publish_patience is left out. control-only; may
// be given up at any time.
#include <functional>
#include <memory>
#include <vector>

#include "merlon/engine/engine.h"

namespace merlon::engine {

class SessionWalk {
 public:
  using Match =
      std::function<bool(const flow::Session&, const flow::SessionCold&, base::Ticks now)>;

  // `match` runs on the workers' threads and may do so after the walk: see SessionRequest.
  SessionWalk(Engine& engine, Match match);
  ~SessionWalk();
  SessionWalk(const SessionWalk&) = delete;
  SessionWalk& operator=(const SessionWalk&) = delete;

  // Replaces `views` with up to 256 more sessions; waits for the first of them. False at the end.
  bool next(std::vector<SessionView>& views);
  // False when a worker was left out, so that sessions are missing.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }

 private:
  void ask();
  bool take(std::vector<SessionView>& views);

  Engine& engine_;
  Match match_;
  unsigned worker_ = 0;
  bool is_complete_ = true;
  std::unique_ptr<SessionRequest> request_;
};

}  // namespace merlon::engine
