// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "chart_parts.h"
#include "html.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity(),
         high = -std::numeric_limits<double>::infinity();
  double low_positive = std::numeric_limits<double>::infinity();
  bool has_zero = false;

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
    if (value > 0) low_positive = std::min(low_positive, value);
    if (value <= 0) has_zero = true;
  }
  [[nodiscard]] bool is_set() const { return low <= high; }
};

Scale make_scale(const Range& range, bool is_log, bool from_zero, double from, double to) {
  if (!range.is_set()) return Scale::linear(0, 1, from, to);
  if (is_log && std::isfinite(range.low_positive))
    return Scale::logarithmic(range.low_positive, range.high, from, to, range.has_zero);
  return Scale::linear(from_zero ? std::min(0.0, range.low) : range.low, range.high, from, to);
}

void add_point(Range& range, const Point& point) {
  range.add(point.y);
  if (point.low) range.add(*point.low);
  if (point.high) range.add(*point.high);
}

// References far above everything that was measured would squeeze it into the lowest part of the
// plot.
void add_references(const Chart& chart, Range& range) {
  const double highest = range.high;
  for (const ReferenceLine& line : chart.references)
    if (line.y <= highest * (chart.is_log_y ? 100 : 4)) range.add(line.y);
}

double knee_height(const Series& series, double knee) {
  double y = series.points.front().y;
  for (const Point& p : series.points)
    if (p.x <= knee) y = p.y;
  return y;
}

void draw_series(const Chart& chart, std::size_t index, const Plot& plot, const Scale& x,
                 const Scale& y, std::string& out) {
  const Series& series = chart.series[index];
  out.append(
      fmt::format("<g class=\"{}{}\">", series_class(index), series.is_dashed ? " dashed" : ""));
  std::string path;
  for (const Point& p : series.points)
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L", place(x.at(p.x)), place(y.at(p.y)));
  if (series.points.size() > 1) {
    // A curve without markers is opened as a whole; one that no trial stands behind opens nothing.
    const Point& last = series.points.back();
    const bool is_opened = !series.has_markers && !(last.row.empty() && last.trials.empty());
    if (is_opened) open_point(chart, last, series.name, "curve", out);
    out.append(fmt::format("<path class=\"line\" d=\"{}\"/>", path));
    if (is_opened) out.append(fmt::format("<path class=\"catch\" d=\"{}\"/></g>", path));
  }
  if (series.knee && !series.points.empty()) {
    const double kx = x.at(*series.knee);
    out.append(fmt::format("<line class=\"knee\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
                           place(kx), place(kx), place(y.at(knee_height(series, *series.knee))),
                           place(plot.bottom)));
    out.append(fmt::format("<path class=\"knee\" d=\"M{} {}l5 9h-10z\"/>", place(kx),
                           place(plot.bottom - 9)));
  }
  if (series.has_markers)
    for (const Point& p : series.points) {
      open_point(chart, p, series.name, "", out);
      const double px = x.at(p.x), py = y.at(p.y);
      if (p.low && p.high && !p.is_bound) append_whisker(px, y.at(*p.low), y.at(*p.high), out);
      if (p.is_bound)
        append_bound_marker(px, py, out);
      else
        append_marker(index, px, py, p.is_hollow, out);
      out.append("</g>");
    }
  out.append("</g>\n");
}

}  // namespace

void draw_lines(const Chart& chart, std::string& out) {
  const Plot plot;
  Range xs, ys;
  for (const Series& s : chart.series)
    for (const Point& p : s.points) {
      xs.add(p.x);
      add_point(ys, p);
    }
  add_references(chart, ys);
  const Scale x = make_scale(xs, chart.is_log_x, false, plot.left, plot.right);
  const Scale y = make_scale(ys, chart.is_log_y, true, plot.bottom, plot.top);
  open_svg(chart, plot.height, out);
  append_y_axis(chart, plot, y, out);
  append_x_axis(chart, plot, x, out);
  append_references(chart, plot, y, out);
  for (std::size_t i = 0; i < chart.series.size(); ++i) draw_series(chart, i, plot, x, y, out);
  out.append("</svg>\n");
}

