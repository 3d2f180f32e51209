// SPDX-License-Identifier: Apache-2.0
#pragma once
// The manager's inside: one object per run. control-only.
#include <optional>

#include "book.h"
#include "budget.h"
#include "merlon/lab_run/manager.h"
#include "merlon/lab_search/dynamic_plan.h"
#include "trial_runner.h"

namespace merlon::lab {

// The device that is up now. Rows with equal devices share it; a trial runner holds its tester.
struct Standing {
  DeviceSpec spec;
  std::unique_ptr<Device> device;
  std::unique_ptr<TrialRunner> runner;
  double setup_s = 0;  // not yet accounted to a trial
  double load_s = 0;
  bool has_drop_rule = false, is_per_connection = false;
  double ipv6_share = 0;  // of the rules
};

class Manager {
 public:
  Manager(const Plan& plan, const RunOptions& options, Services& services, Observer& observer,
          const std::atomic<bool>& stop, Book& book);

  // An error is of the run as a whole; rows have theirs in their states.
  base::Result<void> run();

 private:
  friend class RowAtWork;

  base::Result<void> calibrate(const std::string& when);
  base::Result<void> calibrate_path(const std::string& name, Row row, PathLimits& path);
  const PathLimits& null_path(const Row& row);
  void judge_machine();
  base::Result<void> run_rows();
  base::Result<void> run_row(Row& row, const std::vector<const Row*>& rest);
  base::Result<void> run_group(const std::vector<Row*>& group, const std::vector<const Row*>& rest);
  base::Result<void> run_pair(Row& a, const std::vector<const Row*>& rest);
  std::vector<Row*> group_around(const Row& row);
  base::Result<std::size_t> run_next(const std::vector<Row*>& pending, std::size_t first);
  void subtract_cable(Row& row);
  base::Result<void> finish_row(Row& row, const base::Result<void>& outcome);
  base::Result<bool> grow();
  [[nodiscard]] PlanPoint point_of(const Row& row) const;
  base::Result<void> check();
  // What keeps the row from running at all; its state is set then.
  base::Result<bool> is_out(Row& row);
  base::Result<void> set_state(Row& row, RowState state, Text reason);

  // One trial under an id of its own: from the journal, or measured on a device that is started for
  // it. `warm_up` is the row's own when it asked for one before: a device that had to be started
  // for this trial gets it once more.
  base::Result<TrialResult> trial(Row& row, const std::string& id, const TrialRequest& request,
                                  const PathLimits& path, const TrialRequest* warm_up = nullptr);
  base::Result<void> keep_setup(Row& row);
  // True when the device was started now.
  base::Result<bool> stand(Row& row);
  base::Result<void> warm_again(const std::string& id, const TrialRequest& warm_up,
                                const PathLimits& path);
  void take_down();
  [[nodiscard]] std::vector<const TrialResult*> trials_of(const std::string& row) const;

  const Plan& plan_;
  const RunOptions& options_;
  Services& services_;
  Observer& observer_;
  const std::atomic<bool>& stop_;
  Book& book_;
  Budget budget_;
  std::optional<Standing> standing_;
  std::map<std::string, PathLimits> paths_;   // by kind of endpoint and sizes
  std::map<std::string, unsigned> restarts_;  // by row
  std::string instance_;  // part of namespaces' names: run id and a number of this session
  unsigned devices_ = 0;
  bool is_journal_broken_ = false;
  bool is_busy_ =
      false;  // somebody else works here all the time: waiting for clean trials is in vain
};

}  // namespace merlon::lab
