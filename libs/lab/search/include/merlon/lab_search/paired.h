// SPDX-License-Identifier: Apache-2.0
#pragma once
// A against B on a machine that is never quiet: trials alternate A B B A, so that a drift of the
// machine meets both sides alike; neighbours of different sides make pairs, neighbours of the same
// side (B B, A A) tell for free how far equal things differ. Pure functions, control-only.
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "merlon/lab_model/run.h"
#include "merlon/lab_model/statistics.h"

namespace merlon::lab {

enum class Side : std::uint8_t { kA, kB };

// A B B A A B B A ...: two trials per pair.
std::vector<Side> interleaved(std::size_t pair_count);

struct PairedSample {
  Side side = Side::kA;
  double value = 0;              // what is compared, in any unit
  bool is_contaminated = false;  // its pairs are dropped
  std::string trial;
};

struct PairedResult {
  Ratio ratio;       // B / A
  double noise = 0;  // A/A noise of this series, or the limit given when that is larger
  std::size_t same_pair_count = 0;
  std::size_t dropped_count = 0;  // pairs with a contaminated or non-positive side
  Change verdict = Change::kUndecided;
  std::vector<std::pair<std::string, std::string>> trials;  // of the pairs that count, A's first
  Text sentence;                                            // the verdict with its figures
};

// Samples in the order of measuring, as interleaved() gave it; an unfinished last pair is left out.
// Fewer than three same-side pairs leave the noise at `limits.noise`.
PairedResult compare_pairs(std::span<const PairedSample> samples, const ChangeLimits& limits,
                           std::uint64_t seed = kStatisticsSeed);

}  // namespace merlon::lab
