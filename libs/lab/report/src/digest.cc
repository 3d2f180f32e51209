// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "format.h"
#include "values.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

// Of a row at a fixed rate these are compared; a search's trials are at loads of their own.
constexpr std::array<std::string_view, 7> kFixedRate{
    "received_pps",      "delivered_ratio",   "latency_p50_us", "latency_p99_us",
    "packets_per_cpu_s", "cycles_per_packet", "device_cpu"};

// FNV-1a: a name for a text, not a defence.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

std::string pattern_key(const char* name, const FieldPattern& p) {
  if (p.count <= 1 && p.variation == Variation::kFixed) return {};
  return fmt::format("|{}={}x{}", name, static_cast<int>(p.variation), p.count);
}

std::optional<double> compared_value(const TrialResult& trial, std::string_view name) {
  if (name != "delivered_ratio") return trial_value(trial, name);
  const auto loss = trial_value(trial, "loss_ratio");
  return loss ? std::optional(1 - *loss) : std::nullopt;
}

void add_trials(const RunIndex& index, const Row& row, DigestRow& out) {
  const auto trials = speaking(index.trials(row.id));
  std::set<std::string> names(kFixedRate.begin(), kFixedRate.end());
  for (const TrialResult* t : trials)
    for (const auto& [name, value] : t->kpis)
      if (value_info(name).better != Better::kNeither) names.insert(name);
  for (const std::string& name : names) {
    DigestMetric metric;
    for (const TrialResult* t : trials)
      if (const auto v = compared_value(*t, name)) metric.values.push_back(*v);
    if (!metric.values.empty()) out.metrics.emplace(name, std::move(metric));
  }
}

// What a suite reduced to one figure, where no trial has the like: what the row tells of its trials
// is compared by their values.
void add_reduced(const RunIndex& index, const Row& row, DigestRow& out) {
  const auto& trials = index.trials(row.id);
  for (const auto& [name, value] : row.kpis) {
    const ValueInfo info = value_info(name);
    if (info.better == Better::kNeither || info.unit == Unit::kNone || !std::isfinite(value) ||
        name.find("loss_") != std::string::npos)
      continue;
    const bool is_of_trials = std::any_of(trials.begin(), trials.end(), [&](const TrialResult* t) {
      return trial_value(*t, name).has_value();
    });
    if (!is_of_trials) out.metrics.try_emplace(name, DigestMetric{{value}, 0, 0, false});
  }
}

DigestRow digest_row(const RunIndex& index, const Row& row) {
  DigestRow out;
  out.key = row_key(row);
  out.title = title_of(row);
  if (!row.device_config.empty())
    out.configuration = hash_of(normalised_dump(row.device_config, index.run().id));
  for (const GoalResult& r : row.results) {
    DigestMetric metric;
    metric.is_search = true;
    metric.lower = r.is_regular ? r.lower_pps : 0;
    metric.upper = r.is_regular ? r.upper_pps : 0;
    const double value = goal_value(r);
    if (std::isfinite(value) && value > 0) metric.values = {value};
    out.metrics.emplace(r.goal.name + "_pps", std::move(metric));
  }
  if (row.results.empty()) add_trials(index, row, out);
  if (row.results.empty()) add_reduced(index, row, out);
  return out;
}

}  // namespace

