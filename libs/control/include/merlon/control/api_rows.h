// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the API tells of a running engine, as plain rows: filled by the daemon, made into tables by
// the handlers. Values; any thread. Names are words here, times are nanoseconds since the epoch (0:
// never).
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "merlon/base/address.h"
#include "merlon/base/drop_reason.h"
#include "merlon/base/result.h"
#include "merlon/base/time.h"
#include "merlon/io/port.h"

namespace merlon::control {

struct PortStatus {
  io::PortInfo info;
  io::PortCounters counters;
  double rx_packets_per_second = 0, tx_packets_per_second = 0;
  double rx_bits_per_second = 0, tx_bits_per_second = 0;
  std::string role;  // "tap", or "wire office" with the wire's name
  std::string zone;  // empty: none, or by VLAN
};

struct WorkerStatus {
  unsigned worker = 0;
  int core = -1;  // -1: not pinned
  double busy_ratio = 0;
  double cycles_per_packet = 0;
  double packets_per_burst = 0;
  double packets_per_second = 0;
  std::uint64_t packets = 0;
  std::uint64_t sessions = 0, session_limit = 0;
  std::uint64_t handed_over = 0;  // packets given to another worker
  std::uint64_t events_lost = 0;
  std::uint64_t late_turns = 0;  // longer than 10 ms: the worker was kept from running
  double late_seconds = 0;       // in these
};

// Source and destination as the initiator sent them; index 0 of pairs is the initiator's direction.
struct SessionRow {
  std::uint64_t id = 0;
  unsigned worker = 0;
  std::uint8_t protocol = 0;
  base::IpAddress source{}, destination{};
  std::uint16_t source_port = 0, destination_port = 0;  // ICMP: identifier and type
  std::uint16_t vlan = 0;
  std::string state;
  std::string rule;    // id, "default" for the default action
  std::string action;  // "permit", "drop", "reject"
  base::DropReason reason = base::DropReason::kNone;
  std::string from_zone, to_zone, in_port, out_port;
  std::uint64_t packets[2]{}, bytes[2]{};
  base::Nanos start = 0;
  std::uint64_t age_ms = 0, idle_ms = 0, expires_in_ms = 0;
  std::uint32_t revision = 0;  // configuration that decided
};

struct RuleStatus {
  std::string id;
  std::string category, action, log, on_change;
  std::string from, to;  // zones, "any"
  std::string owner, description, reason;
  std::string state = "active";  // "active", "disabled", "expired", "off schedule"
  base::SourcePos where{};
  std::uint64_t hits = 0;  // sessions decided
  std::uint64_t packets = 0, bytes = 0;
  std::uint64_t sessions = 0;     // alive now
  std::uint64_t limit_drops = 0;  // sessions refused by the rule's limits
  base::Nanos first_hit = 0, last_hit = 0;
  base::Nanos observed_since = 0;  // hits are counted from then on
};

struct DropCount {
  base::DropReason reason = base::DropReason::kNone;
  std::uint64_t packets = 0;
  std::uint64_t would_drop = 0;  // tap mode: the part of `packets` that was not in our hands
  double per_second = 0;
  base::Nanos last = 0;
};

struct DroppedPacket {
  base::Nanos time = 0;
  base::DropReason reason = base::DropReason::kNone;
  unsigned worker = 0;
  std::string rule, port, zone;
  std::uint8_t protocol = 0;
  base::IpAddress source{}, destination{};
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint32_t length = 0;       // on the wire
  std::vector<base::Byte> bytes;  // kept part, from the Ethernet header on
};

struct PoolStatus {
  std::string name;  // "buffers", "sessions", "fragments", "event ring 0"
  std::uint64_t used = 0, limit = 0, peak = 0;
  std::uint64_t failures = 0;    // asked for one when there was none
  std::uint64_t size_bytes = 0;  // memory taken
};

struct Status {
  std::string version, revision;  // of the program: "0.1.0", source revision
  std::string name;               // of this firewall, from the configuration
  std::string mode;               // "wire", "tap", "wire and tap"
  std::string state;              // "running", "starting", "stopping", "degraded: ..."
  std::uint64_t uptime_ms = 0;
  std::uint64_t process = 0;
  base::Nanos started = 0;
  std::uint64_t config_revision = 0;
  base::Nanos confirm_deadline = 0;  // 0: no commit waits for its confirmation
  std::uint64_t sessions = 0, session_limit = 0;
  std::vector<std::string> warnings;  // what an operator should know, one sentence each
};

// What explain found, in the order of the packet's way.
struct Explanation {
  struct Considered {
    std::string rule;
    base::SourcePos where{};
    std::string why_not;  // "service does not match", "off schedule"
  };
  std::string packet;  // in words
  std::string zone_in, port_in, zone_out, port_out;
  std::string session;  // "none: would create", "id 77, established, 12 s old"
  std::string rule;     // id or "default"; empty when policy was not asked
  base::SourcePos rule_where{};
  std::string action, rule_reason, rule_owner;
  std::uint32_t before = 0;            // rules in front of it
  std::uint32_t before_same_zone = 0;  // of these, matched the zones
  std::uint32_t before_inactive = 0;   // matched fully, but disabled, expired or off schedule
  std::vector<Considered> considered;  // the nearest few of those in front
  std::vector<std::pair<std::string, std::string>>
      notes;            // further stages: {"fragment", "first of ..."}
  std::string verdict;  // "forward", "drop", "reject", "would drop", "would reject"
  base::DropReason reason = base::DropReason::kNone;
};

struct EventLine {
  std::uint64_t sequence = 0;
  std::string json;  // one EVE record, one line
};

}  // namespace merlon::control
