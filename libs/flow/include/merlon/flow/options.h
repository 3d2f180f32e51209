// SPDX-License-Identifier: Apache-2.0
#pragma once
// Settings of the session table and the trackers. immutable while workers run; part of the
// snapshot, except TableOptions, which take effect at start.
#include <array>
#include <cstdint>

#include "merlon/base/hash.h"
#include "merlon/base/time.h"
#include "merlon/flow/session.h"

namespace merlon::flow {

// Idle time per state in milliseconds, indexed by SessionState.
using Timeouts = std::array<base::Ticks, kSessionStateCount>;

// RFC 5382 REQ-5 (established and half-closed 2 h 4 min, transitory 4 min), RFC 4787 REQ-5 (UDP),
// RFC 5508 REQ-1 (ICMP); a reset session is kept 10 s for what is still on the wire, a denied
// verdict 1 s.
Timeouts default_timeouts() noexcept;

enum class WindowCheck : std::uint8_t { kStrict, kLoose, kOff };

struct TcpOptions {
  WindowCheck window =
      WindowCheck::kStrict;      // loose: window checked, but never a drop; counted only
  bool allow_midstream = false;  // open sessions from segments other than SYN
};

struct TableOptions {
  std::uint32_t max_sessions = 262'144;  // per worker
  std::uint32_t max_sources =
      65'536;  // addresses counted for per-source limits, per worker; 0 turns it off
  std::uint32_t max_rules = 131'072;  // rule slots that can be counted for per-rule limits
  base::HashSeed seed{};
  // Adaptive timeouts: from `start` to `end` per cent of max_sessions every timeout shrinks
  // linearly from the whole to `floor` per cent of itself. start 0 turns it off.
  std::uint8_t adaptive_start_percent = 60;
  std::uint8_t adaptive_end_percent = 100;
  std::uint8_t adaptive_floor_percent = 10;
  // A full table takes the oldest half-open session that has been silent this long, then the oldest
  // denied, then the oldest closing one, then the oldest half-open of any age. 0: half-open always
  // first.
  base::Ticks half_open_grace = 1'000;
};

// Limits beside the table's own; 0 is no limit.
struct SessionLimits {
  std::uint32_t max_per_source = 0;
  std::uint32_t max_half_open =
      0;  // TCP not yet established, unanswered UDP; beyond it the oldest half-open goes
};

// What the trackers need of a snapshot. Timeouts go to SessionTable::set_timeouts().
struct TrackOptions {
  TcpOptions tcp{};
  SessionLimits limits{};
};

}  // namespace merlon::flow
