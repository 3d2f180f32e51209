// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plain-text tables for terminals. control-only.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace merlon::lab::report {

// Columns a text takes: one per character; wide characters don't occur in this room's texts.
std::size_t text_width(std::string_view text);

enum class Colour : std::uint8_t { kNone, kGood, kBad, kWarn, kSoft };

struct TextCell {
  std::string text;
  Colour colour = Colour::kNone;
  bool is_number = false;  // stands to the right
};

struct TextTable {
  std::vector<std::string> head;
  std::vector<std::vector<TextCell>> rows;
};

// Fits `width` by shortening the widest columns first; a column keeps at least six characters.
std::string render_text_table(const TextTable& table, std::size_t width, bool has_colour);
std::string coloured(std::string_view text, Colour colour, bool has_colour);
// Without control characters: names of a stranger's file must not move the cursor.
std::string printable(std::string_view text);

}  // namespace merlon::lab::report
