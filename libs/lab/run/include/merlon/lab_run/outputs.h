// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a run in its folder: result.json, trials.csv, report.html, summary.txt, beside the
// journal they are made from. control-only.
#include <filesystem>
#include <string>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"
#include "merlon/lab_report/report.h"

namespace merlon::lab {

// Writes all of them; one that can't be written does not keep the others back. Returns what went
// wrong.
base::Errors write_outputs(const Run& run, const std::filesystem::path& folder, Language language);

// The run of a folder or of a result file: result.json, or rebuilt from the journal of a run that
// was cut short.
base::Result<Run> load_run(const std::filesystem::path& path);

// The run of a folder as its journal has it, whatever became of result.json; that one where there
// is no journal.
base::Result<Run> rebuild_run(const std::filesystem::path& path);

}  // namespace merlon::lab
