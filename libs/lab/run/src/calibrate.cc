// SPDX-License-Identifier: Apache-2.0
// The null path: what tester and cable do without a device. Its trials are journalled like all
// others.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "manager.h"
#include "row_at_work.h"

namespace merlon::lab {

using base::Result;

namespace {

constexpr double kMaximumS = 0.4;  // of one trial at the highest rate
constexpr unsigned kMaximumTrials =
    4;  // of the first and last calibration: their spread is the A/A noise
constexpr double kLatencyS = 0.5;
constexpr double kLatencyPps = 20'000;  // or a fifth of the ceiling

// What decides how much a frame costs its sender.
std::string path_key(const TrafficSpec& traffic) {
  const bool is_varied = traffic.source_mac.variation != Variation::kFixed ||
                         traffic.destination_mac.variation != Variation::kFixed;
  const char* flows = traffic.flows > 4096 ? "many" : traffic.flows > 1 ? "some" : "one";
  return fmt::format("{}|{}|{}", traffic.sizes, is_varied ? "macs" : "mac", flows);
}

TrafficSpec plain(TrafficSpec traffic) {
  traffic.attack = AttackKind::kNone;
  traffic.drop_share = 0;
  traffic.is_bidirectional = false;
  traffic.capture.clear();
  traffic.ipv6_share = 0;
  traffic.protocol = "udp";  // costs the tester the same, and fits into 64 bytes
  traffic.pacing = Pacing::kConstant;
  return traffic;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Spread of equal trials on the empty path: what this machine does to figures by itself.
std::string noise_grade(double ratio) {
  if (ratio <= 0.03) return "A";
  if (ratio <= 0.10) return "B";
  return ratio <= 0.25 ? "C" : "D";
}

Row cable(const std::string& id, const TrafficSpec& traffic) {
  Row row;
  row.id = id;
  row.suite = "maximum";
  row.device.driver = "null";
  row.device.topology = "direct";
  row.traffic = plain(traffic);
  return row;
}

}  // namespace

Result<void> Manager::calibrate_path(const std::string& name, Row row, PathLimits& path) {
  TrialRequest request;
  request.traffic = row.traffic;
  request.traffic.pacing = Pacing::kMaximum;
  request.duration_s = kMinimumTrialS;
  request.is_warm_up = true;
  if (auto warm = trial(row, name + ".t1", request, {}); !warm) return warm.error();
  request.is_warm_up = false;
  std::vector<double> rates, costs;
  const unsigned count = std::max(1U, row.repeats);
  for (unsigned i = 0; i < count; ++i) {
    request.duration_s = row.duration_s;
    auto result = trial(row, fmt::format("{}.t{}", name, i + 2), request, {});
    if (!result) return result.error();
    rates.push_back(result->received_pps);
    if (result->frames.received > 0)
      costs.push_back(result->total_cpu_s / static_cast<double>(result->frames.received));
  }
  path.ceiling_pps = *std::max_element(rates.begin(), rates.end());
  path.cpu_s_per_packet = median(costs);
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  if (const double middle = median(rates); rates.size() > 2 && middle > 0) {
    Environment& environment = book_.run().environment;
    environment.noise_ratio = std::max(environment.noise_ratio, (*high - *low) / middle);
    environment.noise_grade = noise_grade(environment.noise_ratio);
  }
  request.traffic = row.traffic;
  request.duration_s = kLatencyS;
  request.rate_pps = std::min(kLatencyPps, path.ceiling_pps / 5);
  auto result = trial(row, fmt::format("{}.t{}", name, count + 2), request, {});
  if (!result) return result.error();
  path.latency_p50_ns = static_cast<double>(result->latency_actual.percentile(0.5));
  path.latency_p99_ns = static_cast<double>(result->latency_actual.percentile(0.99));
  return {};
}

// When most of the first calibration is contaminated, all that follows will be.
void Manager::judge_machine() {
  unsigned all = 0, bad = 0;
  for (const TrialResult& trial : book_.run().trials) {
    if (!trial.spec.id.starts_with("calibration.before") || trial.spec.is_warm_up) continue;
    ++all;
    bad += trial.stamp == Stamp::kContaminated ? 1U : 0U;
  }
  is_busy_ = 2 * bad > all;
  if (is_busy_)
    observer_.note(
        {"other work uses this machine's cores: trials are contaminated, marked so, and used all "
         "the same",
         "ядра машины заняты другой работой: испытания загрязнены, помечены и всё же "
         "используются"});
}

Result<void> Manager::calibrate(const std::string& when) {
  const TrafficSpec traffic = plan_.rows.empty() ? TrafficSpec{} : plan_.rows.front().traffic;
  Row row = cable("calibration." + when, traffic);
  row.repeats = kMaximumTrials;
  row.duration_s = kMaximumS;
  PathLimits path;
  observer_.note(
      {fmt::format("calibrating the null path ({})", when),
       fmt::format("калибровка пути без устройства ({})", when == "before" ? "до" : "после")});
  if (auto done = calibrate_path(row.id, row, path); !done) {
    if (stop_) return {};
    if (is_journal_broken_ || when == "before") return done;
    observer_.note({"the last calibration failed: " + done.error().message,
                    "последняя калибровка не удалась: " + done.error().message});
    return {};
  }
  if (when == "before") {
    paths_[path_key(traffic)] = path;
    judge_machine();
  }
  for (const Calibration& old : book_.run().calibrations)
    if (old.when == when) return {};
  Calibration calibration;
  calibration.when = when;
  calibration.ceiling_pps = path.ceiling_pps;
  calibration.cpu_s_per_packet = path.cpu_s_per_packet;
  calibration.latency_p50_ns = path.latency_p50_ns;
  calibration.latency_p99_ns = path.latency_p99_ns;
  calibration.trial = fmt::format("{}.t{}", row.id, kMaximumTrials + 2);
  return book_.calibration(std::move(calibration));
}

const PathLimits& Manager::null_path(const Row& row) {
  static const PathLimits kUnknown{};
  // What is no veth cable between our own ports has a ceiling of its own that the cable says
  // nothing about; whole connections too.
  static const std::set<std::string> kOthers{"memif", "vhost", "virtio", "tap", "loopback"};
  if (kOthers.contains(row.device.topology) || row.device.options.contains("tester_port") ||
      row.suite.starts_with("rfc9411") || row.suite.starts_with("connection_")) {
    return kUnknown;
  }
  const std::string key = path_key(row.traffic);
  const auto known = paths_.find(key);
  if (known != paths_.end()) return known->second;
  Row cable_row = cable(fmt::format("calibration.{}", paths_.size()), row.traffic);
  cable_row.repeats = 2;
  cable_row.duration_s = 0.3;
  PathLimits path;
  if (!calibrate_path(cable_row.id, cable_row, path)) {
    if (stop_) return kUnknown;
    observer_.note({"no ceiling is known for frames of " + row.traffic.sizes,
                    "предел тестера для кадров " + row.traffic.sizes + " неизвестен"});
    path = {};
  }
  return paths_[key] = path;
}

}  // namespace merlon::lab
