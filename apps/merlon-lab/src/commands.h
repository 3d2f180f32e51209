// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program's commands. Each returns an exit code of docs/reference/commands.md; messages go to
// stderr.
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_report/report.h"

namespace merlon::lab {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kCheckFailed = 3,
  kRefused = 5,
  kConflict = 6,
  kTimedOut = 7
};

struct RunArguments {
  std::string plan, budget, out, resume, merlond;
  std::vector<std::string> only;
  std::uint64_t seed = 1;
  Language language = Language::kEnglish;
  bool is_quiet = false;
  std::string command;  // as typed
};

int run_command(const RunArguments& arguments);
int list_command(Language language);
int show_plan_command(const std::string& plan);
int report_command(const std::string& folder, Language language);
int compare_command(const std::vector<std::string>& folders, bool is_forced,
                    const std::string& html, Language language);
int baseline_save_command(const std::string& folder, const std::string& store);
int baseline_list_command(const std::string& store, Language language);
int baseline_check_command(const std::string& folder, const std::string& store, double threshold,
                           Language language);
int clean_command();

// Prints the error with its hint; the exit code that fits it.
int fail(const base::Error& error);

}  // namespace merlon::lab
