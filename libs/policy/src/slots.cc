// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/slots.h"

#include "merlon/base/check.h"

namespace merlon::policy {

const std::string RuleSlots::none_;

RuleSlots::RuleSlots() { acquire("default"); }

RuleSlots::RuleSlots(const RuleSlots& other) : ids_(other.ids_.size()), free_(other.free_) {
  by_id_.reserve(other.by_id_.size());
  for (std::uint32_t slot = 0; slot < other.count(); ++slot)
    if (other.is_taken(slot)) ids_[slot] = &by_id_.emplace(other.id(slot), slot).first->first;
}

std::uint32_t RuleSlots::acquire(std::string_view id) {
  const auto it = by_id_.find(id);
  if (it != by_id_.end()) return it->second;
  std::uint32_t slot = count();
  if (free_.empty()) {
    ids_.push_back(nullptr);
  } else {
    slot = free_.back();
    free_.pop_back();
    reused_.push_back(slot);
  }
  ids_[slot] = &by_id_.emplace(std::string(id), slot).first->first;
  return slot;
}

std::optional<std::uint32_t> RuleSlots::find(std::string_view id) const {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return std::nullopt;
  return it->second;
}

void RuleSlots::release(std::uint32_t slot) {
  MERLON_CHECK(slot != kDefaultRuleSlot && slot < count() && is_taken(slot));
  by_id_.erase(by_id_.find(*ids_[slot]));
  ids_[slot] = nullptr;
  free_.push_back(slot);
}

}  // namespace merlon::policy
