// SPDX-License-Identifier: Apache-2.0
// A run without what other work on the cores disturbed.
#include <algorithm>
#include <map>

#include "checks.h"

namespace merlon::lab {
namespace {

struct Count {
  unsigned all = 0, disturbed = 0;
  [[nodiscard]] bool is_mostly_disturbed() const { return 2 * disturbed > all; }
};
using Counts = std::map<std::string, Count>;

bool is_disturbed(const TrialResult& trial) {
  return trial.stamp == Stamp::kContaminated || trial.stamp == Stamp::kFailed;
}

// By row; trials of a calibration by the calibration's name, "calibration.before".
Counts count_trials(const Run& run) {
  Counts counts;
  for (const TrialResult& trial : run.trials) {
    if (trial.spec.is_warm_up) continue;
    const std::string& id = trial.spec.id;
    Count& count = counts[trial.spec.row.empty() ? id.substr(0, id.rfind('.')) : trial.spec.row];
    ++count.all;
    if (is_disturbed(trial)) ++count.disturbed;
  }
  return counts;
}

// Neighbours of one side from which on a pair's noise is known.
constexpr std::uint32_t kLeastSamePairs = 3;

bool knows_its_noise(const Row& row) {
  return !row.paired.empty() &&
         std::all_of(row.paired.begin(), row.paired.end(), [](const PairedOutcome& outcome) {
           return outcome.same_pair_count >= kLeastSamePairs;
         });
}

// Figures of a suite whose trials are all alike are medians over those of the best stamp: one
// undisturbed trial is enough. Figures of others hang on each of their trials.
bool is_disturbed(const Row& row, const Counts& counts) {
  const auto found = counts.find(row.id);
  if (found == counts.end() || found->second.disturbed == 0) return false;
  // A ratio measured in turn is told beside the noise that its own series shows.
  if (knows_its_noise(row)) return false;
  const Suite* suite = find_suite(row.suite);
  if (suite != nullptr && suite->leaves_out_disturbed) return false;
  if (suite != nullptr && suite->request != nullptr)
    return found->second.disturbed == found->second.all;
  return found->second.is_mostly_disturbed();
}

}  // namespace

bool has_disturbed_trials(const Run& run, const std::string& row) {
  return std::any_of(run.trials.begin(), run.trials.end(), [&row](const TrialResult& trial) {
    return !trial.spec.is_warm_up && is_disturbed(trial) && (row.empty() || trial.spec.row == row);
  });
}

Run undisturbed(const Run& run) {
  const Counts counts = count_trials(run);
  Run out;
  out.environment = run.environment;
  for (const Row& row : run.rows)
    if (!is_disturbed(row, counts)) out.rows.push_back(row);
  for (const TrialResult& trial : run.trials) {
    if (is_disturbed(trial)) continue;
    TrialResult& kept = out.trials.emplace_back();
    kept.spec = trial.spec;
    kept.stamp = trial.stamp;
    kept.frames = trial.frames;
    kept.kpis = trial.kpis;
  }
  for (const Calibration& calibration : run.calibrations) {
    const auto found = counts.find("calibration." + calibration.when);
    if (found == counts.end() || !found->second.is_mostly_disturbed())
      out.calibrations.push_back(calibration);
  }
  return out;
}

}  // namespace merlon::lab
