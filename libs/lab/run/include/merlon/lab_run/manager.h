// SPDX-License-Identifier: Apache-2.0
#pragma once
// The manager: runs a plan's rows in order within a budget of time, calibrates the null path before
// and after, lets the plan grow, and writes every event to the journal before it believes it. An
// interrupted run is resumed by running the plan again with the finished trials taken from the
// journal: every decision follows from trials, so it comes to the same end. One manager per output
// folder. control-only.
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "merlon/lab_run/plan.h"
#include "merlon/lab_run/services.h"
#include "merlon/lab_run/suite.h"
#include "merlon/lab_search/search.h"

namespace merlon::lab {

// What happens, as it happens; for progress on a terminal. Called on the manager's thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void started(const Run& /*run*/, double /*budget_s*/) {}
  virtual void row(const Row& /*row*/, std::size_t /*number*/, std::size_t /*count*/) {}
  virtual void row_done(const Row& /*row*/) {}
  virtual void trial_started(const TrialSpec& /*spec*/) {}
  virtual void trial_progress(const TrialSpec& /*spec*/, const Progress& /*progress*/) {}
  virtual void trial_done(const TrialResult& /*result*/, bool /*is_from_journal*/) {}
  virtual void decision(const std::string& /*row*/, const Decision& /*decision*/) {}
  virtual void budget(double /*spent_s*/, double /*left_s*/) {}
  virtual void note(const Text& /*note*/) {}
};

struct RunOptions {
  std::filesystem::path folder;  // journal, results, lock; made when missing
  bool is_resumed = false;
  double budget_s = 0;  // 0: the plan's
  std::uint64_t seed = 1;
  std::string command;        // as the user gave it, for the report
  unsigned max_restarts = 1;  // of a device that died or hung, per row
};

// Runs to the end, to `stop`, or to the first error that makes going on pointless (the journal
// can't be written). The run that comes back is valid in each case: `is_partial` and its reason say
// when it is not whole.
struct RunOutcome {
  Run run;
  std::vector<base::Error> errors;  // of the run, not of single rows
};
RunOutcome run_plan(const Plan& plan, const RunOptions& options, Services& services,
                    Observer& observer, const std::atomic<bool>& stop);

// The plan of an interrupted run, as its folder keeps it. kNotFound when that is no folder of a
// run.
base::Result<Plan> plan_of(const std::filesystem::path& folder);

}  // namespace merlon::lab
