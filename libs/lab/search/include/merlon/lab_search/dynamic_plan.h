// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan that grows: where a rate lost much, or passed with room above, or the latency bends, rows
// are added until the place of the change is known. Rows of one series differ in their rate only.
// Added rows carry parent and reason; none is ever deleted, so the plan is its own audit trail and
// resume state: the same rows give the same additions. Pure function, control-only.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/lab_model/run.h"

namespace merlon::lab {

struct PlanPoint {
  std::string id;      // of the row
  std::string series;  // equal for rows that differ in nothing but the rate
  double rate_pps = 0;
  bool is_finished = false;  // a row that waits, runs, failed or can't run is not
  bool is_added = false;     // by an earlier call
  bool is_bend = false;      // added for a bend
  double loss_ratio = 0, forwarding_pps = 0;
  double latency_p99_us = 0;       // 0: not known
  bool is_tester_limited = false;  // no verdict; the series' ceiling is what was achieved
  double effective_s = 1;          // time that it took
};

struct GrowthLimits {
  double loss_ok = 0.01;    // passes up to this
  double loss_high = 0.05;  // above: go to the forwarding rate at once
  double width = 0.1;       // relative distance of passing and failing rate that is near enough
  double raise_factor = 1.5;
  double bend_factor = 3;                   // p99 that grows so much between neighbours is a bend
  unsigned measurements = 3;                // of one rate at most, when verdicts contradict
  unsigned max_bends = 4;                   // rows added for bends, per series
  double minimum_pps = 1, ceiling_pps = 0;  // 0: none known
  unsigned max_rows = 60;                   // added rows in all, earlier ones included
  double time_left_s = 0;                   // for added rows; 0: no limit
};

enum class GrowthRule : std::uint8_t { kRepeat, kLower, kRefine, kRaise, kBend };
std::string_view word(GrowthRule rule) noexcept;  // "repeat", "lower", "refine", "raise", "bend"

struct PlanAddition {
  std::string parent, series;
  double rate_pps = 0;
  GrowthRule rule = GrowthRule::kRaise;
  Text reason;
};

// At most one addition per series and call, none for a series that has unfinished rows; series in
// the order of their first row. Call again when the added rows are finished; an empty answer is the
// end.
std::vector<PlanAddition> grow(std::span<const PlanPoint> points, const GrowthLimits& limits);

}  // namespace merlon::lab
