// SPDX-License-Identifier: Apache-2.0
// Figures of trials by name, and a row's kpis from its trials.
#include <algorithm>
#include <array>
#include <cmath>

#include "merlon/lab_run/suite.h"

namespace merlon::lab {

namespace {

double microseconds(const Histogram& histogram, double share) {
  return static_cast<double>(histogram.percentile(share)) / 1e3;
}

struct Figure {
  const char* name;
  double (*of)(const TrialResult&);
  bool (*is_there)(const TrialResult&);
};

bool always(const TrialResult&) { return true; }
bool has_latency(const TrialResult& t) { return t.latency_actual.count() > 0; }
bool has_intended(const TrialResult& t) { return t.latency_intended.count() > 0; }
bool has_lateness(const TrialResult& t) { return t.lateness.count() > 0; }
bool has_drops(const TrialResult& t) { return t.frames.expected_drops > 0; }

constexpr std::array kFigures{
    Figure{"intended_pps", [](const TrialResult& t) { return t.spec.rate_pps; },
           [](const TrialResult& t) { return t.spec.rate_pps > 0; }},
    Figure{"offered_pps", [](const TrialResult& t) { return t.offered_pps; }, always},
    Figure{"received_pps", [](const TrialResult& t) { return t.received_pps; }, always},
    Figure{"received_bps", [](const TrialResult& t) { return t.received_l1_bps; },
           [](const TrialResult& t) { return t.received_l1_bps > 0; }},
    Figure{"loss_ratio", [](const TrialResult& t) { return t.loss_ratio; }, always},
    Figure{"lost", [](const TrialResult& t) { return static_cast<double>(t.frames.lost); }, always},
    Figure{"reordered",
           [](const TrialResult& t) { return static_cast<double>(t.frames.reordered); }, always},
    Figure{"duplicated",
           [](const TrialResult& t) { return static_cast<double>(t.frames.duplicated); }, always},
    Figure{"corrupted",
           [](const TrialResult& t) { return static_cast<double>(t.frames.corrupted); }, always},
    Figure{"false_accepts",
           [](const TrialResult& t) { return static_cast<double>(t.frames.false_accepts); },
           has_drops},
    Figure{"false_denies",
           [](const TrialResult& t) { return static_cast<double>(t.frames.false_denies); },
           has_drops},
    Figure{
        "latency_min_us",
        [](const TrialResult& t) { return static_cast<double>(t.latency_actual.minimum()) / 1e3; },
        has_latency},
    Figure{"latency_mean_us", [](const TrialResult& t) { return t.latency_actual.mean() / 1e3; },
           has_latency},
    Figure{"latency_p50_us",
           [](const TrialResult& t) { return microseconds(t.latency_actual, .5); }, has_latency},
    Figure{"latency_p90_us",
           [](const TrialResult& t) { return microseconds(t.latency_actual, .9); }, has_latency},
    Figure{"latency_p99_us",
           [](const TrialResult& t) { return microseconds(t.latency_actual, .99); }, has_latency},
    Figure{"latency_p999_us",
           [](const TrialResult& t) { return microseconds(t.latency_actual, .999); }, has_latency},
    Figure{
        "latency_max_us",
        [](const TrialResult& t) { return static_cast<double>(t.latency_actual.maximum()) / 1e3; },
        has_latency},
    Figure{"intended_p50_us",
           [](const TrialResult& t) { return microseconds(t.latency_intended, .5); }, has_intended},
    Figure{"intended_p99_us",
           [](const TrialResult& t) { return microseconds(t.latency_intended, .99); },
           has_intended},
    Figure{"lateness_p99_us", [](const TrialResult& t) { return microseconds(t.lateness, .99); },
           has_lateness},
    // RFC 8219 section 7.3.1: packet delay variation, against the fastest frame.
    Figure{"pdv_us",
           [](const TrialResult& t) {
             return microseconds(t.latency_actual, .999) -
                    static_cast<double>(t.latency_actual.minimum()) / 1e3;
           },
           has_latency},
    Figure{"device_cpu_s", [](const TrialResult& t) { return t.device_cpu_s; },
           [](const TrialResult& t) { return t.device_cpu_s > 0; }},
    Figure{"device_cpu",
           [](const TrialResult& t) { return t.device_cpu_s / std::max(t.sending_s, 1e-9); },
           [](const TrialResult& t) { return t.device_cpu_s > 0 && t.sending_s > 0; }},
    Figure{"total_cpu",
           [](const TrialResult& t) { return t.total_cpu_s / std::max(t.sending_s, 1e-9); },
           [](const TrialResult& t) { return t.total_cpu_s > 0 && t.sending_s > 0; }},
    Figure{"packets_per_cpu_s", [](const TrialResult& t) { return t.packets_per_cpu_s; },
           [](const TrialResult& t) { return t.packets_per_cpu_s > 0; }},
    Figure{"cycles_per_packet", [](const TrialResult& t) { return t.cycles_per_packet; },
           [](const TrialResult& t) { return t.cycles_per_packet > 0; }},
    Figure{"device_rss_mib",
           [](const TrialResult& t) {
             double sum = 0;
             for (const ProcessUse& p : t.processes)
               if (p.role == "device") sum = std::max(sum, p.rss_mib);
             return sum;
           },
           [](const TrialResult& t) {
             return std::any_of(t.processes.begin(), t.processes.end(),
                                [](const ProcessUse& p) { return p.role == "device"; });
           }},
};

constexpr const char* kTesterLimited = "tester_limited";

// Not for medians: it belongs to a device's start, or is there with some trials only.
bool is_of_one_trial(const std::string& name) {
  return name == "setup_s" || name == "load_s" || name == kTesterLimited;
}

// Rate from which every millisecond has frames in it.
constexpr double kFramesEachMs = 2000;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

const std::vector<std::string>& trial_figures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Figure& figure : kFigures) out.emplace_back(figure.name);
    return out;
  }();
  return names;
}

