// SPDX-License-Identifier: Apache-2.0
#pragma once
// Settings of the session table and the trackers. immutable while workers run; part of the snapshot, except
// TableOptions, which take effect at start.
#include <array>
#include <cstdint>

#include "merlon/base/hash.h"
#include "merlon/base/time.h"
#include "merlon/flow/session.h"

namespace merlon::flow {

// Idle time per state in milliseconds, indexed by SessionState.
using Timeouts = std::array<base::Ticks, kSessionStateCount>;

// RFC 5382 REQ-5 (established 2 h 4 min, transitory 4 min), RFC 4787 REQ-5 (UDP), RFC 5508 REQ-1 (ICMP); denied
// verdicts are kept 1 s.
Timeouts default_timeouts() noexcept;

enum class WindowCheck : std::uint8_t { kStrict, kLoose, kOff };

struct TcpOptions {
  WindowCheck window = WindowCheck::kStrict;  // loose: window checked, but never a drop; counted only
  bool allow_midstream = false;               // open sessions from segments other than SYN
};

struct TableOptions {
  std::uint32_t max_sessions = 262'144;    // per worker
  std::uint32_t max_sources = 65'536;      // addresses counted for per-source limits, per worker; 0 turns it off
  base::HashSeed seed{};
};

// Limits beside the table's own; 0 is no limit.
struct SessionLimits {
  std::uint32_t max_per_source = 0;
  std::uint32_t max_half_open = 0;         // TCP not yet established, unanswered UDP; beyond it the oldest half-open goes
};

}  // namespace merlon::flow
