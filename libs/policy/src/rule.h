// SPDX-License-Identifier: Apache-2.0
#pragma once
// One rule with its names resolved: what the classifier is built from, what the few rules beside it
// are matched with, and what explain and analysis look at. immutable after resolving.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "intervals.h"
#include "merlon/policy/explain.h"
#include "merlon/policy/query.h"
#include "merlon/policy/service.h"

namespace merlon::policy {

// Protocol, and destination port or ICMP type and code, in one 24-bit key: protocol << 16 | rest.
inline std::uint32_t service_key(const Query& q) noexcept {
  const std::uint32_t base = static_cast<std::uint32_t>(q.protocol) << 16;
  if (has_ports(q.protocol)) return base | q.destination_port;
  if (q.protocol == kProtoIcmp || q.protocol == kProtoIcmpv6)
    return base | static_cast<std::uint32_t>(q.icmp_type) << 8 | q.icmp_code;
  return base;
}
inline constexpr std::uint32_t kServiceLast = 0xffffff;
inline constexpr std::uint32_t kAppliedPort = 0x10000;  // applied_to keys: zone, or this + port

// The services of a rule that share their source ports; the rule's services are the union of its
// rows.
struct ServiceRow {
  KeySetPtr keys;  // of service_key()
  KeySetPtr source_ports;
};

struct ScheduleTable {
  std::int64_t offset_seconds = 0;
  std::vector<ScheduleWindow> windows;
  [[nodiscard]] bool is_active(base::Nanos now) const noexcept;
  // First change after `now`; kNever when none.
  [[nodiscard]] base::Nanos next_edge(base::Nanos now) const noexcept;
};

struct Compiled {
  std::uint64_t order = 0;         // label: grows along the order of evaluation
  std::uint64_t fingerprint[2]{};  // of the rule as written, without places
  Decision decision;               // with the slot
  Category category = Category::kApplication;
  bool is_enabled = true;
  bool is_empty = false;  // nothing can match
  KeySetPtr from_zones, to_zones, applied_to;
  AddressSetPtr sources, destinations;
  std::shared_ptr<const std::vector<ServiceRow>> services;  // null: any
  std::shared_ptr<const ScheduleTable> schedule;            // null: always
  bool is_off_schedule = false;  // "!name": active while the schedule is not
  base::Nanos expires = kNever;

  [[nodiscard]] bool is_timed() const noexcept { return schedule || expires != kNever; }
  [[nodiscard]] bool is_active(base::Nanos now) const noexcept {
    return now < expires && (!schedule || schedule->is_active(now) != is_off_schedule);
  }
  [[nodiscard]] bool takes_part() const noexcept { return is_enabled && !is_empty; }
  // The first failing test among zones, addresses and services; kNone when the packet matches. Time
  // and is_enabled are not looked at.
  [[nodiscard]] Miss miss(const Query& query) const noexcept;
};

}  // namespace merlon::policy
