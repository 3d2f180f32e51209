// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_search/dynamic_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace merlon::lab {
namespace {

// Four digits, so that rates of added rows read like those of a plan; never up, or a raise could
// pass its ceiling.
double rounded(double pps) {
  const double unit = std::pow(10, std::floor(std::log10(pps)) - 3);
  return std::floor(pps / unit * (1 + 1e-12)) * unit;
}
std::string rate(double pps) { return fmt::format("{:.6g}", pps); }
std::string percent(double ratio) { return fmt::format("{:.3g} %", ratio * 100); }

// All finished, not tester-limited rows of one rate.
struct Rate {
  double pps = 0;
  unsigned passed = 0, failed = 0;
  const PlanPoint* last = nullptr;  // parent of what follows from it
  double worst_loss = 0;
  double forwarding_pps = 0;  // of the worst row
  double p99_us = 0;          // lowest of the rows: noise only adds
  [[nodiscard]] unsigned count() const { return passed + failed; }
  // Half may fail, as in a search with an exceed ratio of 0.5; a tie is no verdict.
  [[nodiscard]] bool is_pass() const { return passed > failed; }
  [[nodiscard]] bool is_fail() const { return failed > passed; }
};

class Series {
 public:
  Series(const std::vector<const PlanPoint*>& points, const GrowthLimits& limits);
  std::optional<PlanAddition> next() const;

 private:
  [[nodiscard]] std::optional<PlanAddition> repeat() const;
  [[nodiscard]] std::optional<PlanAddition> raise(const Rate& passing) const;
  [[nodiscard]] std::optional<PlanAddition> lower(const Rate& failing) const;
  [[nodiscard]] std::optional<PlanAddition> between(const Rate& passing, const Rate& failing) const;
  [[nodiscard]] std::optional<PlanAddition> bend() const;
  [[nodiscard]] std::optional<PlanAddition> add(const Rate& from, double pps, GrowthRule rule,
                                                Text reason) const;
  [[nodiscard]] PlanAddition again(const Rate& rate_seen, const Text& why) const {
    return {rate_seen.last->id, rate_seen.last->series, rate_seen.pps, GrowthRule::kRepeat, why};
  }

  const GrowthLimits& limits_;
  double ceiling_ = 0;
  std::vector<Rate> rates_;  // ascending
  unsigned bends_ = 0;
};

Series::Series(const std::vector<const PlanPoint*>& points, const GrowthLimits& limits)
    : limits_(limits), ceiling_(limits.ceiling_pps > 0 ? limits.ceiling_pps : 1e12) {
  std::map<double, Rate> rates;
  for (const PlanPoint* point : points) {
    bends_ += point->is_bend;
    if (point->is_tester_limited) {
      if (point->forwarding_pps > 0)
        ceiling_ = std::min(ceiling_, std::min(point->rate_pps, point->forwarding_pps));
      continue;
    }
    if (!std::isfinite(point->loss_ratio) || !(point->rate_pps > 0)) continue;
    Rate& r = rates[point->rate_pps];
    r.pps = point->rate_pps;
    r.last = point;
    (point->loss_ratio <= limits.loss_ok ? r.passed : r.failed) += 1;
    if (r.count() == 1 || point->loss_ratio > r.worst_loss) {
      r.worst_loss = point->loss_ratio;
      r.forwarding_pps = point->forwarding_pps;
    }
    if (point->latency_p99_us > 0 && (r.p99_us <= 0 || point->latency_p99_us < r.p99_us)) {
      r.p99_us = point->latency_p99_us;
    }
  }
  for (auto& [pps, r] : rates) rates_.push_back(r);
}

std::optional<PlanAddition> Series::add(const Rate& from, double pps, GrowthRule rule,
                                        Text reason) const {
  const double target = rounded(std::clamp(pps, limits_.minimum_pps, ceiling_));
  if (!(target > 0)) return std::nullopt;
  for (const Rate& r : rates_) {
    if (std::abs(r.pps - target) <= 1e-6 * target)
      return std::nullopt;  // measured: there is nothing between
  }
  return PlanAddition{from.last->id, from.last->series, target, rule, std::move(reason)};
}

// A verdict that another one contradicts is measured again, never averaged away: rows of one rate
// that are divided, or a lower rate that fails while a higher one passes.
std::optional<PlanAddition> Series::repeat() const {
  const unsigned most = limits_.measurements;
  for (const Rate& r : rates_) {
    if (r.passed == r.failed && r.count() < most) {
      return again(r, {fmt::format("repeat: {} pps passed and failed equally often", rate(r.pps)),
                       fmt::format("повтор: {} п/с проходит и не проходит поровну", rate(r.pps))});
    }
  }
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    if (!rates_[i].is_fail()) continue;
    for (std::size_t j = i + 1; j < rates_.size(); ++j) {
      if (!rates_[j].is_pass()) continue;
      const Rate* weaker = rates_[i].count() <= rates_[j].count() ? &rates_[i] : &rates_[j];
      if (weaker->count() >= most) continue;
      return again(*weaker, {fmt::format("repeat: {} pps fails while {} pps passes",
                                         rate(rates_[i].pps), rate(rates_[j].pps)),
                             fmt::format("повтор: {} п/с не проходит, а {} п/с проходит",
                                         rate(rates_[i].pps), rate(rates_[j].pps))});
    }
  }
  return std::nullopt;
}

