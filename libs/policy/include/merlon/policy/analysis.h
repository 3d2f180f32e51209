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
  std::size_t max_findings = 1000;     // of each severity
  std::size_t max_pairs = 60'000'000;  // rule pairs compared
  bool with_info = true;               // conflicts, rules without log
};

struct Analysis {
  std::vector<Finding> findings;  // in order of evaluation
  std::size_t pairs = 0;          // compared
  std::size_t left_out = 0;       // found, but above max_findings
  bool is_complete = true;        // false: pairs were not compared because of max_pairs
};

// What is reported is true; what is not found: cover by one earlier rule whose services only
// together take the later one's, cover by several rules (unreachable) unless they cover it in all
// dimensions but one, and anything an earlier rule with a schedule or an expiry covers, since it
// may stop to.
Analysis analyse(const Snapshot& snapshot, base::Nanos now, const AnalysisLimits& limits = {});

// The same answer where another snapshot's is known: only rules that a change between the two may
// touch are compared again. `known` must come from `before` under the same limits, and may itself
// come from here. Where most has changed, all is compared.
struct KnownAnalysis {
  const Snapshot& before;
  const Analysis& known;
};
Analysis analyse(const Snapshot& snapshot, base::Nanos now, const AnalysisLimits& limits,
                 const KnownAnalysis& from);

}  // namespace merlon::policy
