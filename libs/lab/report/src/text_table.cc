// SPDX-License-Identifier: Apache-2.0
#include "text_table.h"

#include <algorithm>
#include <numeric>

#include "chart_parts.h"

namespace merlon::lab::report {
namespace {

constexpr std::size_t kLeastWidth = 6, kGap = 2;

std::vector<std::size_t> column_widths(const TextTable& table, std::size_t width) {
  std::vector<std::size_t> widths;
  for (const std::string& h : table.head) widths.push_back(text_width(h));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i)
      widths[i] = std::max(widths[i], text_width(row[i].text));
  const std::size_t gaps = kGap * (widths.size() - 1);
  while (std::accumulate(widths.begin(), widths.end(), gaps) > width) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeastWidth) break;
    --*widest;
  }
  return widths;
}

void append_cell(const TextCell& cell, std::size_t width, bool is_last, bool has_colour,
                 std::string& out) {
  const std::string text = shortened(cell.text, width);
  const std::string padding(width - std::min(width, text_width(text)), ' ');
  if (cell.is_number) out.append(padding);
  out.append(coloured(text, cell.colour, has_colour));
  if (!cell.is_number && !is_last) out.append(padding);
  if (!is_last) out.append(kGap, ' ');
}

}  // namespace

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string coloured(std::string_view text, Colour colour, bool has_colour) {
  if (!has_colour || colour == Colour::kNone) return std::string(text);
  const char* code = colour == Colour::kGood   ? "\x1b[32m"
                     : colour == Colour::kBad  ? "\x1b[31m"
                     : colour == Colour::kWarn ? "\x1b[33m"
                                               : "\x1b[2m";
  return code + std::string(text) + "\x1b[0m";
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    // 0x80..0x9f after 0xc2 are the C1 controls.
    const bool is_c1 = code >= 0x80 && code <= 0x9f && !out.empty() &&
                       static_cast<unsigned char>(out.back()) == 0xc2;
    if (is_c1)
      out.back() = '?';
    else
      out.push_back(code < 0x20 || code == 0x7f ? ' ' : c);
  }
  return out;
}

std::string render_text_table(const TextTable& table, std::size_t width, bool has_colour) {
  if (table.head.empty()) return {};
  const std::vector<std::size_t> widths = column_widths(table, width);
  std::string out;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const bool is_number =
        !table.rows.empty() && i < table.rows[0].size() && table.rows[0][i].is_number;
    append_cell({table.head[i], Colour::kSoft, is_number}, widths[i], i + 1 == widths.size(),
                has_colour, out);
  }
  out.push_back('\n');
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      append_cell(i < row.size() ? row[i] : TextCell{}, widths[i], i + 1 == widths.size(),
                  has_colour, out);
    out.push_back('\n');
  }
  return out;
}

}  // namespace merlon::lab::report
