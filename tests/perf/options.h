// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options of merlon_perf: `--name value` pairs with defaults. control-only.
#include <cstdlib>
#include <map>
#include <string>

namespace merlon::perf {

struct Options {
  std::map<std::string, std::string> values;

  [[nodiscard]] const std::string& text(const std::string& name) const { return values.at(name); }
  [[nodiscard]] std::uint64_t number(const std::string& name) const {
    return std::strtoull(values.at(name).c_str(), nullptr, 10);
  }
  [[nodiscard]] double real(const std::string& name) const {
    return std::strtod(values.at(name).c_str(), nullptr);
  }
};

// merlon_perf's commands; each prints JSON, one object per line.
int run_live(const Options& options);
int run_scaling(const Options& options);
int run_commit(const Options& options);
int run_classifier(const Options& options);
int run_equality(const Options& options);
int run_allocations(const Options& options);
int run_instructions(const Options& options);
int run_memory(const Options& options);

}  // namespace merlon::perf
