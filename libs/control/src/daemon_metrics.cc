// SPDX-License-Identifier: Apache-2.0
// GET /metrics.
#include <algorithm>

#include "merlon/control/daemon_view.h"
#include "merlon/telemetry/metrics.h"
#include "merlon/telemetry/standard_metrics.h"

namespace merlon::control {
namespace {

using telemetry::MetricsWriter;
namespace metric = telemetry::metric;

constexpr std::size_t kMaxRules = 1000;

struct PortRow {
  std::string name;
  io::PortInfo info;
  io::PortCounters counters;
};

void write_ports(MetricsWriter& w, const std::vector<PortRow>& ports) {
  const auto each = [&](const telemetry::MetricFamily& family, auto value) {
    w.family(family);
    for (const PortRow& p : ports) w.sample({{"port", p.name}}, value(p));
  };
  each(metric::kPortReceivePackets, [](const PortRow& p) { return p.counters.rx_packets; });
  each(metric::kPortReceiveBytes, [](const PortRow& p) { return p.counters.rx_bytes; });
  each(metric::kPortTransmitPackets, [](const PortRow& p) { return p.counters.tx_packets; });
  each(metric::kPortTransmitBytes, [](const PortRow& p) { return p.counters.tx_bytes; });
  each(metric::kPortReceiveMissed, [](const PortRow& p) { return p.counters.rx_dropped; });
  each(metric::kPortReceiveRingFull, [](const PortRow& p) { return p.counters.rx_ring_full; });
  each(metric::kPortReceiveErrors, [](const PortRow& p) { return p.counters.rx_errors; });
  each(metric::kPortTransmitErrors, [](const PortRow& p) { return p.counters.tx_errors; });
  each(metric::kPortTransmitDropped, [](const PortRow& p) { return p.counters.tx_dropped; });
  each(metric::kPortUp, [](const PortRow& p) { return p.info.is_link_up ? 1U : 0U; });
  each(metric::kPortSpeed,
       [](const PortRow& p) { return std::uint64_t{p.info.speed_mbps} * 1'000'000; });
}

// The rules with the most hits by name, all others together: labels stay bounded.
void write_rule_hits(MetricsWriter& w, const policy::Snapshot& policy,
                     const policy::HitCounters& hits) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> rules;
  for (std::uint32_t slot = 0; slot < policy.slot_count(); ++slot)
    if (policy.slot(slot) != nullptr) rules.emplace_back(hits.read(slot).sessions, slot);
  std::ranges::sort(rules, std::ranges::greater{});
  w.family(metric::kPolicyRuleHits);
  std::uint64_t other = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (i >= kMaxRules) {
      other += rules[i].first;
      continue;
    }
    w.sample({{"rule", policy.slot(rules[i].second)->id}}, rules[i].first);
  }
  if (rules.size() > kMaxRules) w.sample({{"rule", "other"}}, other);
}

}  // namespace

std::string DaemonView::metrics_text() {
  MetricsWriter w;
  engine::Engine& e = *runtime_.engine();
  w.family(metric::kBuildInfo).sample({{"version", program_version()}}, 1U);
  w.family(metric::kStartTime).sample({}, static_cast<double>(started_) / 1e9);
  std::vector<PortRow> ports;
  for (std::uint16_t p = 0; p < e.config().ports.size(); ++p)
    ports.push_back({e.config().ports[p].name, e.port(p).info(), e.port(p).counters()});
  write_ports(w, ports);

  const auto rows = e.counter_rows();
  telemetry::write_worker_metrics(w, rows, base::TscClock::frequency());
  std::uint64_t limit = 0;
  w.family(metric::kSessionEntries);
  for (unsigned i = 0; i < e.worker_count(); ++i) {
    const auto gauges = e.read_worker(i).gauges;
    limit += gauges.sessions_max;
    w.sample({{"worker", std::to_string(i)}}, gauges.sessions);
  }
  w.family(metric::kSessionLimit).sample({}, limit);
  w.family(metric::kPolicyRevision).sample({}, runtime_.policy()->generation());
  w.family(metric::kPolicyRules).sample({}, std::uint64_t{runtime_.policy()->size().rules});
  const ChangeCounts changes = this->changes();
  w.family(metric::kPolicyCommits)
      .sample({{"result", "committed"}}, changes.by_result[0])
      .sample({{"result", "rolled_back"}}, changes.by_result[1])
      .sample({{"result", "refused"}}, changes.by_result[2]);
  w.family(metric::kPolicyCommitDuration)
      .histogram({}, ChangeCounts::kBounds, changes.by_duration, changes.longer, changes.seconds);
  write_rule_hits(w, *runtime_.policy(), e.hits());
  telemetry::write_sink_metrics(w, events_writer_.sinks());
  return w.take();
}

}  // namespace merlon::control
