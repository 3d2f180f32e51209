// SPDX-License-Identifier: Apache-2.0
#include "yaml_messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace merlon::control {

using base::Errc;
using base::Error;

namespace {

struct Translation {
  std::string_view library;  // how the library's message starts
  std::string_view message;
  std::string_view hint;
};

constexpr std::string_view kIndentation =
    "the indentation of this line does not fit the lines above it";
constexpr std::string_view kIndentationHint = "keys of one section start in one column";
constexpr std::string_view kQuoteHint = "put the value in quotes when the character belongs to it";

constexpr std::array kTranslations{
    Translation{"illegal map value", "a \":\" can't stand here",
                "put the value in quotes when it contains \": \""},
    Translation{"illegal map key", "a \"?\" or a key can't stand here", kIndentationHint},
    Translation{"illegal block entry", "a list item \"- \" can't stand here",
                "items of one list start in one column"},
    Translation{"illegal flow end", "a closing bracket has no opening one", kQuoteHint},
    Translation{"end of map not found", kIndentation, kIndentationHint},
    Translation{"end of sequence not found", kIndentation,
                "items of one list start in one column with \"- \""},
    Translation{"end of map flow not found", "a \"{\" is not closed, or a \",\" is missing",
                "write {key: value, key: value}"},
    Translation{"end of sequence flow not found", "a \"[\" is not closed, or a \",\" is missing",
                "write [one, two, three]"},
    Translation{"illegal EOF in scalar", "a quoted text is not closed", "add the closing quote"},
    Translation{"illegal document indicator in scalar", "a quoted text is not closed",
                "add the closing quote"},
    Translation{"illegal character in scalar",
                "this character can't stand in a value without quotes", kQuoteHint},
    Translation{"illegal tab when looking for indentation", "a tab can't be used for indentation",
                "use spaces"},
    Translation{"unknown token", "this character can't start a value", kQuoteHint},
    Translation{"unknown escape character", "unknown escape sequence in a text in double quotes",
                "write \\\\ for a backslash or use single quotes"},
    Translation{"bad character found while scanning hex number",
                "an escape sequence has a wrong hexadecimal digit",
                "write \\\\ for a backslash or use single quotes"},
    Translation{"invalid unicode", "an escape sequence names no character", ""},
    Translation{"character found while scanning alias", "a value can't start with \"*\"",
                kQuoteHint},
    Translation{"alias not found after *", "a value can't start with \"*\"", kQuoteHint},
    Translation{"illegal character found while scanning alias", "a value can't start with \"*\"",
                kQuoteHint},
    Translation{"the referenced anchor is not defined", "aliases (\"*name\") are not supported",
                "write the value out"},
    Translation{"anchor not found after &", "a value can't start with \"&\"", kQuoteHint},
    Translation{"illegal character found while scanning anchor", "a value can't start with \"&\"",
                kQuoteHint},
    Translation{"cannot assign the same alias", "anchors (\"&name\") are not supported",
                "write the value out"},
    Translation{"cannot assign multiple", "tags and anchors are not supported",
                "write the value out"},
    Translation{"aliases can't have any content", "aliases (\"*name\") are not supported",
                "write the value out"},
    Translation{"illegal character found while scanning tag", "tags (\"!name\") are not supported",
                "to negate a name put it in quotes: \"!name\""},
    Translation{"tag handle with no suffix", "tags (\"!name\") are not supported",
                "to negate a name put it in quotes: \"!name\""},
    Translation{"end of verbatim tag not found", "tags (\"!<name>\") are not supported",
                "to negate a name put it in quotes: \"!name\""},
    Translation{"unexpected character in block scalar",
                "nothing but a comment may follow \"|\" or \">\"", ""},
    Translation{"cannot set zero indentation", "a text after \"|\" or \">\" can't be indented by 0",
                ""},
    Translation{"YAML", "a line that starts with \"%\" can't stand here", "remove the line"},
    Translation{"bad YAML version", "a line that starts with \"%\" can't stand here",
                "remove the line"},
    Translation{"repeated", "a line that starts with \"%\" can't stand here", "remove the line"},
    Translation{"TAG", "a line that starts with \"%\" can't stand here", "remove the line"},
};

constexpr std::size_t kMaxCharacterErrors = 20;
constexpr unsigned kMaxOpenBrackets = 1000;

// The one word that a line consists of, when it is one; it may be a key that lacks its colon.
std::string_view word_without_colon(std::string_view text, std::size_t line) noexcept {
  for (std::size_t i = 1; i < line; ++i)
    text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  text = text.substr(0, text.find('\n'));
  const std::size_t from = std::min(text.find_first_not_of(" -"), text.size());
  text = text.substr(
      from, text.find_last_not_of(" \r") + 1 - std::min(from, text.find_last_not_of(" \r") + 1));
  return text.size() <= 63 && text.find_first_of(" :#[]{},\"'") == std::string_view::npos
             ? text
             : std::string_view();
}

}  // namespace

