// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a worker tells the outside: fixed binary records in a bounded ring, formatted elsewhere. A
// worker fills a record in place and never waits; a full ring is a counted loss. Names (zones,
// rules, ports) are numbers here and become words in telemetry.
#include <array>
#include <cstdint>

#include "merlon/base/address.h"
#include "merlon/base/drop_reason.h"
#include "merlon/base/spsc_ring.h"
#include "merlon/base/time.h"

namespace merlon::base {

// What policy says of a session.
enum class Action : std::uint8_t { kPermit, kDrop, kReject };

enum class EventKind : std::uint8_t {
  kPolicy,  // a session's verdict (rule log start|both, or any verdict but permit when logged)
  kFlow,    // a session ended (rule log end|both)
  kDrop,    // a packet was dropped (sampled and rate limited by the engine)
};

// Why a session ended.
enum class SessionEnd : std::uint8_t {
  kNone,
  kTimeout,
  kTcpFin,
  kTcpRst,
  kEvicted,   // table full: made room for another
  kReplaced,  // its tuple was taken over by a new connection
  kPolicy,    // a policy change no longer permits it
  kCleared,   // by an operator
  kShutdown,
};

inline constexpr std::uint32_t kNoRule = 0xffffffff;
inline constexpr std::uint16_t kNoPort = 0xffff;
inline constexpr std::uint16_t kNoZone = 0xffff;

struct EventRecord {
  EventKind kind = EventKind::kFlow;
  Action action = Action::kPermit;
  DropReason reason = DropReason::kNone;
  SessionEnd end = SessionEnd::kNone;
  std::uint8_t protocol = 0;   // IP protocol number
  std::uint8_t icmp_type = 0;  // ICMP and ICMPv6 only
  std::uint8_t icmp_code = 0;
  std::uint8_t state = 0;       // flow::SessionState at the end
  std::uint8_t tcp_flags[2]{};  // union of flags seen, [0] from the initiator
  bool is_would_drop = false;   // tap mode: the packet was not in our hands
  std::uint8_t worker = 0;
  Nanos time = 0;                   // of the packet, or of the end of the session
  std::uint64_t packet_number = 0;  // 1-based in a replay, 0 in a live run
  std::uint64_t flow_id = 0;        // 53 bits
  IpAddress source{},
      destination{};  // as the initiator sent them (flow, policy) or as in the packet (drop)
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint16_t vlan_outer = 0, vlan_inner = 0;
  std::uint16_t in_port = kNoPort, out_port = kNoPort;  // numbers of io ports
  std::uint16_t zone_source = kNoZone, zone_destination = kNoZone;
  std::uint32_t rule = kNoRule;                     // policy rule slot
  std::uint32_t generation = 0;                     // configuration revision that decided
  std::uint32_t length = 0;                         // drop: bytes on the wire
  Nanos start = 0;                                  // flow, policy: first packet of the session
  std::array<std::uint64_t, 2> packets{}, bytes{};  // [0] from the initiator
};
static_assert(sizeof(EventRecord) <= 192);

using EventRing = SpscRing<EventRecord>;

}  // namespace merlon::base
