// SPDX-License-Identifier: Apache-2.0
#pragma once
// One goal's way through its stages: which load it wants measured next. Owned by the controller;
// looks at the trials of all goals, keeps only what can't be derived from them. No clock, no
// randomness.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "load_grid.h"
#include "load_trials.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab {

// Trials by load index; every goal counts them all.
using TrialMap = std::map<int, std::vector<TrialOutcome>>;

// Relevant bounds: the smallest upper bound and the largest lower bound below it.
struct Bounds {
  std::optional<int> lower, upper;
};
Bounds relevant_bounds(const TrialMap& trials, const Requirement& goal);

struct Stage {
  Requirement requirement;
  int width_steps = 1;
};
// From short sums and wide intervals to the goal itself.
std::vector<Stage> stages_of(const Goal& goal, const LoadGrid& grid);

struct Candidate {
  int load = 0;
  double duration_s = 0;
  std::size_t stages_left = 0;
  Text why;
};

class GoalSearch {
 public:
  GoalSearch(const Goal& goal, const LoadGrid& grid, int first_load)
      : goal_(goal), grid_(grid), stages_(stages_of(goal, grid)), first_load_(first_load) {}

  // Moves through stages that the trials have settled; none left: nothing wanted.
  std::optional<Candidate> want(const TrialMap& trials);
  // `stopped`: why the controller ended before the goal was settled; empty when it was not.
  [[nodiscard]] GoalResult result(const TrialMap& trials, const std::string& stopped) const;

 private:
  struct Step {
    int load = 0;
    Text why;
  };
  [[nodiscard]] const Stage& stage() const { return stages_[at_]; }
  [[nodiscard]] bool is_settled(const Bounds& bounds) const;
  [[nodiscard]] Step next(const TrialMap& trials, const Bounds& bounds);
  [[nodiscard]] std::optional<Step> refine(const TrialMap& trials, const Bounds& bounds) const;
  [[nodiscard]] Step raise(const TrialMap& trials, int lower);
  [[nodiscard]] Step lower(const TrialMap& trials, int upper);
  [[nodiscard]] Step halve(int lower, int upper) const;
  [[nodiscard]] bool is_open(const TrialMap& trials, int load) const;
  [[nodiscard]] std::string load_text(int load) const;
  [[nodiscard]] std::string ending(const Bounds& bounds, const TrialMap& trials) const;

  Goal goal_;
  const LoadGrid& grid_;
  std::vector<Stage> stages_;
  std::size_t at_ = 0;
  int first_load_;
  Bounds before_;       // of the stage before
  int extensions_ = 0;  // steps outside of the known loads in this stage; each doubles the next
  int last_extension_ = -1;
};

}  // namespace merlon::lab
