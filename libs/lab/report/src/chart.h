// SPDX-License-Identifier: Apache-2.0
#pragma once
// Charts as values, and their drawing. A chart becomes a figure: heading, legend, SVG, and the same
// figures as a table below it. Series differ by colour, marker and dash together, so that no
// meaning hangs on colour. control-only. Cost: a few microseconds per point.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format.h"
#include "merlon/lab_report/compare.h"

namespace merlon::lab::report {

struct Point {
  double x = 0, y = 0;
  std::optional<double> low, high;  // whisker
  bool is_hollow = false;     // contaminated, tester-limited or irregular: not to be believed alone
  bool is_bound = false;      // no event: y is the upper bound 3/n
  std::uint64_t samples = 0;  // frames, or trials where one value is one trial
  std::string row, trials;    // what a click opens: a row's id, ids of trials with spaces between
  Text note;                  // stamps and the like, part of the tooltip
};

struct Series {
  Text name;
  std::vector<Point> points;  // ascending in x for lines
  bool has_markers = true;
  bool is_dashed = false;
  bool is_limit = false;       // to compare with, not measured: drawn whatever is left out
  std::optional<double> knee;  // x where the line bends
};

struct ReferenceLine {
  Text name;
  double y = 0;
};

// The five numbers of a box and the values themselves.
struct Box {
  Text name;
  double minimum = 0, quartile1 = 0, median = 0, quartile3 = 0, maximum = 0;
  std::vector<Point> values;
};

struct HeatCell {
  std::size_t column = 0, line = 0;
  Point point;
};

// A ratio with its interval (low and high of the point) against what equal things differ here.
struct RatioLine {
  Text name, detail;  // two lines of text before the line, the second may be empty
  Text figure;        // what the ratio is of, below the verdict; may be empty
  Point point;        // y is the ratio
  double noise = 0;   // equal things lie within 1 - noise .. 1 + noise; 0: not known
  Verdict verdict = Verdict::kUnclear;
  std::vector<Point> values;  // the single pairs
};

enum class ChartKind : std::uint8_t { kLines, kBars, kHeat, kBox, kRatios };

struct Chart {
  std::string id;
  ChartKind kind = ChartKind::kLines;
  Text title, note;
  Text x_title, y_title;
  Unit x_unit = Unit::kNone, y_unit = Unit::kNone;
  bool is_log_x = false, is_log_y = false;
  bool is_percentile_x = false;  // x is 1/(1-p)
  std::vector<Text> categories;  // of bars (Point::x is the index), columns of a heat map
  std::vector<Text> lines;       // of a heat map
  Text line_title;               // what its lines or the series are
  std::vector<Series> series;
  std::vector<ReferenceLine> references;
  std::vector<Box> boxes;
  std::vector<HeatCell> cells;
  std::vector<RatioLine> ratios;
};

[[nodiscard]] bool is_empty(const Chart& chart) noexcept;

// More lines or groups of bars are not drawn: nobody can tell them apart. The table of figures
// below the drawing holds all, and a note says so.
inline constexpr std::size_t kMaxLines = 16;  // every colour twice, with other markers and dashes
inline constexpr std::size_t kMaxBars = 64;

// Appends the figure. A chart without a point becomes a sentence that says so.
void append_chart(const Chart& chart, std::string& out);

}  // namespace merlon::lab::report
