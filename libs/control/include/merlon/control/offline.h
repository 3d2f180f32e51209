// SPDX-License-Identifier: Apache-2.0
#pragma once
// `merlon check` and `merlon explain -c`: a configuration judged without running it. Output on
// stdout, findings on stderr; both return the process's exit code (3: the configuration has
// errors).
#include <string>
#include <vector>

namespace merlon::control {

struct CheckOptions {
  std::string config_file;
  std::string output = "text";  // or "json"
};
int run_check(const CheckOptions& options);

struct ExplainOptions {
  std::string config_file;
  std::string output = "text";
  std::vector<std::string> words;  // "packet", then as in client/packet_words.h
};
int run_explain(const ExplainOptions& options);

}  // namespace merlon::control
