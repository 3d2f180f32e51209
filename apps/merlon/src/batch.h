// SPDX-License-Identifier: Apache-2.0
#pragma once
// Commands from a pipe, one a line. Stops at the first that fails, like a script under `set -e`.
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace merlon::cli {

// Words of a line: blanks part, '...' and "..." keep together, a backslash takes the next letter as
// it is, "#" at the start of a word ends the line. kInvalidValue for an open quote.
base::Result<std::vector<std::string>> split_line(std::string_view line);

int run_batch(std::istream& in, const Output& output);

}  // namespace merlon::cli
