// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "words.h"

namespace merlon::lab::report {
namespace {

struct Value {
  std::string_view name;
  double (*of)(const TrialResult&);
  bool (*has)(const TrialResult&);
};

double micros(std::int64_t nanos) { return static_cast<double>(nanos) / 1e3; }
double count(std::uint64_t n) { return static_cast<double>(n); }
bool always(const TrialResult&) { return true; }
bool has_frames(const TrialResult& t) { return t.frames.offered != 0 || t.frames.received != 0; }
bool has_latency(const TrialResult& t) { return t.latency_actual.count() != 0; }
bool has_intended(const TrialResult& t) { return t.latency_intended.count() != 0; }
bool has_drops(const TrialResult& t) { return t.frames.expected_drops != 0; }

double device_rss(const TrialResult& t) {
  double most = 0;  // threads of one process repeat its memory
  for (const ProcessUse& p : t.processes)
    if (p.role == "device") most = std::max(most, p.rss_mib);
  return most;
}

constexpr std::array kValues{
    Value{"intended_pps", [](const TrialResult& t) { return t.spec.rate_pps; },
          [](const TrialResult& t) { return t.spec.rate_pps > 0; }},
    Value{"offered_pps", [](const TrialResult& t) { return t.offered_pps; }, has_frames},
    Value{"received_pps", [](const TrialResult& t) { return t.received_pps; }, has_frames},
    Value{"received_bps", [](const TrialResult& t) { return t.received_l1_bps; },
          [](const TrialResult& t) { return t.received_l1_bps > 0; }},
    Value{"loss_ratio", [](const TrialResult& t) { return t.loss_ratio; }, has_frames},
    Value{"lost", [](const TrialResult& t) { return count(t.frames.lost); }, has_frames},
    Value{"reordered", [](const TrialResult& t) { return count(t.frames.reordered); }, has_frames},
    Value{"duplicated", [](const TrialResult& t) { return count(t.frames.duplicated); },
          has_frames},
    Value{"corrupted", [](const TrialResult& t) { return count(t.frames.corrupted); }, has_frames},
    Value{"false_accepts", [](const TrialResult& t) { return count(t.frames.false_accepts); },
          has_drops},
    Value{"false_denies", [](const TrialResult& t) { return count(t.frames.false_denies); },
          has_drops},
    Value{"latency_min_us", [](const TrialResult& t) { return micros(t.latency_actual.minimum()); },
          has_latency},
    Value{"latency_max_us", [](const TrialResult& t) { return micros(t.latency_actual.maximum()); },
          has_latency},
    Value{"latency_mean_us", [](const TrialResult& t) { return t.latency_actual.mean() / 1e3; },
          has_latency},
    Value{"latency_p50_us",
          [](const TrialResult& t) { return micros(t.latency_actual.percentile(0.5)); },
          has_latency},
    Value{"latency_p90_us",
          [](const TrialResult& t) { return micros(t.latency_actual.percentile(0.9)); },
          has_latency},
    Value{"latency_p99_us",
          [](const TrialResult& t) { return micros(t.latency_actual.percentile(0.99)); },
          has_latency},
    Value{"latency_p999_us",
          [](const TrialResult& t) { return micros(t.latency_actual.percentile(0.999)); },
          has_latency},
    Value{"latency_p9999_us",
          [](const TrialResult& t) { return micros(t.latency_actual.percentile(0.9999)); },
          has_latency},
    Value{"pdv_us",
          [](const TrialResult& t) {
            return micros(t.latency_actual.percentile(0.999) - t.latency_actual.minimum());
          },
          has_latency},
    Value{"intended_p50_us",
          [](const TrialResult& t) { return micros(t.latency_intended.percentile(0.5)); },
          has_intended},
    Value{"intended_p99_us",
          [](const TrialResult& t) { return micros(t.latency_intended.percentile(0.99)); },
          has_intended},
    Value{"lateness_p99_us",
          [](const TrialResult& t) { return micros(t.lateness.percentile(0.99)); },
          [](const TrialResult& t) { return t.lateness.count() != 0; }},
    Value{"device_cpu_s", [](const TrialResult& t) { return t.device_cpu_s; },
          [](const TrialResult& t) { return t.device_cpu_s > 0; }},
    Value{"device_cpu", [](const TrialResult& t) { return t.device_cpu_s / t.sending_s; },
          [](const TrialResult& t) { return t.device_cpu_s > 0 && t.sending_s > 0; }},
    Value{"total_cpu", [](const TrialResult& t) { return t.total_cpu_s / t.sending_s; },
          [](const TrialResult& t) { return t.total_cpu_s > 0 && t.sending_s > 0; }},
    Value{"packets_per_cpu_s", [](const TrialResult& t) { return t.packets_per_cpu_s; },
          [](const TrialResult& t) { return t.packets_per_cpu_s > 0; }},
    Value{"cycles_per_packet", [](const TrialResult& t) { return t.cycles_per_packet; },
          [](const TrialResult& t) { return t.cycles_per_packet > 0; }},
    Value{"device_rss_mib", device_rss, [](const TrialResult& t) { return device_rss(t) > 0; }},
    Value{"sending_s", [](const TrialResult& t) { return t.sending_s; }, always},
};

// A frame size where the spec names one only.
std::optional<double> single_size(const std::string& sizes) {
  double value = 0;
  const auto [end, error] = std::from_chars(sizes.data(), sizes.data() + sizes.size(), value);
  if (error != std::errc{} || end != sizes.data() + sizes.size()) return std::nullopt;
  return value;
}

// What can tell devices of one label apart. Sections of configuration and places of binaries are
// long, and follow from the rest.
std::map<std::string, std::string> circumstances(const DeviceSpec& device) {
  std::map<std::string, std::string> out = device.options;
  std::erase_if(out, [](const auto& option) {
    return option.first == "config" || option.first == "needs" ||
           option.first.find("path") != std::string::npos;
  });
  out["topology"] = device.topology;
  return out;
}

const GoalResult* find_goal(const Row& row, std::string_view name) {
  if (name.ends_with("_pps")) name.remove_suffix(4);
  const auto found = std::find_if(row.results.begin(), row.results.end(),
                                  [&](const GoalResult& r) { return r.goal.name == name; });
  if (found != row.results.end()) return &*found;
  return name == "throughput" && !row.results.empty() ? &row.results.front() : nullptr;
}

}  // namespace

DeviceNames::DeviceNames(const std::vector<const Row*>& rows) {
  for (const Row* row : rows)
    for (const auto& [what, word] : circumstances(row->device))
      differences_[device_label(row->device).en][what].insert(word);
  for (const Row* row : rows) {  // what some of a label have, others lack
    const auto own = circumstances(row->device);
    for (auto& [what, words] : differences_[device_label(row->device).en])
      if (!own.contains(what)) words.insert("");
  }
}

namespace {

std::vector<const Row*> all_rows(const Run& run) {
  std::vector<const Row*> out;
  for (const Row& row : run.rows) out.push_back(&row);
  return out;
}

}  // namespace

RunIndex::RunIndex(const Run& run) : run_(run), names_(all_rows(run)) {
  for (const Row& r : run.rows) rows_.emplace(r.id, &r);
  for (const TrialResult& t : run.trials) {
    trials_.emplace(t.spec.id, &t);
    by_row_[t.spec.row].push_back(&t);
  }
  for (const Calibration& c : run.calibrations)
    if (std::isfinite(c.ceiling_pps)) ceiling_pps_ = std::max(ceiling_pps_, c.ceiling_pps);
}

Text DeviceNames::of(const Row& row, bool has_rules) const {
  DeviceSpec called = row.device;
  if (!has_rules) called.rules = 0;
  Text out = device_label(called);
  const auto found = differences_.find(device_label(row.device).en);
  if (found == differences_.end()) return out;
  const auto words = circumstances(row.device);
  for (const auto& [what, all] : found->second) {
    const auto word = words.find(what);
    if (all.size() < 2 || word == words.end() || word->second.empty()) continue;
    out = joined(joined(out, same(", ")), word_title(word->second));
  }
  return out;
}

double goal_value(const GoalResult& result) noexcept {
  return result.conditional_pps > 0 ? result.conditional_pps : result.lower_pps;
}

const Row* RunIndex::row(const std::string& id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : found->second;
}

const TrialResult* RunIndex::trial(const std::string& id) const {
  const auto found = trials_.find(id);
  return found == trials_.end() ? nullptr : found->second;
}

const std::vector<const TrialResult*>& RunIndex::trials(const std::string& row) const {
  const auto found = by_row_.find(row);
  return found == by_row_.end() ? none_ : found->second;
}

bool is_measured(const TrialResult& trial) noexcept {
  return !trial.spec.is_warm_up && trial.stamp != Stamp::kFailed;
}

std::vector<const TrialResult*> speaking(const std::vector<const TrialResult*>& trials) {
  Stamp best = Stamp::kFailed;
  for (const TrialResult* t : trials)
    if (is_measured(*t)) best = std::min(best, t->stamp);
  std::vector<const TrialResult*> out;
  for (const TrialResult* t : trials)
    if (is_measured(*t) && t->stamp == best) out.push_back(t);
  return out;
}

std::optional<double> trial_value(const TrialResult& trial, std::string_view name) {
  std::optional<double> out;
  const auto known =
      std::find_if(kValues.begin(), kValues.end(), [&](const Value& v) { return v.name == name; });
  if (known != kValues.end()) {
    if (known->has(trial)) out = known->of(trial);
  } else if (const auto kpi = trial.kpis.find(std::string(name)); kpi != trial.kpis.end()) {
    out = kpi->second;
  }
  return out && std::isfinite(*out) ? out : std::nullopt;
}

std::optional<double> row_number(const Row& row, std::string_view name) {
  std::optional<double> out;
  if (const auto found = row.parameters.find(std::string(name)); found != row.parameters.end())
    out = found->second;
  else if (name == "rules")
    out = row.device.rules;
  else if (name == "flows")
    out = count(row.traffic.flows);
  else if (name == "frame_size")
    out = single_size(row.traffic.sizes);
  else if (name == "rate_pps" || name == "intended_pps")
    out = row.rate_pps > 0 ? std::optional(row.rate_pps) : std::nullopt;
  else if (name == "interval_us" && row.rate_pps > 0)
    out = 1e6 / row.rate_pps;
  else if (name == "load_s" && row.load_s > 0)
    out = row.load_s;
  return out && std::isfinite(*out) ? out : std::nullopt;
}

Text row_word(const DeviceNames& names, const Row& row, std::string_view name) {
  if (name == "device") return names.of(row);
  if (name == "driver") return word_title(row.device.driver);
  if (name == "mode") return word_title(row.device.mode);
  if (name == "device_mode") return driver_mode(row.device);
  if (name == "topology") return word_title(row.device.topology);
  if (name == "place") return word_title(row.device.place);
  if (name == "sizes") return same(row.traffic.sizes);
  if (name == "protocol") return same(row.traffic.protocol);
  if (name == "suite") return same(row.suite);
  if (name == "row" || name == "title") return title_of(row);
  if (const auto option = row.device.options.find(std::string(name));
      option != row.device.options.end())
    return word_title(option->second);
  if (const auto value = row_number(row, name))
    return same(quantity(*value, value_info(name).unit));
  return {};
}

std::optional<Point> row_value(const RunIndex& index, const Row& row, std::string_view name) {
  Point point;
  point.row = row.id;
  if (const GoalResult* goal = find_goal(row, name)) {
    const double value = goal_value(*goal);
    if (!std::isfinite(value) || (value <= 0 && goal->upper_pps <= 0)) return std::nullopt;
    point.y = value;
    if (goal->lower_pps > 0 && goal->upper_pps > 0) {
      point.low = goal->lower_pps;
      point.high = goal->upper_pps;
    }
    point.is_hollow = !goal->is_regular;
    point.samples = goal->trials.size();
    if (!goal->is_regular)
      point.note = joined({"irregular: ", "нерегулярно: "}, sentence(goal->why));
    return point;
  }
  const std::vector<const TrialResult*> trials = speaking(index.trials(row.id));
  std::vector<double> values;
  for (const TrialResult* t : trials)
    if (const auto value = trial_value(*t, name)) values.push_back(*value);
  const auto kpi = row.kpis.find(std::string(name));
  const bool has_kpi = kpi != row.kpis.end() && std::isfinite(kpi->second);
  if (!has_kpi && values.empty()) {
    const auto number = row_number(row, name);
    if (!number) return std::nullopt;
    point.y = *number;
    return point;
  }
  point.y = has_kpi ? kpi->second : median(values);
  point.samples = values.size();
  if (values.size() > 1) {
    point.low = *std::min_element(values.begin(), values.end());
    point.high = *std::max_element(values.begin(), values.end());
  }
  if (!trials.empty() && trials.front()->stamp != Stamp::kClean) {
    point.is_hollow = true;
    point.note = stamp_title(trials.front()->stamp);
  }
  return point;
}

bool has_one_load(const Row& row) {
  return row.results.empty() && row.kpis.count("monitored_pps") == 0 &&
         row.kpis.count("whole_pps") == 0;
}

std::string_view rate_figure(const Row& row) {
  if (!row.results.empty()) return "throughput_pps";
  for (const std::string_view name : {"throughput_pps", "monitored_pps", "whole_pps"})
    if (row.kpis.count(std::string(name)) != 0) return name;
  return "received_pps";
}

std::string row_loss_text(const RunIndex& index, const Row& row) {
  std::uint64_t lost = 0, offered = 0;
  std::vector<double> ratios;
  for (const TrialResult* t : speaking(index.trials(row.id))) {
    if (!has_frames(*t)) continue;
    lost += t->frames.lost;
    offered += t->frames.offered;
    if (std::isfinite(t->loss_ratio)) ratios.push_back(t->loss_ratio);
  }
  // Frames that could not be sent in time are part of the ratio though nobody lost them.
  const bool is_clean = std::all_of(ratios.begin(), ratios.end(), [](double r) { return r == 0; });
  if (is_clean && lost == 0) return loss_text(0, offered);
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  const double middle = median(ratios);
  const std::string text = quantity(middle, Unit::kRatio);
  if (ratios.empty() || *high - *low <= kEvenSpread * middle) return text;
  return text + " [" + quantity(*low, Unit::kRatio) + " … " + quantity(*high, Unit::kRatio) + "]";
}

Text sides(const RunIndex& index, const Row& row) {
  const Row* other = index.row(row.against);
  const Text b = other == nullptr ? same(row.against) : title_of(*other);
  return joined(joined(title_of(row), same(" → ")), b);
}

std::string join_ids(const std::vector<const TrialResult*>& trials) {
  std::string out;
  for (const TrialResult* t : trials) {
    if (!out.empty()) out.push_back(' ');
    out.append(t->spec.id);
  }
  return out;
}

}  // namespace merlon::lab::report
