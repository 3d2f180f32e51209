// SPDX-License-Identifier: Apache-2.0
#pragma once
// Registry of rule slots: a rule id gets a number and keeps it over commits, removals and returns,
// until control gives the slot of a rule that is gone to another one. One per process, owned by
// control, which alone knows when no snapshot, session or event refers to a slot any more.
// control-only; O(1) per call.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "merlon/policy/query.h"

namespace merlon::policy {

class RuleSlots {
 public:
  // Slot 0 is taken by "default" from the start.
  RuleSlots();
  // The same numbers; further ones go their own way. reused() of the copy is empty.
  RuleSlots(const RuleSlots& other);
  RuleSlots(RuleSlots&&) = default;
  RuleSlots& operator=(const RuleSlots&) = delete;
  RuleSlots& operator=(RuleSlots&&) = default;

  // The slot of `id`. One that has none gets a released slot, else a new one.
  std::uint32_t acquire(std::string_view id);
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view id) const;
  // The id that has the slot, also when its rule is gone; empty for a released slot.
  [[nodiscard]] const std::string& id(std::uint32_t slot) const {
    return ids_[slot] != nullptr ? *ids_[slot] : none_;
  }
  // One past the highest slot that was ever handed out.
  [[nodiscard]] std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(ids_.size());
  }

  // Takes the slot from its id; the next new id may get it. Not slot 0, not twice. For slots that
  // nothing refers to: see control's GoneRules.
  void release(std::uint32_t slot);
  [[nodiscard]] bool is_taken(std::uint32_t slot) const noexcept { return ids_[slot] != nullptr; }
  [[nodiscard]] std::uint32_t taken_count() const noexcept {
    return static_cast<std::uint32_t>(by_id_.size());
  }
  // Released slots that acquire() has handed out again: their counters are of other rules.
  [[nodiscard]] const std::vector<std::uint32_t>& reused() const noexcept { return reused_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return std::hash<std::string_view>{}(s);
    }
  };
  static const std::string none_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> by_id_;
  std::vector<const std::string*> ids_;  // keys of by_id_, whose nodes do not move; null: released
  std::vector<std::uint32_t> free_, reused_;
};

}  // namespace merlon::policy
