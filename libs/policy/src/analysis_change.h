// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a change of a policy may touch, for analyse(). control-only.
#include <optional>
#include <vector>

#include "builder.h"

namespace merlon::policy {

// The smallest box around a rule; most pairs of rules are told apart by it.
struct Hull {
  Key128 source_first = 0, source_last = kAddressLast;
  Key128 destination_first = 0, destination_last = kAddressLast;
  std::uint32_t service_first = 0, service_last = kServiceLast;
  [[nodiscard]] bool meets(const Hull& o) const noexcept {
    return source_first <= o.source_last && o.source_first <= source_last &&
           destination_first <= o.destination_last && o.destination_first <= destination_last &&
           service_first <= o.service_last && o.service_first <= service_last;
  }
};
Hull hull_of(const Compiled& rule);

// By position in the new snapshot's listing: whether a rule that came, went or moved may meet the
// rule's packets. What is found of the others, by comparing them with rules before them, is the
// same in both snapshots. Empty when their objects differ or most is touched.
std::optional<std::vector<bool>> touched_rules(const Snapshot& before, const Snapshot& after);

}  // namespace merlon::policy
