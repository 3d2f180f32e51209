// SPDX-License-Identifier: Apache-2.0
#include "row_at_work.h"

#include <fmt/format.h>

#include <algorithm>

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

// Trials in a row for which the sender got no time at all; more are taken for a dead port.
constexpr unsigned kMaxStarved = 3;

// Nothing was sent: on a machine that is full of others' work that says nothing about the device.
bool is_starved(const TrialResult& trial, const TrialRequest& request) {
  return trial.stamp == Stamp::kFailed && trial.frames.offered == 0 && !request.connections;
}

}  // namespace

Error interrupted() { return {Errc::kConflict, "interrupted", {}, {}, {}}; }

RowAtWork::RowAtWork(Manager& manager, Row& row, double allowance_s)
    : manager_(manager), row_(row), path_(manager.null_path(row)), allowance_s_(allowance_s) {}

double RowAtWork::seconds_left() { return allowance_s_ - used_s_; }

bool RowAtWork::is_usable(const TrialResult& trial) const {
  return trial.stamp != Stamp::kFailed &&
         (trial.stamp != Stamp::kContaminated || manager_.is_busy_);
}

double RowAtWork::tsc_hz() const { return manager_.book_.run().environment.tsc_hz; }

Result<TrialResult> RowAtWork::trial(const TrialRequest& request) {
  has_changed_device_ |= request.before != nullptr || request.during != nullptr;
  if (request.is_warm_up) warm_up_ = request;
  for (unsigned failures = 0, starved = 0;;) {
    auto result = manager_.trial(row_, fmt::format("{}.t{}", row_.id, ++trials_), request, path_,
                                 warm_up_ ? &*warm_up_ : nullptr);
    if (!result) return result.error();
    used_s_ += result->effective_s;
    if (result->stamp != Stamp::kFailed) return result;
    const std::string why = result->stamp_reasons.empty()
                                ? "the trial failed"
                                : fmt::format("{}", fmt::join(result->stamp_reasons, "; "));
    const bool is_testers = is_starved(*result, request) && ++starved <= kMaxStarved;
    if (!is_testers && ++failures > manager_.options_.max_restarts)
      return Error{Errc::kInternal,
                   fmt::format("{} ({} times; last in trial {})", why, failures, result->spec.id),
                   {},
                   "its log and commands are in the output folder",
                   {}};
    if (is_testers)
      decide(
          {fmt::format("{}: {}; the tester got no processor, again", result->spec.id, why),
           fmt::format("{}: {}; тестеру не досталось процессора, повтор", result->spec.id, why)});
    else
      decide({fmt::format("{}: {}; started again", result->spec.id, why),
              fmt::format("{}: сбой испытания ({}); устройство запущено заново", result->spec.id,
                          why)});
  }
}

Result<std::vector<TrialResult>> RowAtWork::trials(const TrialRequest& request) {
  std::vector<TrialResult> out;
  unsigned good = 0, tries = 0;
  const unsigned wanted = std::max(1U, row_.repeats);
  // Contaminated trials are done again, at most as many times as trials were asked for and while
  // there is time.
  while (good < wanted && tries < 2 * wanted) {
    // Its share of the budget is meant for good trials; as much again may go to repetitions.
    if (tries >= wanted && seconds_left() + allowance_s_ < request.duration_s) break;
    auto result = trial(request);
    if (!result) return result.error();
    ++tries;
    if (is_usable(*result)) ++good;
    out.push_back(std::move(*result));
  }
  return out;
}

Result<TrialOutcome> RowAtWork::measure(double load_pps, double duration_s, bool is_warm_up) {
  TrialRequest request;
  request.rate_pps = load_pps;
  request.duration_s = duration_s;
  request.traffic = searched_;
  request.is_warm_up = is_warm_up;
  auto result = trial(request);
  if (!result) return result.error();
  TrialOutcome outcome;
  outcome.id = result->spec.id;
  outcome.load_pps = load_pps;
  outcome.duration_s = duration_s;
  outcome.effective_s = result->effective_s;
  outcome.loss_ratio = result->loss_ratio;
  outcome.forwarding_pps = result->received_pps;
  outcome.is_usable = is_usable(*result);
  outcome.is_tester_limited = is_limited_by_tester(*result);
  return outcome;
}

Result<std::vector<GoalResult>> RowAtWork::search(const std::vector<Goal>& goals,
                                                  const TrafficSpec& traffic, double budget_s) {
  searched_ = traffic;
  SearchSettings settings;
  const auto parameter = [&](const char* name, double otherwise) {
    const auto found = row_.parameters.find(name);
    return found == row_.parameters.end() ? otherwise : found->second;
  };
  settings.minimum_pps = parameter("min_pps", 1000);
  settings.maximum_pps = parameter("max_pps", path_.ceiling_pps > 0 ? path_.ceiling_pps : 1e6);
  settings.maximum_pps = std::max(settings.maximum_pps, settings.minimum_pps * 2);
  settings.time_budget_s = budget_s;
  Result<void> kept;
  const DecisionFn tell = [&](const Decision& decision) {
    manager_.observer_.decision(row_.id, decision);
    if (kept.ok()) kept = manager_.book_.decision(row_.id, ++decisions_, decision);
  };
  auto results = ::merlon::lab::search(*this, goals, settings, tell);
  if (!results) return results.error();
  if (!kept) return kept.error();
  for (const GoalResult& result : *results) row_.results.push_back(result);
  return results;
}

void RowAtWork::decide(const Text& why) {
  Decision decision;
  decision.why = why;
  manager_.observer_.decision(row_.id, decision);
  // A journal that can't be written stops the run at its next trial.
  static_cast<void>(manager_.book_.decision(row_.id, ++decisions_, decision).ok());
}

}  // namespace merlon::lab
