// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "merlon/lab_search/search.h"

namespace merlon::lab {
namespace {

// Fields: name, loss, exceed, final duration, duration sum, initial duration, width.
const std::array<Goal, 7>& presets() {
  static const std::array<Goal, 7> kPresets{{
      {"ndr", 0, 0.5, 1, 21, 1, 0.005},      // FD.io CSIT
      {"pdr", 0.005, 0.5, 1, 21, 1, 0.005},  // FD.io CSIT
      {"rfc2544", 0, 0, 60, 60, 1, 0.005},   // section 26.1: no loss in one minute
      {"tst009", 0, 0.5, 60, 120, 1,
       0.005},  // ETSI GS NFV-TST 009, loss verification with max(r) = 2
      {"loss1", 0.01, 0.5, 1, 7, 1, 0.01},  // at most 1 % lost, most of the time
      {"quick-ndr", 0, 0.5, 0.5, 1.5, 0.5, 0.02},
      {"quick-pdr", 0.005, 0.5, 0.5, 1.5, 0.5, 0.02},
  }};
  return kPresets;
}

}  // namespace

base::Result<Goal> goal_preset(const std::string& name) {
  std::string known;
  for (const Goal& goal : presets()) {
    if (goal.name == name) return goal;
    known += (known.empty() ? "" : ", ") + goal.name;
  }
  return base::Error{
      base::Errc::kNotFound, "there is no search goal \"" + name + '"', {}, "known: " + known};
}

}  // namespace merlon::lab
