// SPDX-License-Identifier: Apache-2.0
#pragma once
// A against B on a machine that is never quiet: trials alternate A B B A, so that a drift of the
// machine meets both sides alike; neighbours of different sides make pairs, neighbours of the same
// side (B B, A A) tell for free how far equal things differ. Pure functions, control-only.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  Ratio ratio;          // B / A
  double a = 0, b = 0;  // medians over the pairs that count
  double noise = 0;     // A/A noise of this series, or the limit given when that is larger
  double limit = 0;     // the larger of noise and ChangeLimits::practical
  std::size_t same_pair_count = 0;
  std::size_t dropped_count = 0;  // pairs with a contaminated or non-positive side
  // kNone: the same, as far as the interval's farther end tells.
  Change verdict = Change::kUndecided;
  std::vector<PairedTrials> trials;  // of the pairs that count, in order
  Text sentence;                     // the verdict with its figures

  // How far the ratio may be from 1: the farther end of its interval.
  [[nodiscard]] double farthest() const noexcept;
};

// Samples in the order of measuring, as interleaved() gave it; an unfinished last pair is left out.
// Fewer than three same-side pairs leave the noise at `limits.noise`.
//
// A change is claimed as judge() does. The same are devices whose interval stays within what
// matters, or within twice the noise where the machine shows no finer; a machine that can't tell
// 10 % can't tell "the same" either, and all else is undecided.
PairedResult compare_pairs(std::span<const PairedSample> samples, const ChangeLimits& limits,
                           std::uint64_t seed = kStatisticsSeed);

// "better", "worse", "same", "undecided": B against A.
std::string_view paired_word(Change verdict) noexcept;

// How many pairs are measured. One looks at the result now and then only: who looks after each pair
// and stops at the first claim finds changes where there are none.
struct PairedPlan {
  std::size_t least_pairs = 8, most_pairs = 32;
  std::size_t look_every = 4;
};

// Why no more pairs are needed after `measured` ones, nothing while they are: the whole interval
// lies beyond the limit, or within what matters, or there are as many pairs as planned.
std::optional<Text> enough_pairs(const PairedResult& result, std::size_t measured,
                                 const ChangeLimits& limits, const PairedPlan& plan);

}  // namespace merlon::lab
