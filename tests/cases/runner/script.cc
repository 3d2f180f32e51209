// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>

namespace merlon::cases {
namespace {

using base::Errc;
using base::Error;
using base::SourcePos;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// A `#` that begins a comment: at the start or behind a blank, outside of a string.
std::size_t comment_at(std::string_view line) {
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) is_quoted = !is_quoted;
    if (line[i] == '#' && !is_quoted && (i == 0 || is_blank(line[i - 1]))) return i;
  }
  return line.size();
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : file_(file) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      lines_.emplace_back(line.substr(0, comment_at(line)));
      at = end + 1;
    }
  }

  base::Result<std::vector<Statement>> parse() {
    std::vector<Statement> out;
    if (auto done = block(out, {}); !done) return done.error();
    return out;
  }

 private:
  [[nodiscard]] SourcePos place(std::size_t line, std::size_t column) const {
    return {file_, static_cast<unsigned>(line + 1), static_cast<unsigned>(column + 1), 0};
  }

  // One statement's text with its continued lines; next_ moves behind it.
  std::string take_statement(std::size_t& first) {
    first = next_;
    std::string text = lines_[next_++];
    while (!trim(text).empty() && trim(text).back() == '\\' && next_ < lines_.size()) {
      text.resize(text.rfind('\\'));
      text += "\n" + lines_[next_++];
    }
    return text;
  }

  base::Result<void> block(std::vector<Statement>& out, const std::optional<SourcePos>& opened) {
    while (next_ < lines_.size()) {
      std::size_t line = 0;
      const std::string text = take_statement(line);
      std::string_view left = trim(text);
      if (left.empty()) continue;
      if (left == "}") {
        if (opened) return {};
        return Error{.code = Errc::kInvalidValue,
                     .message = "} without a block",
                     .where = place(line, text.find('}'))};
      }
      const std::size_t column = text.find_first_not_of(" \t");
      Statement s;
      s.where = place(line, column);
      const bool has_block =
          left.back() == '{' && (left.size() < 2 || left[left.size() - 2] != '$');
      if (has_block) left = trim(left.substr(0, left.size() - 1));
      const std::string_view before = left;
      s.keyword = take_word(left);
      s.rest = left;
      s.rest_where = place(line, column + (before.size() - left.size()));
      out.push_back(std::move(s));
      if (!has_block) continue;
      if (auto done = block(out.back().body, out.back().where); !done) return done;
    }
    if (!opened) return {};
    return Error{.code = Errc::kInvalidValue,
                 .message = "the block has no end",
                 .where = *opened,
                 .hint = "close it by a line with }"};
  }

  std::string file_;
  std::vector<std::string> lines_;
  std::size_t next_ = 0;
};

// Recursive descent over one expression; `ok` turns false at the first thing that is not
// understood.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, const Variables& variables)
      : text_(text), variables_(variables) {}
  std::optional<long long> value() {
    const long long v = sum();
    if (!ok_ || peek() != '\0') return std::nullopt;
    return v;
  }

 private:
  char peek() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  long long sum() {
    long long v = product();
    for (char c = peek(); c == '+' || c == '-'; c = peek()) {
      ++at_;
      const long long w = product();
      v = c == '+' ? v + w : v - w;
    }
    return v;
  }
  long long product() {
    long long v = atom();
    for (char c = peek(); c == '*' || c == '/' || c == '%'; c = peek()) {
      ++at_;
      const long long w = atom();
      if (c != '*' && w == 0) ok_ = false;
      if (!ok_) return 0;
      v = c == '*' ? v * w : c == '/' ? v / w : v % w;
    }
    return v;
  }
  long long atom() {
    const char c = peek();
    if (c == '(') {
      ++at_;
      const long long v = sum();
      ok_ = ok_ && peek() == ')';
      ++at_;
      return v;
    }
    const std::size_t first = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string word(text_.substr(first, at_ - first));
    if (const auto found = variables_.find(word); found != variables_.end()) return found->second;
    long long v = 0;
    const auto r = std::from_chars(word.data(), word.data() + word.size(), v);
    ok_ = ok_ && !word.empty() && r.ec == std::errc{} && r.ptr == word.data() + word.size();
    return v;
  }

  std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string take_word(std::string_view& text) {
  text = trim(text);
  std::size_t end = 0;
  while (end < text.size() && !is_blank(text[end])) ++end;
  std::string word(text.substr(0, end));
  text = trim(text.substr(end));
  return word;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool is_quoted = false, is_open = false;
  for (const char c : text) {
    if (!is_quoted && is_blank(c)) {
      is_open = false;
      continue;
    }
    if (!is_open) words.emplace_back();
    is_open = true;
    if (c == '"') {
      is_quoted = !is_quoted;
    } else {
      words.back() += c;
    }
  }
  return words;
}

base::Result<std::vector<Statement>> parse_script(std::string_view text, const std::string& file) {
  return Parser(text, file).parse();
}

base::Result<std::string> expand_numbers(std::string_view text, const Variables& variables,
                                         const SourcePos& where) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find("${", at);
    out += text.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = text.find('}', begin);
    const std::string_view inside =
        text.substr(begin + 2, end == std::string_view::npos ? end : end - begin - 2);
    const auto value = Arithmetic(inside, variables).value();
    if (end == std::string_view::npos || !value)
      return Error{.code = Errc::kInvalidValue,
                   .message = fmt::format("\"${{{}}}\" is no sum of numbers", inside),
                   .where = where,
                   .hint = "numbers, + - * / %, parentheses, and `i` inside of repeat"};
    out += std::to_string(*value);
    at = end + 1;
  }
  return out;
}

long long parse_duration(std::string_view text) {
  constexpr long long kSecond = 1'000'000'000;
  long long n = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), n);
  const std::string_view unit(r.ptr, static_cast<std::size_t>(text.data() + text.size() - r.ptr));
  if (r.ec != std::errc{} || n < 0) return -1;
  if (unit == "ms") return n * 1'000'000;
  if (unit == "s") return n * kSecond;
  if (unit == "m") return n * 60 * kSecond;
  if (unit == "h") return n * 3600 * kSecond;
  if (unit == "d") return n * 86'400 * kSecond;
  return -1;
}

long long parse_time(std::string_view text) {
  int y = 0, h = 0, m = 0, s = 0;
  unsigned mo = 0, d = 0;
  if (std::sscanf(std::string(text).c_str(), "%d-%u-%uT%d:%d:%dZ", &y, &mo, &d, &h, &m, &s) != 6)
    return -1;
  const std::chrono::year_month_day date{std::chrono::year{y}, std::chrono::month{mo},
                                         std::chrono::day{d}};
  if (!date.ok()) return -1;
  const long long days = std::chrono::sys_days{date}.time_since_epoch().count();
  return (((days * 24 + h) * 60 + m) * 60 + s) * 1'000'000'000LL;
}

}  // namespace merlon::cases
