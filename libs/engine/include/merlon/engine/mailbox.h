// SPDX-License-Identifier: Apache-2.0
#pragma once
// How control asks a worker about sessions that only the worker may touch. Control posts a request;
// the worker serves a bounded piece of it per turn between bursts and sets `done`. The request must
// live until then: a requester that will not wait so long leaves it to the engine
// (Engine::give_up). Results travel through a ring; a full ring makes the worker continue in a
// later turn.
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "merlon/base/bytes.h"
#include "merlon/base/spsc_ring.h"
#include "merlon/flow/session.h"
#include "merlon/policy/query.h"
#include "merlon/policy/snapshot.h"

namespace merlon::engine {

// A session as control sees it: a copy with the moment it was made.
struct SessionView {
  flow::Session session;
  flow::SessionCold cold;
  base::Ticks taken = 0;  // worker's clock when copied
  base::Nanos taken_time = 0;
  std::uint32_t timeout = 0;  // ms of idleness after which it ends, in its present state
  std::uint8_t worker = 0;
};

// The question that policy was asked about a session when it started.
policy::Query query_of(const flow::Session& session, const flow::SessionCold& cold) noexcept;
// The question that another policy is asked about it: zones are that policy's own.
policy::Query query_of(const flow::Session& session, const flow::SessionCold& cold,
                       const policy::Snapshot& policy) noexcept;

struct Request {
  virtual ~Request() = default;
  std::atomic<bool> done{false};
  // The worker's: one more with each piece, so that who waits sees a worker at work.
  std::atomic<std::uint32_t> pieces{0};
  // The requester's: nobody waits any more, the worker lets go of it at the next piece.
  std::atomic<bool> is_given_up{false};
};

// Visits every session of a worker. `match` runs on the worker's thread, between bursts, and must
// not block; it owns what it needs or refers to what outlives the engine, because a worker may be
// in it when the requester gives up. Sessions that start or end meanwhile may be missed.
struct SessionRequest : Request {
  enum class Act : std::uint8_t { kList, kClear };
  Act act = Act::kList;
  std::function<bool(const flow::Session&, const flow::SessionCold&, base::Ticks now)> match;
  base::SpscRing<SessionView> views{1024};
  std::atomic<std::uint64_t> matched{0};
  std::uint32_t next = 0;  // worker's: where to go on
};

struct JudgeAnswer {
  bool has_session = false;
  SessionView session{};
  // No session of the packet, but one with its addresses whose packets in this direction come in by
  // the other side of the wire.
  bool has_other_side = false;
  SessionView other_side{};
  base::DropReason reason = base::DropReason::kNone;  // kNone: would leave
  bool asks_policy = false;                           // `query` was the question
  policy::Query query{};
  policy::Decision decision{};
  std::uint16_t out_port = base::kNoPort;
  std::uint16_t zone_source = base::kNoZone, zone_destination = base::kNoZone;
  packet::FlowKey key{};
  std::uint8_t kind = 0;  // packet::Kind
  std::uint8_t direction = 0;
  bool is_tap = false;
  std::uint32_t generation = 0;
};

// What the real code path says about one frame; nothing changes in the worker. Each worker that is
// asked answers anew.
struct JudgeRequest : Request, JudgeAnswer {
  std::vector<base::Byte> frame;
  std::uint16_t in_port = 0;
};

using Mailbox = base::SpscRing<Request*>;

}  // namespace merlon::engine
