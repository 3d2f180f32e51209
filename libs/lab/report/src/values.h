// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of a run by name: of a trial, of a row, of a row's set-up. One place decides which trials
// speak for a row, so that table, charts and comparison never disagree. control-only; the index
// refers to the run.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chart.h"
#include "merlon/lab_model/run.h"
#include "merlon/lab_model/statistics.h"

namespace merlon::lab::report {

// What devices are called among these rows: their label, and what tells one from devices of the
// same label that stand elsewhere or do something else.
class DeviceNames {
 public:
  explicit DeviceNames(const std::vector<const Row*>& rows);
  [[nodiscard]] Text of(const Row& row, bool has_rules = true) const;

 private:
  // Label, then what devices of that label differ in: "topology" or an option, with all its words.
  std::map<std::string, std::map<std::string, std::set<std::string>>> differences_;
};

class RunIndex {
 public:
  explicit RunIndex(const Run& run);

  [[nodiscard]] const Run& run() const noexcept { return run_; }
  [[nodiscard]] const Row* row(const std::string& id) const;
  [[nodiscard]] const TrialResult* trial(const std::string& id) const;
  // All trials of the row in their order, warm-ups too.
  [[nodiscard]] const std::vector<const TrialResult*>& trials(const std::string& row) const;
  // Highest ceiling that the null path's calibrations found; 0: none.
  [[nodiscard]] double ceiling_pps() const noexcept { return ceiling_pps_; }
  // What the row's device is called in this run.
  [[nodiscard]] Text device_name(const Row& row) const { return names_.of(row); }

 private:
  const Run& run_;
  std::map<std::string, const Row*, std::less<>> rows_;
  std::map<std::string, const TrialResult*, std::less<>> trials_;
  std::map<std::string, std::vector<const TrialResult*>, std::less<>> by_row_;
  std::vector<const TrialResult*> none_;
  DeviceNames names_;
  double ceiling_pps_ = 0;
};

// What a search's result is told by: the conditional throughput, else the lower bound.
[[nodiscard]] double goal_value(const GoalResult& result) noexcept;

// Not a warm-up, not failed.
[[nodiscard]] bool is_measured(const TrialResult& trial) noexcept;
// The trials that speak for a set: those with its best stamp. Warm-ups and failures never do.
std::vector<const TrialResult*> speaking(const std::vector<const TrialResult*>& trials);

// "loss_ratio", "latency_p99_us", any name in TrialResult::kpis, ...; nothing when the trial
// doesn't have it.
std::optional<double> trial_value(const TrialResult& trial, std::string_view name);
// Numbers of a row's set-up: parameters, "rules", "flows", "frame_size", "rate_pps", "interval_us".
std::optional<double> row_number(const Row& row, std::string_view name);
// Words of a row's set-up: "device", "driver", "mode", "topology", "place", "sizes", "suite",
// "row", options, and numbers with their units.
Text row_word(const DeviceNames& names, const Row& row, std::string_view name);

// A row's value with what it rests on: results of its search ("ndr_pps" or "<goal>"), its kpis,
// else the median over its speaking trials. `low` and `high` are bounds of the search, or the
// lowest and highest trial.
std::optional<Point> row_value(const RunIndex& index, const Row& row, std::string_view name);

// False where a row's trials have different loads, so that a median over them tells nothing: those
// of a search, of RX against TX until they part, of what a monitor takes in.
bool has_one_load(const Row& row);
// The rate that a row is told by: of its search, what a monitor took in, the highest that passed
// whole, else what was received.
std::string_view rate_figure(const Row& row);

// The loss of a row's speaking trials in words: their median where frames were lost or not sent in
// time, with the lowest and highest where these lie apart; else its upper bound. An en dash without
// frames.
std::string row_loss_text(const RunIndex& index, const Row& row);

// Half of a spread, (highest - lowest) / median, is told as a "±" up to here: values lie about
// evenly round their median. A wider one is told by its ends.
inline constexpr double kEvenSpread = 0.3;

// "A → B" of a paired row, by the titles of its sides.
Text sides(const RunIndex& index, const Row& row);

std::string join_ids(const std::vector<const TrialResult*>& trials);

}  // namespace merlon::lab::report
