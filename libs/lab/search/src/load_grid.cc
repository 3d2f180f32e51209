// SPDX-License-Identifier: Apache-2.0
#include "load_grid.h"

#include <algorithm>
#include <cmath>

namespace merlon::lab {
namespace {

// Seven significant digits: finer than any step, short in reports.
double rounded(double pps) {
  const double unit = std::pow(10, std::floor(std::log10(pps)) - 6);
  return std::round(pps / unit) * unit;
}

}  // namespace

LoadGrid::LoadGrid(double minimum_pps, double maximum_pps, double narrowest_width)
    : minimum_(minimum_pps),
      maximum_(maximum_pps),
      step_(-std::log1p(-narrowest_width) / kStepsPerWidth),
      last_(std::max(1, static_cast<int>(std::ceil(std::log(maximum_pps / minimum_pps) / step_)))) {
}

double LoadGrid::load(int index) const noexcept {
  if (index <= 0) return minimum_;
  if (index >= last_) return maximum_;
  return std::max(minimum_, rounded(maximum_ * std::exp(step_ * (index - last_))));
}

int LoadGrid::at_or_below(double pps) const noexcept {
  if (!(pps > minimum_)) return 0;
  if (pps >= maximum_) return last_;
  int index = last_ + static_cast<int>(std::floor(std::log(pps / maximum_) / step_));
  while (index > 0 && load(index) > pps) --index;
  while (index < last_ && load(index + 1) <= pps) ++index;
  return std::clamp(index, 0, last_);
}

int LoadGrid::steps(double width) const noexcept {
  const double bounded = std::clamp(width, 0.0, 0.9);
  return std::max(1, static_cast<int>(std::floor(-std::log1p(-bounded) / step_ + 1e-6)));
}

}  // namespace merlon::lab