namespace {

constexpr double kNameWidth = 272;  // of categories, beside bars and boxes
constexpr std::size_t kNameLength = 37;
constexpr double kBarHeight = 16, kBarGap = 3, kGroupGap = 12;
constexpr double kReferenceBand = 16;  // above the bars, for the names of references

struct BarPlace {
  std::size_t series;
  const Point* point;
  double top;
};

// Bars lie, since names of devices are long. Categories without a bar keep one line for their name.
std::vector<BarPlace> place_bars(const Chart& chart, std::vector<double>& label_places,
                                 Plot& plot) {
  std::vector<BarPlace> bars;
  double y = plot.top;
  for (std::size_t c = 0; c < chart.categories.size(); ++c) {
    const double start = y;
    for (std::size_t s = 0; s < chart.series.size(); ++s)
      for (const Point& p : chart.series[s].points)
        if (static_cast<std::size_t>(std::max(0.0, p.x)) == c) {
          bars.push_back({s, &p, y});
          y += kBarHeight + kBarGap;
        }
    if (y == start) y += kBarHeight + kBarGap;
    label_places.push_back((start + y - kBarGap) / 2);
    y += kGroupGap - kBarGap;
  }
  plot.bottom = y;
  return bars;
}

void draw_bar(const Chart& chart, const BarPlace& bar, const Scale& x, std::string& out) {
  const Point& p = *bar.point;
  const auto category = static_cast<std::size_t>(std::max(0.0, p.x));
  const Text& label = chart.categories[category];
  const Text& series = chart.series[bar.series].name;
  const bool is_one = series.en.empty();
  const Text name = is_one ? label : joined(joined(label, same(", ")), series);
  open_point(chart, p, name, series_class(bar.series), out);
  const double from = x.is_log() ? x.at(x.low()) : x.at(0);
  const double to = x.at(p.y), middle = bar.top + kBarHeight / 2;
  out.append(fmt::format("<rect class=\"bar{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                         p.is_hollow ? " hollow" : "", place(std::min(from, to)), place(bar.top),
                         place(std::max(1.0, std::fabs(to - from))), place(kBarHeight)));
  double text_at = std::max(from, to) + 6;
  if (p.low && p.high && !p.is_bound) {
    const double low = x.at(*p.low), high = x.at(*p.high);
    out.append(fmt::format("<path class=\"whisker\" d=\"M{} {}H{}M{} {}v8M{} {}v8\"/>", place(low),
                           place(middle), place(high), place(low), place(middle - 4), place(high),
                           place(middle - 4)));
    text_at = std::max(text_at, high + 6);
  }
  const std::string value =
      p.is_bound ? "0 (<\u00a0" + quantity(p.y, chart.y_unit) + ")" : quantity(p.y, chart.y_unit);
  out.append(fmt::format("<text class=\"value\" x=\"{}\" y=\"{}\">{}</text></g>", place(text_at),
                         place(middle + 4), escape(value)));
}

// Lines across the bars, their names in the band above.
void append_upright_references(const Chart& chart, const Plot& plot, const Scale& x,
                               std::string& out) {
  for (const ReferenceLine& line : chart.references) {
    if (!(line.y >= x.low() && line.y <= x.high())) continue;
    const double at = x.at(line.y);
    out.append(fmt::format("<line class=\"reference\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
                           place(at), place(at), place(plot.top - kReferenceBand),
                           place(plot.bottom)));
    const Text name = joined(line.name, same(": " + quantity(line.y, chart.y_unit)));
    const bool is_left = at > (plot.left + plot.right) / 2;
    out.append(both_svg(
        name, fmt::format("class=\"reference\" x=\"{}\" y=\"{}\" text-anchor=\"{}\"",
                          place(is_left ? at - 5 : at + 5),
                          place(plot.top - kReferenceBand / 2 + 2), is_left ? "end" : "start")));
  }
}

}  // namespace

