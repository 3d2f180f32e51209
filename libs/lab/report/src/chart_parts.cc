// SPDX-License-Identifier: Apache-2.0
#include "chart_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "html.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

constexpr std::size_t kSeriesClasses = 8;

bool is_time(Unit unit) {
  return unit == Unit::kSeconds || unit == Unit::kMilliseconds || unit == Unit::kMicroseconds ||
         unit == Unit::kNanoseconds;
}

// Is this word a unit of what the axis shows?
bool is_unit_word(std::string_view word, Unit unit) {
  constexpr std::array<std::string_view, 9> kTimes{"s", "ms", "us",  "µs", "ns",
                                                   "с", "мс", "мкс", "нс"};
  constexpr std::array<std::string_view, 11> kRates{"pps",
                                                    "kpps",
                                                    "Mpps",
                                                    "frames per second",
                                                    "packets per second",
                                                    "frames/s",
                                                    "packets/s",
                                                    "кадров в секунду",
                                                    "пакетов в секунду",
                                                    "кадров/с",
                                                    "п/с"};
  constexpr std::array<std::string_view, 6> kBits{"bit/s", "Mbit/s", "Gbit/s",
                                                  "бит/с", "Мбит/с", "Гбит/с"};
  constexpr std::array<std::string_view, 3> kShares{"%", "per cent", "проценты"};
  constexpr std::array<std::string_view, 6> kSizes{"B", "bytes", "MiB", "Б", "байт", "МиБ"};
  const auto has = [&](const auto& list) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  if (is_time(unit)) return has(kTimes);
  if (unit == Unit::kPps) return has(kRates);
  if (unit == Unit::kBps) return has(kBits);
  if (unit == Unit::kRatio || unit == Unit::kPercent) return has(kShares);
  return (unit == Unit::kBytes || unit == Unit::kMib) && has(kSizes);
}

// "delay, us" without its unit: an axis chooses that by its values.
std::string without_unit(const std::string& title, Unit unit) {
  const std::size_t comma = title.rfind(", ");
  if (comma == std::string::npos) return title;
  const bool is_unit = is_unit_word(std::string_view(title).substr(comma + 2), unit);
  return is_unit ? title.substr(0, comma) : title;
}

// Ticks of other units carry theirs.
std::string title_unit(Unit unit) {
  switch (unit) {
    case Unit::kRatio:
    case Unit::kPercent:
      return ", %";
    case Unit::kBytes:
      return ", B";
    case Unit::kMib:
      return ", MiB";
    default:
      return "";
  }
}

}  // namespace

Text unitless(const Text& title, Unit unit) {
  return {without_unit(title.en, unit), without_unit(title.ru, unit)};
}

Text axis_title(const Text& title, Unit unit) {
  return title.en.empty() ? title : joined(unitless(title, unit), same(title_unit(unit)));
}

std::string place(double value) {
  if (!std::isfinite(value)) value = 0;
  std::string text = fmt::format("{:.1f}", std::clamp(value, -1e5, 1e5));
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string tick_text(double value, Unit unit) {
  if (value == 0) return "0";
  switch (unit) {
    case Unit::kRatio:
      return digits(value * 100);
    case Unit::kPercent:
    case Unit::kBytes:
    case Unit::kMib:
      return digits(value);
    case Unit::kPerSecond:
    case Unit::kPerCpuSecond:
    case Unit::kNone:
    case Unit::kCount:
    case Unit::kCycles: {
      const double magnitude = std::fabs(value);
      if (magnitude >= 1e9) return digits(value / 1e9) + "\u00a0G";
      if (magnitude >= 1e6) return digits(value / 1e6) + "\u00a0M";
      if (magnitude >= 1e4) return digits(value / 1e3) + "\u00a0k";
      return digits(value);
    }
    default:
      return quantity(value, unit);
  }
}

std::string percentile_text(double x) {
  if (x <= 1) return "0\u00a0%";
  const double percent = 100 * (1 - 1 / x);
  const int decimals = std::clamp(static_cast<int>(std::ceil(std::log10(x) - 1e-9)) - 2, 0, 9);
  return fmt::format("{:.{}f}\u00a0%", percent, decimals);
}

void open_svg(const Chart& chart, double height, std::string& out) {
  out.append(fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"group\" aria-labelledby=\"{}-title\" class=\"chart\">",
      place(kChartWidth), place(height), chart.id));
}

