// SPDX-License-Identifier: Apache-2.0
#pragma once
// An axis: from values to places in a drawing, and its ticks. Always finite: values that the axis
// can't show are drawn at its nearer end. control-only value.
#include <cstdint>
#include <string>
#include <vector>

namespace merlon::lab::report {

struct Tick {
  double value = 0;
  bool is_labelled = true;
};

class Scale {
 public:
  // Widened to round numbers. An empty or single-valued range gets a width of its own.
  static Scale linear(double low, double high, double from, double to, unsigned wanted_ticks = 5);
  // Widened to whole decades, or to 1-2-5 steps where the range is narrow. `low` and `high` span
  // positive values; with has_zero a place for 0 is kept before the first decade. What lies outside
  // kLogLeast..kLogMost, beyond every unit of the laboratory, is drawn at the axis' nearer end.
  static constexpr double kLogLeast = 1e-15, kLogMost = 1e15;
  static Scale logarithmic(double low, double high, double from, double to, bool has_zero = false);

  [[nodiscard]] double at(double value) const noexcept;
  [[nodiscard]] const std::vector<Tick>& ticks() const noexcept { return ticks_; }
  [[nodiscard]] double low() const noexcept { return low_; }
  [[nodiscard]] double high() const noexcept { return high_; }
  [[nodiscard]] bool is_log() const noexcept { return is_log_; }
  [[nodiscard]] bool has_zero() const noexcept { return has_zero_; }

 private:
  double low_ = 0, high_ = 1, from_ = 0, to_ = 1;
  bool is_log_ = false, has_zero_ = false;
  std::vector<Tick> ticks_;
};

// The 1-2-5 number at or above `value` (> 0).
double nice_step(double value) noexcept;

}  // namespace merlon::lab::report
