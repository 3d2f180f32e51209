// SPDX-License-Identifier: Apache-2.0
#pragma once
// Markup from data. Every text of a run passes escape(); what is appended besides is written in
// this room. The output is XML-like HTML (each element closed, each attribute quoted), which the
// tests rely on. control-only.
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/lab_model/run.h"

namespace merlon::lab::report {

// For element content and quoted attributes. Control characters and broken UTF-8 become U+FFFD.
std::string escape(std::string_view text);

// For the JSON that sits in a script element: quoted, and no "<" can end that element.
void append_json_string(std::string_view text, std::string& out);

// Both languages as spans that styles show one of; one text only where they are the same or one is
// missing.
std::string both(const Text& text);
// The same as SVG text elements with the given attributes.
std::string both_svg(const Text& text, std::string_view attributes);
// data-en and data-ru attributes: what the script shows as tooltip and tells to screen readers.
std::string tip_attributes(const Text& text);

// A table. Cells are markup already; a cell that starts with '\x01' is a number and stands to the
// right.
inline constexpr char kNumber = '\x01';
std::string number_cell(std::string_view text);
struct Table {
  std::string id, css;
  Text caption;                   // for screen readers
  std::vector<std::string> head;  // markup, kNumber as above
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row_attributes;  // optional, one per row
};
void append_table(const Table& table, std::string& out);

// An id that is safe in an attribute and in a link: `prefix`, then `text` with other characters
// than letters, digits and '-' as "_" and two hexadecimal digits. Different texts give different
// ids.
std::string make_id(std::string_view prefix, std::string_view text);

}  // namespace merlon::lab::report
