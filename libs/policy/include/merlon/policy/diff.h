// SPDX-License-Identifier: Apache-2.0
#pragma once
// Difference of two policies by object and field, never by line. control-only; O(objects).
#include <cstdint>
#include <string>
#include <vector>

#include "merlon/policy/model.h"

namespace merlon::policy {

enum class ChangeKind : std::uint8_t { kAdded, kRemoved, kChanged, kMoved };

struct Change {
  ChangeKind kind = ChangeKind::kChanged;
  std::string object;  // "rule", "address", "service", "schedule", "zone", "default"
  std::string name;
  std::string field;  // kChanged: which; empty otherwise
  std::string before,
      after;  // kChanged: values; kMoved: `after` names the rule it now follows, "" if first
};

// Objects that only moved in the file are equal, except rules, whose order has a meaning: the
// smallest set of rules that explains the new order is reported as moved.
std::vector<Change> diff(const PolicyModel& before, const PolicyModel& after);

// "+ rule web-out", "~ rule no-telnet: log none → end", "- address db", "moved rule x (after y)";
// one a line.
std::string to_text(const std::vector<Change>& changes);

}  // namespace merlon::policy
