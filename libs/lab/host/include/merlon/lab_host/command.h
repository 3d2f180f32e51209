// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs run to their end, without a shell: the laboratory's hands on the host (ip, nft,
// ovs-vsctl). Stateless functions, control-only, any thread. A command costs a fork and exec, one
// to five milliseconds here.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::lab {

using Argv = std::vector<std::string>;

struct CommandOutput {
  int exit_code = 0;  // 128 + signal when a signal ended it, as shells count
  std::string out, err;
};

inline constexpr std::chrono::milliseconds kCommandTimeout{20'000};
// Bytes kept of each stream; what comes beyond is read and thrown away.
inline constexpr std::size_t kMaxCommandOutput = std::size_t{16} * 1024 * 1024;

// Runs to the end, however it ends. kNotFound when the program is not there, kTimeout (the program
// and its children are killed) or kIo. `input` is given to its standard input.
base::Result<CommandOutput> run_to_end(const Argv& argv, std::string_view input = {},
                                       std::chrono::milliseconds timeout = kCommandTimeout);

// The same, and an exit code other than 0 is an error with the program's own first lines in it.
// Gives what was printed.
base::Result<std::string> run_command(const Argv& argv, std::string_view input = {},
                                      std::chrono::milliseconds timeout = kCommandTimeout);

// Path of a program in $PATH, /usr/sbin or /sbin; a text with a slash is looked at as it is. Empty:
// not there.
std::string find_program(std::string_view name);

// The words quoted for a POSIX shell, ready to paste.
std::string shell_text(const Argv& argv);

// The words before and behind one another: {"ip", "-n", ns} + {...}.
Argv operator+(Argv left, const Argv& right);

}  // namespace merlon::lab
