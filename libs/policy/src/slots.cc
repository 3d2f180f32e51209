// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/slots.h"

namespace merlon::policy {

RuleSlots::RuleSlots() { acquire("default"); }

RuleSlots::RuleSlots(const RuleSlots& other) {
  by_id_.reserve(other.ids_.size());
  ids_.reserve(other.ids_.size());
  for (const std::string* id : other.ids_) acquire(*id);
}

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
