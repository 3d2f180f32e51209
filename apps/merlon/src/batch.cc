// SPDX-License-Identifier: Apache-2.0
#include "batch.h"

#include <fmt/format.h>

#include <istream>

namespace merlon::cli {

base::Result<std::vector<std::string>> split_line(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool has_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
      has_word = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      has_word = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (has_word) words.push_back(std::move(word));
      word.clear();
      has_word = false;
    } else if (c == '#' && !has_word) {
      break;
    } else {
      word += c;
      has_word = true;
    }
  }
  if (quote != 0)
    return base::Error{base::Errc::kInvalidValue, fmt::format("{} is not closed", quote)};
  if (has_word) words.push_back(std::move(word));
  return words;
}

int run_batch(std::istream& in, const Output& output) {
  unsigned number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto words = split_line(line);
    int code = kUsage;
    if (!words) {
      output.messages(fmt::format("merlon: error: {}", words.error().message));
    } else {
      code = words->empty() ? static_cast<int>(kDone) : run(*words, output);
    }
    if (code != kDone) {
      output.messages(fmt::format("merlon: stopped at line {}", number));
      return code;
    }
  }
  return kDone;
}

}  // namespace merlon::cli
