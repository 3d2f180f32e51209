// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statistics of few, noisy values: medians and their confidence by bootstrap, paired ratios, and
// the verdict on a change. Deterministic: every draw comes from the seed given. Pure functions, any
// thread. Cost: a bootstrap sorts its sample 2,000 times.
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace merlon::lab {

// Values that are not finite must be taken out before; all functions give 0 for no values.
double median(std::span<const double> values);
// Linear between the neighbouring order statistics (Hyndman and Fan 1996, type 7); share within
// 0..1.
double quantile(std::span<const double> values, double share);
// (max - min) / |median|; 0 when the median is 0.
double spread(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
  [[nodiscard]] bool contains(double value) const noexcept { return low <= value && value <= high; }
};

inline constexpr std::uint64_t kStatisticsSeed = 1;
inline constexpr unsigned kResamples = 2000;

// 95 % percentile bootstrap of the median (Efron 1979). One value: that value twice; the interval
// of fewer than six says little, since the median of n values can't leave their range, which misses
// the truth in 2^(1-n) of cases.
Interval median_interval(std::span<const double> values, std::uint64_t seed = kStatisticsSeed);

// The median of b/a over pairs that were measured next to each other, with its interval: pairs are
// resampled whole, so noise that both sides share stays cancelled. Pairs with a side that is not
// above 0 are left out.
struct Ratio {
  double value = 0;
  Interval interval;
  std::size_t pair_count = 0;
};
Ratio paired_ratio(std::span<const std::pair<double, double>> pairs,
                   std::uint64_t seed = kStatisticsSeed);

// How far the median ratio of equal things may lie from 1 here: of pairs of A against A, the
// farther end of the interval of their ratio. The same statistic as the one it judges, so more
// pairs make it smaller too.
double same_noise(std::span<const std::pair<double, double>> pairs,
                  std::uint64_t seed = kStatisticsSeed);

// Upper 95 % bound of a probability when none of `trials` showed the event: 3 / n ("rule of three",
// Hanley and Lippman-Hand 1983), 1 at most. Zero losses among a million frames still allow 3e-6.
double zero_event_bound(std::uint64_t trials);

enum class Change : std::uint8_t { kNone, kBetter, kWorse, kUndecided };
std::string_view word(Change change) noexcept;  // "none", "better", "worse", "undecided"

struct ChangeLimits {
  double noise = 0;         // A/A noise of the same machine
  double practical = 0.02;  // a smaller change matters to nobody
  bool higher_is_better = true;
  std::size_t minimum_pairs = 6;  // fewer can't exclude chance at 95 %
};
// A change is claimed only when the interval excludes 1 and the ratio is beyond noise and
// threshold. Undecided: too few pairs, or the interval reaches beyond the larger of both limits
// without excluding 1.
Change judge(const Ratio& ratio, const ChangeLimits& limits);

}  // namespace merlon::lab
