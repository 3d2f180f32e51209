// SPDX-License-Identifier: Apache-2.0
// The laboratory's program: options and wiring. `merlon lab ...` starts it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "commands.h"
#include "merlon/base/log.h"

namespace {

using namespace merlon::lab;

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Measures software switches and firewalls: topologies, traffic, searches, reports.",
               "merlon lab"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(MERLON_VERSION));
  std::string language = "en";
  const auto add_language = [&](CLI::App* command) {
    command->add_option("--lang", language, "language of texts")
        ->check(CLI::IsMember({"en", "ru"}));
  };

  RunArguments run;
  CLI::App* run_app = app.add_subcommand("run", "run a plan");
  auto* plan_option =
      run_app->add_option("plan", run.plan, "a plan's name (merlon lab list) or a YAML file");
  // A resumed run keeps what it was begun with, or it would come to another end.
  auto* resume =
      run_app->add_option("--resume", run.resume, "go on with the interrupted run of this folder")
          ->excludes(plan_option);
  run_app
      ->add_option("--budget", run.budget,
                   "time for the whole run, such as 10m; default: the plan's")
      ->excludes(resume);
  run_app->add_option("--out", run.out, "folder for the results; default: ./merlon-lab/PLAN-TIME")
      ->excludes(resume);
  run_app->add_option("--seed", run.seed, "seed of everything that is random")->excludes(resume);
  run_app->add_option("--only", run.only, "only rows whose id starts so; may be given again")
      ->excludes(resume);
  run_app->add_option("--merlond", run.merlond,
                      "the daemon to measure; default: beside this program");
  run_app->add_flag("-q,--quiet", run.is_quiet, "no progress, no summary");
  add_language(run_app);

  CLI::App* list =
      app.add_subcommand("list", "plans, suites and devices; what is absent here, and why");
  add_language(list);
  std::string plan;
  CLI::App* show = app.add_subcommand("show-plan", "print a plan as YAML, to start one's own from");
  show->add_option("plan", plan, "a plan's name or a YAML file")->required();

  std::string folder;
  CLI::App* report =
      app.add_subcommand("report", "write a run's files again from its journal or result");
  report->add_option("folder", folder, "folder of a run")->required();
  add_language(report);

  std::vector<std::string> folders;
  bool is_forced = false;
  std::string html;
  CLI::App* compare =
      app.add_subcommand("compare", "compare runs; exit code 1 when a later one is worse");
  compare->add_option("runs", folders, "folders of runs, the reference first")
      ->required()
      ->expected(2, 16);
  compare->add_flag("--force", is_forced, "also runs of different machines or devices");
  compare->add_option("--html", html, "write the comparison as a page, too");
  add_language(compare);

  CLI::App* baseline = app.add_subcommand("baseline", "keep runs to judge later ones by");
  baseline->require_subcommand(1);
  std::string store = "merlon-lab/baselines";
  double threshold = 0.05;
  CLI::App* save =
      baseline->add_subcommand("save", "keep this run as the baseline of its plan and machine");
  CLI::App* check =
      baseline->add_subcommand("check", "compare with the baseline; exit code 1 when worse");
  for (CLI::App* one : {save, check}) {
    one->add_option("folder", folder, "folder of a run")->required();
    one->add_option("--store", store, "folder of the baselines")->capture_default_str();
  }
  check->add_option("--threshold", threshold, "smallest relative change that counts")
      ->capture_default_str();
  add_language(check);
  app.add_subcommand("clean", "take away what killed runs left: namespaces and processes");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    const int code = app.exit(problem);
    return code == 0 ? kDone : kUsage;
  }
  const Language chosen = language == "ru" ? Language::kRussian : Language::kEnglish;
  if (app.got_subcommand(run_app)) {
    if (run.plan.empty() == run.resume.empty()) {
      fmt::print(stderr, "merlon-lab: name a plan, or a folder to resume\n");
      return kUsage;
    }
    run.language = chosen;
    for (int i = 1; i < argc; ++i)
      run.command += std::string(i == 1 ? "merlon lab " : " ") + argv[i];
    return run_command(run);
  }
  if (app.got_subcommand(list)) return list_command(chosen);
  if (app.got_subcommand(show)) return show_plan_command(plan);
  if (app.got_subcommand(report)) return report_command(folder, chosen);
  if (app.got_subcommand(compare)) return compare_command(folders, is_forced, html, chosen);
  if (baseline->got_subcommand(save)) return baseline_save_command(folder, store);
  if (baseline->got_subcommand(check))
    return baseline_check_command(folder, store, threshold, chosen);
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
