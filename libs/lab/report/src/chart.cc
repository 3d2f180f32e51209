// SPDX-License-Identifier: Apache-2.0
#include "chart.h"

#include <fmt/core.h>

#include <algorithm>

#include "chart_parts.h"
#include "html.h"

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
                        escape(point.note)});
}

// The figure's numbers for those who can't see it and for those who want to copy them.
void append_data(const Chart& chart, std::string& out) {
  Table table;
  table.css = "data";
  table.caption = chart.title;
  const Text series{"series", "ряд"}, range{"range", "размах"}, note{"note", "примечание"};
  table.head = {
      both(series),
      both(chart.kind == ChartKind::kBars && chart.x_title.en.empty() ? series : chart.x_title),
      number_cell(both(chart.y_title)),
      number_cell(both(range)),
      number_cell("n"),
      both(note)};
  for (const Series& s : chart.series)
    for (const Point& p : s.points) {
      std::string x;
      const auto index = static_cast<std::size_t>(std::max(0.0, p.x));
      if (chart.kind == ChartKind::kBars)
        x = index < chart.categories.size() ? both(chart.categories[index]) : "";
      else
        x = escape(chart.is_percentile_x ? percentile_text(p.x) : quantity(p.x, chart.x_unit));
      append_values(chart, table, both(s.name), x, p);
    }
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

}  // namespace

bool is_empty(const Chart& chart) noexcept {
  return chart.cells.empty() && chart.boxes.empty() &&
         std::all_of(chart.series.begin(), chart.series.end(),
                     [](const Series& s) { return s.points.empty(); });
}

void append_chart(const Chart& chart, std::string& out) {
  out.append(fmt::format("<figure id=\"{}\"><figcaption id=\"{}-title\">{}</figcaption>\n",
                         chart.id, chart.id, both(chart.title)));
  if (is_empty(chart)) {
    out.append("<p class=\"empty\">")
        .append(both({"No usable trial has a value for this chart.",
                      "Нет пригодных измерений для этого графика."}))
        .append("</p></figure>\n");
    return;
  }
  append_legend(chart, out);
  switch (chart.kind) {
    case ChartKind::kLines:
      draw_lines(chart, out);
      break;
    case ChartKind::kBars:
      draw_bars(chart, out);
      break;
    case ChartKind::kHeat:
      draw_heat(chart, out);
      break;
    case ChartKind::kBox:
      draw_boxes(chart, out);
      break;
  }
  if (!chart.note.en.empty())
    out.append("<p class=\"note\">").append(both(chart.note)).append("</p>");
  append_data(chart, out);
  out.append("</figure>\n");
}

}  // namespace merlon::lab::report