std::size_t utf8_length(std::string_view s, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < s.size() ? static_cast<unsigned char>(s[at + i]) : 0U;
  };
  const unsigned b0 = byte(0);
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  if (b0 < 0x80) return 1;
  if (b0 >= 0xc2 && b0 <= 0xdf) return tail(1) ? 2 : 0;
  if (b0 >= 0xe0 && b0 <= 0xef) {
    if (!tail(1) || !tail(2)) return 0;
    if (b0 == 0xe0 && byte(1) < 0xa0) return 0;
    if (b0 == 0xed && byte(1) > 0x9f) return 0;
    return 3;
  }
  if (b0 >= 0xf0 && b0 <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (b0 == 0xf0 && byte(1) < 0x90) return 0;
    if (b0 == 0xf4 && byte(1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

bool check_characters(const SourceFile& file, base::Errors& errors) {
  const std::string_view s = file.text;
  const std::size_t before = errors.size();
  unsigned line = 1, column = 1;
  unsigned open = 0;  // brackets, those in quoted texts and comments too
  bool is_indentation = true;
  const auto fail = [&](std::string message, std::string hint) {
    if (errors.size() - before < kMaxCharacterErrors)
      errors.push_back(Error{.code = Errc::kInvalidValue,
                             .message = std::move(message),
                             .where = {file.name, line, column, column + 1},
                             .hint = std::move(hint)});
  };
  if (s.starts_with("\xef\xbb\xbf"))
    fail("the file starts with a byte order mark", "save it as UTF-8 without one");
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t length = utf8_length(s, i);
    const auto c = static_cast<unsigned char>(s[i]);
    if (length == 0) {
      fail(fmt::format("byte 0x{:02x} is not UTF-8", c), "save the file as UTF-8");
      ++i, ++column;
      is_indentation = false;
      continue;
    }
    if (c == '\n') {
      ++line, column = 1, ++i;
      is_indentation = true;
      continue;
    }
    // The library's scanner keeps all that stands in open brackets. No text that is meant has more.
    if (c == '[' || c == '{') {
      if (++open > kMaxOpenBrackets) {
        fail(fmt::format("more than {} brackets are open", kMaxOpenBrackets),
             "lists and sections can't be nested so deep");
        return false;
      }
    } else if ((c == ']' || c == '}') && open > 0) {
      --open;
    }
    if (c == '\t' && is_indentation) {
      fail("a tab can't be used for indentation", "use spaces");
      is_indentation = false;
    } else if ((c < 0x20 && c != '\t' && !(c == '\r' && i + 1 < s.size() && s[i + 1] == '\n')) ||
               c == 0x7f) {
      fail(fmt::format("control character 0x{:02x}", c), "remove it");
    }
    if (c != ' ') is_indentation = false;
    i += length, ++column;
  }
  return errors.size() == before;
}

Error syntax_error(const YAML::Exception& exception, const SourceFile& file, Place place,
                   const Place& bracket) {
  Error error{.code = Errc::kInvalidValue, .message = "this is not valid YAML"};
  if (dynamic_cast<const YAML::ParserException*>(&exception) == nullptr ||
      exception.msg.find("recursion") != std::string::npos)
    error.message = fmt::format("nested deeper than {} levels", kMaxDepth);
  for (const Translation& t : kTranslations) {
    if (!std::string_view(exception.msg).starts_with(t.library)) continue;
    error.message = t.message;
    error.hint = t.hint;
    break;
  }
  if (exception.msg.find("flow not found") != std::string::npos && bracket.line != 0) {
    if (place.line != 0 && place.line != bracket.line)
      error.hint += fmt::format("; noticed at line {}", place.line);
    place = bracket;
  }
  if (exception.msg.starts_with("illegal map value") && place.line > 1)
    if (const std::string_view key = word_without_colon(file.text, place.line - 1); !key.empty())
      error.hint = fmt::format("the key \"{}\" in line {} lacks its \":\"", key, place.line - 1);
  if (place.line == 0) {
    place.line =
        static_cast<std::uint32_t>(std::count(file.text.begin(), file.text.end(), '\n')) + 1;
    place.column = 1;
    place.end_column = 2;
  }
  error.where = {file.name, place.line, place.column, std::max(place.end_column, place.column + 1)};
  return error;
}

}  // namespace merlon::control