std::string row_key(const Row& row) {
  const DeviceSpec& d = row.device;
  const TrafficSpec& t = row.traffic;
  std::string key = fmt::format("{}|{}|{}|{}|{}|rules={}", row.suite, d.driver, d.mode, d.topology,
                                d.place, d.rules);
  for (const auto& [name, value] : d.options)
    // Where a binary lies is not what it is.
    if (name.find("path") == std::string::npos) key += fmt::format("|{}={}", name, value);
  key += fmt::format("|{}|{}|flows={}|pacing={}x{}", t.capture.empty() ? t.sizes : t.capture,
                     t.protocol, t.flows, static_cast<int>(t.pacing), t.burst_frames);
  key += pattern_key("smac", t.source_mac) + pattern_key("dmac", t.destination_mac) +
         pattern_key("sip", t.source_ip) + pattern_key("dip", t.destination_ip) +
         pattern_key("sport", t.source_port) + pattern_key("dport", t.destination_port) +
         pattern_key("vlan", t.vlan);
  if (t.ipv6_share > 0) key += fmt::format("|ipv6={:.6g}", t.ipv6_share);
  for (const RateStep& step : t.steps)
    key += fmt::format("|step={:.6g}x{:.6g}", step.factor, step.share);
  if (t.is_random_flow_order) key += "|random";
  if (t.is_bidirectional) key += "|both";
  if (t.drop_share > 0) key += fmt::format("|drop={:.6g}", t.drop_share);
  if (t.attack != AttackKind::kNone)
    key += fmt::format("|attack={}@{:.6g}", static_cast<int>(t.attack), t.attack_pps);
  if (row.rate_pps > 0) key += fmt::format("|rate={:.6g}", row.rate_pps);
  key += fmt::format("|s={:.6g}", row.duration_s);
  for (const auto& [name, value] : row.parameters) key += fmt::format("|{}={:.6g}", name, value);
  // One device may stand on both sides, or in two pairs.
  if (row.suite == "paired") key += "|row=" + row.id;
  for (const Goal& g : row.goals) key += fmt::format("|{}<={:.6g}", g.name, g.loss_ratio);
  return key;
}

std::string normalised_dump(const std::string& dump, const std::string& run_id) {
  std::string text = dump;
  if (!run_id.empty())
    for (std::size_t at = text.find(run_id); at != std::string::npos; at = text.find(run_id, at))
      text.replace(at, run_id.size(), "*");
  std::string out;
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  for (std::size_t i = 0; i < text.size();) {
    // aa:bb:cc:dd:ee:ff
    if (i + 17 <= text.size() && is_hex(text[i])) {
      bool is_mac = true;
      for (std::size_t k = 0; k < 17 && is_mac; ++k)
        is_mac = k % 3 == 2 ? text[i + k] == ':' : is_hex(text[i + k]);
      if (is_mac) {
        out.append("<mac>");
        i += 17;
        continue;
      }
    }
    // "packets 123 bytes 456", "ifindex 7", "pid 81": counts of this run.
    bool is_counted = false;
    for (const std::string_view word : {"packets ", "bytes ", "ifindex ", "pid ", "handle ",
                                        "n_packets=", "n_bytes=", "duration=", "cookie="}) {
      if (text.compare(i, word.size(), word) != 0) continue;
      out.append(word).append("#");
      i += word.size();
      while (i < text.size() && (is_hex(text[i]) || text[i] == 'x' || text[i] == '.')) ++i;
      is_counted = true;
      break;
    }
    if (!is_counted) out.push_back(text[i++]);
  }
  return out;
}

Digest digest(const Run& run) {
  const RunIndex index(run);
  Digest out;
  out.id = run.id;
  out.plan = run.plan;
  out.title = title_of(run);
  out.started = std::isfinite(run.started) ? run.started : 0;
  const Environment& e = run.environment;
  out.noise = std::isfinite(e.noise_ratio) ? e.noise_ratio : 0;
  out.environment = {{"machine", e.machine},
                     {"cpu", e.cpu},
                     {"kernel", e.kernel},
                     {"distribution", e.distribution},
                     {"clock source", e.clock_source},
                     {"virtualization", e.virtualization},
                     {"cores", std::to_string(e.cores)},
                     {"noise grade", e.noise_grade}};
  for (const auto& [name, value] : e.versions) out.environment["version " + name] = value;
  for (const auto& [name, value] : e.mitigations) out.environment["mitigation " + name] = value;
  for (const auto& [name, value] : e.pinning) out.environment["pinning " + name] = value;
  std::map<std::string, unsigned> seen;
  for (const Row& row : run.rows) {
    if (row.state != RowState::kDone) continue;
    DigestRow d = digest_row(index, row);
    if (d.metrics.empty()) continue;
    if (const unsigned n = ++seen[d.key]; n > 1)
      d.key += fmt::format("|#{}", n);  // rows alike, in their order
    out.rows.push_back(std::move(d));
  }
  return out;
}

}  // namespace merlon::lab::report
