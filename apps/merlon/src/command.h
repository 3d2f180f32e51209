// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command table of `merlon`, and everything made from it: parsing, help, completion, reference
// page. The table is the only place where a command or an option is named. immutable after start;
// parsing is linear.
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::cli {

// Documented in docs/reference/commands.md; scripts rely on them.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kCheckFailed = 3,
  kNotConnected = 4,
  kRefused = 5,
  kConflict = 6,
  kTimedOut = 7,
};

// What the shell may offer in a place.
enum class Complete : std::uint8_t {
  kNothing,
  kFile,
  kFormat,
  kColor,
  kRule,
  kZone,
  kPort,
  kState,
  kReason,
  kRevision,
  kFilter,   // key=value words of a session filter
  kExplain,  // "packet" or "session", then zones and protocols
  kShell,
};

struct Option {
  std::string_view name;        // "--confirm"
  char letter = 0;              // 'c' for "-c"
  std::string_view value = {};  // "MIN"; empty: a flag
  std::string_view help = {};
  Complete complete = Complete::kNothing;
  bool is_many = false;  // may be given again
};

struct Invocation;

struct Command {
  std::string_view path = {};       // "show sessions"
  std::string_view arguments = {};  // "[FILTER...]"
  std::string_view help = {};       // one line
  std::string_view details = {};    // further text; may be empty
  unsigned min_words = 0, max_words = 0;
  Complete complete = Complete::kNothing;  // of the words
  std::vector<Option> options = {};
  bool has_list = false;   // takes the options of lists: columns, sort, limit, ...
  bool is_passed = false;  // words and options go to the other program as they are
  bool is_hidden = false;
  int (*run)(const Invocation&) = nullptr;
};

// Where results and messages go; tests put strings here.
struct Output {
  std::function<bool(std::string_view)> data;      // false: the reader has gone
  std::function<void(std::string_view)> messages;  // whole lines
  bool is_terminal = false;                        // of data
};

// A command with its words, ready to run.
struct Invocation {
  const Command* command = nullptr;
  std::vector<std::string> words;
  std::map<std::string, std::vector<std::string>, std::less<>> options;  // by long name
  const Output* output = nullptr;

  [[nodiscard]] bool has(std::string_view option) const { return options.contains(option); }
  // The last value, or `otherwise`.
  [[nodiscard]] std::string value(std::string_view option, std::string_view otherwise = {}) const;
  void message(std::string_view line) const;
  bool print(std::string_view text) const { return output->data(text); }
};

const std::vector<Command>& commands();
const std::vector<Option>& global_options();  // every command has them
const std::vector<Option>& list_options();    // commands with has_list

// Words after the program's name to an invocation; what is wrong is kInvalidValue with a hint.
base::Result<Invocation> parse(std::span<const std::string> words);

// Parses and runs; messages end with a newline, the exit code comes back.
int run(std::span<const std::string> words, const Output& output);

// All commands, those below a prefix, or one of them.
std::string help_text(std::string_view path);
std::string reference_markdown();

// What fits as the last word: "word\thelp" lines. `ask` gets names from the daemon by type ("rule",
// ...).
using AskNames = std::function<std::vector<std::string>(std::string_view type)>;
std::vector<std::string> complete(std::span<const std::string> words, const AskNames& ask);
std::string completion_script(std::string_view shell);  // empty for a shell that isn't known

}  // namespace merlon::cli
