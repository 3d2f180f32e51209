// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices that exist in numbers only: a trial asks the model for its loss and costs no time.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "merlon/lab_search/search.h"

namespace merlon::lab::test {

// Share of the load that gets lost in one trial of a duration.
using LossModel = std::function<double(double load_pps, double duration_s, std::mt19937_64&)>;

inline double overload(double load, double capacity) { return std::max(0.0, 1 - capacity / load); }

inline LossModel fixed_capacity(double capacity) {
  return [=](double load, double, std::mt19937_64&) { return overload(load, capacity); };
}
// Another capacity each trial, normally distributed around the median.
inline LossModel noisy_capacity(double capacity, double deviation) {
  return [=](double load, double, std::mt19937_64& random) {
    return overload(load, capacity * std::normal_distribution<double>(1, deviation)(random));
  };
}
// A neighbour takes part of the capacity away in some of the trials.
inline LossModel jumping_capacity(double capacity, double low, double share) {
  return [=](double load, double, std::mt19937_64& random) {
    return overload(load, std::bernoulli_distribution(share)(random) ? low : capacity);
  };
}
// Loss grows towards the knee: half of `knee_loss` at the capacity, a tenth of it 2.2 softnesses
// below.
inline LossModel soft_knee(double capacity, double softness, double knee_loss) {
  return [=](double load, double, std::mt19937_64& random) {
    const double mean = knee_loss / (1 + std::exp(-(load / capacity - 1) / softness));
    return std::clamp(mean * std::normal_distribution<double>(1, 0.05)(random), 0.0, 1.0);
  };
}

class SimulatedDevice : public Measurer {
 public:
  SimulatedDevice(LossModel model, std::uint64_t seed) : model_(std::move(model)), random_(seed) {}

  base::Result<TrialOutcome> measure(double load, double duration, bool is_warm_up) override {
    warm_ups.push_back(is_warm_up);
    TrialOutcome outcome;
    outcome.id = "t" + std::to_string(outcomes.size());
    outcome.load_pps = load;
    outcome.duration_s = duration;
    outcome.effective_s = duration + overhead_s;
    outcome.loss_ratio = model_(load, duration, random_);
    outcome.forwarding_pps = load * (1 - outcome.loss_ratio);
    outcome.is_usable =
        unusable_share <= 0 || !std::bernoulli_distribution(unusable_share)(random_);
    if (load > tester_limit_pps) {
      outcome.is_tester_limited = true;
      outcome.loss_ratio = std::max(outcome.loss_ratio, overload(load, tester_limit_pps));
    }
    seconds += outcome.effective_s;
    outcomes.push_back(outcome);
    return outcome;
  }

  double overhead_s = 0.5, unusable_share = 0, tester_limit_pps = 1e18, seconds = 0;
  std::vector<TrialOutcome> outcomes;
  std::vector<bool> warm_ups;  // of these

 private:
  LossModel model_;
  std::mt19937_64 random_;
};

// Answers from a journal first; every answer must be to the question that was recorded. Then the
// rest.
class ResumedDevice : public Measurer {
 public:
  ResumedDevice(const std::vector<TrialOutcome>& outcomes, std::size_t known)
      : outcomes_(outcomes), known_(known) {}
  base::Result<TrialOutcome> measure(double load, double duration, bool) override {
    if (next_ >= outcomes_.size())
      return base::Error{base::Errc::kInternal, "more trials than before"};
    const TrialOutcome& outcome = outcomes_[next_];
    if (outcome.load_pps != load || outcome.duration_s != duration) {
      return base::Error{base::Errc::kConflict, "trial " + outcome.id + " was another one"};
    }
    if (next_++ >= known_) ++measured;
    return outcome;
  }
  std::size_t measured = 0;  // that were not in the journal

 private:
  const std::vector<TrialOutcome>& outcomes_;
  std::size_t known_, next_ = 0;
};

// Stops with an error after a number of trials, as a signal does.
class InterruptedDevice : public Measurer {
 public:
  InterruptedDevice(Measurer& inner, std::size_t after) : inner_(inner), left_(after) {}
  base::Result<TrialOutcome> measure(double load, double duration, bool is_warm_up) override {
    if (left_-- == 0) return base::Error{base::Errc::kRefused, "interrupted"};
    return inner_.measure(load, duration, is_warm_up);
  }

 private:
  Measurer& inner_;
  std::size_t left_;
};

}  // namespace merlon::lab::test
