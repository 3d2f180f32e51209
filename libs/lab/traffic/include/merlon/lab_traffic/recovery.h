// SPDX-License-Identifier: Apache-2.0
#pragma once
// How soon a device stops losing frames after an overload (RFC 2544 section 26.5). Pure; any
// thread.
#include <cstdint>

#include "merlon/lab_model/trial.h"

namespace merlon::lab {

struct Recovery {
  // From the end of the overload to the last lost frame; 0 when none was lost after it. Of a device
  // that has not recovered, the time that it was watched.
  double seconds = 0;
  bool has_recovered = true;  // nothing was lost in the last tenth of the time after the overload
  std::uint64_t lost_before = 0;  // frames; 0: there was no overload
  std::uint64_t lost_after = 0;
};

// `overload_s`: when the rate went down, from the trial's start; whole milliseconds. Frames count
// where they were due, by milliseconds: the time is at most one too long.
Recovery find_recovery(const TrialResult& result, double overload_s);

}  // namespace merlon::lab
