// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "checks.h"

namespace merlon::lab {

namespace {

void ceiling_above_devices(const Run& run, Finding& finding) {
  double ceiling = 0;
  for (const Calibration& c : run.calibrations) ceiling = std::max(ceiling, c.ceiling_pps);
  unsigned near = 0, all = 0;
  for (const TrialResult& trial : run.trials) {
    if (trial.spec.is_warm_up || trial.spec.row.empty() || trial.spec.row.starts_with("cable"))
      continue;
    ++all;
    near += is_limited_by_tester(trial) ? 1U : 0U;
  }
  if (ceiling <= 0 || all == 0) return not_available(run, finding, "");
  finding.state = near == 0 ? "pass" : "differs";
  finding.evidence = {
      fmt::format("ceiling {}pps; {} of {} trials were limited by the tester", si(ceiling), near,
                  all),
      fmt::format("предел {}pps; {} из {} испытаний ограничены тестером", si(ceiling), near, all)};
}

struct Slope {
  double ns_per_rule = 0;
  double first_ns = 0, last_ns = 0;
  double rules = 0;  // more of them
  double most_rules = 0;
};

std::optional<Slope> slope_of(const Run& run, const std::string& start) {
  const Row *fewest = nullptr, *most = nullptr;
  for (const Row* row : rows_of(run, start)) {
    if (!row->id.ends_with(".max") || !kpi_of(*row, "packets_per_cpu_s")) continue;
    if (fewest == nullptr || row->device.rules < fewest->device.rules) fewest = row;
    if (most == nullptr || row->device.rules > most->device.rules) most = row;
  }
  if (fewest == nullptr || fewest == most) return std::nullopt;
  Slope slope;
  slope.first_ns = 1e9 / *kpi_of(*fewest, "packets_per_cpu_s");
  slope.last_ns = 1e9 / *kpi_of(*most, "packets_per_cpu_s");
  slope.rules = most->device.rules - fewest->device.rules;
  slope.most_rules = most->device.rules;
  slope.ns_per_rule = (slope.last_ns - slope.first_ns) / slope.rules;
  return slope;
}

void linear_rules_cost(const Run& run, Finding& finding) {
  const auto slope = slope_of(run, "nft-linear");
  if (!slope) return not_available(run, finding, "nft-linear");
  const bool holds = slope->last_ns > 3 * slope->first_ns && slope->ns_per_rule > 1;
  finding.state = holds ? "reproduced" : "differs";
  finding.evidence = {
      fmt::format(
          "{:.0f} ns of CPU per frame without rules, {:.0f} ns with {:.0f} more: {:.1f} ns a rule",
          slope->first_ns, slope->last_ns, slope->rules, slope->ns_per_rule),
      fmt::format(
          "{:.0f} нс ЦП на кадр без правил, {:.0f} нс с {:.0f} правилами: {:.1f} нс на правило",
          slope->first_ns, slope->last_ns, slope->rules, slope->ns_per_rule)};
}

void set_is_flat(const Run& run, Finding& finding) {
  const auto slope = slope_of(run, "nft-set");
  const auto none = kpi_of(run, "nft-linear-0.max", "packets_per_cpu_s");
  if (!slope || !none) return not_available(run, finding, slope ? "nft-linear-0" : "nft-set");
  const double ratio = slope->last_ns / (1e9 / *none);
  finding.state = ratio < 1.5 ? "reproduced" : "differs";
  finding.evidence = {
      fmt::format(
          "{:.0f} ns per frame with {:.0f} rules in a set, {:.0f} ns without rules: {:.2f} x",
          slope->last_ns, slope->most_rules, 1e9 / *none, ratio),
      fmt::format(
          "{:.0f} нс на кадр с {:.0f} правилами в множестве, {:.0f} нс без правил: {:.2f} раза",
          slope->last_ns, slope->most_rules, 1e9 / *none, ratio)};
  if (finding.state == "differs") {
    finding.evidence.en +=
        fmt::format("; A/A noise of this machine is {:.0f} %", run.environment.noise_ratio * 100);
    finding.evidence.ru +=
        fmt::format("; шум A/A этой машины {:.0f} %", run.environment.noise_ratio * 100);
  }
}

void no_false_loss(const Run& run, Finding& finding) {
  std::uint64_t frames = 0, lost = 0;
  for (const TrialResult& trial : run.trials)
    if (trial.spec.row == "cable.20k" && !trial.spec.is_warm_up) {
      frames += trial.frames.offered;
      lost += trial.frames.lost;
    }
  if (frames == 0) return not_available(run, finding, "cable.20k");
  finding.state = lost == 0 ? "pass" : "fail";
  const double bound = lost == 0 ? 3.0 / static_cast<double>(frames)
                                 : static_cast<double>(lost) / static_cast<double>(frames);
  finding.evidence = {
      fmt::format("{} of {} frames lost on the bare cable (below {:.1e})", lost, frames, bound),
      fmt::format("на голом кабеле потеряно {} из {} кадров (менее {:.1e})", lost, frames, bound)};
}

}  // namespace

std::vector<Check> quick_checks() {
  return {
      {"ceiling-above-devices",
       {"the tester is faster than every device measured",
        "тестер быстрее каждого измеренного устройства"},
       ceiling_above_devices},
      {"linear-rules-cost",
       {"rules in a row cost 10 to 18 ns each, so 4,000 of them cost several times the frame "
        "itself",
        "правила подряд стоят 10–18 нс каждое: 4000 правил в разы дороже самого кадра"},
       linear_rules_cost},
      {"set-is-flat",
       {"rules in a set cost nothing at this resolution",
        "правила во множестве при таком разрешении ничего не стоят"},
       set_is_flat},
      {"no-false-loss-on-cable",
       {"the tester itself loses no frame at a modest rate",
        "сам тестер на умеренной частоте кадров не теряет"},
       no_false_loss},
  };
}

}  // namespace merlon::lab
