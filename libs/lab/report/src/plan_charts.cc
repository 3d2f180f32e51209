// SPDX-License-Identifier: Apache-2.0
// Charts that a plan asks for by ChartSpec.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "run_charts.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

constexpr std::size_t kMaxTimelinePoints = 200;

std::vector<const Row*> chosen_rows(const Run& run, const ChartSpec& spec) {
  std::vector<const Row*> out;
  for (const Row& row : run.rows)
    if (spec.takes(row.id)) out.push_back(&row);
  return out;
}

// What a chart is drawn from. Devices are called by what tells them apart in this chart.
struct Source {
  Source(const RunIndex& all, const ChartSpec& wanted)
      : index(all), spec(wanted), rows(chosen_rows(all.run(), wanted)), names(rows) {}

  const RunIndex& index;
  const ChartSpec& spec;
  std::vector<const Row*> rows;
  DeviceNames names;
};

// A place in a list of texts, added when new.
std::size_t slot(std::vector<Text>& list, const Text& text) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Text& t) { return t.en == text.en; });
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(text);
  return list.size() - 1;
}

Text series_name(const Source& from, const Row& row) {
  if (from.spec.series.empty()) return {};
  // Along an axis of rules a device is one line, whatever its number of rules.
  if (from.spec.series == "device" && from.spec.x == "rules") return from.names.of(row, false);
  return row_word(from.names, row, from.spec.series);
}

bool is_per_trial(const std::string& x) {
  return x == "offered_pps" || x == "intended_pps" || x == "received_pps";
}

Chart frame(const ChartSpec& spec) {
  Chart chart;
  chart.title = spec.title.en.empty() ? same(spec.id) : spec.title;
  const ValueInfo x = value_info(spec.x), y = value_info(spec.y);
  chart.x_title = spec.x_title.en.empty() ? x.title : spec.x_title;
  chart.y_title = spec.y_title.en.empty() ? y.title : spec.y_title;
  chart.x_unit = x.unit;
  chart.y_unit = y.unit;
  chart.is_log_x = spec.is_log_x;
  chart.is_log_y = spec.is_log_y;
  if (!spec.series.empty()) chart.line_title = value_info(spec.series).title;
  return chart;
}

void fill_lines(const Source& from, Chart& chart) {
  std::map<std::string, std::vector<const TrialResult*>> by_series;
  for (const Row* row : from.rows) {
    const Text name = series_name(from, *row);
    if (is_per_trial(from.spec.x)) {
      auto& list = by_series[name.en];
      const auto& trials = from.index.trials(row->id);
      list.insert(list.end(), trials.begin(), trials.end());
      series_of(chart, name);
      continue;
    }
    const auto x = row_number(*row, from.spec.x);
    auto point = row_value(from.index, *row, from.spec.y);
    if (!x || !point) continue;
    point->x = *x;
    series_of(chart, name).points.push_back(*point);
  }
  for (Series& series : chart.series) {
    if (is_per_trial(from.spec.x))
      series.points = merge_loads(by_series[series.name.en], from.spec.x, from.spec.y);
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
    if (from.spec.y == "loss_ratio" || from.spec.y.starts_with("latency_"))
      series.knee = find_knee(series.points, from.spec.y);
  }
  std::erase_if(chart.series, [](const Series& s) { return s.points.empty(); });
}

void fill_bars(const Source& from, Chart& chart) {
  chart.kind = ChartKind::kBars;
  for (const Row* row : from.rows) {
    auto point = row_value(from.index, *row, from.spec.y);
    if (!point) continue;
    Text category = row_word(from.names, *row, from.spec.x.empty() ? "row" : from.spec.x);
    if (category.en.empty()) category = row_word(from.names, *row, "row");
    point->x = static_cast<double>(slot(chart.categories, category));
    series_of(chart, series_name(from, *row)).points.push_back(*point);
  }
}

void fill_heat(const Source& from, Chart& chart) {
  chart.kind = ChartKind::kHeat;
  std::vector<std::pair<double, const Row*>> rows;
  for (const Row* row : from.rows)
    rows.emplace_back(row_number(*row, from.spec.x).value_or(0), row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [order, row] : rows) {
    auto point = row_value(from.index, *row, from.spec.y);
    if (!point) continue;
    HeatCell cell;
    cell.column = slot(chart.categories, row_word(from.names, *row, from.spec.x));
    cell.line = slot(chart.lines, row_word(from.names, *row, from.spec.series));
    cell.point = *point;
    const auto same = std::find_if(chart.cells.begin(), chart.cells.end(), [&](const HeatCell& c) {
      return c.column == cell.column && c.line == cell.line;
    });
    if (same == chart.cells.end())
      chart.cells.push_back(cell);
    else
      *same = cell;  // a row added later is the better measured one
  }
}

void fill_boxes(const Source& from, Chart& chart) {
  chart.kind = ChartKind::kBox;
  for (const Row* row : from.rows) {
    Box box = box_of(from.index, *row, from.spec.y);
    if (box.values.empty()) continue;
    box.name = row_word(from.names, *row, from.spec.x.empty() ? "row" : from.spec.x);
    if (box.name.en.empty()) box.name = title_of(*row);
    chart.boxes.push_back(std::move(box));
  }
}

