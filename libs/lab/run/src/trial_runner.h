// SPDX-License-Identifier: Apache-2.0
#pragma once
// One trial on a started device: counters and CPU accounts before and after, what happens during
// it, where frames were lost, and whether it may be believed. control-only.
#include <atomic>

#include "merlon/lab_run/services.h"
#include "merlon/lab_run/suite.h"

namespace merlon::lab {

class TrialRunner {
 public:
  TrialRunner(Services& services, Device& device) : services_(services), device_(device) {}

  // An error means that the trial could not be done; a device that died or passed nothing is a
  // result stamped kFailed whose first stamp reason says so.
  base::Result<TrialResult> run(const TrialSpec& spec, const TrialRequest& request,
                                const PathLimits& null_path, const std::atomic<bool>& stop,
                                const ProgressFn& progress);

 private:
  base::Result<TrialResult> send(const TrialSpec& spec, const TrialRequest& request,
                                 const std::atomic<bool>& stop, const ProgressFn& progress,
                                 Kpis& kpis);
  void judge(const TrialRequest& request, const PathLimits& null_path, TrialResult& result);

  Services& services_;
  Device& device_;
  std::unique_ptr<Tester> tester_;  // stays open from trial to trial
};

// Share of the null path's ceiling above which a result may be the tester's.
inline constexpr double kCeilingShare = 0.8;

// Decides between "the tester was the limit" and "the device, running in the sender's time, was":
// the stamp of a trial whose frames were not all offered. `ceiling_pps` 0: not known.
void judge_tester_limit(TrialResult& result, double ceiling_pps);

}  // namespace merlon::lab
