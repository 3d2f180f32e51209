// SPDX-License-Identifier: Apache-2.0
#pragma once
// Policy as people write it: plain values with their places in the file. The configuration loader
// fills a PolicyModel, compile() turns it into a Snapshot. Names refer to names; resolving,
// nesting, negation and category order are the compiler's work. control-only.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "merlon/base/address.h"
#include "merlon/base/event.h"
#include "merlon/base/result.h"
#include "merlon/base/time.h"

namespace merlon::policy {

using base::Action;

// Evaluated in this order, and in file order inside one category.
enum class Category : std::uint8_t { kEmergency, kInfrastructure, kEnvironment, kApplication };
enum class LogMode : std::uint8_t { kNone, kStart, kEnd, kBoth };
// What a commit does to a session whose rule no longer gives its verdict.
enum class OnChange : std::uint8_t { kReEvaluate, kKeep, kKill };

// A word in a list, with its place. `negated` is a leading "!".
struct Name {
  std::string text;
  bool negated = false;
  base::SourcePos where{};
};

// objects.addresses.NAME: literal ranges and names of other address objects, and tags.
struct AddressObject {
  std::string name;
  std::vector<base::AddressRange> ranges;
  std::vector<Name>
      members;  // nested objects; a negated member is taken away from the union of the rest
  std::vector<std::string> tags;  // labels this object carries
  std::vector<Name> with_tags;    // dynamic group: all objects carrying every one of these tags
  base::SourcePos where{};
};

struct PortRange {
  std::uint16_t first = 0, last = 65535;
};

// One protocol with its ports; `tcp/443`, `udp/53`, `icmp/echo`, `icmp/3/4`, `proto/47`, `any`.
struct ServiceTerm {
  std::optional<std::uint8_t> protocol;      // nothing: any
  std::vector<PortRange> source_ports;       // empty: any; TCP, UDP, SCTP
  std::vector<PortRange> destination_ports;  // empty: any
  std::optional<std::uint8_t> icmp_type, icmp_code;
};

// objects.services.NAME
struct ServiceObject {
  std::string name;
  std::vector<ServiceTerm> terms;
  std::vector<Name> members;
  base::SourcePos where{};
};

// objects.schedules.NAME: active at a moment when one of the windows covers it.
struct ScheduleWindow {
  std::uint8_t weekdays = 0x7f;  // bit 0 Monday
  std::uint32_t from_minute = 0,
                to_minute =
                    1440;  // of the day in the schedule's time zone; from > to passes midnight
  std::optional<base::Nanos> not_before, not_after;
};
struct Schedule {
  std::string name;
  std::int32_t utc_offset_minutes = 0;
  std::vector<ScheduleWindow> windows;
  base::SourcePos where{};
};

// A packet's zone is that of its port and outer VLAN. A mirror port and a capture carry both
// directions, so there the side is told by `networks`: the source address decides the source zone,
// the destination address the destination zone, the longest range first.
struct Zone {
  std::string name;
  std::vector<Name> ports;                   // names of io ports; each wholly or with .vlans
  std::vector<std::uint16_t> vlans;          // outer VLAN ids; empty: all of the ports
  std::vector<base::AddressRange> networks;  // for tap ports and replays
  base::SourcePos where{};
};

struct Rule {
  std::string id;  // unique, chosen by the user, never reused for another meaning
  Category category = Category::kApplication;
  bool is_enabled = true;
  std::vector<Name> from_zones, to_zones;   // empty: any
  std::vector<Name> sources, destinations;  // address objects or literals as text; empty: any
  std::vector<Name> services;               // service objects or literals as text; empty: any
  std::vector<Name> applied_to;             // zones or ports; empty: everywhere
  std::optional<Name> schedule;
  Action action = Action::kDrop;
  LogMode log = LogMode::kNone;
  OnChange on_change = OnChange::kReEvaluate;
  std::uint32_t max_sessions = 0;             // 0: no limit
  std::uint32_t max_sessions_per_source = 0;  // 0: no limit
  std::optional<bool> allow_midstream;        // overrides the engine's TCP setting
  std::optional<base::Nanos> expires;         // inactive from then on
  std::string owner, ticket, description, reason;
  std::vector<std::string> tags;
  base::SourcePos where{};
};

struct PolicyModel {
  std::vector<AddressObject> addresses;
  std::vector<ServiceObject> services;
  std::vector<Schedule> schedules;
  std::vector<Zone> zones;
  std::vector<std::string> ports;  // names by io port number
  std::vector<Rule> rules;         // in file order
  Action default_action = Action::kDrop;
  LogMode default_log = LogMode::kNone;
};

}  // namespace merlon::policy
