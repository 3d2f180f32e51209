// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a session table counts, and the classes by which it evicts. Written by the worker that owns
// the table.
#include <cstdint>

#include "merlon/flow/session.h"

namespace merlon::flow {

// What the table thinks of a state when it needs room.
enum class SessionClass : std::uint8_t {
  kLive,      // never evicted: established, half-closed, answered
  kHalfOpen,  // not answered or not complete: SYN_SENT, SYN_RECEIVED, mid-stream, unanswered UDP
              // and other, ICMP query, SCTP INIT
  kDenied,
  kClosing,  // over, waiting for stragglers: CLOSING, TIME_WAIT, reset, SCTP SHUTDOWN
};
inline constexpr unsigned kSessionClassCount = 4;
SessionClass session_class(SessionState state) noexcept;

struct TableCounters {
  std::uint64_t created = 0;
  std::uint64_t ended[9]{};                     // by base::SessionEnd
  std::uint64_t evicted[kSessionClassCount]{};  // part of ended[kEvicted], by class
  std::uint64_t expired_early = 0;  // part of ended[kTimeout]: alive but for the adaptive timeouts
  std::uint64_t table_full = 0;     // nothing could be evicted: create() returned kNoSession
  std::uint64_t index_full = 0;     // the index had no line left: likewise
  std::uint64_t peak = 0;           // highest count()
  // Trackers
  std::uint64_t window_passed = 0;  // out of window, forwarded because the check is loose
  std::uint64_t syn_passed = 0;     // SYN inside a session, forwarded for a challenge ACK
  std::uint64_t icmp_errors = 0;    // matched to a session and forwarded
};

}  // namespace merlon::flow