std::optional<double> trial_figure(const TrialResult& trial, const std::string& name) {
  for (const Figure& figure : kFigures)
    if (name == figure.name)
      return figure.is_there(trial) ? std::optional(figure.of(trial)) : std::nullopt;
  const auto kpi = trial.kpis.find(name);
  return kpi == trial.kpis.end() ? std::nullopt : std::optional(kpi->second);
}

void reduce_row(Row& row, const std::vector<const TrialResult*>& trials,
                const PathLimits& null_path) {
  Stamp best = Stamp::kFailed;
  for (const TrialResult* trial : trials)
    if (!trial->spec.is_warm_up) best = std::min(best, trial->stamp);
  if (best == Stamp::kFailed) return;
  std::map<std::string, std::vector<double>> values;
  std::size_t count = 0;
  for (const TrialResult* trial : trials) {
    if (trial->spec.is_warm_up || trial->stamp != best) continue;
    ++count;
    for (const Figure& figure : kFigures)
      if (figure.is_there(*trial)) values[figure.name].push_back(figure.of(*trial));
    for (const auto& [name, value] : trial->kpis)
      if (!is_of_one_trial(name)) values[name].push_back(value);
  }
  for (auto& [name, list] : values) {
    const auto [low, high] = std::minmax_element(list.begin(), list.end());
    const double spread = *high - *low;
    const double middle = median(list);
    row.kpis.emplace(name, middle);  // what the suite has put there stays
    if (list.size() > 1) row.spreads[name] = middle != 0 ? spread / std::abs(middle) : 0;
  }
  row.kpis["trials"] = static_cast<double>(count);
  row.kpis["trials_stamp"] = static_cast<double>(best);
  const auto p50 = row.kpis.find("latency_p50_us");
  if (p50 != row.kpis.end() && null_path.latency_p50_ns > 0)
    row.kpis["latency_added_us"] = p50->second - null_path.latency_p50_ns / 1e3;
}

bool is_limited_by_tester(const TrialResult& trial) {
  return trial.stamp == Stamp::kTesterLimited || trial.kpis.contains(kTesterLimited);
}

double longest_outage_s(const TrialResult& trial) {
  const std::size_t size = std::min(trial.timeline_offered.size(), trial.timeline_lost.size());
  std::size_t longest = 0, current = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t offered = trial.timeline_offered[i], lost = trial.timeline_lost[i];
    // A millisecond in which nothing could be sent belongs to the outage where the schedule had
    // frames in it; at low rates it says nothing and does not begin one.
    if (offered == 0 && (current > 0 || trial.spec.rate_pps >= kFramesEachMs)) {
      ++current;
    } else if (offered > 0 && lost >= offered) {
      ++current;
    } else {
      current = 0;
    }
    longest = std::max(longest, current);
  }
  return static_cast<double>(longest) / 1e3;
}

}  // namespace merlon::lab
