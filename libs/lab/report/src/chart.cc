// SPDX-License-Identifier: Apache-2.0
#include "chart.h"

#include <fmt/core.h>

#include <algorithm>

#include "chart_parts.h"
#include "html.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

std::string value_text(const Chart& chart, const Point& point) {
  if (point.is_bound) return "0 (<\u00a0" + quantity(point.y, chart.y_unit) + ")";
  return quantity(point.y, chart.y_unit);
}

std::string range_text(const Chart& chart, const Point& point) {
  if (!point.low || !point.high || point.is_bound) return "";
  return quantity(*point.low, chart.y_unit) + " … " + quantity(*point.high, chart.y_unit);
}

void append_values(const Chart& chart, Table& table, const std::string& first,
                   const std::string& second, const Point& point) {
  table.rows.push_back({first, second, number_cell(escape(value_text(chart, point))),
                        number_cell(escape(range_text(chart, point))),
                        number_cell(point.samples == 0 ? "" : grouped(point.samples)),
                        both(point.note)});
}

// Of a percentile curve's hundred points those that people name; the histogram is in result.json.
std::vector<Point> told_percentiles(const std::vector<Point>& points) {
  std::vector<Point> out;
  double wanted = 1;
  for (const Point& p : points)
    if (p.x >= wanted || &p == &points.back()) {
      out.push_back(p);
      while (wanted <= p.x) wanted = wanted == 1 ? 2 : wanted == 2 ? 10 : wanted * 10;
    }
  return out;
}

void append_series(const Chart& chart, const Series& s, Table& table) {
  for (const Point& p : chart.is_percentile_x ? told_percentiles(s.points) : s.points) {
    std::string x;
    const auto index = static_cast<std::size_t>(std::max(0.0, p.x));
    if (chart.kind == ChartKind::kBars)
      x = index < chart.categories.size() ? both(chart.categories[index]) : "";
    else
      x = escape(chart.is_percentile_x ? percentile_text(p.x) : quantity(p.x, chart.x_unit));
    append_values(chart, table, both(s.name), x, p);
  }
}

// The figure's numbers for those who can't see it and for those who want to copy them.
void append_data(const Chart& chart, std::string& out) {
  Table table;
  table.css = "data";
  table.caption = chart.title;
  const Text series{"series", "ряд"}, range{"range", "размах"}, note{"note", "примечание"};
  table.head = {both(chart.line_title.en.empty() ? series : chart.line_title),
                both(chart.kind == ChartKind::kBars && chart.x_title.en.empty()
                         ? series
                         : unitless(chart.x_title, chart.x_unit)),
                number_cell(both(unitless(chart.y_title, chart.y_unit))),
                number_cell(both(range)),
                number_cell("n"),
                both(note)};
  for (const Series& s : chart.series) append_series(chart, s, table);
  for (const HeatCell& cell : chart.cells)
    append_values(chart, table, both(chart.lines[cell.line]), both(chart.categories[cell.column]),
                  cell.point);
  for (const Box& box : chart.boxes)
    table.rows.push_back({both(box.name), "",
                          number_cell(escape(quantity(box.median, chart.y_unit))),
                          number_cell(escape(quantity(box.minimum, chart.y_unit) + " … " +
                                             quantity(box.maximum, chart.y_unit))),
                          number_cell(grouped(std::uint64_t{box.values.size()})), ""});
  out.append("<details class=\"figures\"><summary>")
      .append(both({"Figures", "Значения"}))
      .append("</summary>");
  append_table(table, out);
  out.append("</details>\n");
}

constexpr std::size_t kOnePage = 24;  // a drawing of more groups may be broken in a print

std::size_t group_count(const Chart& chart) {
  return std::max({chart.categories.size(), chart.boxes.size(), chart.ratios.size()});
}

// What is drawn of a chart: the first lines and groups of bars, and all limits. `note` tells what
// is left out.
Chart drawn(const Chart& chart, Text& note) {
  Chart out = chart;
  std::size_t shown = 0;
  if (chart.kind == ChartKind::kLines) {
    std::erase_if(out.series, [&](const Series& s) { return !s.is_limit && ++shown > kMaxLines; });
    if (shown > kMaxLines)
      note = {
          fmt::format("{} of {} lines are drawn; the figures below hold all.", kMaxLines, shown),
          fmt::format("Нарисовано линий: {} из {}; в значениях ниже — все.", kMaxLines, shown)};
  }
  const std::size_t groups = group_count(chart);
  const bool has_groups = chart.kind != ChartKind::kLines && chart.kind != ChartKind::kHeat;
  if (has_groups && groups > kMaxBars) {
    out.boxes.resize(std::min(kMaxBars, out.boxes.size()));
    out.ratios.resize(std::min(kMaxBars, out.ratios.size()));
    out.categories.resize(std::min(kMaxBars, out.categories.size()));
    for (Series& s : out.series)
      std::erase_if(s.points, [](const Point& p) { return p.x >= kMaxBars; });
    note = {fmt::format("{} of {} groups are drawn; the figures below hold all.", kMaxBars, groups),
            fmt::format("Нарисовано групп: {} из {}; в значениях ниже — все.", kMaxBars, groups)};
  }
  return out;
}

void append_note(const Text& note, std::string& out) {
  if (!note.en.empty()) out.append("<p class=\"note\">").append(both(note)).append("</p>");
}

void draw(const Chart& chart, std::string& out) {
  append_legend(chart, out);
  switch (chart.kind) {
    case ChartKind::kLines:
      return draw_lines(chart, out);
    case ChartKind::kBars:
      return draw_bars(chart, out);
    case ChartKind::kHeat:
      return draw_heat(chart, out);
    case ChartKind::kBox:
      return draw_boxes(chart, out);
    case ChartKind::kRatios:
      return draw_ratios(chart, out);
  }
}

}  // namespace

bool is_empty(const Chart& chart) noexcept {
  return chart.cells.empty() && chart.boxes.empty() && chart.ratios.empty() &&
         std::all_of(chart.series.begin(), chart.series.end(),
                     [](const Series& s) { return s.points.empty(); });
}

void append_chart(const Chart& chart, std::string& out) {
  out.append(fmt::format("<figure id=\"{}\"{}><figcaption id=\"{}-title\">{}</figcaption>\n",
                         chart.id, group_count(chart) > kOnePage ? " class=\"tall\"" : "", chart.id,
                         both(chart.title)));
  if (is_empty(chart)) {
    out.append("<p class=\"empty\">")
        .append(both({"No usable trial has a value for this chart.",
                      "Нет пригодных измерений для этого графика."}))
        .append("</p></figure>\n");
    return;
  }
  Text left_out;
  draw(drawn(chart, left_out), out);
  append_note(left_out, out);
  append_note(chart.note, out);
  // A table of the same ratios stands beside their drawing.
  if (chart.kind != ChartKind::kRatios) append_data(chart, out);
  out.append("</figure>\n");
}

}  // namespace merlon::lab::report
