// SPDX-License-Identifier: Apache-2.0
#include "scale.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace merlon::lab::report {
namespace {

constexpr double kZeroShare = 0.08;  // of the axis, kept for 0 on a logarithmic one
constexpr int kMaxDecades = 30;
constexpr double kLargest = 1e100;  // differences and steps of such values stay finite

double clean(double value, double fallback) noexcept {
  return std::isfinite(value) ? value : fallback;
}

}  // namespace

double nice_step(double value) noexcept {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double m : {1.0, 2.0, 5.0})
    if (value <= m * power * (1 + 1e-9)) return m * power;
  return 10 * power;
}

Scale Scale::linear(double low, double high, double from, double to, unsigned wanted_ticks) {
  low = clean(low, 0);
  high = clean(high, low);
  if (high < low) std::swap(low, high);
  low = std::clamp(low, -kLargest, kLargest);
  high = std::clamp(high, -kLargest, kLargest);
  const double magnitude = std::max(std::fabs(low), std::fabs(high));
  if (high - low <= magnitude * 1e-9) {  // one value, or less apart than a double can divide
    const double room = magnitude > 0 ? magnitude / 2 : 0.5;
    low = low >= 0 && low - room < 0 ? 0 : low - room;
    high += room;
  }
  const double step = nice_step((high - low) / std::max(1U, wanted_ticks));
  Scale s;
  s.from_ = from;
  s.to_ = to;
  s.low_ = std::floor(low / step + 1e-9) * step;
  s.high_ = std::ceil(high / step - 1e-9) * step;
  const auto count = static_cast<int>(std::lround((s.high_ - s.low_) / step));
  for (int i = 0; i <= count; ++i) {
    const double value = s.low_ + step * i;
    s.ticks_.push_back({std::fabs(value) < step * 1e-6 ? 0 : value, true});
  }
  return s;
}

Scale Scale::logarithmic(double low, double high, double from, double to, bool has_zero) {
  low = clean(low, 1);
  high = clean(high, low);
  if (!(low > 0)) low = high > 0 ? high : 1;
  if (!(high > 0)) high = low;
  if (high < low) std::swap(low, high);
  low = std::clamp(low, kLogLeast, kLogMost);
  high = std::clamp(high, low, kLogMost);
  int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  if (last == first) ++last;
  if (last - first > kMaxDecades) first = last - kMaxDecades;
  Scale s;
  s.is_log_ = true;
  s.has_zero_ = has_zero;
  s.from_ = from;
  s.to_ = to;
  s.low_ = std::pow(10.0, first);
  s.high_ = std::pow(10.0, last);
  if (last - first <= 2) {  // ends on 1-2-5 instead of decades, else half of the chart may be empty
    for (const double m : {5.0, 2.0})
      if (low >= m * s.low_ * (1 - 1e-9)) {
        s.low_ *= m;
        break;
      }
    const double decade = s.high_ / 10;
    for (const double m : {2.0, 5.0})
      // Not the low end again, a rounding error above it: such an axis would have no width.
      if (high <= m * decade * (1 + 1e-9) && m * decade > s.low_ * 1.5) {
        s.high_ = m * decade;
        break;
      }
  }
  if (has_zero) s.ticks_.push_back({0, true});
  const bool is_narrow = last - first <= 3;
  const int label_every = std::max(1, (last - first + 7) / 8);
  for (int decade = first; decade <= last; ++decade) {
    for (const double m : {1.0, 2.0, 5.0}) {
      const double value = m * std::pow(10.0, decade);
      if (value < s.low_ * (1 - 1e-9) || value > s.high_ * (1 + 1e-9)) continue;
      if (m > 1 && !is_narrow) continue;
      s.ticks_.push_back({value, is_narrow || (decade - first) % label_every == 0});
    }
  }
  return s;
}

double Scale::at(double value) const noexcept {
  if (std::isnan(value)) value = low_;
  if (!is_log_) {
    const double share = (std::clamp(value, low_, high_) - low_) / (high_ - low_);
    return from_ + (to_ - from_) * share;
  }
  const double start = has_zero_ ? kZeroShare : 0;
  if (!(value > 0)) return from_;
  const double share = (std::log10(std::clamp(value, low_, high_)) - std::log10(low_)) /
                       (std::log10(high_) - std::log10(low_));
  return from_ + (to_ - from_) * (start + (1 - start) * share);
}

}  // namespace merlon::lab::report
