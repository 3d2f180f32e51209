// SPDX-License-Identifier: Apache-2.0
#pragma once
// RowRun as the manager gives it to suites: numbers the row's trials, so that a resumed run asks
// for the same ids in the same order, and starts a failed device again. control-only.
#include "manager.h"

namespace merlon::lab {

class RowAtWork final : public RowRun, public Measurer {
 public:
  RowAtWork(Manager& manager, Row& row, double allowance_s);

  [[nodiscard]] Row& row() override { return row_; }
  base::Result<TrialResult> trial(const TrialRequest& request) override;
  base::Result<std::vector<TrialResult>> trials(const TrialRequest& request) override;
  base::Result<std::vector<GoalResult>> search(const std::vector<Goal>& goals,
                                               const TrafficSpec& traffic,
                                               double budget_s) override;
  [[nodiscard]] const PathLimits& null_path() override { return path_; }
  [[nodiscard]] bool is_usable(const TrialResult& trial) const override;
  [[nodiscard]] double tsc_hz() const override;
  [[nodiscard]] double seconds_left() override;
  void decide(const Text& why) override;

  // Measurer: one trial of the search at work.
  base::Result<TrialOutcome> measure(double load_pps, double duration_s, bool is_warm_up) override;

  [[nodiscard]] bool has_changed_device() const noexcept { return has_changed_device_; }

 private:
  Manager& manager_;
  Row& row_;
  PathLimits path_;
  double allowance_s_, used_s_ = 0;
  unsigned trials_ = 0, decisions_ = 0;
  TrafficSpec searched_;
  std::optional<TrialRequest> warm_up_;  // the last one that was asked for
  bool has_changed_device_ = false;
};

// An interruption by the user, as the error that ends suites; told from others by the stop flag.
base::Error interrupted();

}  // namespace merlon::lab
