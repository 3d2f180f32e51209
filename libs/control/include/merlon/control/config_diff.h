// SPDX-License-Identifier: Apache-2.0
#pragma once
// The difference of two configurations by object, not by line: names pair objects, ids pair rules,
// and values are compared in their canonical form, so that "2m" equals "120s" and `lan` equals
// `[lan]`. control-only.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/control/config_load.h"

namespace merlon::control {

enum class ChangeKind : std::uint8_t { kAdded, kRemoved, kChanged, kMoved };

struct Change {
  ChangeKind kind = ChangeKind::kChanged;
  std::string object;  // "rule web-out", "zone lan", "port wan", or "" for a setting outside of any
                       // named object
  std::string path;    // "policy.rules[web-out].log", "workers.count"
  std::string
      key;  // last word of the path; empty when the whole object was added, removed or moved
  std::string before,
      after;  // canonical texts; for kMoved `after` is the id it now stands behind ("" : first)
  bool needs_restart = false;
};

// Changes in the order of the schema; rules in the order of the candidate.
[[nodiscard]] std::vector<Change> diff(const LoadedConfig& before, const LoadedConfig& after);

// "+ rule web-out", "~ rule no-telnet: log none → end", "- zone dmz", "> rule x: moved after rule
// y".
[[nodiscard]] std::string format_changes(const std::vector<Change>& changes);
[[nodiscard]] std::string changes_to_json(const std::vector<Change>& changes);

// Paths of changed keys that only take effect at restart.
[[nodiscard]] std::vector<std::string> restart_keys(const std::vector<Change>& changes);

// The configuration with defaults filled in, as canonical YAML without comments (`merlon show
// config`).
[[nodiscard]] std::string canonical_text(const LoadedConfig& config);

}  // namespace merlon::control
