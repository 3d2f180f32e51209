// SPDX-License-Identifier: Apache-2.0
#pragma once
// Baselines: what a plan gave on a machine once, kept in a folder as one small JSON file per plan
// and machine, to check later runs against. The rule is compare()'s. Files are untrusted input.
// control-only.
#include <optional>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_report/compare.h"

namespace merlon::lab {

// The file that holds the baseline of this run's plan and machine in `folder`.
std::string baseline_path(const std::string& folder, const Run& run);

// Replaces the one there was. kRefused for a partial run: half a plan is no base. kIo.
base::Result<std::string> save_baseline(const std::string& folder, const Run& run);

// What a file of the folder holds, or why it can't be read.
struct StoredBaseline {
  std::string path, plan, run, machine, cpu;
  double started = 0;  // of the run, Unix time
  std::size_t row_count = 0;
  std::optional<base::Error> error;
};
// In the order of file names. kNotFound without such a folder.
base::Result<std::vector<StoredBaseline>> list_baselines(const std::string& folder);

// Compares the run with its baseline. kNotFound with the command that saves one; kInvalidValue or
// kUnsupported for a file that is none. `practical` of the options is the x of "worse by more than
// x".
base::Result<Comparison> check_baseline(const std::string& folder, const Run& run,
                                        const CompareOptions& options = {});

}  // namespace merlon::lab
