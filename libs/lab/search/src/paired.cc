// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_search/paired.h"

#include <algorithm>

#include <fmt/format.h>

namespace merlon::lab {
namespace {

constexpr std::size_t kLeastSamePairs = 3;

bool is_good(const PairedSample& sample) { return !sample.is_contaminated && sample.value > 0; }

Text sentence_of(const PairedResult& result) {
  const Ratio& r = result.ratio;
  const std::string figures =
      fmt::format("B/A = {:.3f} [{:.3f}, {:.3f}]", r.value, r.interval.low, r.interval.high);
  const std::string noise = fmt::format("{:.1f} %", result.noise * 100);
  const char *en = "no decision", *ru = "решить нельзя";
  if (result.verdict == Change::kBetter) en = "B is better", ru = "B лучше";
  if (result.verdict == Change::kWorse) en = "B is worse", ru = "B хуже";
  if (result.verdict == Change::kNone)
    en = "no change that matters", ru = "значимого изменения нет";
  return {fmt::format("{}: {} (95 %), {} pairs, A/A noise {}", en, figures, r.pair_count, noise),
          fmt::format("{}: {} (95 %), пар: {}, шум A/A {}", ru, figures, r.pair_count, noise)};
}

}  // namespace

std::vector<Side> interleaved(std::size_t pair_count) {
  std::vector<Side> order;
  for (std::size_t i = 0; i < pair_count; ++i) {
    const bool is_a_first = i % 2 == 0;
    order.push_back(is_a_first ? Side::kA : Side::kB);
    order.push_back(is_a_first ? Side::kB : Side::kA);
  }
  return order;
}

PairedResult compare_pairs(std::span<const PairedSample> samples, const ChangeLimits& limits,
                           std::uint64_t seed) {
  PairedResult result;
  std::vector<std::pair<double, double>> pairs, same;
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    const PairedSample &first = samples[i], &second = samples[i + 1];
    const bool is_pair = i % 2 == 0 && first.side != second.side;
    const bool is_same = i % 2 == 1 && first.side == second.side;
    if (!is_good(first) || !is_good(second)) {
      result.dropped_count += is_pair;
    } else if (is_pair) {
      const bool is_a_first = first.side == Side::kA;
      const PairedSample &a = is_a_first ? first : second, &b = is_a_first ? second : first;
      pairs.emplace_back(a.value, b.value);
      result.trials.emplace_back(a.trial, b.trial);
    } else if (is_same) {
      same.emplace_back(first.value, second.value);
    }
  }
  result.ratio = paired_ratio(pairs, seed);
  result.same_pair_count = same.size();
  result.noise = limits.noise;
  if (same.size() >= kLeastSamePairs) result.noise = std::max(limits.noise, same_noise(same, seed));
  ChangeLimits here = limits;
  here.noise = result.noise;
  result.verdict = judge(result.ratio, here);
  result.sentence = sentence_of(result);
  return result;
}

}  // namespace merlon::lab