void append_x_axis(const Chart& chart, const Plot& plot, const Scale& scale, std::string& out) {
  out.append("<g class=\"axis\" aria-hidden=\"true\">");
  double last_end = -1;
  for (const Tick& tick : scale.ticks()) {
    const double x = scale.at(tick.value);
    out.append(fmt::format("<line class=\"{}\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
                           tick.is_labelled ? "grid" : "grid faint", place(x), place(x),
                           place(plot.top), place(plot.bottom)));
    if (!tick.is_labelled) continue;
    const std::string text =
        chart.is_percentile_x ? percentile_text(tick.value) : tick_text(tick.value, chart.x_unit);
    const double half = 3.6 * static_cast<double>(text.size());
    if (x - half < last_end) continue;  // labels never run into each other
    last_end = x + half;
    out.append(fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", place(x),
                           place(plot.bottom + 18), escape(text)));
  }
  out.append(fmt::format("<line class=\"base\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
                         place(plot.left), place(plot.right), place(plot.bottom),
                         place(plot.bottom)));
  out.append(both_svg(axis_title(chart.x_title, chart.is_percentile_x ? Unit::kNone : chart.x_unit),
                      fmt::format("class=\"title\" x=\"{}\" y=\"{}\" text-anchor=\"middle\"",
                                  place((plot.left + plot.right) / 2), place(plot.bottom + 42))));
  out.append("</g>");
}

void append_y_axis(const Chart& chart, const Plot& plot, const Scale& scale, std::string& out) {
  out.append("<g class=\"axis\" aria-hidden=\"true\">");
  for (const Tick& tick : scale.ticks()) {
    const double y = scale.at(tick.value);
    out.append(fmt::format("<line class=\"{}\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
                           tick.is_labelled ? "grid" : "grid faint", place(plot.left),
                           place(plot.right), place(y), place(y)));
    if (tick.is_labelled)
      out.append(fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                             place(plot.left - 6), place(y + 4),
                             escape(tick_text(tick.value, chart.y_unit))));
  }
  const double middle = (plot.top + plot.bottom) / 2;
  out.append(both_svg(
      axis_title(chart.y_title, chart.y_unit),
      fmt::format(
          "class=\"title\" x=\"14\" y=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 14 "
          "{})\"",
          place(middle), place(middle))));
  out.append("</g>");
}

void append_references(const Chart& chart, const Plot& plot, const Scale& y, std::string& out) {
  for (const ReferenceLine& line : chart.references) {
    if (!(line.y >= y.low() && line.y <= y.high())) continue;
    const double at = y.at(line.y);
    out.append(fmt::format("<line class=\"reference\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
                           place(plot.left), place(plot.right), place(at), place(at)));
    out.append(both_svg(
        joined(line.name, same(": " + quantity(line.y, chart.y_unit))),
        fmt::format("class=\"reference\" x=\"{}\" y=\"{}\" text-anchor=\"end\"",
                    place(plot.right - 4), place(at - 5 < plot.top + 8 ? at + 14 : at - 5))));
  }
}

std::string series_class(std::size_t series) {
  return fmt::format("s{}{}", series % kSeriesClasses, series < kSeriesClasses ? "" : " again");
}

void append_marker(std::size_t series, double x, double y, bool is_hollow, std::string& out) {
  const std::string css = is_hollow ? "mark hollow" : "mark";
  const auto polygon = [&](std::initializer_list<std::pair<double, double>> corners) {
    std::string points;
    for (const auto& [dx, dy] : corners) points += place(x + dx) + "," + place(y + dy) + " ";
    points.pop_back();
    out.append(fmt::format("<polygon class=\"{}\" points=\"{}\"/>", css, points));
  };
  // After eight series colours come again, each with another marker: pairs repeat after 64.
  switch ((series + 3 * (series / kSeriesClasses)) % kSeriesClasses) {
    case 0:
      out.append(fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4\"/>", css, place(x),
                             place(y)));
      break;
    case 1:
      polygon({{-4, -4}, {4, -4}, {4, 4}, {-4, 4}});
      break;
    case 2:
      polygon({{0, -5}, {5, 4}, {-5, 4}});
      break;
    case 3:
      polygon({{0, -5.5}, {5.5, 0}, {0, 5.5}, {-5.5, 0}});
      break;
    case 4:
      polygon({{-5, -4}, {5, -4}, {0, 5}});
      break;
    case 5:
      polygon({{-5, 0}, {-2.5, -4.5}, {2.5, -4.5}, {5, 0}, {2.5, 4.5}, {-2.5, 4.5}});
      break;
    case 6:
      polygon({{-1.6, -5},
               {1.6, -5},
               {1.6, -1.6},
               {5, -1.6},
               {5, 1.6},
               {1.6, 1.6},
               {1.6, 5},
               {-1.6, 5},
               {-1.6, 1.6},
               {-5, 1.6},
               {-5, -1.6},
               {-1.6, -1.6}});
      break;
    default:
      polygon({{-5, -3}, {5, -3}, {5, 3}, {-5, 3}});
      break;
  }
}

