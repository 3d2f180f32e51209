// SPDX-License-Identifier: Apache-2.0
// Commands that are other programs': the client becomes merlond or merlon-lab.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "api.h"
#include "verbs.h"

namespace merlon::cli {
namespace {

// The program of that name beside this one, else the one on PATH.
std::string program_path(const char* name) {
  std::error_code problem;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (!problem) {
    const auto beside = self.parent_path() / name;
    if (::access(beside.c_str(), X_OK) == 0) return beside.string();
  }
  return name;
}

// Returns only when the program can't be started.
int become(const Invocation& call, const char* name, std::vector<std::string> words) {
  words.insert(words.begin(), program_path(name));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return fail(call, {base::Errc::kIo,
                     fmt::format("can't start {}: {}", words[0], std::strerror(errno)),
                     {},
                     fmt::format("{} must be beside merlon or on PATH", name)});
}

}  // namespace

int run_daemon(const Invocation& call) {
  std::vector<std::string> words{std::string(call.command->path)};
  if (!call.command->is_passed) {  // explain: its options were taken apart already
    for (const auto& [name, values] : call.options)
      for (const std::string& value : values) {
        words.push_back(name);
        if (!value.empty()) words.push_back(value);
      }
  }
  words.insert(words.end(), call.words.begin(), call.words.end());
  return become(call, "merlond", std::move(words));
}

int config_explain(const Invocation& call) {
  std::vector<std::string> words{"explain-key"};
  words.insert(words.end(), {"-o", call.value("--output", "table")});
  words.insert(words.end(), call.words.begin(), call.words.end());
  return become(call, "merlond", std::move(words));
}

int run_lab(const Invocation& call) {
  std::vector<std::string> words{
      std::string(call.command->path.substr(call.command->path.find(' ') + 1))};
  words.insert(words.end(), call.words.begin(), call.words.end());
  return become(call, "merlon-lab", std::move(words));
}

}  // namespace merlon::cli
