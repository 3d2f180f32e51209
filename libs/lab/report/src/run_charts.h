// SPDX-License-Identifier: Apache-2.0
#pragma once
// Charts of a run: those that its plan asks for, and those that every report has where there is
// data. control-only.
#include <vector>

#include "chart.h"
#include "values.h"

namespace merlon::lab::report {

// The plan's chart as drawn from rows and trials. Unknown kinds give an empty chart, never an
// error: a report must come out of any run.
Chart plan_chart(const RunIndex& index, const ChartSpec& spec);

// The standing charts; empty ones are left out by the caller.
Chart throughput_by_size(const RunIndex& index);
Chart loss_by_load(const RunIndex& index);
Chart latency_percentiles(const RunIndex& index);
Chart packets_per_cpu(const RunIndex& index);
Chart cycles_per_packet(const RunIndex& index);
Chart rule_scaling(const RunIndex& index);
Chart flow_scaling(const RunIndex& index);
Chart repeats(const RunIndex& index);

// Building blocks, tested by themselves.
// The chart's series of that name, added when new.
Series& series_of(Chart& chart, const Text& name);
// The values of the row's speaking trials, none where no trial has it; the name is the caller's.
Box box_of(const RunIndex& index, const Row& row, std::string_view value);
// The null path's ceiling as a line to compare with, where it is known.
void add_ceiling(const RunIndex& index, Chart& chart);
// Where the line bends: for loss the load between the last one within 1 % and the first above; else
// where the value first exceeds three times the lowest before it. Points ascend in x.
std::optional<double> find_knee(const std::vector<Point>& points, std::string_view value);
// Points of one trial each, merged where the load is the same within 2 %: median, lowest and
// highest.
std::vector<Point> merge_loads(const std::vector<const TrialResult*>& trials, std::string_view x,
                               std::string_view y);
// The curve 1/(1-p) -> latency, at most `limit` points, ending where less than one frame remains.
std::vector<Point> percentile_curve(const Histogram& histogram, std::size_t limit = 100);

}  // namespace merlon::lab::report
