// SPDX-License-Identifier: Apache-2.0
#pragma once
// MLRsearch (draft-ietf-bmwg-mlrsearch-15): manager, controller and measurer apart. The manager
// (run room) sets up and asks; the controller here chooses loads; the measurer does trials. Works
// on simulated measurers as on real ones; no clock, no thread of its own. control-only.
#include <functional>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab {

struct TrialOutcome {
  std::string id;
  double load_pps = 0, duration_s = 0, effective_s = 0;
  double loss_ratio = 0;      // offered != intended is loss already
  double forwarding_pps = 0;  // received over the trial
  bool is_usable =
      true;  // false: contaminated or failed; measured again, at most SearchSettings::max_retries
  bool is_tester_limited = false;
};

class Measurer {
 public:
  virtual ~Measurer() = default;
  // A warm-up's loss is never used, its forwarding rate tells where to begin.
  virtual base::Result<TrialOutcome> measure(double load_pps, double duration_s,
                                             bool is_warm_up) = 0;
};

struct SearchSettings {
  double minimum_pps = 1000, maximum_pps = 0;
  double time_budget_s =
      0;  // of effective durations; 0: none. When it ends, what is known is returned.
  unsigned max_trials = 500;
  unsigned max_retries = 3;  // of an unusable trial at one load
};

// One decision in words, for progress, journal and report.
struct Decision {
  std::string trial;  // id it led to; empty at the end
  double load_pps = 0, duration_s = 0;
  Text why;
};
using DecisionFn = std::function<void(const Decision&)>;

// Goals are searched together; every trial counts for all. Results in the order of `goals`. The
// controller is a function of the outcomes: a measurer that answers from the journal first, in its
// order (unusable and warm-up trials too), leads an interrupted search to the end it would have
// had. `tell` hears of a decision after its trial. An error of the measurer ends the search and is
// its answer.
//
// GoalResult::why is one of: "width reached" (the only regular one), "maximum passes", "minimum
// fails", "tester limit" (what failed at the upper bound was the tester), "time budget", "trial
// limit", "unusable trials"; after the last three the bounds may be those of an intermediate stage.
// Bounds that are not known are 0. GoalResult::trials are all that counted for any goal.
// kInvalidValue for goals and loads without meaning.
base::Result<std::vector<GoalResult>> search(Measurer& measurer, const std::vector<Goal>& goals,
                                             const SearchSettings& settings,
                                             const DecisionFn& tell = {});

// Presets: "ndr", "pdr", "rfc2544", "tst009", "loss1" (the study's loss <= 1 %), "quick-ndr",
// "quick-pdr" (budget of seconds). kNotFound with the known names.
base::Result<Goal> goal_preset(const std::string& name);

}  // namespace merlon::lab
