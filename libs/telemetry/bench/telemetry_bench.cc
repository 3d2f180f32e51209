// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "merlon/telemetry/drop_ring.h"
#include "merlon/telemetry/eve.h"
#include "merlon/telemetry/rate_limit.h"
#include "merlon/telemetry/standard_metrics.h"

namespace merlon::telemetry {
namespace {

class BenchNames final : public Names {
 public:
  std::string_view port(std::uint16_t) const override { return "wan"; }
  std::string_view zone(std::uint16_t, std::uint32_t) const override { return "inside"; }
  std::string_view rule(std::uint32_t) const override { return "allow-web"; }
  std::string_view session_state(std::uint8_t) const override { return "time_wait"; }
  FlowState flow_state(std::uint8_t) const override { return FlowState::kClosed; }
};

base::EventRecord flow_record(bool is_v6) {
  base::EventRecord r;
  r.kind = base::EventKind::kFlow;
  r.end = base::SessionEnd::kTcpFin;
  r.protocol = 6;
  r.tcp_flags[0] = r.tcp_flags[1] = 0x1b;
  r.time = 1787393472123456789;
  r.start = r.time - 61 * base::kNanosPerSecond;
  r.flow_id = 9007199254740991;
  r.source = *base::parse_address(is_v6 ? "2001:db8::1:2" : "192.0.2.101");
  r.destination = *base::parse_address(is_v6 ? "2001:db8:5:6:7:8:9:a" : "198.51.100.25");
  r.source_port = 40000;
  r.destination_port = 443;
  r.in_port = r.out_port = 0;
  r.zone_source = r.zone_destination = 0;
  r.rule = 7;
  r.packets = {500, 400};
  r.bytes = {50000, 6000000};
  return r;
}

void format_flow(benchmark::State& state, bool is_v6, bool community) {
  const BenchNames names;
  EveOptions options;
  options.community_id = community;
  const EveFormatter formatter(names, options);
  const auto record = flow_record(is_v6);
  std::string line;
  for (auto _ : state) {
    line.clear();
    formatter.append(record, line);
    benchmark::DoNotOptimize(line.data());
  }
  state.counters["bytes"] = static_cast<double>(line.size());
}
BENCHMARK_CAPTURE(format_flow, v4, false, false);
BENCHMARK_CAPTURE(format_flow, v4_community_id, false, true);
BENCHMARK_CAPTURE(format_flow, v6, true, false);

void drop_ring_write(benchmark::State& state) {
  DropRing ring(16);
  std::array<base::Byte, 1514> packet{};
  DropInfo info;
  unsigned reason = 0;
  for (auto _ : state) {
    info.reason = static_cast<base::DropReason>(reason++ & 31);
    info.time += 100;
    ring.write(info, packet.data(), static_cast<std::size_t>(state.range(0)));
  }
}
BENCHMARK(drop_ring_write)->Arg(60)->Arg(1514);

void count_drop(benchmark::State& state) {
  WorkerCounters row;
  for (auto _ : state) {
    row.add_drop(base::DropReason::kPolicyDeny, 60);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(count_drop);

void token_bucket(benchmark::State& state) {
  TokenBucket bucket(100);
  base::Ticks now = 0;
  for (auto _ : state) benchmark::DoNotOptimize(bucket.take(now++ >> 6));
}
BENCHMARK(token_bucket);

void metrics_page(benchmark::State& state) {
  std::array<WorkerCounters, 8> rows;
  std::array<const WorkerCounters*, 8> pointers;
  for (std::size_t i = 0; i < rows.size(); ++i) pointers[i] = &rows[i];
  for (auto _ : state) {
    MetricsWriter w;
    write_worker_metrics(w, pointers, 2e9);
    benchmark::DoNotOptimize(w.take());
  }
}
BENCHMARK(metrics_page);

}  // namespace
}  // namespace merlon::telemetry

BENCHMARK_MAIN();
