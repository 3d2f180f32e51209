// SPDX-License-Identifier: Apache-2.0
// Commands that are the daemon's: the client becomes merlond.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "api.h"
#include "verbs.h"

namespace merlon::cli {
namespace {

// The merlond beside this program, else the one on PATH.
std::string daemon_path() {
  std::error_code problem;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (!problem) {
    const auto beside = self.parent_path() / "merlond";
    if (::access(beside.c_str(), X_OK) == 0) return beside.string();
  }
  return "merlond";
}

}  // namespace

int run_daemon(const Invocation& call) {
  std::vector<std::string> words{daemon_path(), std::string(call.command->path)};
  if (!call.command->is_passed) {  // explain: its options were taken apart already
    for (const auto& [name, values] : call.options)
      for (const std::string& value : values) {
        words.push_back(name);
        if (!value.empty()) words.push_back(value);
      }
  }
  words.insert(words.end(), call.words.begin(), call.words.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return fail(call, {base::Errc::kIo,
                     fmt::format("can't start {}: {}", words[0], std::strerror(errno)),
                     {},
                     "merlond must be beside merlon or on PATH"});
}

}  // namespace merlon::cli
