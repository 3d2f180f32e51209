// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "digest.h"
#include "merlon/lab_report/compare.h"

namespace merlon::lab::report {

// One run against the base. control-only.
RunComparison compare_digests(const Digest& base, const Digest& other,
                              const CompareOptions& options);

// median(b) / median(a) of unpaired values with its 95 % bootstrap interval; both sides are
// resampled on their own. Seeded: the same values give the same interval.
Ratio ratio_of_medians(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace merlon::lab::report
