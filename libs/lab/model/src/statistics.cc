// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_model/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace merlon::lab {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): the same draws on every machine, which the standard's
// distributions don't promise.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  // Below `count`, which is at most 2^32: the multiplication keeps the bias under count / 2^32.
  std::size_t below(std::size_t count) {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    return static_cast<std::size_t>(((z >> 32) * count) >> 32);
  }

 private:
  std::uint64_t state_;
};

double sorted_quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

std::vector<double> ratios_of(std::span<const std::pair<double, double>> pairs) {
  std::vector<double> ratios;
  for (const auto& [a, b] : pairs) {
    if (a > 0 && b > 0 && std::isfinite(b / a)) ratios.push_back(b / a);
  }
  return ratios;
}

}  // namespace

double quantile(std::span<const double> values, double share) {
  return sorted_quantile(sorted_copy(values), share);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double spread(std::span<const double> values) {
  const std::vector<double> sorted = sorted_copy(values);
  const double middle = sorted_quantile(sorted, 0.5);
  return middle == 0 ? 0 : (sorted.back() - sorted.front()) / std::abs(middle);
}

Interval median_interval(std::span<const double> values, std::uint64_t seed) {
  if (values.empty()) return {};
  // Sorted first, so that the order in which values came does not change the draws.
  const std::vector<double> sorted = sorted_copy(values);
  Draws draws(seed);
  std::vector<double> medians(kResamples), sample(sorted.size());
  for (double& m : medians) {
    for (double& s : sample) s = sorted[draws.below(sorted.size())];
    std::sort(sample.begin(), sample.end());
    m = sorted_quantile(sample, 0.5);
  }
  std::sort(medians.begin(), medians.end());
  return {sorted_quantile(medians, 0.025), sorted_quantile(medians, 0.975)};
}

Ratio paired_ratio(std::span<const std::pair<double, double>> pairs, std::uint64_t seed) {
  const std::vector<double> ratios = ratios_of(pairs);
  return {median(ratios), median_interval(ratios, seed), ratios.size()};
}

double same_noise(std::span<const std::pair<double, double>> pairs, std::uint64_t seed) {
  const Ratio ratio = paired_ratio(pairs, seed);
  if (ratio.pair_count == 0) return 0;
  return std::max(std::abs(ratio.interval.low - 1), std::abs(ratio.interval.high - 1));
}

double zero_event_bound(std::uint64_t trials) {
  return trials < 3 ? 1 : 3 / static_cast<double>(trials);
}

std::string_view word(Change change) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"none", "better", "worse", "undecided"};
  return kNames[static_cast<std::size_t>(change)];
}

Change judge(const Ratio& ratio, const ChangeLimits& limits) {
  if (ratio.pair_count < limits.minimum_pairs) return Change::kUndecided;
  const double limit = std::max(limits.noise, limits.practical);
  const bool is_excluded = !ratio.interval.contains(1);
  if (is_excluded && std::abs(ratio.value - 1) > limit) {
    return (ratio.value > 1) == limits.higher_is_better ? Change::kBetter : Change::kWorse;
  }
  const bool may_be_more = ratio.interval.low < 1 - limit || ratio.interval.high > 1 + limit;
  return may_be_more && !is_excluded ? Change::kUndecided : Change::kNone;
}

}  // namespace merlon::lab
