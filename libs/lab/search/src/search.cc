// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_search/search.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "goal_search.h"

namespace merlon::lab {
namespace {

using base::Errc;
using base::Error;

base::Result<void> check_goal(const Goal& goal) {
  const auto wrong = [&goal](const char* field, double value, const char* range) {
    return Error{Errc::kInvalidValue,
                 fmt::format("goal {}: {} is {}, wants {}", goal.name, field, value, range)};
  };
  // Written so that NaN fails.
  if (!(goal.loss_ratio >= 0 && goal.loss_ratio < 1))
    return wrong("loss_ratio", goal.loss_ratio, "0 <= x < 1");
  if (!(goal.exceed_ratio >= 0 && goal.exceed_ratio < 1))
    return wrong("exceed_ratio", goal.exceed_ratio, "0 <= x < 1");
  if (!(goal.width >= 1e-5 && goal.width <= 0.5))
    return wrong("width", goal.width, "0.00001 <= x <= 0.5");
  if (!(goal.initial_duration_s > 0))
    return wrong("initial_duration_s", goal.initial_duration_s, "more than 0");
  if (!(goal.final_duration_s > 0))
    return wrong("final_duration_s", goal.final_duration_s, "more than 0");
  if (!(goal.duration_sum_s >= goal.final_duration_s)) {
    return wrong("duration_sum_s", goal.duration_sum_s, "at least the final duration");
  }
  return {};
}

class Controller {
 public:
  Controller(Measurer& measurer, const std::vector<Goal>& goals, const SearchSettings& settings,
             const DecisionFn& tell, double width)
      : measurer_(measurer),
        settings_(settings),
        tell_(tell),
        grid_(settings.minimum_pps, settings.maximum_pps, width),
        initial_s_(goals.front().initial_duration_s) {
    for (const Goal& goal : goals) {
      initial_s_ = std::min(initial_s_, std::min(goal.initial_duration_s, goal.final_duration_s));
    }
  }

  base::Result<std::vector<GoalResult>> run(const std::vector<Goal>& goals);

 private:
  // Measures until a trial is usable; false when the search must end, with stopped_ saying why.
  base::Result<bool> measure(int load, double duration_s, const Text& why, bool is_warm_up = false);
  base::Result<bool> first_loads();
  bool may_measure(double duration_s);

  Measurer& measurer_;
  const SearchSettings& settings_;
  const DecisionFn& tell_;
  LoadGrid grid_;
  double initial_s_;
  TrialMap trials_;
  std::vector<std::string> ids_;
  double forwarding_pps_ = 0;  // of the last trial
  double spent_s_ = 0, overhead_s_ = 0;
  unsigned count_ = 0;
  std::string stopped_;
};

bool Controller::may_measure(double duration_s) {
  if (count_ >= settings_.max_trials) stopped_ = "trial limit";
  // With the waits that trials had so far: a trial that could not end in time is not begun.
  if (settings_.time_budget_s > 0 &&
      spent_s_ + duration_s + overhead_s_ > settings_.time_budget_s) {
    stopped_ = "time budget";
  }
  return stopped_.empty();
}

base::Result<bool> Controller::measure(int load, double duration_s, const Text& why,
                                       bool is_warm_up) {
  Text reason = why;
  for (unsigned attempt = 0; attempt <= settings_.max_retries; ++attempt) {
    if (!may_measure(duration_s)) return false;
    auto outcome = measurer_.measure(grid_.load(load), duration_s, is_warm_up);
    if (!outcome) return outcome.error();
    ++count_;
    spent_s_ += std::max(outcome->effective_s, outcome->duration_s);
    overhead_s_ = std::max(overhead_s_, outcome->effective_s - duration_s);
    if (tell_) tell_({outcome->id, grid_.load(load), duration_s, reason});
    if (outcome->is_usable && std::isfinite(outcome->loss_ratio)) {
      outcome->loss_ratio = std::clamp(outcome->loss_ratio, 0.0, 1.0);
      outcome->duration_s = duration_s;
      forwarding_pps_ = outcome->forwarding_pps;
      if (!is_warm_up) {
        ids_.push_back(outcome->id);
        trials_[load].push_back(*std::move(outcome));
      }
      return true;
    }
    reason = {"again: trial " + outcome->id + " can't be used. " + why.en,
              "повтор: замер " + outcome->id + " негоден. " + why.ru};
  }
  stopped_ = "unusable trials";
  return false;
}

// The draft leaves the first loads free; these are CSIT's. The first trial finds caches and tables
// cold, its loss means little, its forwarding rate is a good guess.
base::Result<bool> Controller::first_loads() {
  const auto warm = measure(
      grid_.last(), initial_s_,
      {"warm-up at the maximum, not counted", "разогрев на максимуме, в расчёт не идёт"}, true);
  if (!warm || !*warm) return warm;
  const auto first =
      measure(grid_.at_or_below(forwarding_pps_), initial_s_,
              {"the forwarding rate at the maximum", "скорость пересылки при максимуме"});
  if (!first || !*first) return first;
  return measure(
      grid_.at_or_below(forwarding_pps_), initial_s_,
      {"the forwarding rate at the load before", "скорость пересылки при прошлой нагрузке"});
}

base::Result<std::vector<GoalResult>> Controller::run(const std::vector<Goal>& goals) {
  auto is_going = first_loads();
  if (!is_going) return is_going.error();
  const int first = trials_.empty() ? grid_.last() : trials_.begin()->first;
  std::vector<GoalSearch> searches;
  for (const Goal& goal : goals) searches.emplace_back(goal, grid_, first);
  while (*is_going) {
    // Early stages before late ones, low loads before high ones: what is cheap and likely to pass
    // tells most.
    std::optional<Candidate> best;
    for (GoalSearch& search : searches) {
      auto candidate = search.want(trials_);
      if (!candidate) continue;
      const bool is_better =
          !best || candidate->stages_left > best->stages_left ||
          (candidate->stages_left == best->stages_left && candidate->load < best->load);
      if (is_better) best = std::move(candidate);
    }
    if (!best) break;
    is_going = measure(best->load, best->duration_s, best->why);
    if (!is_going) return is_going.error();
  }
  std::vector<GoalResult> results;
  for (GoalSearch& search : searches) {
    (void)search.want(trials_);  // the last trial may have settled it
    GoalResult result = search.result(trials_, stopped_);
    result.trials = ids_;
    results.push_back(std::move(result));
  }
  if (tell_)
    tell_(
        {"",
         0,
         0,
         {"the search ends: " +
              (stopped_.empty() ? std::string("every goal is settled") : stopped_),
          "поиск окончен: " + (stopped_.empty() ? std::string("все цели достигнуты") : stopped_)}});
  return results;
}

}  // namespace

base::Result<std::vector<GoalResult>> search(Measurer& measurer, const std::vector<Goal>& goals,
                                             const SearchSettings& settings,
                                             const DecisionFn& tell) {
  if (goals.empty()) return Error{Errc::kInvalidValue, "a search needs a goal"};
  double width = 1;
  for (const Goal& goal : goals) {
    if (const auto checked = check_goal(goal); !checked) return checked.error();
    width = std::min(width, goal.width);
  }
  if (!(settings.minimum_pps > 0 && settings.maximum_pps > settings.minimum_pps &&
        std::isfinite(settings.maximum_pps))) {
    return Error{Errc::kInvalidValue,
                 fmt::format("loads from {} to {} pps: wants 0 < minimum < maximum",
                             settings.minimum_pps, settings.maximum_pps)};
  }
  return Controller(measurer, goals, settings, tell, width).run(goals);
}

}  // namespace merlon::lab