// The trial that tells most: most frames lost, else the longest.
const TrialResult* telling_trial(const Source& from) {
  const TrialResult* best = nullptr;
  for (const Row* row : from.rows)
    for (const TrialResult* t : from.index.trials(row->id)) {
      if (!is_measured(*t) || t->timeline_offered.empty()) continue;
      const auto key = [](const TrialResult* r) {
        return std::pair(r->frames.lost, r->timeline_offered.size());
      };
      if (best == nullptr || key(t) > key(best)) best = t;
    }
  return best;
}

Series timeline_series(const Text& name, const std::vector<std::uint32_t>& values,
                       const TrialResult& trial) {
  Series series;
  series.name = name;
  series.has_markers = false;
  const std::size_t step =
      std::max<std::size_t>(1, (values.size() + kMaxTimelinePoints - 1) / kMaxTimelinePoints);
  for (std::size_t i = 0; i < values.size(); i += step) {
    const std::size_t end = std::min(i + step, values.size());
    double sum = 0;
    for (std::size_t k = i; k < end; ++k) sum += values[k];
    Point p;
    p.x = static_cast<double>(i) / 1e3;
    p.y = sum * 1e3 / static_cast<double>(end - i);
    p.trials = trial.spec.id;
    series.points.push_back(p);
  }
  return series;
}

void fill_timeline(const Source& from, Chart& chart) {
  chart.x_unit = Unit::kSeconds;
  chart.y_unit = Unit::kPps;
  if (from.spec.x_title.en.empty()) chart.x_title = {"time", "время"};
  if (from.spec.y_title.en.empty()) chart.y_title = {"frames per second", "кадров в секунду"};
  const TrialResult* trial = telling_trial(from);
  if (trial == nullptr) return;
  const bool has_lost = trial->frames.lost != 0;
  chart.series.push_back(timeline_series({"offered", "подано"}, trial->timeline_offered, *trial));
  chart.series.push_back(timeline_series({"lost", "потеряно"}, trial->timeline_lost, *trial));
  chart.series.back().is_dashed = true;
  const Text title = title_of(*from.index.row(trial->spec.row));
  chart.note = {
      fmt::format("Trial {} of \"{}\": of these rows' trials it {}.", trial->spec.id, title.en,
                  has_lost ? "lost most frames" : "is the longest, none lost a frame"),
      fmt::format(
          "Испытание {} строки «{}»: из испытаний этих строк оно {}.", trial->spec.id,
          russian(title),
          has_lost ? "потеряло больше всего кадров" : "самое долгое, кадров не потеряло ни одно")};
}

void fill_series(const Source& from, Chart& chart) {
  // Values per second of one trial (connections, transactions): "y" names the series.
  for (const Row* row : from.rows)
    for (const TrialResult* t : speaking(from.index.trials(row->id))) {
      const auto found = t->series.find(from.spec.y);
      if (found == t->series.end()) continue;
      Series& series = series_of(chart, row_word(from.names, *row, "row"));
      if (!series.points.empty()) break;  // one trial a row
      series.has_markers = false;
      for (std::size_t i = 0; i < found->second.size(); ++i) {
        Point p;
        p.x = static_cast<double>(i);
        p.y = found->second[i];
        p.trials = t->spec.id;
        if (std::isfinite(p.y)) series.points.push_back(p);
      }
    }
  chart.x_unit = Unit::kSeconds;
}

void fill_percentiles(const Source& from, Chart& chart) {
  // Tails reach a thousand times the median: on a linear axis nothing else could be seen.
  chart.is_percentile_x = chart.is_log_x = chart.is_log_y = true;
  chart.y_unit = Unit::kMicroseconds;
  if (from.spec.x_title.en.empty()) chart.x_title = {"percentile", "процентиль"};
  if (from.spec.y_title.en.empty()) chart.y_title = {"latency", "задержка"};
  for (const Row* row : from.rows) {
    Histogram all;
    const auto trials = speaking(from.index.trials(row->id));
    for (const TrialResult* t : trials)
      all.merge(from.spec.y.starts_with("intended") ? t->latency_intended : t->latency_actual);
    if (all.count() == 0) continue;
    Series series;
    series.name = row_word(from.names, *row, from.spec.series.empty() ? "row" : from.spec.series);
    series.points = percentile_curve(all);
    for (Point& p : series.points) {
      p.row = row->id;
      p.trials = join_ids(trials);
    }
    series.has_markers = false;
    chart.series.push_back(std::move(series));
  }
}

}  // namespace

Chart plan_chart(const RunIndex& index, const ChartSpec& spec) {
  const Source from(index, spec);
  Chart chart = frame(spec);
  if (spec.kind == "bars")
    fill_bars(from, chart);
  else if (spec.kind == "lines" && spec.x == "time")
    fill_series(from, chart);
  else if (spec.kind == "lines")
    fill_lines(from, chart);
  else if (spec.kind == "heat")
    fill_heat(from, chart);
  else if (spec.kind == "timeline")
    fill_timeline(from, chart);
  else if (spec.kind == "percentiles")
    fill_percentiles(from, chart);
  else if (spec.kind == "box")
    fill_boxes(from, chart);
  if (chart.y_unit == Unit::kPps && chart.kind != ChartKind::kHeat) add_ceiling(index, chart);
  return chart;
}

}  // namespace merlon::lab::report
