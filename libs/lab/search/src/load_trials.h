// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is known about one load: its trials, and what they say for a goal (MLRsearch draft -15
// section 6.4 and appendices A and B). Values; cost linear in the trials of the load.
#include <string>
#include <vector>

#include "merlon/lab_model/run.h"
#include "merlon/lab_search/search.h"

namespace merlon::lab {

enum class LoadClass : std::uint8_t { kUndecided, kLower, kUpper };

// The numbers of a goal that classify; intermediate goals have their own.
struct Requirement {
  double loss_ratio = 0, exceed_ratio = 0;
  double trial_duration_s = 0, duration_sum_s = 0;
};

// Undecided as long as trials that are still to come, all of one kind, could change the answer.
LoadClass classify(const std::vector<TrialOutcome>& trials, const Requirement& goal);

// load x (1 - q): q is the loss ratio that (1 - exceed ratio) of the full-length durations stay at
// or below.
double conditional_throughput(double load_pps, const std::vector<TrialOutcome>& trials,
                              const Requirement& goal);

// Of the time that spoke against the load, the tester was the limit in more than half.
bool is_tester_limited(const std::vector<TrialOutcome>& trials, const Requirement& goal);

}  // namespace merlon::lab