std::optional<PlanAddition> Series::raise(const Rate& passing) const {
  const double target = std::min(ceiling_, passing.pps * limits_.raise_factor);
  if (target <= passing.pps * (1 + limits_.width / 10)) return std::nullopt;  // the ceiling passes
  return add(passing, target, GrowthRule::kRaise,
             {fmt::format("raise: {} pps lost {}, no more than {}", rate(passing.pps),
                          percent(passing.worst_loss), percent(limits_.loss_ok)),
              fmt::format("выше: при {} п/с потеряно {}, не больше {}", rate(passing.pps),
                          percent(passing.worst_loss), percent(limits_.loss_ok))});
}

std::optional<PlanAddition> Series::lower(const Rate& failing) const {
  if (failing.pps <= limits_.minimum_pps) return std::nullopt;
  // The forwarding rate, not half of the rate: it lands near the knee in one step.
  const double target = std::min(failing.forwarding_pps * 0.98, failing.pps * (1 - limits_.width));
  return add(failing, std::max(target, failing.pps / 100), GrowthRule::kLower,
             {fmt::format("lower: {} pps lost {}; just under its forwarding rate",
                          rate(failing.pps), percent(failing.worst_loss)),
              fmt::format("ниже: при {} п/с потеряно {}; чуть ниже скорости пересылки",
                          rate(failing.pps), percent(failing.worst_loss))});
}

std::optional<PlanAddition> Series::between(const Rate& passing, const Rate& failing) const {
  const double gap = failing.pps - passing.pps;
  if (gap <= limits_.width * failing.pps) return std::nullopt;
  const double guess = failing.forwarding_pps * 0.98;
  // Near an end the guess would shrink the interval by nothing.
  const bool is_useful = guess > passing.pps + gap / 8 && guess < failing.pps - gap / 8;
  if (failing.worst_loss > limits_.loss_high && is_useful) {
    return add(
        failing, guess, GrowthRule::kLower,
        {fmt::format("lower: {} pps lost {}, more than {}; just under its forwarding rate",
                     rate(failing.pps), percent(failing.worst_loss), percent(limits_.loss_high)),
         fmt::format("ниже: при {} п/с потеряно {}, больше {}; чуть ниже скорости пересылки",
                     rate(failing.pps), percent(failing.worst_loss), percent(limits_.loss_high))});
  }
  return add(failing, (passing.pps + failing.pps) / 2, GrowthRule::kRefine,
             {fmt::format("refine: {} pps passes, {} pps loses {}", rate(passing.pps),
                          rate(failing.pps), percent(failing.worst_loss)),
              fmt::format("уточнить: {} п/с проходит, {} п/с теряет {}", rate(passing.pps),
                          rate(failing.pps), percent(failing.worst_loss))});
}

