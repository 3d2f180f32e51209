// SPDX-License-Identifier: Apache-2.0
// Charts that every report has where the run holds data for them.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "run_charts.h"

namespace merlon::lab::report {
namespace {

constexpr std::size_t kMaxSeries = 16;  // every colour twice, with other markers and dashes

Series& series_of(std::vector<Series>& list, const std::string& name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Series& s) { return s.name.en == name; });
  if (found != list.end()) return *found;
  list.emplace_back().name = {name, name};
  return list.back();
}

void sort_and_limit(Chart& chart) {
  std::erase_if(chart.series, [](const Series& s) { return s.points.empty(); });
  for (Series& s : chart.series)
    std::stable_sort(s.points.begin(), s.points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
  if (chart.series.size() <= kMaxSeries) return;
  const std::size_t left_out = chart.series.size() - kMaxSeries;
  chart.series.resize(kMaxSeries);
  chart.note = {fmt::format("{} more are in the tables only.", left_out),
                fmt::format("Ещё {} — только в таблицах.", left_out)};
}

void add_ceiling(const RunIndex& index, Chart& chart) {
  if (index.ceiling_pps() > 0)
    chart.references.push_back(
        {{"null path's ceiling", "предел прямого пути"}, index.ceiling_pps()});
}

std::string driver_mode(const DeviceSpec& device) {
  return device.mode.empty() ? device.driver : device.driver + " " + device.mode;
}

// Devices that the run meets with more than one traffic; only their lines name it.
std::set<std::string> many_traffics(const Run& run) {
  std::map<std::string, std::set<std::string>> seen;
  for (const Row& row : run.rows) seen[device_label(row.device)].insert(traffic_label(row.traffic));
  std::set<std::string> out;
  for (const auto& [device, traffics] : seen)
    if (traffics.size() > 1) out.insert(device);
  return out;
}

std::string line_name(const Row& row, const std::set<std::string>& with_traffic) {
  std::string name = device_label(row.device);
  if (with_traffic.count(name) != 0) name += ", " + traffic_label(row.traffic);
  return name;
}

}  // namespace

Chart throughput_by_size(const RunIndex& index) {
  Chart chart;
  chart.title = {"Throughput by frame size", "Пропускная способность и размер кадра"};
  chart.x_title = value_info("frame_size").title;
  chart.y_title = {"throughput", "пропускная способность"};
  chart.x_unit = Unit::kBytes;
  chart.y_unit = Unit::kPps;
  std::set<double> sizes, with_limit;
  Series theory;
  theory.name = {"line's limit", "предел линии"};
  theory.is_dashed = true;
  theory.has_markers = false;
  for (const Row& row : index.run().rows) {
    const auto size = row_number(row, "frame_size");
    if (!size || row.results.empty()) continue;
    auto point = row_value(index, row, "throughput_pps");
    if (!point) continue;
    point->x = *size;
    series_of(chart.series, device_label(row.device)).points.push_back(*point);
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
  sort_and_limit(chart);
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
  const std::set<std::string> many = many_traffics(index.run());
  std::map<std::string, std::vector<const TrialResult*>> lists;
  for (const Row& row : index.run().rows) {
    const std::string name = line_name(row, many);
    const auto& trials = index.trials(row.id);
    auto& list = lists[name];
    list.insert(list.end(), trials.begin(), trials.end());
    series_of(chart.series, name);
  }
  for (Series& s : chart.series) {
    s.points = merge_loads(lists[s.name.en], "offered_pps", "loss_ratio");
    if (s.points.size() < 3) s.points.clear();  // no curve
    s.knee = find_knee(s.points, "loss_ratio");
  }
  sort_and_limit(chart);
  return chart;
}

Chart latency_percentiles(const RunIndex& index) {
  Chart chart;
  chart.title = {"Latency percentiles, all frames", "Процентили задержки, все кадры"};
  chart.x_title = {"percentile", "процентиль"};
  chart.y_title = {"latency from the send stamp", "задержка от метки отправки"};
  chart.is_percentile_x = chart.is_log_x = chart.is_log_y = true;
  chart.y_unit = Unit::kMicroseconds;
  const std::set<std::string> many = many_traffics(index.run());
  for (const Row& row : index.run().rows) {
    // Of a row's loads the highest that lost at most 1 %: where latency is asked for.
    const std::vector<const TrialResult*> all = speaking(index.trials(row.id));
    double load = 0;
    for (const TrialResult* t : all)
      if (t->loss_ratio <= 0.01 && t->latency_actual.count() != 0)
        load = std::max(load, t->offered_pps);
    if (load <= 0) continue;
    Histogram merged;
    std::vector<const TrialResult*> used;
    for (const TrialResult* t : all)
      if (t->offered_pps >= load * 0.98 && t->loss_ratio <= 0.01) {
        merged.merge(t->latency_actual);
        used.push_back(t);
      }
    Series s;
    const std::string name = line_name(row, many) + " @ " + quantity(load, Unit::kPps);
    s.name = {name, name};
    s.has_markers = false;
    s.points = percentile_curve(merged);
    for (Point& p : s.points) {
      p.row = row.id;
      p.trials = join_ids(used);
    }
    chart.series.push_back(std::move(s));
  }
  sort_and_limit(chart);
  return chart;
}

namespace {

Chart device_bars(const RunIndex& index, std::string_view value, const Text& title) {
  Chart chart;
  chart.kind = ChartKind::kBars;
  chart.title = title;
  chart.y_title = value_info(value).title;
  chart.y_unit = value_info(value).unit;
  const std::set<std::string> many = many_traffics(index.run());
  Series series;
  std::set<std::string> seen;
  for (const Row& row : index.run().rows) {
    const std::string name = line_name(row, many);
    if (!seen.insert(name).second) continue;
    // All rows of this device and traffic together: cost per packet hardly depends on the load
    // below the knee.
    std::vector<const TrialResult*> trials;
    for (const Row& other : index.run().rows)
      if (line_name(other, many) == name) {
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
    chart.categories.push_back({name, name});
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

Chart rule_scaling(const RunIndex& index) {
  Chart chart;
  chart.title = {"Throughput by number of rules", "Пропускная способность и число правил"};
  chart.x_title = value_info("rules").title;
  chart.y_title = {"throughput", "пропускная способность"};
  chart.x_unit = Unit::kCount;
  chart.y_unit = Unit::kPps;
  chart.is_log_x = chart.is_log_y = true;
  for (const Row& row : index.run().rows) {
    auto point = row_value(index, row, row.results.empty() ? "received_pps" : "throughput_pps");
    if (!point || row.device.driver.empty()) continue;
    point->x = row.device.rules;
    Series& s = series_of(chart.series, driver_mode(row.device));
    const auto same = std::find_if(s.points.begin(), s.points.end(),
                                   [&](const Point& p) { return p.x == point->x; });
    if (same == s.points.end())
      s.points.push_back(*point);
    else if (point->y > same->y)
      *same = *point;
  }
  std::erase_if(chart.series, [](const Series& s) { return s.points.size() < 2; });
  sort_and_limit(chart);
  if (chart.series.empty()) return Chart{};
  add_ceiling(index, chart);
  return chart;
}

}  // namespace merlon::lab::report
