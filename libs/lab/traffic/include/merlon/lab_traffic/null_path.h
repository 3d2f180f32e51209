// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tester can do by itself, measured on a path without a device: nothing near its ceiling
// may be said of a device, and its cost is subtracted from a device's. control-only; takes 2
// trials.
#include <atomic>
#include <string>
#include <vector>

#include "merlon/lab_model/run.h"
#include "merlon/lab_traffic/tester.h"

namespace merlon::lab {

struct NullPathSettings {
  std::string when = "before";  // goes to Calibration::when and into the trials' ids
  double trial_s = 0.5;         // of each trial
  double latency_share = 0.1;   // of the ceiling: the rate at which latency is read
  double latency_max_pps = 100'000;
  TrafficSpec traffic{};  // what the run sends; pacing is set here
  std::uint64_t seed = 1;
};

struct NullPath {
  Calibration calibration;  // `trial` names the first one
  // "null.<when>.ceiling": maximum pacing; gives ceiling_pps (received) and cpu_s_per_packet
  // (sender's and receiver's CPU time over frames received; a receiver that polls counts whole).
  // "null.<when>.latency": constant pacing; gives p50 and p99 from the actual send time.
  std::vector<TrialResult> trials;
};

// The tester's endpoints must be joined directly. kIo when nothing arrives.
base::Result<NullPath> calibrate_null_path(Tester& tester, const NullPathSettings& settings,
                                           const std::atomic<bool>& stop,
                                           const ProgressFn& progress = {});

}  // namespace merlon::lab
