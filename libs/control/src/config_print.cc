// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/config_print.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "yaml_messages.h"

namespace merlon::control {

using base::Error;
using base::Errors;

namespace {

constexpr std::size_t kWidest = 160;  // characters of a source line that are shown

// Starts of lines, made once per file.
class Lines {
 public:
  explicit Lines(const Bundle& sources) {
    for (const SourceFile& f : sources.files) {
      std::vector<std::size_t>& starts = starts_[f.name];
      texts_[f.name] = f.text;
      starts.push_back(0);
      for (std::size_t i = f.text.find('\n'); i != std::string::npos; i = f.text.find('\n', i + 1))
        starts.push_back(i + 1);
    }
  }
  [[nodiscard]] std::optional<std::string_view> line(const base::SourcePos& where) const {
    const auto found = starts_.find(where.file);
    if (found == starts_.end() || where.line == 0 || where.line > found->second.size())
      return std::nullopt;
    const std::string_view text = texts_.at(found->first);
    const std::size_t from = found->second[where.line - 1];
    std::string_view line = text.substr(from, std::min(text.find('\n', from), text.size()) - from);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

 private:
  std::map<std::string_view, std::vector<std::size_t>> starts_;
  std::map<std::string_view, std::string_view> texts_;
};

// At most kWidest characters of the line from the `first` on, with tabs, control characters and
// byte order marks as spaces, bytes that are no UTF-8 as U+FFFD, so that one character is one
// column. A line may have as many bytes as the file.
std::string characters_of(std::string_view line, std::size_t first, std::size_t& count) {
  std::string out;
  count = 0;
  for (std::size_t i = 0, place = 0; i < line.size() && count < kWidest; ++place) {
    const std::size_t length = utf8_length(line, i);
    const auto c = static_cast<unsigned char>(line[i]);
    if (place >= first) {
      ++count;
      if (length == 0) {
        out += "\xef\xbf\xbd";
      } else if (c < 0x20 || c == 0x7f || line.substr(i, 3) == "\xef\xbb\xbf") {
        out += ' ';
      } else {
        out += line.substr(i, length);
      }
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

void print_excerpt(std::string& out, std::string_view line, const Error& e) {
  const std::size_t column = e.where.column == 0 ? 0 : e.where.column - 1;
  // Long lines are shown around the place.
  const std::size_t first = column + 1 > kWidest ? column - kWidest / 2 : 0;
  std::size_t count = 0;
  std::string shown = characters_of(line, first, count);
  while (shown.ends_with(' ')) shown.pop_back();
  const std::size_t room = std::max(first + count, column + 1) - column;
  const std::size_t wanted =
      e.where.end_column > e.where.column ? e.where.end_column - e.where.column : 1;
  out += fmt::format("  {:>4} |{}{}\n       | {}{}{}{}\n", e.where.line, shown.empty() ? "" : " ",
                     shown, std::string(column - first, ' '),
                     std::string(std::min(wanted, room), '^'), e.hint.empty() ? "" : " ", e.hint);
}

void print(std::string& out, const Error& e, std::string_view severity, std::string_view colour,
           const Lines& lines, const PrintOptions& options) {
  if (e.where.has_place()) {
    out += fmt::format("{}:{}:{}: ", e.where.file, e.where.line, e.where.column);
  } else if (!e.where.file.empty()) {
    out += e.where.file + ": ";
  }
  out += options.use_colour ? fmt::format("\x1b[{}m{}:\x1b[0m {}\n", colour, severity, e.message)
                            : fmt::format("{}: {}\n", severity, e.message);
  const auto line = lines.line(e.where);
  if (line) {
    print_excerpt(out, *line, e);
  } else if (!e.hint.empty()) {
    out += fmt::format("       {}\n", e.hint);
  }
}

}  // namespace

std::string count_findings(std::size_t error_count, std::size_t warning_count) {
  std::string out;
  if (error_count != 0 || warning_count == 0)
    out = fmt::format("{} error{}", error_count, error_count == 1 ? "" : "s");
  if (warning_count != 0)
    out += fmt::format("{}{} warning{}", out.empty() ? "" : ", ", warning_count,
                       warning_count == 1 ? "" : "s");
  return out;
}

std::string format_findings(const Errors& errors, const Errors& warnings, const Bundle& sources,
                            const PrintOptions& options) {
  const Lines lines(sources);
  std::string out;
  for (const Error& e : errors) print(out, e, "error", "31", lines, options);
  for (const Error& e : warnings) print(out, e, "warning", "33", lines, options);
  out += count_findings(errors.size(), warnings.size());
  if (!options.outcome.empty()) out += fmt::format("; {}", options.outcome);
  out += '\n';
  return out;
}

std::string findings_to_json(const Errors& errors, const Errors& warnings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const auto add = [&](const Error& e, std::string_view severity) {
    nlohmann::ordered_json j;
    j["severity"] = severity;
    j["code"] = base::errc_name(e.code);
    j["message"] = e.message;
    if (!e.where.file.empty()) j["file"] = e.where.file;
    if (e.where.has_place())
      j["line"] = e.where.line, j["column"] = e.where.column, j["end_column"] = e.where.end_column;
    if (!e.hint.empty()) j["hint"] = e.hint;
    if (!e.path.empty()) j["path"] = e.path;
    list.push_back(std::move(j));
  };
  for (const Error& e : errors) add(e, "error");
  for (const Error& e : warnings) add(e, "warning");
  return list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace merlon::control
