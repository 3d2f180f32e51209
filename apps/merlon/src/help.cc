// SPDX-License-Identifier: Apache-2.0
// Help and reference page, made from the command table.
#include <fmt/format.h>

#include <algorithm>

#include "verbs.h"
#include "words.h"

namespace merlon::cli {
namespace {

std::string option_form(const Option& o) {
  std::string form = o.letter != 0 ? fmt::format("-{}, {}", o.letter, o.name) : std::string(o.name);
  if (!o.value.empty()) form += fmt::format(" {}", o.value);
  return form;
}

std::string option_lines(const std::vector<Option>& options) {
  std::string out;
  for (const Option& o : options) out += fmt::format("  {:<24} {}\n", option_form(o), o.help);
  return out;
}

std::string form_of(const Command& c) {
  return fmt::format("merlon {}{}{}", c.path, c.arguments.empty() ? "" : " ", c.arguments);
}

std::string one_command(const Command& c) {
  std::string out = fmt::format("{}\n\n{}.\n", form_of(c), c.help);
  if (!c.details.empty()) out += fmt::format("\n{}\n", c.details);
  if (!c.options.empty()) out += "\noptions\n" + option_lines(c.options);
  if (c.has_list) out += "\noptions of lists\n" + option_lines(list_options());
  if (!c.is_passed) out += "\noptions of every command\n" + option_lines(global_options());
  return out;
}

constexpr std::string_view kExitCodes =
    "0 done, 1 failed, 2 usage, 3 check found errors, 4 not connected, 5 refused, 6 conflict, 7 "
    "time-out";

std::string escape_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string option_table(const std::vector<Option>& options) {
  std::string out = "| option | meaning |\n| --- | --- |\n";
  for (const Option& o : options)
    out += fmt::format("| `{}` | {} |\n", escape_cell(option_form(o)), escape_cell(o.help));
  return out;
}

}  // namespace

std::string help_text(std::string_view path) {
  std::string out;
  std::size_t width = 0;
  std::vector<const Command*> below;
  for (const Command& c : commands()) {
    if (c.path == path) return one_command(c);
    const bool is_below =
        path.empty() ||
        (c.path.starts_with(path) && c.path.size() > path.size() && c.path[path.size()] == ' ');
    if (!is_below || c.is_hidden) continue;
    below.push_back(&c);
    width = std::max(width, c.path.size());
  }
  if (below.empty()) return {};
  if (path.empty()) out = "merlon: the Merlon firewall's client\n\n";
  for (const Command* c : below)
    out += fmt::format("  merlon {:<{}}  {}\n", c->path, width, c->help);
  if (path.empty())
    out += fmt::format(
        "\noptions of every command\n{}\nmerlon help COMMAND tells all about a command.\n"
        "Exit codes: {}.\n",
        option_lines(global_options()), kExitCodes);
  return out;
}

std::string reference_markdown() {
  std::string out =
      "# Commands of merlon\n\nThis page is made by `merlon __reference` from the program's "
      "command "
      "table.\n\nData goes to standard output, messages to standard error. Exit codes: ";
  out += kExitCodes;
  out += ".\n\n## Options of every command\n\n" + option_table(global_options());
  out += "\n## Options of lists\n\n" + option_table(list_options());
  for (const Command& c : commands()) {
    if (c.is_hidden) continue;
    std::string help(c.help);
    help[0] = static_cast<char>(help[0] >= 'a' && help[0] <= 'z' ? help[0] - 'a' + 'A' : help[0]);
    out += fmt::format("\n## merlon {}\n\n    {}\n\n{}.\n", c.path, form_of(c), help);
    if (!c.details.empty()) out += fmt::format("\n{}\n", c.details);
    if (c.has_list) out += "\nTakes the options of lists.\n";
    if (!c.options.empty()) out += "\n" + option_table(c.options);
  }
  return out;
}

int print_reference(const Invocation& call) {
  call.print(reference_markdown());
  return kDone;
}

int print_help(const Invocation& call) {
  std::string path;
  for (const std::string& word : call.words) path += (path.empty() ? "" : " ") + word;
  const std::string text = help_text(path);
  if (text.empty()) {
    // The parser knows what was probably meant.
    const auto parsed = parse(call.words);
    call.message("merlon: error: " +
                 (parsed ? "no help for \"" + path + "\""
                         : parsed.error().message + " (" + parsed.error().hint + ")"));
    return kUsage;
  }
  call.print(text);
  return kDone;
}

}  // namespace merlon::cli
