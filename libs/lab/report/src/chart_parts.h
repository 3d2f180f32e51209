// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the drawings of all chart kinds share: the plot's place, axes, markers, tooltips.
// control-only.
#include <string>
#include <string_view>

#include "chart.h"
#include "scale.h"

namespace merlon::lab::report {

inline constexpr double kChartWidth = 760;

struct Plot {
  double left = 78, right = kChartWidth - 36, top = 14, bottom = 320, height = 372;
};

// A coordinate with one decimal; always finite.
std::string place(double value);

void open_svg(const Chart& chart, double height, std::string& out);
void append_x_axis(const Chart& chart, const Plot& plot, const Scale& scale, std::string& out);
void append_y_axis(const Chart& chart, const Plot& plot, const Scale& scale, std::string& out);
void append_references(const Chart& chart, const Plot& plot, const Scale& y, std::string& out);
// "delay, us" without its unit: axes and tables choose theirs by the values.
Text unitless(const Text& title, Unit unit);
// The same, with the unit where ticks don't carry it (per cent, bytes).
Text axis_title(const Text& title, Unit unit);
std::string tick_text(double value, Unit unit);
std::string percentile_text(double x);

// Class names "s0".."s7" give colour and dash, "again" another dash from the ninth on; the marker's
// shape changes with the same number.
std::string series_class(std::size_t series);
void append_marker(std::size_t series, double x, double y, bool is_hollow, std::string& out);
void append_bound_marker(double x, double y, std::string& out);
void append_whisker(double x, double low, double high, std::string& out);
// Opens and closes the group that is clicked, reached by keyboard and told by screen readers.
void open_point(const Chart& chart, const Point& point, const Text& name, std::string_view css,
                std::string& out);
void append_legend(const Chart& chart, std::string& out);

// Cuts at a whole character and ends in an ellipsis.
std::string shortened(std::string_view text, std::size_t limit);
Text shortened(const Text& text, std::size_t limit);

void draw_lines(const Chart& chart, std::string& out);
void draw_bars(const Chart& chart, std::string& out);
void draw_heat(const Chart& chart, std::string& out);
void draw_boxes(const Chart& chart, std::string& out);
void draw_ratios(const Chart& chart, std::string& out);

}  // namespace merlon::lab::report