void draw_bars(const Chart& chart, std::string& out) {
  Plot plot;
  std::vector<double> labels;
  if (!chart.references.empty()) plot.top += kReferenceBand;
  const std::vector<BarPlace> bars = place_bars(chart, labels, plot);
  plot.left = kNameWidth;
  plot.right = kChartWidth - 96;  // room for the longest bar's figure
  plot.height = plot.bottom + 52;
  Range range;
  for (const BarPlace& bar : bars) add_point(range, *bar.point);
  add_references(chart, range);
  const Scale x = make_scale(range, chart.is_log_y, true, plot.left, plot.right);
  open_svg(chart, plot.height, out);
  Chart turned;  // the value axis lies below
  turned.x_title = chart.y_title;
  turned.x_unit = chart.y_unit;
  append_x_axis(turned, plot, x, out);
  append_upright_references(chart, plot, x, out);
  for (std::size_t c = 0; c < chart.categories.size(); ++c)
    out.append(both_svg(shortened(chart.categories[c], kNameLength),
                        fmt::format("class=\"category\" x=\"{}\" y=\"{}\" text-anchor=\"end\"",
                                    place(plot.left - 8), place(labels[c] + 4))));
  for (const BarPlace& bar : bars) draw_bar(chart, bar, x, out);
  out.append("</svg>\n");
}

namespace {

struct Rgb {
  double r, g, b;
};

// Five places of viridis (van der Walt and Smith, 2015): even in lightness, readable without
// colour.
Rgb heat_colour(double share) {
  constexpr std::array<Rgb, 5> kStops{
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  const double at = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0) * 4;
  const auto index = std::min<std::size_t>(3, static_cast<std::size_t>(at));
  const double rest = at - static_cast<double>(index);
  const Rgb &a = kStops[index], &b = kStops[index + 1];
  return {a.r + (b.r - a.r) * rest, a.g + (b.g - a.g) * rest, a.b + (b.b - a.b) * rest};
}

void draw_heat_cell(const Chart& chart, const HeatCell& cell, const Scale& shade, double left,
                    double top, double width, std::string& out) {
  constexpr double kCellHeight = 34;
  const Text& line = chart.lines[cell.line];
  const Text& column = chart.categories[cell.column];
  const Rgb colour = heat_colour(shade.at(cell.point.y));
  const bool is_dark = 0.299 * colour.r + 0.587 * colour.g + 0.114 * colour.b < 130;
  open_point(chart, cell.point, joined(joined(line, same(" × ")), column), "", out);
  out.append(
      fmt::format("<rect class=\"cell{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
                  "fill=\"#{:02x}{:02x}{:02x}\"/>",
                  cell.point.is_hollow ? " hollow" : "", place(left + 1), place(top + 1),
                  place(width - 2), place(kCellHeight - 2), static_cast<unsigned>(colour.r),
                  static_cast<unsigned>(colour.g), static_cast<unsigned>(colour.b)));
  out.append(
      fmt::format("<text class=\"cell-text {}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}"
                  "</text></g>",
                  is_dark ? "on-dark" : "on-light", place(left + width / 2), place(top + 21),
                  escape(quantity(cell.point.y, chart.y_unit))));
}

}  // namespace

