// SPDX-License-Identifier: Apache-2.0
#include "goal_search.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace merlon::lab {
namespace {

// CSIT's measure: two stages before the goal, each twice as wide as the next.
constexpr int kStages = 3;
constexpr int kMostExtensions = 12;

double between(double first, double last, int stage) {
  if (stage == kStages - 1 || first >= last) return last;
  return first * std::pow(last / first, static_cast<double>(stage) / (kStages - 1));
}

}  // namespace

Bounds relevant_bounds(const TrialMap& trials, const Requirement& goal) {
  Bounds bounds;
  for (const auto& [load, list] : trials) {
    const LoadClass is = classify(list, goal);
    if (is == LoadClass::kLower) bounds.lower = load;
    if (is == LoadClass::kUpper) {
      bounds.upper = load;
      break;  // what is above the smallest upper bound does not matter
    }
  }
  return bounds;
}

std::vector<Stage> stages_of(const Goal& goal, const LoadGrid& grid) {
  std::vector<Stage> stages;
  const double first = std::min(goal.initial_duration_s, goal.final_duration_s);
  for (int i = 0; i < kStages; ++i) {
    Stage stage;
    stage.requirement = {
        goal.loss_ratio, goal.exceed_ratio, between(first, goal.final_duration_s, i),
        std::max(between(first, goal.duration_sum_s, i), between(first, goal.final_duration_s, i))};
    const double times = 1 << (kStages - 1 - i);
    stage.width_steps = grid.steps(1 - std::pow(1 - goal.width, times));
    stages.push_back(stage);
  }
  return stages;
}

std::string GoalSearch::load_text(int load) const {
  return fmt::format("{:.7g}", grid_.load(load));
}

bool GoalSearch::is_open(const TrialMap& trials, int load) const {
  const auto it = trials.find(load);
  return it == trials.end() || classify(it->second, stage().requirement) == LoadClass::kUndecided;
}

bool GoalSearch::is_settled(const Bounds& bounds) const {
  if (bounds.lower && *bounds.lower == grid_.last()) return true;
  if (bounds.upper && *bounds.upper == 0) return true;
  return bounds.lower && bounds.upper && *bounds.upper - *bounds.lower <= stage().width_steps;
}

std::optional<Candidate> GoalSearch::want(const TrialMap& trials) {
  while (at_ < stages_.size()) {
    const Bounds bounds = relevant_bounds(trials, stage().requirement);
    if (!is_settled(bounds)) {
      Step step = next(trials, bounds);
      const std::string en = fmt::format("{} ({} of {}): ", goal_.name, at_ + 1, stages_.size());
      const std::string ru = fmt::format("{} ({} из {}): ", goal_.name, at_ + 1, stages_.size());
      return Candidate{step.load,
                       stage().requirement.trial_duration_s,
                       stages_.size() - at_,
                       {en + step.why.en, ru + step.why.ru}};
    }
    before_ = bounds;
    extensions_ = 0;
    last_extension_ = -1;
    ++at_;
  }
  return std::nullopt;
}

GoalSearch::Step GoalSearch::next(const TrialMap& trials, const Bounds& bounds) {
  if (const auto step = refine(trials, bounds)) return *step;
  if (bounds.lower && bounds.upper) return halve(*bounds.lower, *bounds.upper);
  if (bounds.lower) return raise(trials, *bounds.lower);
  if (bounds.upper) return lower(trials, *bounds.upper);
  // Nothing is decided: stay at the first load until it is.
  return {first_load_,
          {"no bound is known yet: " + load_text(first_load_) + " pps until it is decided",
           "границ ещё нет: " + load_text(first_load_) + " п/с до решения"}};
}

// The bounds of the stage before, measured on until they hold or fall under this stage's demands.
std::optional<GoalSearch::Step> GoalSearch::refine(const TrialMap& trials,
                                                   const Bounds& bounds) const {
  const auto is_inside = [&](const std::optional<int>& load) {
    return load && is_open(trials, *load) && (!bounds.lower || *load > *bounds.lower) &&
           (!bounds.upper || *load < *bounds.upper);
  };
  if (is_inside(before_.lower)) {
    return Step{*before_.lower,
                {"confirm the lower bound " + load_text(*before_.lower) + " pps with more trials",
                 "подтвердить нижнюю границу " + load_text(*before_.lower) + " п/с ещё замерами"}};
  }
  if (is_inside(before_.upper)) {
    return Step{*before_.upper,
                {"confirm the upper bound " + load_text(*before_.upper) + " pps with more trials",
                 "подтвердить верхнюю границу " + load_text(*before_.upper) + " п/с ещё замерами"}};
  }
  return std::nullopt;
}

