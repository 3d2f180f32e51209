// SPDX-License-Identifier: Apache-2.0
#pragma once
// `merlon check`, `merlon explain -c`, `merlon config explain`: what can be said without a running
// daemon. Output on stdout, findings on stderr; all return the process's exit code (3: the
// configuration has errors).
#include <string>
#include <vector>

namespace merlon::control {

struct CheckOptions {
  std::string config_file;
  std::string output = "text";  // or "json", "jsonl"; other words are text
};
int run_check(const CheckOptions& options);

struct ExplainOptions {
  std::string config_file;
  std::string output = "text";
  std::vector<std::string> words;  // "packet", then as in client/packet_words.h
};
int run_explain(const ExplainOptions& options);

struct ExplainKeyOptions {
  std::string key;  // "tcp.window", "ports.wan.mtu", "policy.rules[].action"; empty: all at the top
  std::string output = "text";
};
// Everything that is declared of one configuration key; 1 for one that does not exist.
int run_explain_key(const ExplainKeyOptions& options);

}  // namespace merlon::control
