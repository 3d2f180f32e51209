// SPDX-License-Identifier: Apache-2.0
// The laboratory's program: options and wiring. `merlon lab ...` starts it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "commands.h"
#include "merlon/base/log.h"

namespace {

using namespace merlon::lab;

// What the command line says, all commands together.
struct Arguments {
  RunArguments run;
  std::string language = "en";
  std::string plan, folder, html, store = "merlon-lab/baselines";
  std::vector<std::string> folders;
  bool is_forced = false;
  double threshold = 0.05;
};

void add_language(CLI::App& command, Arguments& arguments) {
  command.add_option("--lang", arguments.language, "language of texts")
      ->check(CLI::IsMember({"en", "ru"}));
}

void add_run(CLI::App& app, Arguments& arguments) {
  RunArguments& run = arguments.run;
  CLI::App& command = *app.add_subcommand("run", "run a plan");
  auto* plan =
      command.add_option("plan", run.plan, "a plan's name (merlon lab list) or a YAML file");
  // A resumed run keeps what it was begun with, or it would come to another end.
  auto* resume =
      command.add_option("--resume", run.resume, "go on with the interrupted run of this folder")
          ->excludes(plan);
  command
      .add_option("--budget", run.budget,
                  "time for the whole run, such as 10m; default: the plan's")
      ->excludes(resume);
  command.add_option("--out", run.out, "folder for the results; default: ./merlon-lab/PLAN-TIME")
      ->excludes(resume);
  command.add_option("--seed", run.seed, "seed of everything that is random")->excludes(resume);
  command.add_option("--only", run.only, "only rows whose id starts so; may be given again")
      ->excludes(resume);
  command.add_option("--merlond", run.merlond,
                     "the daemon to measure; default: beside this program");
  command.add_flag("-q,--quiet", run.is_quiet, "no progress, no summary");
  add_language(command, arguments);
}

void add_files(CLI::App& app, Arguments& arguments) {
  CLI::App& report =
      *app.add_subcommand("report", "write a run's files again from its journal or result");
  report.add_option("folder", arguments.folder, "folder of a run")->required();
  add_language(report, arguments);
  CLI::App& compare =
      *app.add_subcommand("compare", "compare runs; exit code 1 when a later one is worse");
  compare.add_option("runs", arguments.folders, "folders of runs, the reference first")
      ->required()
      ->expected(2, 16);
  compare.add_flag("--force", arguments.is_forced, "also runs of different machines or devices");
  compare.add_option("--html", arguments.html, "write the comparison as a page, too");
  add_language(compare, arguments);
}

void add_baseline(CLI::App& app, Arguments& arguments) {
  CLI::App& baseline = *app.add_subcommand("baseline", "keep runs to judge later ones by");
  baseline.require_subcommand(1);
  CLI::App* save =
      baseline.add_subcommand("save", "keep this run as the baseline of its plan and machine");
  CLI::App* list = baseline.add_subcommand("list", "the baselines of a store");
  CLI::App* check =
      baseline.add_subcommand("check", "compare with the baseline; exit code 1 when worse");
  for (CLI::App* one : {save, check})
    one->add_option("folder", arguments.folder, "folder of a run")->required();
  for (CLI::App* one : {save, list, check})
    one->add_option("--store", arguments.store, "folder of the baselines")->capture_default_str();
  check->add_option("--threshold", arguments.threshold, "smallest relative change that counts")
      ->capture_default_str();
  add_language(*list, arguments);
  add_language(*check, arguments);
}

int start_run(const Arguments& arguments, Language language, int argc, char** argv) {
  RunArguments run = arguments.run;
  if (run.plan.empty() == run.resume.empty()) {
    fmt::print(stderr, "merlon-lab: name a plan, or a folder to resume\n");
    return kUsage;
  }
  run.language = language;
  for (int i = 1; i < argc; ++i) run.command += std::string(i == 1 ? "merlon lab " : " ") + argv[i];
  return run_command(run);
}

int baseline_command(const CLI::App& baseline, const Arguments& arguments, Language language) {
  if (baseline.got_subcommand("save"))
    return baseline_save_command(arguments.folder, arguments.store);
  if (baseline.got_subcommand("list")) return baseline_list_command(arguments.store, language);
  return baseline_check_command(arguments.folder, arguments.store, arguments.threshold, language);
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Measures software switches and firewalls: topologies, traffic, searches, reports.",
               "merlon lab"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(MERLON_VERSION));
  Arguments arguments;
  add_run(app, arguments);
  CLI::App* list =
      app.add_subcommand("list", "plans, suites and devices; what is absent here, and why");
  add_language(*list, arguments);
  app.add_subcommand("show-plan", "print a plan as YAML, to start one's own from")
      ->add_option("plan", arguments.plan, "a plan's name or a YAML file")
      ->required();
  add_files(app, arguments);
  add_baseline(app, arguments);
  app.add_subcommand("clean", "take away what killed runs left: namespaces and processes");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? kDone : kUsage;
  }
  const Language language = arguments.language == "ru" ? Language::kRussian : Language::kEnglish;
  if (app.got_subcommand("run")) return start_run(arguments, language, argc, argv);
  if (app.got_subcommand(list)) return list_command(language);
  if (app.got_subcommand("show-plan")) return show_plan_command(arguments.plan);
  if (app.got_subcommand("report")) return report_command(arguments.folder, language);
  if (app.got_subcommand("compare"))
    return compare_command(arguments.folders, arguments.is_forced, arguments.html, language);
  if (app.got_subcommand("baseline"))
    return baseline_command(*app.get_subcommand("baseline"), arguments, language);
  return clean_command();
}

}  // namespace

int main(int argc, char** argv) {
  // Ports tell of every link that comes up; a run opens hundreds.
  merlon::base::set_log_level(merlon::base::LogLevel::kError);
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "merlon-lab: %s\n", problem.what());
    return kFailed;
  }
}
