// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a query got its decision. The decision is that of Snapshot::decide(), called, not re-told;
// the reasons come from a walk over the rules before it. control-only; linear in the number of
// rules.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/policy/snapshot.h"

namespace merlon::policy {

// The first test that a rule failed, in this order.
enum class Miss : std::uint8_t {
  kNone,  // matched
  kDisabled,
  kFromZone,
  kToZone,
  kAppliedTo,
  kSource,
  kDestination,
  kService,
  kExpired,
  kSchedule,
};
// JSON name such as "from_zone".
std::string_view miss_name(Miss miss) noexcept;

struct RuleTrace {
  std::uint32_t slot = kDefaultRuleSlot;
  std::string id;
  base::SourcePos where{};
  Miss miss = Miss::kNone;
  std::string sentence;  // "source 10.0.0.5 is not in its sources"
};

struct Explanation {
  Decision decision;
  SlotInfo rule;                 // of the rule that decided; slot 0 for the default
  std::size_t rules_before = 0;  // evaluated before it
  std::size_t zone_matched = 0;  // of these: zones and applied_to matched
  std::size_t inactive_matched =
      0;  // of these: everything matched but disabled, expired or off schedule
  std::vector<RuleTrace>
      nearest;  // those of the rules before it that failed latest; last ones first
  // The lines of `merlon explain` about policy.
  [[nodiscard]] std::string to_text() const;
};

Explanation explain(const Snapshot& snapshot, const Query& query, base::Nanos now,
                    std::size_t max_nearest = 8);

}  // namespace merlon::policy
