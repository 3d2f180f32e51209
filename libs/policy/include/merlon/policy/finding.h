// SPDX-License-Identifier: Apache-2.0
#pragma once
// A remark about a policy that compiles: shadowed rules, empty matches and the like. Plain value.
// control-only.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::policy {

enum class FindingCode : std::uint8_t {
  kShadowed,     // an earlier rule with another action takes every packet of this one
  kRedundant,    // an earlier rule with the same action takes every packet of this one
  kUnreachable,  // several earlier rules together take every packet of this one
  kConflicting,  // overlaps a later rule of another action, neither covers the other
  kOverBroad,    // permits any source to any destination with any service
  kNoLog,        // the rule's sessions leave no trace
  kEmptyMatch,   // no packet can match: negation left nothing
  kNeverActive,  // expired, or its schedule has no window
  kNameShadows,  // an object has the name of a built-in service
  kEmptyObject,  // an object without addresses or services
};
enum class Severity : std::uint8_t { kInfo, kWarning };

struct Finding {
  FindingCode code = FindingCode::kShadowed;
  Severity severity = Severity::kWarning;
  std::string rule,
      other;  // ids of the rule it is about and of its counterpart; or an object's name
  base::SourcePos where{}, other_where{};
  std::string message;  // one sentence with both names
};

// JSON name, for example "shadowed".
std::string_view finding_name(FindingCode code) noexcept;

}  // namespace merlon::policy
