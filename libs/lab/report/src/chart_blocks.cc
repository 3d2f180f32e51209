// SPDX-License-Identifier: Apache-2.0
// Series from trials: loads merged, knees, percentile curves.
#include <algorithm>
#include <cmath>

#include "run_charts.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

constexpr double kSameLoad = 1.02;   // trials of one load, whose offered rates differ a little
constexpr double kLossLimit = 0.01;  // the study's "loss <= 1 %"
constexpr double kLatencyBend = 3;

Point merge(const std::vector<const TrialResult*>& group, std::string_view x, std::string_view y) {
  const std::vector<const TrialResult*> trials = speaking(group);
  std::vector<double> xs, ys;
  std::uint64_t frames = 0;
  for (const TrialResult* t : trials) {
    const auto vx = trial_value(*t, x), vy = trial_value(*t, y);
    if (!vx || !vy) continue;
    xs.push_back(*vx);
    ys.push_back(*vy);
    frames += t->frames.offered;
  }
  Point p;
  p.x = median(xs);
  p.y = median(ys);
  p.samples = frames;
  if (ys.size() > 1) {
    p.low = *std::min_element(ys.begin(), ys.end());
    p.high = *std::max_element(ys.begin(), ys.end());
  }
  if (y == "loss_ratio" && p.y == 0 && (!p.high || *p.high == 0)) {
    p.is_bound = true;
    p.y = zero_event_bound(frames);
    p.low.reset();
    p.high.reset();
  }
  p.is_hollow = trials.front()->stamp != Stamp::kClean;
  if (p.is_hollow) p.note = stamp_title(trials.front()->stamp);
  p.row = trials.front()->spec.row;
  p.trials = join_ids(group);
  return p;
}

}  // namespace

Series& series_of(Chart& chart, const Text& name) {
  const auto found = std::find_if(chart.series.begin(), chart.series.end(),
                                  [&](const Series& s) { return s.name.en == name.en; });
  if (found != chart.series.end()) return *found;
  chart.series.emplace_back().name = name;
  return chart.series.back();
}

void add_ceiling(const RunIndex& index, Chart& chart) {
  if (index.ceiling_pps() > 0)
    chart.references.push_back(
        {{"null path's ceiling", "предел прямого пути"}, index.ceiling_pps()});
}

Box box_of(const RunIndex& index, const Row& row, std::string_view value) {
  Box box;
  std::vector<double> values;
  for (const TrialResult* t : speaking(index.trials(row.id))) {
    const auto y = trial_value(*t, value);
    if (!y) continue;
    values.push_back(*y);
    Point p;
    p.y = *y;
    p.row = row.id;
    p.trials = t->spec.id;
    p.is_hollow = t->stamp != Stamp::kClean;
    p.samples = t->frames.offered;
    box.values.push_back(std::move(p));
  }
  box.minimum = quantile(values, 0);
  box.quartile1 = quantile(values, 0.25);
  box.median = quantile(values, 0.5);
  box.quartile3 = quantile(values, 0.75);
  box.maximum = quantile(values, 1);
  return box;
}

std::optional<double> find_knee(const std::vector<Point>& points, std::string_view value) {
  const auto real = [](const Point& p) { return p.is_bound ? 0.0 : p.y; };
  if (points.size() < 3) return std::nullopt;
  double lowest = real(points.front());
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double y = real(points[i]);
    const double limit = value == "loss_ratio" ? kLossLimit : lowest * kLatencyBend;
    if (y > limit && real(points[i - 1]) <= limit) {
      // Halfway on a log axis: the bend lies between two measured loads.
      if (points[i - 1].x > 0 && points[i].x > 0) return std::sqrt(points[i - 1].x * points[i].x);
      return (points[i - 1].x + points[i].x) / 2;
    }
    lowest = std::min(lowest, y);
  }
  return std::nullopt;
}

std::vector<Point> merge_loads(const std::vector<const TrialResult*>& trials, std::string_view x,
                               std::string_view y) {
  std::vector<std::pair<double, const TrialResult*>> usable;
  for (const TrialResult* t : trials)
    if (is_measured(*t)) {
      const auto vx = trial_value(*t, x);
      if (vx && trial_value(*t, y)) usable.emplace_back(*vx, t);
    }
  std::stable_sort(usable.begin(), usable.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Point> out;
  for (std::size_t i = 0; i < usable.size();) {
    std::vector<const TrialResult*> group;
    const double first = usable[i].first;
    // A damaged file may hold a negative load: the first of a group is always of it.
    const double last = std::max(first, first * kSameLoad);
    for (; i < usable.size() && usable[i].first <= last; ++i) group.push_back(usable[i].second);
    out.push_back(merge(group, x, y));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Point& a, const Point& b) { return a.x < b.x; });
  return out;
}

std::vector<Point> percentile_curve(const Histogram& histogram, std::size_t limit) {
  const auto total = static_cast<double>(histogram.count());
  std::vector<Point> all;
  const auto add = [&](double x, std::int64_t nanos) {
    Point p;
    p.x = x;
    p.y = static_cast<double>(nanos) / 1e3;
    p.samples = histogram.count();
    all.push_back(p);
  };
  if (histogram.count() != 0) add(1, histogram.minimum());
  double seen = 0;
  for (const auto& [value, n] : histogram.buckets()) {
    seen += static_cast<double>(n);
    add(total / std::max(total - seen, 1.0), std::min(value, histogram.maximum()));
  }
  if (all.size() <= limit || limit < 2) return all;
  std::vector<Point> out;  // even on the log axis, both ends kept
  const double step = std::log(std::max(total, 1.0)) / static_cast<double>(limit - 1);
  double next = -1;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const double at = std::log(all[i].x);
    if (at < next) continue;
    out.push_back(all[i]);
    next = at + step;
  }
  out.push_back(all.back());
  return out;
}

}  // namespace merlon::lab::report
