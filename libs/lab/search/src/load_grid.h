// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loads that a search may use, numbered: equal steps in the logarithm, so that a relative width
// is a number of steps and no rounding ever makes two loads of one. Loads are rounded once, here.
// Values.
#include <vector>

namespace merlon::lab {

class LoadGrid {
 public:
  // The narrowest width is kStepsPerWidth steps. maximum > minimum > 0, 0 < width < 1.
  LoadGrid(double minimum_pps, double maximum_pps, double narrowest_width);

  [[nodiscard]] int last() const noexcept { return last_; }
  [[nodiscard]] double load(int index) const noexcept;
  // The highest load at or below `pps`; the first one when there is none.
  [[nodiscard]] int at_or_below(double pps) const noexcept;
  // How many steps a relative width (upper - lower) / upper has; at least 1.
  [[nodiscard]] int steps(double width) const noexcept;

 private:
  static constexpr int kStepsPerWidth = 8;
  double minimum_ = 0, maximum_ = 0, step_ = 0;
  int last_ = 0;
};

}  // namespace merlon::lab
