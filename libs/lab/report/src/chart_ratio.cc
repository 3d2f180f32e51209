// SPDX-License-Identifier: Apache-2.0
// Ratios: a line each, the interval as a bar, the band of noise behind it. What the verdict is, is
// told by shape, colour and word.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chart_parts.h"
#include "html.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

constexpr double kLine = 34, kHalfBand = 12;
constexpr double kLogFrom = 3;  // ratios that span more are drawn on a log axis

struct Extent {
  double low = 1, high = 1;
  void add(double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Scale scale_of(const Chart& chart, const Plot& plot) {
  Extent e;
  for (const RatioLine& line : chart.ratios) {
    e.add(line.point.y);
    e.add(line.point.low.value_or(line.point.y));
    e.add(line.point.high.value_or(line.point.y));
    e.add(1 - line.noise);
    e.add(1 + line.noise);
    for (const Point& p : line.values) e.add(p.y);
  }
  if (e.high / e.low > kLogFrom) return Scale::logarithmic(e.low, e.high, plot.left, plot.right);
  return Scale::linear(e.low, e.high, plot.left, plot.right, 6);
}

// A triangle up or down, a disc, a hollow rhombus.
std::size_t shape_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return 2;
    case Verdict::kWorse:
      return 4;
    case Verdict::kSame:
      return 0;
    case Verdict::kUnclear:
      break;
  }
  return 3;
}

void draw_line(const Chart& chart, const RatioLine& line, const Scale& x, double middle,
               std::string& out) {
  Text name = line.name;
  for (const Text& part : {line.detail, line.figure})
    if (!part.en.empty()) name = joined(joined(name, same("; ")), part);
  const double from = x.at(1 - line.noise), to = x.at(1 + line.noise);
  if (line.noise > 0)
    out.append(fmt::format("<rect class=\"noise\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                           place(from), place(middle - kHalfBand), place(std::max(1.0, to - from)),
                           place(2 * kHalfBand)));
  out.append(fmt::format("<g class=\"verdict-{}\">", word(line.verdict)));
  for (const Point& p : line.values) {
    open_point(chart, p, name, "pair", out);
    out.append(fmt::format("<circle class=\"mark\" cx=\"{}\" cy=\"{}\" r=\"2.2\"/></g>",
                           place(x.at(p.y)), place(middle + kHalfBand - 3)));
  }
  open_point(chart, line.point, name, "", out);
  const double low = x.at(line.point.low.value_or(line.point.y)),
               high = x.at(line.point.high.value_or(line.point.y));
  out.append(fmt::format("<path class=\"interval\" d=\"M{} {}H{}M{} {}v10M{} {}v10\"/>", place(low),
                         place(middle), place(high), place(low), place(middle - 5), place(high),
                         place(middle - 5)));
  append_marker(shape_of(line.verdict), x.at(line.point.y), middle,
                line.verdict == Verdict::kUnclear, out);
  out.append("</g></g>\n");
}

void append_name(const RatioLine& line, double right, double middle, std::string& out) {
  constexpr std::size_t kFits = 46;
  const bool is_one = line.detail.en.empty();
  const auto add = [&](const Text& text, std::string_view css, double y) {
    out.append(both_svg(shortened(text, kFits),
                        fmt::format("class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"end\"", css,
                                    place(right), place(y))));
  };
  add(line.name, "category", is_one ? middle + 4 : middle - 3);
  if (!is_one) add(line.detail, "detail", middle + 11);
}

void append_verdict(const RatioLine& line, double left, double middle, std::string& out) {
  const bool is_one = line.figure.en.empty();
  const Text told = joined(same(ratio_text(line.point.y) + "\u00a0"), verdict_title(line.verdict));
  out.append(
      both_svg(told, fmt::format("class=\"told verdict-{}\" x=\"{}\" y=\"{}\"", word(line.verdict),
                                 place(left), place(is_one ? middle + 4 : middle - 3))));
  if (!is_one)
    out.append(both_svg(
        shortened(line.figure, 22),
        fmt::format("class=\"detail\" x=\"{}\" y=\"{}\"", place(left), place(middle + 11))));
}

}  // namespace

void draw_ratios(const Chart& chart, std::string& out) {
  Plot plot;
  plot.left = 340;
  plot.right = kChartWidth - 150;  // room for ratio and verdict
  plot.bottom = plot.top + kLine * static_cast<double>(chart.ratios.size());
  plot.height = plot.bottom + 52;
  const Scale x = scale_of(chart, plot);
  open_svg(chart, plot.height, out);
  Chart turned;
  turned.x_title = chart.y_title;
  append_x_axis(turned, plot, x, out);
  for (std::size_t i = 0; i < chart.ratios.size(); ++i) {
    const RatioLine& line = chart.ratios[i];
    const double middle = plot.top + kLine * (static_cast<double>(i) + 0.5);
    draw_line(chart, line, x, middle, out);
    append_name(line, plot.left - 8, middle, out);
    append_verdict(line, plot.right + 10, middle, out);
  }
  out.append(fmt::format("<line class=\"one\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
                         place(x.at(1)), place(x.at(1)), place(plot.top), place(plot.bottom)));
  out.append("</svg>\n");
}

}  // namespace merlon::lab::report