void append_bound_marker(double x, double y, std::string& out) {
  out.append(fmt::format("<path class=\"bound\" d=\"M{} {}h10M{} {}v12m-4 -5l4 5l4 -5\"/>",
                         place(x - 5), place(y), place(x), place(y)));
}

void append_whisker(double x, double low, double high, std::string& out) {
  out.append(fmt::format("<path class=\"whisker\" d=\"M{} {}V{}M{} {}h8M{} {}h8\"/>", place(x),
                         place(low), place(high), place(x - 4), place(low), place(x - 4),
                         place(high)));
}

namespace {

Text ratio_tip(const Point& point, const Text& name) {
  std::string value = "; " + ratio_text(point.y);
  if (point.low && point.high)
    value += fmt::format(" [{} … {}]", ratio_text(*point.low), ratio_text(*point.high));
  if (point.samples != 0) value += fmt::format(", n\u00a0=\u00a0{}", grouped(point.samples));
  const Text tip = joined(name, same(value));
  return point.note.en.empty() ? tip : joined(joined(tip, same(", ")), point.note);
}

Text point_tip(const Chart& chart, const Point& point, const Text& name) {
  if (chart.kind == ChartKind::kRatios) return ratio_tip(point, name);
  std::string x;
  if (chart.kind == ChartKind::kLines)
    x = (chart.is_percentile_x ? percentile_text(point.x) : quantity(point.x, chart.x_unit)) + ": ";
  std::string value = (point.is_bound ? "0 (<\u00a0" : "") + quantity(point.y, chart.y_unit) +
                      (point.is_bound ? ")" : "");
  if (point.low && point.high && !point.is_bound)
    value += fmt::format(" [{} … {}]", quantity(*point.low, chart.y_unit),
                         quantity(*point.high, chart.y_unit));
  if (point.samples != 0) value += fmt::format(", n\u00a0=\u00a0{}", grouped(point.samples));
  Text tip = joined(name, same((name.en.empty() ? "" : "; ") + x + value));
  return point.note.en.empty() ? tip : joined(joined(tip, same(", ")), point.note);
}

}  // namespace

void open_point(const Chart& chart, const Point& point, const Text& name, std::string_view css,
                std::string& out) {
  const Text tip = point_tip(chart, point, name);
  // Points of a comparison have no trials behind them to open.
  const std::string_view role = point.row.empty() && point.trials.empty() ? "img" : "button";
  out.append(fmt::format("<g class=\"pt {}\" role=\"{}\" tabindex=\"-1\" aria-label=\"{}\" {}", css,
                         role, escape(tip.en), tip_attributes(tip)));
  if (!point.row.empty()) out.append(fmt::format(" data-row=\"{}\"", escape(point.row)));
  if (!point.trials.empty()) out.append(fmt::format(" data-trials=\"{}\"", escape(point.trials)));
  out.append(">");
}

void append_legend(const Chart& chart, std::string& out) {
  if (chart.series.empty() || (chart.series.size() == 1 && chart.series[0].name.en.empty())) return;
  out.append("<ul class=\"legend\">");
  if (!chart.line_title.en.empty())
    out.append("<li>").append(both(chart.line_title)).append(":</li>");
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    out.append(
        fmt::format("<li class=\"{}{}\"><svg viewBox=\"0 0 30 14\" width=\"30\" height=\"14\" "
                    "aria-hidden=\"true\">",
                    series_class(i), chart.series[i].is_dashed ? " dashed" : ""));
    if (chart.kind == ChartKind::kBars) {
      out.append("<rect class=\"bar\" x=\"6\" y=\"1\" width=\"18\" height=\"12\"/>");
    } else {
      out.append("<line class=\"line\" x1=\"1\" x2=\"29\" y1=\"7\" y2=\"7\"/>");
      if (chart.series[i].has_markers) append_marker(i, 15, 7, false, out);
    }
    out.append("</svg> ").append(both(chart.series[i].name)).append("</li>");
  }
  out.append("</ul>\n");
}

std::string shortened(std::string_view text, std::size_t limit) {
  std::size_t characters = 0, end = 0, cut = 0;
  while (end < text.size()) {
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80) {
      if (characters == limit - 1) cut = end;
      if (characters == limit) return std::string(text.substr(0, cut)) + "…";
      ++characters;
    }
    ++end;
  }
  return std::string(text);
}

Text shortened(const Text& text, std::size_t limit) {
  return {shortened(text.en, limit), shortened(text.ru, limit)};
}

}  // namespace merlon::lab::report
