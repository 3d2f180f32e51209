// SPDX-License-Identifier: Apache-2.0
#pragma once
// trials.csv: one line per trial for spreadsheets and data frames (RFC 4180, UTF-8, "." as decimal
// point). The columns are listed in docs/lab/report.md and stay in this order; new ones are added
// at the end. control-only. Cost: about 5 us per trial.
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab {

// Head and lines, each ended by CR LF. A value that a trial doesn't have is an empty field. Text
// that a spreadsheet would take for a formula gets a leading apostrophe.
std::string trials_csv(const Run& run);
base::Result<void> write_trials_csv(const Run& run, const std::string& path);

// Names of the columns in their order.
const std::vector<std::string>& trial_columns();

}  // namespace merlon::lab
