// SPDX-License-Identifier: Apache-2.0
#include "html.h"

#include <fmt/core.h>

#include <cstdint>

namespace merlon::lab::report {
namespace {

constexpr std::string_view kReplacement = "\ufffd";

// Length of the well-formed UTF-8 sequence at `i`, 0 when there is none (RFC 3629 table 3.7 of
// Unicode).
std::size_t sequence_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(text[k]); };
  const std::uint8_t first = byte(i);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  const std::uint8_t second = byte(i + 1);
  if (first == 0xe0 && second < 0xa0) return 0;
  if (first == 0xed && second > 0x9f) return 0;  // surrogates
  if (first == 0xf0 && second < 0x90) return 0;
  if (first == 0xf4 && second > 0x8f) return 0;
  return length;
}

template <class Special>
void append_checked(std::string_view text, std::string& out, Special&& special) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    if (length == 0) {
      out.append(kReplacement);
      ++i;
      continue;
    }
    if (length > 1 || !special(text[i])) out.append(text.substr(i, length));
    i += length;
  }
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  append_checked(text, out, [&](char c) {
    switch (c) {
      case '&':
        out.append("&amp;");
        return true;
      case '<':
        out.append("&lt;");
        return true;
      case '>':
        out.append("&gt;");
        return true;
      case '"':
        out.append("&quot;");
        return true;
      case '\'':
        out.append("&#39;");
        return true;
      case '\n':
      case '\t':
        return false;
      case '\r':
        return true;
      default:
        break;
    }
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) return false;
    out.append(kReplacement);
    return true;
  });
  return out;
}

void append_json_string(std::string_view text, std::string& out) {
  out.push_back('"');
  append_checked(text, out, [&](char c) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      return false;
    }
    if (code >= 0x20 && c != '<' && c != '>' && c != '&' && code != 0x7f) return false;
    out.append(fmt::format("\\u{:04x}", code));
    return true;
  });
  out.push_back('"');
}

std::string both(const Text& text) {
  if (text.en == text.ru || text.ru.empty()) return escape(text.en);
  if (text.en.empty()) return escape(text.ru);
  return fmt::format("<span lang=\"en\">{}</span><span lang=\"ru\">{}</span>", escape(text.en),
                     escape(text.ru));
}

std::string both_svg(const Text& text, std::string_view attributes) {
  if (text.en == text.ru || text.ru.empty() || text.en.empty())
    return fmt::format("<text {}>{}</text>", attributes,
                       escape(text.en.empty() ? text.ru : text.en));
  return fmt::format("<text lang=\"en\" {}>{}</text><text lang=\"ru\" {}>{}</text>", attributes,
                     escape(text.en), attributes, escape(text.ru));
}

std::string tip_attributes(const Text& text) {
  return fmt::format("data-en=\"{}\" data-ru=\"{}\"", escape(text.en),
                     escape(text.ru.empty() ? text.en : text.ru));
}

std::string number_cell(std::string_view text) { return kNumber + std::string(text); }

namespace {

void append_cell(std::string_view tag, std::string_view cell, std::string_view scope,
                 std::string& out) {
  const bool is_number = !cell.empty() && cell[0] == kNumber;
  out.append("<").append(tag);
  if (!scope.empty()) out.append(" scope=\"").append(scope).append("\"");
  if (is_number) out.append(" class=\"n\"");
  out.append(">").append(is_number ? cell.substr(1) : cell).append("</").append(tag).append(">");
}

}  // namespace

void append_table(const Table& table, std::string& out) {
  out.append("<div class=\"scroll\" tabindex=\"0\"><table");
  if (!table.id.empty()) out.append(" id=\"").append(table.id).append("\"");
  if (!table.css.empty()) out.append(" class=\"").append(table.css).append("\"");
  out.append(">");
  if (!table.caption.en.empty())
    out.append("<caption>").append(both(table.caption)).append("</caption>");
  out.append("<thead><tr>");
  for (const std::string& cell : table.head) append_cell("th", cell, "col", out);
  out.append("</tr></thead><tbody>\n");
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    out.append("<tr");
    if (r < table.row_attributes.size() && !table.row_attributes[r].empty())
      out.append(" ").append(table.row_attributes[r]);
    out.append(">");
    bool is_first = true;
    for (const std::string& cell : table.rows[r]) {
      append_cell(is_first ? "th" : "td", cell, is_first ? "row" : "", out);
      is_first = false;
    }
    out.append("</tr>\n");
  }
  out.append("</tbody></table></div>\n");
}

std::string make_id(std::string_view prefix, std::string_view text) {
  std::string out(prefix);
  for (const char c : text) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    if (is_plain)
      out.push_back(c);
    else
      out.append(fmt::format("_{:02x}", static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace merlon::lab::report
