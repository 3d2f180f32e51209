// SPDX-License-Identifier: Apache-2.0
// Commands on the files of runs.
#include "commands.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "merlon/lab_device/device.h"
#include "merlon/lab_report/baseline.h"
#include "merlon/lab_report/compare.h"
#include "merlon/lab_report/terminal.h"
#include "merlon/lab_run/outputs.h"

namespace merlon::lab {

using base::Errc;
using base::Error;

int fail(const Error& error) {
  fmt::print(stderr, "merlon-lab: {}\n", error.to_string());
  if (error.code == Errc::kRefused) return kRefused;
  if (error.code == Errc::kConflict) return kConflict;
  return error.code == Errc::kTimeout ? kTimedOut : kFailed;
}

int report_command(const std::string& folder, Language language) {
  auto run = rebuild_run(folder);
  if (!run) return fail(run.error());
  const base::Errors problems = write_outputs(*run, folder, language);
  for (const Error& error : problems) fmt::print(stderr, "merlon-lab: {}\n", error.to_string());
  fmt::print("{}", render_summary(*run, terminal_options(language)));
  return problems.empty() ? kDone : kFailed;
}

namespace {

// Where no row has a partner nothing was compared: that must not read as "nothing got worse".
int exit_code_of(const Comparison& comparison) {
  const bool has_rows = std::any_of(comparison.runs.begin(), comparison.runs.end(),
                                    [](const RunComparison& run) { return !run.rows.empty(); });
  return has_rows || comparison.exit_code() != kDone ? comparison.exit_code() : kRefused;
}

}  // namespace

int compare_command(const std::vector<std::string>& folders, bool is_forced,
                    const std::string& html, Language language) {
  std::vector<Run> runs;
  for (const std::string& folder : folders) {
    auto run = load_run(folder);
    if (!run) return fail(run.error());
    runs.push_back(std::move(*run));
  }
  CompareOptions options;
  options.is_forced = is_forced;
  auto comparison = compare(runs, options);
  if (!comparison) return fail(comparison.error());
  fmt::print("{}", render_comparison(*comparison, terminal_options(language)));
  if (!html.empty())
    if (auto written = write_comparison(*comparison, html, {language}); !written)
      return fail(written.error());
  return exit_code_of(*comparison);
}

int baseline_save_command(const std::string& folder, const std::string& store) {
  auto run = load_run(folder);
  if (!run) return fail(run.error());
  auto saved = save_baseline(store, *run);
  if (!saved) return fail(saved.error());
  fmt::print("{}\n", *saved);
  return kDone;
}

int baseline_list_command(const std::string& store, Language language) {
  auto list = list_baselines(store);
  if (!list) return fail(list.error());
  bool is_whole = true;
  for (const StoredBaseline& one : *list) {
    if (one.error) {
      fmt::print(stderr, "merlon-lab: {}: {}\n", one.path, one.error->to_string());
      is_whole = false;
      continue;
    }
    const char* rows = language == Language::kRussian ? "строк" : "rows";
    fmt::print("{:<18} {:%Y-%m-%d %H:%M}  {:>3} {}  {}, {}  {}\n", one.plan,
               fmt::localtime(static_cast<std::time_t>(one.started)), one.row_count, rows,
               one.machine, one.cpu, one.path);
  }
  return is_whole ? kDone : kFailed;
}

int baseline_check_command(const std::string& folder, const std::string& store, double threshold,
                           Language language) {
  auto run = load_run(folder);
  if (!run) return fail(run.error());
  CompareOptions options;
  options.practical = threshold;
  auto comparison = check_baseline(store, *run, options);
  if (!comparison) return fail(comparison.error());
  fmt::print("{}", render_comparison(*comparison, terminal_options(language)));
  return exit_code_of(*comparison);
}

int clean_command() {
  for (const std::string& gone : clean_leftovers()) fmt::print("{}\n", gone);
  return kDone;
}

}  // namespace merlon::lab
