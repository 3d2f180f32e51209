// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "batch.h"
#include "command.h"

namespace {

bool g_has_output_failed = false;

// False when nobody reads any more; a full disk is told.
bool write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      if (errno != EPIPE) {
        g_has_output_failed = true;
        std::fprintf(stderr, "merlon: error: can't write the output: %s\n", std::strerror(errno));
      }
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  // `merlon show sessions | head` ends quietly: writes fail with EPIPE instead.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const merlon::cli::Output output{write_out,
                                   [](std::string_view line) { std::cerr << line << '\n'; },
                                   ::isatty(STDOUT_FILENO) == 1};
  try {
    int code = merlon::cli::kDone;
    if (!words.empty()) {
      code = merlon::cli::run(words, output);
    } else if (::isatty(STDIN_FILENO) == 1) {
      output.data(merlon::cli::help_text({}));
    } else {
      code = merlon::cli::run_batch(std::cin, output);
    }
    return g_has_output_failed && code == merlon::cli::kDone ? merlon::cli::kFailed : code;
  } catch (const std::exception& problem) {
    std::cerr << "merlon: error: " << problem.what() << '\n';
    return merlon::cli::kFailed;
  }
}
