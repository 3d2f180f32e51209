// SPDX-License-Identifier: Apache-2.0
// `merlon-lab run`: a plan from its name, a file, or the folder of an interrupted run.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "commands.h"
#include "merlon/lab_host/stop_signals.h"
#include "merlon/lab_report/terminal.h"
#include "merlon/lab_run/manager.h"
#include "merlon/lab_run/outputs.h"
#include "merlon/lab_run/plan.h"
#include "progress.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

int print_errors(const base::Errors& errors) {
  for (const Error& error : errors) fmt::print(stderr, "{}\n", error.to_string());
  return kCheckFailed;
}

// A plan by name or path; the errors of a file all at once.
struct FoundPlan {
  Plan plan;
  base::Errors errors;
};

FoundPlan find_plan(const std::string& name) {
  FoundPlan found;
  const bool is_path =
      name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
  if (!is_path) {
    auto plan = built_in_plan(name);
    if (plan) {
      found.plan = std::move(*plan);
    } else {
      found.errors.push_back(plan.error());
    }
    return found;
  }
  std::ifstream file(name);
  if (!file) {
    found.errors.push_back({Errc::kNotFound, fmt::format("can't read {}", name), {}, "", {}});
    return found;
  }
  std::stringstream text;
  text << file.rdbuf();
  PlanFile read = read_plan(text.str(), name);
  found.plan = std::move(read.plan);
  found.errors = std::move(read.errors);
  return found;
}

std::string default_folder(const std::string& plan) {
  return fmt::format("merlon-lab/{}-{:%Y%m%d-%H%M%S}", plan, fmt::localtime(std::time(nullptr)));
}

int finish(const RunOutcome& outcome, const std::filesystem::path& folder,
           const RunArguments& arguments) {
  if (outcome.run.id.empty()) return fail(outcome.errors.front());
  for (const Error& error : outcome.errors)
    fmt::print(stderr, "merlon-lab: {}\n", error.to_string());
  const base::Errors problems = write_outputs(outcome.run, folder, arguments.language);
  for (const Error& error : problems) fmt::print(stderr, "merlon-lab: {}\n", error.to_string());
  if (!arguments.is_quiet) {
    fmt::print("{}", render_summary(outcome.run, terminal_options(arguments.language)));
    fmt::print("\n{}\n", (folder / "report.html").string());
  }
  if (!outcome.errors.empty() || !problems.empty() || outcome.run.is_partial) return kFailed;
  return kDone;
}

}  // namespace

int show_plan_command(const std::string& plan) {
  const FoundPlan found = find_plan(plan);
  if (!found.errors.empty()) {
    if (found.errors.front().code == Errc::kNotFound) return fail(found.errors.front());
    return print_errors(found.errors);
  }
  fmt::print("{}", print_plan(found.plan));
  return kDone;
}

int run_command(const RunArguments& arguments) {
  RunOptions options;
  Plan plan;
  if (!arguments.resume.empty()) {
    options.is_resumed = true;
    options.folder = arguments.resume;
    auto kept = plan_of(options.folder);
    if (!kept) return fail(kept.error());
    plan = std::move(*kept);
  } else {
    FoundPlan found = find_plan(arguments.plan);
    if (!found.errors.empty()) {
      if (found.errors.front().code == Errc::kNotFound) return fail(found.errors.front());
      return print_errors(found.errors);
    }
    plan = std::move(found.plan);
    if (auto chosen = choose_rows(plan, arguments.only); !chosen) return fail(chosen.error());
    options.folder = arguments.out.empty() ? default_folder(plan.name) : arguments.out;
  }
  if (!arguments.budget.empty()) {
    auto budget = parse_seconds(arguments.budget);
    if (!budget) return fail(budget.error());
    options.budget_s = *budget;
  }
  if (::geteuid() != 0)
    return fail(
        {Errc::kRefused, "network namespaces need root", {}, "sudo merlon lab run ...", {}});
  options.seed = arguments.seed;
  options.command = arguments.command;
  std::signal(SIGPIPE, SIG_IGN);
  const StopSignals signals;
  const std::unique_ptr<Services> services = machine_services(arguments.merlond);
  RunOutcome outcome;
  {
    TerminalProgress progress(::isatty(STDERR_FILENO) != 0, arguments.is_quiet, arguments.language);
    outcome = run_plan(plan, options, *services, progress, signals.flag());
  }
  return finish(outcome, options.folder, arguments);
}

}  // namespace merlon::lab
