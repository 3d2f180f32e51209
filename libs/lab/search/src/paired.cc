// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_search/paired.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace merlon::lab {
namespace {

constexpr std::size_t kLeastSamePairs = 3;
constexpr double kCoarsestSame = 0.1;

bool is_good(const PairedSample& sample) { return !sample.is_contaminated && sample.value > 0; }

Change verdict_of(const PairedResult& result, const ChangeLimits& limits) {
  ChangeLimits here = limits;
  here.noise = result.noise;
  const Change claimed = judge(result.ratio, here);
  if (claimed == Change::kBetter || claimed == Change::kWorse) return claimed;
  if (result.ratio.pair_count < limits.minimum_pairs) return Change::kUndecided;
  const double finest = std::max(limits.practical, std::min(2 * result.noise, kCoarsestSame));
  return result.farthest() <= finest ? Change::kNone : Change::kUndecided;
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", share * 100, share < 0.0995 ? 1 : 0);
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.{}f}", ratio, ratio >= 9.995 ? 1 : ratio < 0.0995 ? 4 : 3);
}

// "A/A noise 1.2 %"; none was seen where too few neighbours of one side count, which is not 0.
Text noise_of(const PairedResult& result) {
  if (result.noise > 0 || result.same_pair_count >= kLeastSamePairs)
    return {"A/A noise " + percent(result.noise), "шум A/A " + percent(result.noise)};
  return {"A/A noise not known", "шум A/A неизвестен"};
}

Text sentence_of(const PairedResult& result) {
  const Ratio& r = result.ratio;
  if (r.pair_count == 0)
    return {fmt::format("no decision: no pair counts, {} left out", result.dropped_count),
            fmt::format("решить нельзя: годных пар нет, отброшено: {}", result.dropped_count)};
  std::string en = "no decision", ru = "решить нельзя";
  if (result.verdict == Change::kBetter) en = "B is better", ru = "B лучше";
  if (result.verdict == Change::kWorse) en = "B is worse", ru = "B хуже";
  if (result.verdict == Change::kNone) {
    en = "B is the same as A within " + percent(result.farthest());
    ru = "B не отличается от A в пределах " + percent(result.farthest());
  }
  const std::string figures = fmt::format("B/A = {} [{}, {}]", ratio_text(r.value),
                                          ratio_text(r.interval.low), ratio_text(r.interval.high));
  const Text noise = noise_of(result);
  en += fmt::format(": {} (95 %), {} pairs, {}", figures, r.pair_count, noise.en);
  ru += fmt::format(": {} (95 %), пар: {}, {}", figures, r.pair_count, noise.ru);
  if (result.dropped_count > 0) {
    en += fmt::format("; pairs left out: {}", result.dropped_count);
    ru += fmt::format("; отброшено пар: {}", result.dropped_count);
  }
  return {en, ru};
}

// Pairs and neighbours of one side, out of the samples in their order.
struct Sorted {
  std::vector<std::pair<double, double>> pairs, same;
};

Sorted sort_samples(std::span<const PairedSample> samples, PairedResult& result) {
  Sorted out;
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    const PairedSample &first = samples[i], &second = samples[i + 1];
    const bool is_pair = i % 2 == 0 && first.side != second.side;
    const bool is_same = i % 2 == 1 && first.side == second.side;
    if (!is_good(first) || !is_good(second)) {
      result.dropped_count += is_pair;
    } else if (is_pair) {
      const bool is_a_first = first.side == Side::kA;
      const PairedSample &a = is_a_first ? first : second, &b = is_a_first ? second : first;
      out.pairs.emplace_back(a.value, b.value);
      result.trials.push_back({a.trial, b.trial, b.value / a.value});
    } else if (is_same) {
      out.same.emplace_back(first.value, second.value);
    }
  }
  return out;
}

}  // namespace

double PairedResult::farthest() const noexcept {
  return std::max(std::abs(ratio.interval.low - 1), std::abs(ratio.interval.high - 1));
}

std::string_view paired_word(Change verdict) noexcept {
  return verdict == Change::kNone ? "same" : word(verdict);
}

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
  const Sorted sorted = sort_samples(samples, result);
  std::vector<double> a, b;
  for (const auto& [left, right] : sorted.pairs) {
    a.push_back(left);
    b.push_back(right);
  }
  result.a = median(a);
  result.b = median(b);
  result.ratio = paired_ratio(sorted.pairs, seed);
  result.same_pair_count = sorted.same.size();
  result.noise = limits.noise;
  if (sorted.same.size() >= kLeastSamePairs)
    result.noise = std::max(limits.noise, same_noise(sorted.same, seed));
  result.limit = std::max(result.noise, limits.practical);
  result.verdict = verdict_of(result, limits);
  result.sentence = sentence_of(result);
  return result;
}

std::optional<Text> enough_pairs(const PairedResult& result, std::size_t measured,
                                 const ChangeLimits& limits, const PairedPlan& plan) {
  if (measured >= plan.most_pairs)
    return Text{fmt::format("{} pairs are the most that the plan allows", measured),
                fmt::format("план допускает не больше {} пар", measured)};
  const bool is_look =
      measured >= plan.least_pairs && (measured - plan.least_pairs) % plan.look_every == 0;
  if (!is_look || result.ratio.pair_count < limits.minimum_pairs) return std::nullopt;
  const Interval& in = result.ratio.interval;
  const bool is_claim = result.verdict == Change::kBetter || result.verdict == Change::kWorse;
  if (is_claim && (in.low > 1 + result.limit || in.high < 1 - result.limit))
    return Text{fmt::format("the whole interval is beyond the limit of {}", percent(result.limit)),
                fmt::format("весь интервал вне предела {}", percent(result.limit))};
  if (result.verdict == Change::kNone && result.farthest() <= limits.practical)
    return Text{fmt::format("the interval is within the {} that matter", percent(limits.practical)),
                fmt::format("интервал уже значимых {}", percent(limits.practical))};
  return std::nullopt;
}

}  // namespace merlon::lab
