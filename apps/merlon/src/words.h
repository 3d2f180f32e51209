// SPDX-License-Identifier: Apache-2.0
#pragma once
// Look-ups in the command table that parsing, help and completion share. Pure; any thread.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace merlon::cli {

std::vector<std::string_view> split_words(std::string_view text);
// The command's own options, those of lists and the global ones; only the latter for no command.
std::vector<const Option*> options_of(const Command* command);
const Option* find_option(const Command* command, std::string_view word);
// The command of exactly this path or nothing; `next` gets the words that may follow.
const Command* find_command(std::span<const std::string> path, std::vector<std::string>* next);

}  // namespace merlon::cli
