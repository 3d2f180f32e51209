// SPDX-License-Identifier: Apache-2.0
#pragma once
// Registry of rule slots: a rule id gets a number once and keeps it for the life of the process,
// over commits, removals and returns. One per process, owned by control. control-only; O(1) per
// call.
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
  // The same numbers; further ones go their own way.
  RuleSlots(const RuleSlots& other);
  RuleSlots& operator=(const RuleSlots&) = delete;

  // The slot of `id`, a new one when it was never seen.
  std::uint32_t acquire(std::string_view id);
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view id) const;
  // The id of a slot that was handed out; also for rules that are gone.
  [[nodiscard]] const std::string& id(std::uint32_t slot) const { return *ids_[slot]; }
  [[nodiscard]] std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(ids_.size());
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return std::hash<std::string_view>{}(s);
    }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> by_id_;
  std::vector<const std::string*> ids_;  // keys of by_id_, whose nodes do not move
};

}  // namespace merlon::policy
