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

namespace {

constexpr const char* kFolderHint =
    "the folder that `merlon lab run` wrote, or its result.json, is wanted";

Result<Run> from_journal(const std::filesystem::path& journal) {
  auto read = read_journal(journal.string());
  if (!read) {
    base::Error error = read.error();
    if (error.code == base::Errc::kNotFound && error.hint.empty()) error.hint = kFolderHint;
    return error;
  }
  return std::move(read->run);
}

}  // namespace

Result<Run> load_run(const std::filesystem::path& path) {
  std::error_code problem;
  if (!std::filesystem::is_directory(path, problem)) {
    auto run = read_run(path.string());
    if (run || std::filesystem::exists(path, problem)) return run;
    base::Error error = run.error();
    error.hint = kFolderHint;
    return error;
  }
  const auto result = path / "result.json", journal = path / "journal.jsonl";
  const bool has_journal = std::filesystem::exists(journal, problem);
  // A journal that was written on is newer than the result of the run's first part.
  if (!std::filesystem::exists(result, problem) ||
      (has_journal && std::filesystem::last_write_time(result, problem) <
                          std::filesystem::last_write_time(journal, problem)))
    return from_journal(journal);
  auto run = read_run(result.string());
  if (run || !has_journal) return run;
  base::Error error = run.error();
  error.hint = "make it again from the journal: merlon lab report " + path.string();
  return error;
}

Result<Run> rebuild_run(const std::filesystem::path& path) {
  std::error_code problem;
  const auto journal = path / "journal.jsonl";
  return std::filesystem::exists(journal, problem) ? from_journal(journal) : load_run(path);
}

}  // namespace merlon::lab