GoalSearch::Step GoalSearch::raise(const TrialMap& trials, int lower_load) {
  const bool is_same = last_extension_ > lower_load;  // still deciding the step made before
  if (!is_same) extensions_ = std::min(extensions_ + 1, kMostExtensions);
  int load =
      std::min(grid_.last(),
               is_same ? last_extension_ : lower_load + (stage().width_steps << (extensions_ - 1)));
  // A load that has trials already is cheaper to decide than a new one near it.
  const auto known = trials.upper_bound(lower_load);
  if (!is_same && known != trials.end() && known->first <= load + stage().width_steps)
    load = known->first;
  last_extension_ = load;
  return {load,
          {"no upper bound: " + load_text(lower_load) + " pps passes, try higher",
           "верхней границы нет: " + load_text(lower_load) + " п/с проходит, пробуем выше"}};
}

GoalSearch::Step GoalSearch::lower(const TrialMap& trials, int upper_load) {
  const bool is_same = last_extension_ >= 0 && last_extension_ < upper_load;
  if (!is_same) extensions_ = std::min(extensions_ + 1, kMostExtensions);
  int load = std::max(
      0, is_same ? last_extension_ : upper_load - (stage().width_steps << (extensions_ - 1)));
  auto known = trials.lower_bound(upper_load);
  if (!is_same && known != trials.begin() && (--known)->first >= load - stage().width_steps)
    load = known->first;
  last_extension_ = load;
  return {load,
          {"no lower bound: " + load_text(upper_load) + " pps fails, try lower",
           "нижней границы нет: " + load_text(upper_load) + " п/с не проходит, пробуем ниже"}};
}

// In whole widths, so that the last interval is exactly as wide as allowed; the smaller half lies
// above, since a trial that passes tells more than one that fails.
GoalSearch::Step GoalSearch::halve(int lower_load, int upper_load) const {
  const int distance = upper_load - lower_load, width = stage().width_steps;
  const int parts = (distance + width - 1) / width;
  const int load =
      parts <= 2 ? lower_load + std::max(1, distance / 2) : lower_load + width * (parts / 2);
  return {load,
          {fmt::format("between {} pps, which passes, and {} pps, which fails",
                       load_text(lower_load), load_text(upper_load)),
           fmt::format("между {} п/с (проходит) и {} п/с (не проходит)", load_text(lower_load),
                       load_text(upper_load))}};
}

std::string GoalSearch::ending(const Bounds& bounds, const TrialMap& trials) const {
  if (bounds.lower && *bounds.lower == grid_.last()) return "maximum passes";
  if (bounds.upper && is_tester_limited(trials.at(*bounds.upper), stages_.back().requirement))
    return "tester limit";
  if (bounds.upper && *bounds.upper == 0) return "minimum fails";
  return "width reached";
}

GoalResult GoalSearch::result(const TrialMap& trials, const std::string& stopped) const {
  GoalResult result;
  result.goal = goal_;
  // A search that was stopped knows its bounds at the last stage that has both; the goal's own come
  // first.
  std::size_t known = stages_.size() - 1;
  Bounds bounds = relevant_bounds(trials, stages_[known].requirement);
  while (!stopped.empty() && known > 0 && !(bounds.lower && bounds.upper)) {
    const Bounds earlier = relevant_bounds(trials, stages_[--known].requirement);
    if (earlier.lower || earlier.upper) bounds = earlier;
  }
  const bool is_final = relevant_bounds(trials, stages_.back().requirement).lower == bounds.lower;
  const Requirement& requirement = (is_final ? stages_.back() : stages_[known]).requirement;
  if (bounds.lower) {
    result.lower_pps = grid_.load(*bounds.lower);
    result.conditional_pps =
        conditional_throughput(result.lower_pps, trials.at(*bounds.lower), requirement);
  }
  if (bounds.upper) result.upper_pps = grid_.load(*bounds.upper);
  result.why = stopped.empty() || at_ >= stages_.size() ? ending(bounds, trials) : stopped;
  result.is_regular = result.why == "width reached";
  return result;
}

}  // namespace merlon::lab
