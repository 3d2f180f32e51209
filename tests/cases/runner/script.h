// SPDX-License-Identifier: Apache-2.0
#pragma once
// case.txt as statements: lines with their place, blocks, comments, arithmetic in `${...}`.
// docs/test-cases.md is the reference. Values, one thread.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::cases {

struct Statement {
  std::string keyword;
  std::string rest;            // behind the keyword, trimmed; may hold line ends of continued lines
  base::SourcePos where;       // of the keyword
  base::SourcePos rest_where;  // of `rest`
  std::vector<Statement> body;  // of `repeat` and `together`
};

// `file` is the name that places carry. The first error ends the work.
base::Result<std::vector<Statement>> parse_script(std::string_view text, const std::string& file);

using Variables = std::map<std::string, long long>;

// `${i}`, `${40000+i*2}`: whole numbers with + - * / % and parentheses.
base::Result<std::string> expand_numbers(std::string_view text, const Variables& variables,
                                         const base::SourcePos& where);

// Words separated by blanks; double quotes keep blanks together and are taken off.
std::vector<std::string> split_words(std::string_view text);
// The first word, taken off `text` with the blanks behind it.
std::string take_word(std::string_view& text);
std::string_view trim(std::string_view text);
// "250ms", "30s", "5m", "2h", "1d" in nanoseconds; negative when it is none of these.
long long parse_duration(std::string_view text);
// Nanoseconds since the epoch of "2026-12-01T12:00:00Z"; negative when the text is something else.
long long parse_time(std::string_view text);

}  // namespace merlon::cases