// The steepest growth of p99 between neighbours, while both are farther apart than the width.
std::optional<PlanAddition> Series::bend() const {
  if (bends_ >= limits_.max_bends) return std::nullopt;
  const Rate *low = nullptr, *high = nullptr;
  double steepest = limits_.bend_factor;
  for (std::size_t i = 0; i + 1 < rates_.size(); ++i) {
    const Rate &a = rates_[i], &b = rates_[i + 1];
    if (a.p99_us <= 0 || b.p99_us <= 0 || b.pps - a.pps <= limits_.width * b.pps) continue;
    if (b.p99_us / a.p99_us < steepest) continue;
    steepest = b.p99_us / a.p99_us;
    low = &a;
    high = &b;
  }
  if (low == nullptr) return std::nullopt;
  return add(*high, (low->pps + high->pps) / 2, GrowthRule::kBend,
             {fmt::format("bend: latency p99 grows from {:.3g} to {:.3g} us between {} and {} pps",
                          low->p99_us, high->p99_us, rate(low->pps), rate(high->pps)),
              fmt::format("излом: задержка p99 растёт с {:.3g} до {:.3g} мкс между {} и {} п/с",
                          low->p99_us, high->p99_us, rate(low->pps), rate(high->pps))});
}

std::optional<PlanAddition> Series::next() const {
  if (rates_.empty()) return std::nullopt;
  if (auto addition = repeat()) return addition;
  const auto fails =
      std::find_if(rates_.begin(), rates_.end(), [](const Rate& r) { return r.is_fail(); });
  const Rate* passing = nullptr;
  for (auto it = rates_.begin(); it != fails; ++it) {
    if (it->is_pass()) passing = &*it;
  }
  std::optional<PlanAddition> addition;
  if (passing != nullptr && fails == rates_.end()) addition = raise(*passing);
  if (passing == nullptr && fails != rates_.end()) addition = lower(*fails);
  if (passing != nullptr && fails != rates_.end()) addition = between(*passing, *fails);
  return addition ? addition : bend();
}

struct SeriesPoints {
  std::vector<const PlanPoint*> finished;
  bool is_waiting = false;
};

}  // namespace

std::string_view word(GrowthRule rule) noexcept {
  static constexpr std::array<std::string_view, 5> kNames{"repeat", "lower", "refine", "raise",
                                                          "bend"};
  return kNames[static_cast<std::size_t>(rule)];
}

std::vector<PlanAddition> grow(std::span<const PlanPoint> points, const GrowthLimits& limits) {
  std::vector<std::string> order;
  std::map<std::string, SeriesPoints> series;
  std::size_t added = 0;
  for (const PlanPoint& point : points) {
    const auto [it, is_new] = series.try_emplace(point.series);
    if (is_new) order.push_back(point.series);
    if (point.is_finished)
      it->second.finished.push_back(&point);
    else
      it->second.is_waiting = true;
    added += point.is_added;
  }
  std::vector<PlanAddition> additions;
  double seconds = 0;
  for (const std::string& name : order) {
    if (added + additions.size() >= limits.max_rows) break;
    const SeriesPoints& s = series.at(name);
    if (s.is_waiting || s.finished.empty()) continue;
    // A row takes as long as the longest of its series did.
    double cost = 0;
    for (const PlanPoint* point : s.finished) cost = std::max(cost, point->effective_s);
    if (limits.time_left_s > 0 && seconds + cost > limits.time_left_s) continue;
    if (auto addition = Series(s.finished, limits).next()) {
      seconds += cost;
      additions.push_back(*std::move(addition));
    }
  }
  return additions;
}

}  // namespace merlon::lab
