// SPDX-License-Identifier: Apache-2.0
#pragma once
// `merlon replay`: captures through the whole engine, time from the capture, no root, no huge
// pages. Writes eve.json and summary.json into a folder and prints a summary. Deterministic: the
// same captures, configuration and options give the same bytes, with any number of workers.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::control {

struct ReplayOptions {
  std::string config_file;  // empty: one tap port, everything permitted and logged
  std::string
      policy_file;  // a file with zones, objects and policy that replaces the configuration's
  std::string out_directory = ".";  // of eve.json and summary.json
  std::string out_capture;          // frames that would leave; empty: none
  std::optional<bool> tap;          // overrides the configuration's mode: true tap, false wire
  unsigned workers = 0;             // 0: as configured
  bool community_id = false;
  bool quiet = false;                 // no summary on stdout
  std::vector<std::string> captures;  // "-" is standard input
};

// Returns the process's exit code; messages go to stderr.
int run_replay(const ReplayOptions& options);

}  // namespace merlon::control
