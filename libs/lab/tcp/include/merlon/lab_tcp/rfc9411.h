// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pass limits of RFC 9411 for a trial's sustain phase, each named with its value. Values only;
// any thread.
#include <string>
#include <vector>

#include "merlon/lab_model/trial.h"

namespace merlon::lab {

struct Rfc9411Limit {
  std::string
      name;  // "failed_transaction_ratio", "reset_ratio", "rate_deviation", "concurrent_deviation"
  double value = 0;         // measured over sustain
  double limit = 0;         // passes when value <= limit
  bool is_measured = true;  // false: the trial has nothing to judge it by
  bool has_passed = true;
};

struct Rfc9411Verdict {
  bool has_passed = false;  // every measured limit kept, and at least the first of them measured
  std::vector<Rfc9411Limit> limits;
};

// Reads the kpis that TcpLoad::run() writes. Limits: failed transactions (of a load without
// payload: failed connections) and unexpected RST each below 0.001 % of attempts, forwarding rate
// constant within 5 %, concurrent connections within 10 %. The latter two want at least two whole
// seconds of sustain.
Rfc9411Verdict judge_rfc9411(const TrialResult& result);

}  // namespace merlon::lab
