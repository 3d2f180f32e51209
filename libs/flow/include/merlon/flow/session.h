// SPDX-License-Identifier: Apache-2.0
#pragma once
// One conversation. Two cache lines that the packet path reads and writes, and a cold record beside
// them that is touched when the session starts and ends. worker-owned, like the table that holds
// it.
#include <cstdint>
#include <string_view>

#include "merlon/base/event.h"
#include "merlon/base/time.h"
#include "merlon/packet/flow_key.h"

namespace merlon::flow {

// One state for all protocols; names as an operator reads them (RFC 9293 section 3.3.2 for TCP).
enum class SessionState : std::uint8_t {
  kFree,
  kSynSent,      // TCP: SYN from the initiator
  kSynReceived,  // TCP: both SYNs seen, handshake not complete (also simultaneous open)
  kEstablished,  // TCP
  kFinWait,      // TCP: one side has closed
  kClosing,      // TCP: both sides have closed, last acknowledgment missing
  kTimeWait,     // TCP: closed on both sides
  kReset,        // TCP: ended by an accepted RST
  kMidstream,    // TCP: picked up without its handshake, window not known in both directions yet
  kUdpUnreplied,
  kUdpReplied,  // answered once
  kUdpStream,   // answered and continued
  kIcmpQuery,
  kSctpInit,
  kSctpEstablished,
  kSctpShutdown,
  kOtherUnreplied,
  kOtherReplied,
  kDenied,  // a verdict drop|reject kept for a short time so that policy is not asked per packet
};
inline constexpr unsigned kSessionStateCount = 19;
std::string_view session_state_name(SessionState state) noexcept;

// Sequence space of one TCP direction (names after van Rooij, "Real Stateful TCP Packet Filtering
// in IP Filter", 2000): everything as 32-bit serial numbers.
struct TcpDirection {
  std::uint32_t end = 0;  // highest sequence + length sent
  std::uint32_t max_end =
      0;  // highest acknowledgment + window the other side announced: our right edge
  std::uint32_t max_window = 0;  // largest window announced, scaled
};

struct alignas(64) Session {
  enum Flag : std::uint8_t {
    kInitiatorIsB = 1,  // direction 1 (from b to a) is the initiator's
    kLogStart = 2,      // a policy event was or is to be written at the start
    kLogEnd = 4,
    kDropAll = 8,  // verdict: action is drop or reject
    kReject = 16,
    kTracked = 32,        // counted in a per-source or per-rule limit
    kKeepOnChange = 64,   // policy behaviour: keep the verdict when the policy changes
    kKillOnChange = 128,  // policy behaviour: end the session when the verdict would change
  };

  // First line: forward or drop.
  packet::FlowKey key;
  base::Ticks last_seen = 0;
  std::uint32_t generation = 0;  // of the snapshot whose verdict this is
  std::uint32_t rule = base::kNoRule;
  SessionState state = SessionState::kFree;
  std::uint8_t flags = 0;
  std::uint8_t tcp_flags_seen[2]{};  // [0] from the initiator
  base::Ticks start = 0;             // whoever opens it writes this; SessionCold has the wall clock

  // Second line: tracking and counting. Index 0 is the initiator's direction.
  std::uint64_t packets[2]{};
  std::uint64_t bytes[2]{};
  TcpDirection tcp[2]{};
  std::uint8_t window_scale[2]{};  // kSynSent: as in the SYN, or kNoScale; afterwards the shift in
                                   // effect, 0-14
  base::DropReason drop_reason = base::DropReason::kNone;  // of a denied session
  std::uint8_t tcp_aux = 0;                                // private to the TCP tracker
  std::uint32_t tcp_pending =
      0;  // private to the TCP tracker: a sequence number that waits for its proof

  [[nodiscard]] bool is(Flag f) const noexcept { return (flags & f) != 0; }
  // 0 when a packet of canonical direction `direction` comes from the initiator.
  [[nodiscard]] unsigned side(unsigned direction) const noexcept {
    return direction ^ (flags & kInitiatorIsB);
  }
};
inline constexpr std::uint8_t kNoScale = 0xff;
static_assert(sizeof(Session) == 128);

// Written at the start, read at the end and by listings.
struct SessionCold {
  base::Nanos start = 0;
  std::uint64_t flow_id = 0;  // 53 bits: from the key's hash and the start, equal in every replay
  std::uint16_t in_port = base::kNoPort, out_port = base::kNoPort;
  std::uint16_t zone_source = base::kNoZone, zone_destination = base::kNoZone;
  std::uint64_t first_packet_number = 0;
};
static_assert(sizeof(SessionCold) == 32);

}  // namespace merlon::flow