void draw_heat(const Chart& chart, std::string& out) {
  constexpr double kLeft = 176, kTop = 30, kCell = 34;
  const double width = (kChartWidth - kLeft - 10) /
                       static_cast<double>(std::max<std::size_t>(1, chart.categories.size()));
  Range range;
  for (const HeatCell& cell : chart.cells) range.add(cell.point.y);
  const Scale shade = make_scale(range, chart.is_log_y, false, 0, 1);
  open_svg(chart, kTop + kCell * static_cast<double>(chart.lines.size()) + 34, out);
  const auto fits = static_cast<std::size_t>(std::max(3.0, width / 7.5));
  for (std::size_t c = 0; c < chart.categories.size(); ++c)
    out.append(both_svg(shortened(chart.categories[c], fits),
                        fmt::format("class=\"category\" x=\"{}\" y=\"20\" text-anchor=\"middle\"",
                                    place(kLeft + width * (static_cast<double>(c) + 0.5)))));
  for (std::size_t l = 0; l < chart.lines.size(); ++l)
    out.append(
        both_svg(shortened(chart.lines[l], 22),
                 fmt::format("class=\"category\" x=\"{}\" y=\"{}\" text-anchor=\"end\"",
                             place(kLeft - 8), place(kTop + kCell * static_cast<double>(l) + 21))));
  for (const HeatCell& cell : chart.cells)
    draw_heat_cell(chart, cell, shade, kLeft + width * static_cast<double>(cell.column),
                   kTop + kCell * static_cast<double>(cell.line), width, out);
  out.append(both_svg(
      chart.line_title,
      fmt::format("class=\"axis-title\" x=\"{}\" y=\"20\" text-anchor=\"end\"", place(kLeft - 8))));
  const double below = kTop + kCell * static_cast<double>(chart.lines.size()) + 22;
  out.append(both_svg(chart.x_title,
                      fmt::format("class=\"axis-title\" x=\"{}\" y=\"{}\" text-anchor=\"middle\"",
                                  place((kLeft + kChartWidth) / 2), place(below))));
  out.append("</svg>\n");
}

void draw_boxes(const Chart& chart, std::string& out) {
  constexpr double kLine = 34;
  Plot plot;
  plot.left = kNameWidth;
  plot.bottom = plot.top + kLine * static_cast<double>(chart.boxes.size());
  plot.height = plot.bottom + 52;
  Range range;
  for (const Box& box : chart.boxes) {
    range.add(box.minimum);
    range.add(box.maximum);
  }
  const Scale x = make_scale(range, chart.is_log_y, false, plot.left, plot.right);
  open_svg(chart, plot.height, out);
  Chart turned;
  turned.x_title = chart.y_title;
  turned.x_unit = chart.y_unit;
  append_x_axis(turned, plot, x, out);
  for (std::size_t i = 0; i < chart.boxes.size(); ++i) {
    const Box& box = chart.boxes[i];
    const double middle = plot.top + kLine * (static_cast<double>(i) + 0.5);
    out.append(both_svg(shortened(box.name, kNameLength),
                        fmt::format("class=\"category\" x=\"{}\" y=\"{}\" text-anchor=\"end\"",
                                    place(plot.left - 8), place(middle + 4))));
    out.append("<g class=\"s0\">");
    out.append(fmt::format("<path class=\"whisker\" d=\"M{} {}H{}M{} {}H{}\"/>",
                           place(x.at(box.minimum)), place(middle), place(x.at(box.quartile1)),
                           place(x.at(box.quartile3)), place(middle), place(x.at(box.maximum))));
    out.append(fmt::format("<rect class=\"box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"18\"/>",
                           place(x.at(box.quartile1)), place(middle - 9),
                           place(std::max(1.0, x.at(box.quartile3) - x.at(box.quartile1)))));
    out.append(fmt::format("<line class=\"median\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
                           place(x.at(box.median)), place(x.at(box.median)), place(middle - 9),
                           place(middle + 9)));
    for (const Point& p : box.values) {
      open_point(chart, p, box.name, "", out);
      append_marker(0, x.at(p.y), middle, p.is_hollow, out);
      out.append("</g>");
    }
    out.append("</g>\n");
  }
  out.append("</svg>\n");
}

}  // namespace merlon::lab::report
