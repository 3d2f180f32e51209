// SPDX-License-Identifier: Apache-2.0
// Charts that every report has where the run holds data for them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "run_charts.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

void sort_points(Chart& chart) {
  std::erase_if(chart.series, [](const Series& s) { return s.points.empty(); });
  for (Series& s : chart.series)
    std::stable_sort(s.points.begin(), s.points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
}

// Devices that the run meets with more than one traffic; only their lines name it.
std::set<std::string> many_traffics(const RunIndex& index) {
  std::map<std::string, std::set<std::string>> seen;
  for (const Row& row : index.run().rows)
    seen[index.device_name(row).en].insert(traffic_label(row.traffic).en);
  std::set<std::string> out;
  for (const auto& [device, traffics] : seen)
    if (traffics.size() > 1) out.insert(device);
  return out;
}

Text line_name(const RunIndex& index, const Row& row, const std::set<std::string>& with_traffic) {
  const Text name = index.device_name(row);
  return with_traffic.count(name.en) == 0
             ? name
             : joined(joined(name, same(", ")), traffic_label(row.traffic));
}

}  // namespace

Chart throughput_by_size(const RunIndex& index) {
  Chart chart;
  chart.title = {"Throughput by frame size", "Пропускная способность и размер кадра"};
  chart.x_title = value_info("frame_size").title;
  chart.y_title = {"throughput", "пропускная способность"};
  chart.x_unit = Unit::kBytes;
  chart.y_unit = Unit::kPps;
  chart.is_log_y = true;  // the line's limit lies far above what software forwards
  std::set<double> sizes, with_limit;
  Series theory;
  theory.name = {"line's limit", "предел линии"};
  theory.is_dashed = true;
  theory.has_markers = false;
  theory.is_limit = true;
  for (const Row& row : index.run().rows) {
    const auto size = row_number(row, "frame_size");
    if (!size || row.results.empty()) continue;
    auto point = row_value(index, row, "throughput_pps");
    if (!point) continue;
    point->x = *size;
    series_of(chart, index.device_name(row)).points.push_back(*point);
    const auto limit = row.kpis.find("theoretical_pps");
    if (limit != row.kpis.end() && limit->second > 0 && with_limit.insert(*size).second) {
      Point p;
      p.x = *size;
      p.y = limit->second;
      theory.points.push_back(p);
    }
    sizes.insert(*size);
  }
  if (sizes.size() < 2) return Chart{};
  std::erase_if(chart.series, [](const Series& s) { return s.points.size() < 2; });
  sort_points(chart);
  if (!theory.points.empty()) {
    std::stable_sort(theory.points.begin(), theory.points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
    chart.series.push_back(theory);
  }
  add_ceiling(index, chart);
  return chart;
}

Chart loss_by_load(const RunIndex& index) {
  Chart chart;
  chart.title = {"Loss by offered load", "Потери и поданная нагрузка"};
  chart.x_title = value_info("offered_pps").title;
  chart.y_title = value_info("loss_ratio").title;
  chart.x_unit = Unit::kPps;
  chart.y_unit = Unit::kRatio;
  chart.is_log_x = chart.is_log_y = true;
  const std::set<std::string> many = many_traffics(index);
  std::map<std::string, std::vector<const TrialResult*>> lists;
  for (const Row& row : index.run().rows) {
    const Text name = line_name(index, row, many);
    const auto& trials = index.trials(row.id);
    auto& list = lists[name.en];
    list.insert(list.end(), trials.begin(), trials.end());
    series_of(chart, name);
  }
  for (Series& s : chart.series) {
    s.points = merge_loads(lists[s.name.en], "offered_pps", "loss_ratio");
    if (s.points.size() < 3) s.points.clear();  // no curve
    s.knee = find_knee(s.points, "loss_ratio");
  }
  sort_points(chart);
  return chart;
}

namespace {

using Trials = std::vector<const TrialResult*>;

// Lines of a device and a traffic: all its trials that speak, whatever row they are of.
struct Way {
  Text name;
  Trials trials;
  double pdr_pps = 0;
};

std::vector<Way> ways_of(const RunIndex& index) {
  const std::set<std::string> many = many_traffics(index);
  std::vector<Way> out;
  for (const Row& row : index.run().rows) {
    const Text name = line_name(index, row, many);
    auto way =
        std::find_if(out.begin(), out.end(), [&](const Way& w) { return w.name.en == name.en; });
    if (way == out.end()) way = out.insert(out.end(), Way{name, {}, 0});
    const Trials trials = speaking(index.trials(row.id));
    way->trials.insert(way->trials.end(), trials.begin(), trials.end());
    for (const GoalResult& r : row.results)
      if (r.goal.name.ends_with("pdr") && std::isfinite(goal_value(r)))
        way->pdr_pps = std::max(way->pdr_pps, goal_value(r));
  }
  return out;
}

Series latency_series(const Text& name, const Trials& trials) {
  Histogram merged;
  for (const TrialResult* t : trials) merged.merge(t->latency_actual);
  Series s;
  s.name = name;
  s.has_markers = false;
  s.points = percentile_curve(merged);
  for (Point& p : s.points) {
    p.row = trials.front()->spec.row;
    p.trials = join_ids(trials);
  }
  return s;
}

// Trials with latencies whose offered load is within `width` of `load`.
Trials near_load(const Trials& trials, double load, double width) {
  Trials out;
  for (const TrialResult* t : trials)
    if (t->latency_actual.count() != 0 && std::fabs(t->offered_pps - load) <= load * width)
      out.push_back(t);
  return out;
}

// Trials that show the way at the highest load that lost at most 1 %.
Trials highest_load(const Trials& all) {
  Trials calm;
  double load = 0;
  for (const TrialResult* t : all)
    if (t->loss_ratio <= 0.01 && t->latency_actual.count() != 0) {
      calm.push_back(t);
      load = std::max(load, t->offered_pps);
    }
  return near_load(calm, load, 0.02);
}

}  // namespace

// At 10, 50 and 90 % of the PDR (as FD.io CSIT tells latency) where the run has trials near that,
// else at the highest load that lost at most 1 %.
Chart latency_percentiles(const RunIndex& index) {
  constexpr double kNear = 0.15;
  Chart chart;
  chart.title = {"Latency percentiles, all frames", "Процентили задержки, все кадры"};
  chart.x_title = {"percentile", "процентиль"};
  chart.y_title = {"latency from the send stamp", "задержка от метки отправки"};
  chart.is_percentile_x = chart.is_log_x = chart.is_log_y = true;
  chart.y_unit = Unit::kMicroseconds;
  for (const Way& way : ways_of(index)) {
    const std::size_t before = chart.series.size();
    for (const int percent : {10, 50, 90}) {
      const double load = way.pdr_pps * percent / 100;
      const Trials trials = load > 0 ? near_load(way.trials, load, kNear) : Trials{};
      if (trials.empty()) continue;
      const std::string at =
          fmt::format(" @ {}\u00a0% PDR, {}", percent, quantity(load, Unit::kPps));
      chart.series.push_back(latency_series(joined(way.name, same(at)), trials));
    }
    if (chart.series.size() != before) continue;
    const Trials trials = highest_load(way.trials);
    if (trials.empty()) continue;
    const std::string at = " @ " + quantity(trials.front()->offered_pps, Unit::kPps);
    chart.series.push_back(latency_series(joined(way.name, same(at)), trials));
  }
  return chart;
}

namespace {

Chart device_bars(const RunIndex& index, std::string_view value, const Text& title) {
  Chart chart;
  chart.kind = ChartKind::kBars;
  chart.title = title;
  chart.y_title = value_info(value).title;
  chart.y_unit = value_info(value).unit;
  const std::set<std::string> many = many_traffics(index);
  Series series;
  std::set<std::string> seen;
  for (const Row& row : index.run().rows) {
    const Text name = line_name(index, row, many);
    if (!seen.insert(name.en).second) continue;
    // All rows of this device and traffic together: cost per packet hardly depends on the load
    // below the knee.
    std::vector<const TrialResult*> trials;
    for (const Row& other : index.run().rows)
      if (line_name(index, other, many).en == name.en) {
        const auto& list = index.trials(other.id);
        trials.insert(trials.end(), list.begin(), list.end());
      }
    std::vector<double> values;
    const std::vector<const TrialResult*> used = speaking(trials);
    for (const TrialResult* t : used)
      if (const auto v = trial_value(*t, value)) values.push_back(*v);
    if (values.empty()) continue;
    Point p;
    p.x = static_cast<double>(chart.categories.size());
    p.y = median(values);
    p.low = quantile(values, 0.25);
    p.high = quantile(values, 0.75);
    p.samples = values.size();
    p.row = row.id;
    p.is_hollow = used.front()->stamp != Stamp::kClean;
    chart.categories.push_back(name);
    series.points.push_back(p);
  }
  chart.note = {"Median over trials; whiskers: quartiles.",
                "Медиана по испытаниям; усы — квартили."};
  if (!series.points.empty()) chart.series.push_back(std::move(series));
  return chart;
}

}  // namespace

Chart packets_per_cpu(const RunIndex& index) {
  return device_bars(
      index, "packets_per_cpu_s",
      {"Packets per CPU second, tester and device", "Пакетов на секунду CPU, тестер и устройство"});
}

Chart cycles_per_packet(const RunIndex& index) {
  return device_bars(index, "cycles_per_packet",
                     {"CPU cycles of the device per packet", "Такты CPU устройства на пакет"});
}

namespace {

// What a row says of the most that gets through: a search's throughput, or what came at the highest
// rate. A fixed rate says nothing of it.
std::optional<Point> most_of(const RunIndex& index, const Row& row) {
  if (!row.results.empty()) return row_value(index, row, "throughput_pps");
  const Trials trials = speaking(index.trials(row.id));
  const bool is_most =
      !trials.empty() && std::all_of(trials.begin(), trials.end(), [](const TrialResult* t) {
        return t->spec.traffic.pacing == Pacing::kMaximum;
      });
  return is_most ? row_value(index, row, "received_pps") : std::nullopt;
}

// The most of each row over a number of its set-up; of rows at one place the best.
template <class Name>
Chart scaling(const RunIndex& index, std::string_view x, const Text& title, Name&& name_of) {
  Chart chart;
  chart.title = title;
  chart.x_title = value_info(x).title;
  chart.y_title = {"throughput", "пропускная способность"};
  chart.x_unit = value_info(x).unit;
  chart.y_unit = Unit::kPps;
  chart.is_log_x = chart.is_log_y = true;
  for (const Row& row : index.run().rows) {
    auto point = most_of(index, row);
    const auto at = row_number(row, x);
    if (!point || !at || row.device.driver.empty()) continue;
    point->x = *at;
    Series& s = series_of(chart, name_of(row));
    const auto there = std::find_if(s.points.begin(), s.points.end(),
                                    [&](const Point& p) { return p.x == point->x; });
    if (there == s.points.end())
      s.points.push_back(*point);
    else if (point->y > there->y)
      *there = *point;
  }
  std::erase_if(chart.series, [](const Series& s) { return s.points.size() < 2; });
  sort_points(chart);
  if (!chart.series.empty()) add_ceiling(index, chart);
  return chart;
}

}  // namespace

Chart rule_scaling(const RunIndex& index) {
  return scaling(index, "rules",
                 {"Throughput by number of rules", "Пропускная способность и число правил"},
                 [](const Row& row) { return driver_mode(row.device); });
}

Chart flow_scaling(const RunIndex& index) {
  return scaling(index, "flows",
                 {"Throughput by number of flows", "Пропускная способность и число потоков"},
                 [&](const Row& row) {
                   const std::uint64_t macs = row.traffic.source_mac.count;
                   const Text name = index.device_name(row);
                   return macs > 1 ? joined(name, same(", " + grouped(macs) + "\u00a0MAC")) : name;
                 });
}

// How far repeats of one row lie apart: each over the row's median, so that rows share an axis.
Chart repeats(const RunIndex& index) {
  constexpr std::size_t kEnough = 4;  // a box of fewer values would be drawn from nothing
  Chart chart;
  chart.kind = ChartKind::kBox;
  chart.title = {"Repeats of the same trial", "Повторы одного испытания"};
  chart.y_title = {"packets per CPU second, of the row's median",
                   "пакетов на секунду CPU, от медианы строки"};
  chart.y_unit = Unit::kRatio;
  for (const Row& row : index.run().rows) {
    if (!row.results.empty()) continue;  // a search's trials are at loads of their own
    Box box = box_of(index, row, "packets_per_cpu_s");
    if (box.values.size() < kEnough || !(box.median > 0)) continue;
    const double median = box.median;
    for (double* value : {&box.minimum, &box.quartile1, &box.median, &box.quartile3, &box.maximum})
      *value /= median;
    for (Point& p : box.values) p.y /= median;
    box.name = title_of(row);
    chart.boxes.push_back(std::move(box));
  }
  return chart;
}

}  // namespace merlon::lab::report
