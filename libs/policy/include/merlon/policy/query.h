// SPDX-License-Identifier: Apache-2.0
#pragma once
// The question a worker puts to policy for the first packet of a session, and the answer.
#include <cstdint>

#include "merlon/base/address.h"
#include "merlon/base/event.h"
#include "merlon/policy/model.h"

namespace merlon::policy {

struct Query {
  base::IpAddress source, destination;
  std::uint16_t source_port = 0, destination_port = 0;  // 0 for protocols without ports
  std::uint8_t protocol = 0;
  std::uint8_t icmp_type = 0, icmp_code = 0;
  std::uint8_t reserved = 0;
  std::uint16_t in_port = base::kNoPort, out_port = base::kNoPort;
  std::uint16_t zone_source = base::kNoZone,
                zone_destination = base::kNoZone;  // zone numbers of the snapshot
};

// A rule slot names a rule as long as any snapshot, session or event refers to it: equal ids keep
// their slot over commits, so counters and sessions never point at another rule. Slot 0 is the
// default action.
inline constexpr std::uint32_t kDefaultRuleSlot = 0;

struct Decision {
  std::uint32_t rule = kDefaultRuleSlot;
  Action action = Action::kDrop;
  LogMode log = LogMode::kNone;
  OnChange on_change = OnChange::kReEvaluate;
  std::uint8_t midstream = 0;  // 0: engine's setting, 1: allowed, 2: refused
  std::uint32_t max_sessions = 0, max_sessions_per_source = 0;
};

}  // namespace merlon::policy
