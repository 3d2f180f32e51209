// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_run/outputs.h"

#include <fstream>

#include "merlon/lab_model/journal.h"
#include "merlon/lab_model/json.h"
#include "merlon/lab_report/csv.h"
#include "merlon/lab_report/terminal.h"

namespace merlon::lab {

using base::Errors;
using base::Result;

Errors write_outputs(const Run& run, const std::filesystem::path& folder, Language language) {
  Errors errors;
  const auto keep = [&](const Result<void>& done) {
    if (!done) errors.push_back(done.error());
  };
  keep(write_run((folder / "result.json").string(), run));
  keep(write_report(run, (folder / "report.html").string(), {language}));
  keep(write_trials_csv(run, (folder / "trials.csv").string()));
  TerminalOptions plain;
  plain.language = language;
  std::ofstream summary(folder / "summary.txt");
  summary << render_summary(run, plain);
  summary.close();
  if (!summary)
    errors.push_back({base::Errc::kIo,
                      "can't write " + (folder / "summary.txt").string(),
                      {},
                      "is the disk full?",
                      {}});
  return errors;
}

Result<Run> load_run(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return read_run(path.string());
  const auto result = path / "result.json", journal = path / "journal.jsonl";
  // A journal that was written on is newer than the result of the run's first part.
  std::error_code problem;
  if (std::filesystem::exists(result, problem) &&
      (!std::filesystem::exists(journal, problem) ||
       std::filesystem::last_write_time(result, problem) >=
           std::filesystem::last_write_time(journal, problem)))
    return read_run(result.string());
  auto read = read_journal(journal.string());
  if (!read) return read.error();
  return std::move(read->run);
}

}  // namespace merlon::lab
