// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shares the run's time among its rows. Time is what trials took ("effective" seconds) and, for
// each change of device in the order of the rows, what the first start of that device took: both
// come out of trial results, so a resumed run counts the same seconds as an uninterrupted one,
// whatever its extra starts cost. control-only.
#include <optional>
#include <utility>
#include <vector>

#include "merlon/lab_model/run.h"

namespace merlon::lab {

inline constexpr double kTrialOverheadS = 0.6;  // drain, counters, accounts of one trial
inline constexpr double kDeviceStartS = 1.5;    // a device that the row before did not use
inline constexpr double kCalibrationS = 5;      // of the null path, once
inline constexpr double kMinimumSearchS = 3;
inline constexpr double kMinimumTrialS = 0.2;

class Budget {
 public:
  explicit Budget(double total_s) : total_s_(total_s) {}

  // A trial of a row with that device, in the order of the run; `is_new`: started for it in any
  // case.
  void spend(const TrialResult& trial, const DeviceSpec& device, bool is_new = false);
  [[nodiscard]] double spent_s() const noexcept { return spent_s_; }
  // Of rows: what is kept for the last calibration is taken off already.
  [[nodiscard]] double left_s() const noexcept { return total_s_ - spent_s_ - kCalibrationS; }

  // Fits a row's repeats and duration to its share, given all rows that are still to run (`row`
  // first). False: there is no time for it at all. `allowance_s` gets the seconds that it may use,
  // the start of the device apart.
  bool fit(Row& row, const std::vector<const Row*>& rest, double& allowance_s) const;

 private:
  double total_s_;
  double spent_s_ = 0;
  std::vector<std::pair<DeviceSpec, double>> starts_;  // seconds of the first start of each device
  std::optional<DeviceSpec> last_;
};

// Seconds that a row needs as it is written, the start of its device apart.
double need_s(const Row& row);

}  // namespace merlon::lab
