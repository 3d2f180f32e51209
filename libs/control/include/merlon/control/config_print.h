// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors as people and programs read them. control-only.
//
//   policy.yaml:19:7: error: unknown key "acton" in rule "no-telnet"
//     19 |       acton: drop
//        |       ^^^^^ did you mean "action"?
#include <string>
#include <string_view>

#include "merlon/base/result.h"
#include "merlon/control/config_source.h"

namespace merlon::control {

struct PrintOptions {
  bool use_colour = false;
  std::string_view outcome =
      "nothing was changed";  // what stays true; ends the summary line; may be empty
};

// All findings with their source lines and carets, then "N errors, M warnings; OUTCOME". `sources`
// may be empty: then no excerpts. A finding's caret never leaves its line.
[[nodiscard]] std::string format_findings(const base::Errors& errors, const base::Errors& warnings,
                                          const Bundle& sources, const PrintOptions& options = {});

// [{"severity":"error","file":..,"line":..,"column":..,"end_column":..,"code":..,"message":..,"hint":..,"path":..},
// ...]
[[nodiscard]] std::string findings_to_json(const base::Errors& errors,
                                           const base::Errors& warnings);

// "2 errors, 1 warning".
[[nodiscard]] std::string count_findings(std::size_t error_count, std::size_t warning_count);

}  // namespace merlon::control
