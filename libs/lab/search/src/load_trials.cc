// SPDX-License-Identifier: Apache-2.0
#include "load_trials.h"

#include <algorithm>

namespace merlon::lab {
namespace {

// Durations are sums of decimals: equal ones may differ in the last bits.
constexpr double kTolerance = 1e-9;

bool is_full(const TrialOutcome& trial, const Requirement& goal) {
  return trial.duration_s >= goal.trial_duration_s - kTolerance;
}
bool is_low_loss(const TrialOutcome& trial, const Requirement& goal) {
  return trial.loss_ratio <= goal.loss_ratio;  // false for NaN: an unknown loss passes nothing
}

}  // namespace

LoadClass classify(const std::vector<TrialOutcome>& trials, const Requirement& goal) {
  double short_high = 0, short_low = 0, full_high = 0, full_low = 0;
  for (const TrialOutcome& trial : trials) {
    const bool is_low = is_low_loss(trial, goal);
    if (is_full(trial, goal))
      (is_low ? full_low : full_high) += trial.duration_s;
    else
      (is_low ? short_low : short_high) += trial.duration_s;
  }
  const double exceed = goal.exceed_ratio;
  // Short trials can only count against a load, and only as far as short low-loss ones don't make
  // up for it.
  const double surplus = std::max(0.0, short_high - short_low * exceed / (1 - exceed));
  const double bad = full_high + surplus;
  const double whole = std::max(bad + full_low, goal.duration_sum_s);
  if (bad > exceed * whole + kTolerance) return LoadClass::kUpper;
  if (whole - full_low <= exceed * whole + kTolerance) return LoadClass::kLower;
  return LoadClass::kUndecided;
}

double conditional_throughput(double load_pps, const std::vector<TrialOutcome>& trials,
                              const Requirement& goal) {
  std::vector<TrialOutcome> full;
  double whole = 0;
  for (const TrialOutcome& trial : trials) {
    if (!is_full(trial, goal)) continue;
    full.push_back(trial);
    whole += trial.duration_s;
  }
  std::sort(full.begin(), full.end(), [](const TrialOutcome& a, const TrialOutcome& b) {
    return a.loss_ratio < b.loss_ratio;
  });
  double remaining = std::max(whole, goal.duration_sum_s) * (1 - goal.exceed_ratio);
  double loss = 1;  // what was not measured is taken as lost
  bool is_first = true;
  for (const TrialOutcome& trial : full) {
    if (!is_first && remaining <= kTolerance) break;
    loss = trial.loss_ratio;
    remaining -= trial.duration_s;
    is_first = false;
  }
  if (remaining > kTolerance) loss = 1;
  return load_pps * (1 - loss);
}

bool is_tester_limited(const std::vector<TrialOutcome>& trials, const Requirement& goal) {
  double limited = 0, high = 0;
  for (const TrialOutcome& trial : trials) {
    if (is_low_loss(trial, goal)) continue;
    high += trial.duration_s;
    if (trial.is_tester_limited) limited += trial.duration_s;
  }
  return limited > high / 2;
}

}  // namespace merlon::lab
