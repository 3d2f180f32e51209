// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/slots.h"

namespace merlon::policy {

RuleSlots::RuleSlots() { acquire("default"); }

std::uint32_t RuleSlots::acquire(std::string_view id) {
  const auto it = by_id_.find(id);
  if (it != by_id_.end()) return it->second;
  const auto made = by_id_.emplace(std::string(id), count()).first;
  ids_.push_back(&made->first);
  return made->second;
}

std::optional<std::uint32_t> RuleSlots::find(std::string_view id) const {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return std::nullopt;
  return it->second;
}

}  // namespace merlon::policy
