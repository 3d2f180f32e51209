// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ctrl-C and its like as a flag, so that a run ends in order: the trial stops, results are written,
// namespaces go. One at a time, made on the main thread before others are started. The second
// signal ends the program at once; what it leaves behind is taken away by the next start.
#include <atomic>

namespace merlon::lab {

class StopSignals {
 public:
  StopSignals();   // SIGINT, SIGTERM, SIGHUP
  ~StopSignals();  // gives the former handlers back
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Set by the first signal.
  [[nodiscard]] const std::atomic<bool>& flag() const noexcept;
};

}  // namespace merlon::lab
