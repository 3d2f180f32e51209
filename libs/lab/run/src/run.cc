// SPDX-License-Identifier: Apache-2.0
// A run from its folder: journal made or taken up, manager, end.
#include <fmt/format.h>

#include <fstream>
#include <random>
#include <sstream>

#include "manager.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

constexpr const char* kPlanFile = "plan.yaml";

// Five letters and digits: namespaces, links and scratch folders carry it.
std::string new_run_id() {
  std::random_device entropy;
  std::string id;
  for (int i = 0; i < 5; ++i) id += "abcdefghijkmnpqrstuvwxyz23456789"[entropy() % 32];
  return id;
}

Run header(const Plan& plan, const RunOptions& options, Services& services) {
  Run run;
  run.id = new_run_id();
  run.plan = plan.name;
  run.title = plan.title;
  run.question = plan.question;
  run.started = services.now();
  run.budget_s = options.budget_s > 0 ? options.budget_s : plan.budget_s;
  run.seed = options.seed;
  run.command = options.command;
  run.environment = services.environment();
  run.charts = plan.charts;
  return run;
}

Result<void> keep_plan(const std::filesystem::path& folder, const Plan& plan) {
  std::ofstream file(folder / kPlanFile);
  file << print_plan(plan);
  file.close();
  if (file) return {};
  return Error{Errc::kIo,
               fmt::format("can't write {}", (folder / kPlanFile).string()),
               {},
               "is the disk full?",
               {}};
}

Result<std::unique_ptr<Book>> open_book(const Plan& plan, const RunOptions& options,
                                        Services& services) {
  if (options.is_resumed) return Book::resume(options.folder, plan_hash(plan), services.now());
  auto book = Book::create(options.folder, header(plan, options, services), plan_hash(plan));
  if (book)
    if (auto kept = keep_plan(options.folder, plan); !kept) return kept.error();
  return book;
}

}  // namespace

Result<Plan> plan_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / kPlanFile);
  if (!file)
    return Error{Errc::kNotFound,
                 fmt::format("{} has no plan.yaml", folder.string()),
                 {},
                 "--resume wants the folder that an interrupted `merlon lab run` wrote",
                 {}};
  std::stringstream text;
  text << file.rdbuf();
  PlanFile read = read_plan(text.str(), (folder / kPlanFile).string());
  if (!read.errors.empty()) return read.errors.front();
  return std::move(read.plan);
}

RunOutcome run_plan(const Plan& plan, const RunOptions& options, Services& services,
                    Observer& observer, const std::atomic<bool>& stop) {
  RunOutcome outcome;
  auto book = open_book(plan, options, services);
  if (!book) {
    outcome.errors.push_back(book.error());
    return outcome;
  }
  for (const Text& note : (*book)->notes()) observer.note(note);
  for (const std::string& gone : services.clean())
    observer.note({"removed what an earlier run left: " + gone,
                   "удалено оставшееся от прежнего запуска: " + gone});
  observer.started((*book)->run(), (*book)->run().budget_s);
  Manager manager(plan, options, services, observer, stop, **book);
  const Result<void> done = manager.run();
  Text reason;
  if (stop) {
    reason = {
        "interrupted by the user; go on with: merlon lab run --resume " + options.folder.string(),
        "прервано пользователем; продолжить: merlon lab run --resume " + options.folder.string()};
  } else if (!done) {
    reason = {done.error().message, done.error().message};
  }
  const bool is_partial = stop || !done;
  const auto kept = (*book)->end(is_partial, reason, services.now());
  if (!done) outcome.errors.push_back(done.error());
  if (done && !kept) outcome.errors.push_back(kept.error());
  outcome.run = std::move((*book)->run());
  return outcome;
}

}  // namespace merlon::lab
