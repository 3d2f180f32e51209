// SPDX-License-Identifier: Apache-2.0
#pragma once
// Remarks on the rules of a compiled policy against each other. control-only. Candidates come from
// the classifier's index, so 10,000 rules take well under a second; work is bounded by
// AnalysisLimits, and what was cut is said in the result.
#include <cstddef>
#include <vector>

#include "merlon/base/time.h"
#include "merlon/policy/finding.h"
#include "merlon/policy/snapshot.h"

namespace merlon::policy {

struct AnalysisLimits {
  std::size_t max_findings = 1000;
  std::size_t max_pairs = 20'000'000;  // rule pairs compared
  bool with_info = true;               // conflicts, rules without log
};

struct Analysis {
  std::vector<Finding> findings;  // in order of evaluation
  std::size_t pairs = 0;          // compared
  bool is_complete = true;        // false: a limit was reached
};

// Shadowed and redundant are exact for cover by one earlier rule that has no schedule or expiry;
// cover by several rules together (unreachable) is found when they agree in all but one dimension.
Analysis analyse(const Snapshot& snapshot, base::Nanos now, const AnalysisLimits& limits = {});

}  // namespace merlon::policy
