// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chart.h"
#include "files.h"
#include "html.h"
#include "merlon/lab_report/compare.h"
#include "page.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab {
namespace {

using report::both;
using report::escape;
using report::number_cell;

void append_head(const Comparison& c, std::string& out) {
  out.append("<header>");
  report::append_switches(out);
  out.append("<h1>")
      .append(both({"Comparison: ", "Сравнение: "}))
      .append(both(c.title))
      .append("</h1>\n");
  std::string ids = escape(c.base_id);
  for (const RunComparison& r : c.runs) ids += " → " + escape(r.id);
  out.append("<p class=\"facts\">").append(ids).append("</p></header>\n");
}

void append_sums(const Comparison& c, std::string& out) {
  report::open_section("verdict", {"Verdict", "Итог"}, out);
  if (c.is_refused())
    out.append("<p class=\"warning\">")
        .append(both({"Refused: the runs differ in what a comparison rests on. The differences are "
                      "named below; the "
                      "comparison can be forced.",
                      "Отказ: прогоны различаются в том, на чём держится сравнение. Различия "
                      "названы ниже; сравнение "
                      "можно сделать принудительно."}))
        .append("</p>\n");
  out.append("<ul class=\"sums\">");
  for (const Verdict v : {Verdict::kWorse, Verdict::kBetter, Verdict::kSame, Verdict::kUnclear})
    out.append(fmt::format("<li><b>{}</b> {}</li>", c.count(v), report::verdict_badge(v)));
  out.append("</ul>\n");
  report::close_section(out);
}

void append_differences(const Comparison& c, std::string& out) {
  report::Table table;
  table.caption = {"What differs between the runs", "Чем различаются прогоны"};
  table.head = {both({"what", "что"}), both({"base", "основа"}), both({"other", "другой"}),
                both({"run", "прогон"}), both({"weight", "вес"})};
  for (const RunComparison& r : c.runs)
    for (const Difference& d : r.differences)
      table.rows.push_back({both(report::word_title(d.field)), escape(d.base), escape(d.value),
                            escape(r.id),
                            d.is_blocking ? report::badge("fail", {"not comparable", "несравнимо"})
                                          : report::badge("differs", {"differs", "различие"})});
  if (table.rows.empty()) return;
  report::open_section("differences", {"Differences of the environment", "Различия среды"}, out);
  report::append_table(table, out);
  report::close_section(out);
}

// Changes first, what could not be decided next.
int order_of(Verdict verdict) {
  if (verdict == Verdict::kWorse) return 0;
  return verdict == Verdict::kBetter ? 1 : 2;
}

report::Chart ratio_chart(const RunComparison& r, std::size_t number) {
  report::Chart chart;
  chart.id = fmt::format("ratios-{}", number);
  chart.kind = report::ChartKind::kRatios;
  chart.title = {"Ratios with their 95 % intervals", "Отношения с 95 % интервалами"};
  chart.y_title = {"other / base", "другой / основа"};
  chart.note = {
      "Grey: A/A noise of the machine. Changes come first; what is the same or has no "
      "interval is in the table only.",
      "Серое: шум A/A машины. Сначала изменения; что не изменилось или без интервала, то "
      "только в таблице."};
  for (const RowChange& row : r.rows)
    for (const MetricChange& m : row.metrics) {
      // What is the same, or has no interval to judge it by, shows nothing that the table doesn't.
      if (m.verdict == Verdict::kSame || !has_ratio(m) || !(m.ratio > 0) ||
          !std::isfinite(m.ratio) || !(m.interval.low < m.interval.high))
        continue;
      report::RatioLine line;
      line.name = row.title;
      line.detail = report::value_info(m.name).title;
      line.point.y = m.ratio;
      line.point.low = m.interval.low;
      line.point.high = m.interval.high;
      line.point.samples = std::min(m.base_count, m.value_count);
      line.point.note = report::verdict_title(m.verdict);
      line.verdict = m.verdict;
      line.noise = m.noise;
      chart.ratios.push_back(std::move(line));
    }
  std::stable_sort(chart.ratios.begin(), chart.ratios.end(), [](const auto& a, const auto& b) {
    return order_of(a.verdict) < order_of(b.verdict);
  });
  return chart;
}

std::string interval_text(const MetricChange& m) {
  return escape(report::ratio_text(m.interval.low) + " … " + report::ratio_text(m.interval.high));
}

report::Table changes_table(const RunComparison& r) {
  report::Table table;
  table.caption = {"Ratios with their 95 % intervals", "Отношения с 95 % интервалами"};
  table.head = {both({"row", "строка"}),
                both({"metric", "показатель"}),
                number_cell(both({"base", "основа"})),
                number_cell(both({"other", "другой"})),
                number_cell(both({"ratio", "отношение"})),
                number_cell("95 %"),
                number_cell("A/A"),
                number_cell("n"),
                both({"verdict", "вердикт"})};
  for (const RowChange& row : r.rows)
    for (const MetricChange& m : row.metrics) {
      const report::ValueInfo info = report::value_info(m.name);
      table.rows.push_back({both(row.title), both(info.title),
                            number_cell(escape(report::quantity(m.base, info.unit))),
                            number_cell(escape(report::quantity(m.value, info.unit))),
                            number_cell(has_ratio(m) ? escape(report::ratio_text(m.ratio)) : "–"),
                            number_cell(has_ratio(m) ? interval_text(m) : "–"),
                            number_cell(escape(report::quantity(m.noise, report::Unit::kRatio))),
                            number_cell(fmt::format("{} / {}", m.base_count, m.value_count)),
                            report::verdict_badge(m.verdict)});
    }
  return table;
}

void append_unpaired(const Text& title, const std::vector<Unpaired>& rows, std::string& out) {
  if (rows.empty()) return;
  out.append("<details><summary>")
      .append(both(title))
      .append(fmt::format(" ({})</summary><ul>", rows.size()));
  for (const Unpaired& row : rows) {
    out.append("<li>").append(both(row.title));
    if (!row.apart.en.empty()) out.append(" (").append(both(row.apart)).append(")");
    out.append(" <small><code>").append(escape(row.key)).append("</code></small></li>");
  }
  out.append("</ul></details>\n");
}

void append_changes(const Comparison& c, const RunComparison& r, std::size_t number,
                    std::string& out) {
  if (r.is_refused) return;
  report::open_section(fmt::format("run-{}", number), report::same(c.base_id + " → " + r.id), out);
  const report::Table table = changes_table(r);
  if (table.rows.empty()) {
    out.append("<p class=\"empty\">")
        .append(both({"No row has a partner.", "Ни у одной строки нет пары."}))
        .append("</p>");
  } else {
    const report::Chart chart = ratio_chart(r, number);
    if (!is_empty(chart)) report::append_chart(chart, out);
    report::append_table(table, out);
  }
  append_unpaired({"only in the base", "только в основе"}, r.only_in_base, out);
  append_unpaired({"only in the other", "только в другом"}, r.only_in_other, out);
  report::close_section(out);
}

// One chart per metric, the same rows in the same order and one axis for all runs.
std::map<std::string, report::Chart> aligned_charts(const Comparison& c) {
  std::map<std::string, report::Chart> charts;
  for (std::size_t r = 0; r < c.runs.size(); ++r)
    for (const RowChange& row : c.runs[r].rows)
      for (const MetricChange& m : row.metrics) {
        report::Chart& chart = charts[m.name];
        const report::ValueInfo info = report::value_info(m.name);
        if (chart.series.empty()) {
          chart.kind = report::ChartKind::kBars;
          chart.title = chart.y_title = info.title;
          chart.y_unit = info.unit;
          chart.series.resize(c.runs.size() + 1);
          chart.series[0].name = report::same(c.base_id);
          for (std::size_t i = 0; i < c.runs.size(); ++i)
            chart.series[i + 1].name = report::same(c.runs[i].id);
        }
        const auto found = std::find_if(chart.categories.begin(), chart.categories.end(),
                                        [&](const Text& t) { return t.en == row.title.en; });
        const auto index = static_cast<std::size_t>(found - chart.categories.begin());
        report::Point p;
        p.x = static_cast<double>(index);
        p.y = m.base;
        p.samples = m.base_count;
        if (found == chart.categories.end()) {
          chart.categories.push_back(row.title);
          chart.series[0].points.push_back(p);
        }
        p.y = m.value;
        p.samples = m.value_count;
        p.is_hollow = m.verdict == Verdict::kUnclear;
        p.note = report::verdict_title(m.verdict);
        chart.series[r + 1].points.push_back(p);
      }
  return charts;
}

}  // namespace

std::string render_comparison_html(const Comparison& comparison, const ReportOptions& options) {
  std::string body;
  append_head(comparison, body);
  const std::size_t nav_at = body.size();
  body.append("<main>\n");
  append_sums(comparison, body);
  append_differences(comparison, body);
  for (std::size_t i = 0; i < comparison.runs.size(); ++i)
    append_changes(comparison, comparison.runs[i], i, body);
  auto charts = aligned_charts(comparison);
  if (!charts.empty()) {
    report::open_section("charts", {"Side by side", "Рядом"}, body);
    std::size_t number = 0;
    for (auto& [name, chart] : charts) {
      chart.id = fmt::format("chart-{}", number++);
      report::append_chart(chart, body);
    }
    report::close_section(body);
  }
  body.append("</main>\n");
  body.insert(nav_at, report::navigation(body));
  const Text title = report::joined({"Comparison: ", "Сравнение: "}, comparison.title);
  return report::page(title, options.language, body, "{\"strings\":[],\"rows\":{},\"trials\":{}}");
}

base::Result<void> write_comparison(const Comparison& comparison, const std::string& path,
                                    const ReportOptions& options) {
  return report::write_file(path, render_comparison_html(comparison, options));
}

}  // namespace merlon::lab
