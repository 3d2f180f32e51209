// SPDX-License-Identifier: Apache-2.0
// How exactly the sender keeps its rate, and how fast it goes: one trial per rate over two
// endpoints that somebody has joined, a line of JSON each. tests/perf/lab_rates.py sets endpoints
// up and compares.
//   lab_rate_bench --kind af_packet --a g0 [--b k0] [--ns-a gen] [--ns-b snk] [--seconds 1]
//                  [--size 64] [--flows 1] [--family ipv4|ipv6|mixed] [--drop-share 0.1]
//                  [--device-a STRING] [--device-b STRING] (kind dpdk)
//                  [--listen both|none] (sockets; default: a listens, b does not)
//                  [--sender-core N] [--receiver-core N] RATE... | max
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "merlon/lab_traffic/tester.h"

namespace {

using merlon::lab::EndpointSpec;
using merlon::lab::TrialResult;

struct Options {
  Options() { a.is_server = true; }
  EndpointSpec a, b;
  bool is_alone = false;  // nobody receives
  double seconds = 1;
  std::string size = "64";
  double ipv6_share = 0, drop_share = 0;
  unsigned long flows = 1;
  merlon::lab::TesterSettings settings;
  std::vector<double> rates;  // 0: maximum
};

bool read_options(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      o.rates.push_back(word == "max" ? 0 : std::atof(argv[i]));
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (word == "--kind")
      o.a.kind = o.b.kind = value;
    else if (word == "--a")
      o.a.interface = value;
    else if (word == "--b")
      o.b.interface = value;
    else if (word == "--ns-a")
      o.a.net_namespace = value;
    else if (word == "--ns-b")
      o.b.net_namespace = value;
    else if (word == "--family")
      o.ipv6_share = value == "ipv6" ? 1 : value == "mixed" ? 0.5 : 0;
    else if (word == "--drop-share")
      o.drop_share = std::atof(value.c_str());
    else if (word == "--device-a")
      o.a.device = value;
    else if (word == "--device-b")
      o.b.device = value;
    else if (word == "--listen")
      o.a.is_server = o.b.is_server = value == "both";
    else if (word == "--seconds")
      o.seconds = std::atof(value.c_str());
    else if (word == "--size")
      o.size = value;
    else if (word == "--flows")
      o.flows = std::strtoul(value.c_str(), nullptr, 10);
    else if (word == "--sender-core")
      o.settings.sender_core = std::atoi(value.c_str());
    else if (word == "--receiver-core")
      o.settings.receiver_core = std::atoi(value.c_str());
    else
      return false;
  }
  o.is_alone = o.b.interface.empty();
  return !o.rates.empty() && !o.a.interface.empty();
}

void print(double rate, const TrialResult& r) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
  double cpu = 0;
  for (const auto& p : r.processes) cpu += p.user_s + p.system_s;
  std::string reasons;
  for (const auto& s : r.stamp_reasons) reasons += s;
  fmt::print(
      "{{\"intended_pps\": {:.0f}, \"offered_pps\": {:.0f}, \"received_pps\": {:.0f}, "
      "\"intended\": {}, \"offered\": {}, \"received\": {}, \"lost\": {}, \"unexpected\": {}, "
      "\"duplicated\": {}, \"reordered\": {}, \"corrupted\": {}, \"false_denies\": {}, "
      "\"lateness_us\": {{\"p50\": {:.1f}, \"p99\": {:.1f}, \"max\": {:.1f}}}, "
      "\"latency_us\": {{\"p50\": {:.1f}, \"p99\": {:.1f}, \"p999\": {:.1f}}}, "
      "\"latency_intended_p99_us\": {:.1f}, \"cpu_s\": {:.3f}, \"port_share\": {:.2f}, "
      "\"sender_gap_us\": {:.0f}, \"drift_ppm\": {:.2f}, \"stamp\": {}, \"reasons\": \"{}\"}}\n",
      rate, r.offered_pps, r.received_pps, r.frames.intended, r.frames.offered, r.frames.received,
      r.frames.lost, r.frames.unexpected, r.frames.duplicated, r.frames.reordered,
      r.frames.corrupted, r.frames.false_denies, us(r.lateness.percentile(0.5)),
      us(r.lateness.percentile(0.99)), us(r.lateness.maximum()),
      us(r.latency_actual.percentile(0.5)), us(r.latency_actual.percentile(0.99)),
      us(r.latency_actual.percentile(0.999)), us(r.latency_intended.percentile(0.99)), cpu,
      r.kpis.at("sender_port_share"), r.kpis.at("sender_gap_us"), r.kpis.at("clock_drift_ppm"),
      static_cast<int>(r.stamp), reasons);
}

int run(const Options& o) {
  auto a = merlon::lab::open_endpoint(o.a);
  if (!a.ok()) return fmt::print(stderr, "{}\n", a.error().to_string()), 1;
  std::unique_ptr<merlon::lab::Endpoint> receiver;
  if (!o.is_alone) {
    auto b = merlon::lab::open_endpoint(o.b);
    if (!b.ok()) return fmt::print(stderr, "{}\n", b.error().to_string()), 1;
    receiver = std::move(*b);
  }
  auto tester = merlon::lab::Tester::create(std::move(*a), std::move(receiver), o.settings);
  if (!tester.ok()) return fmt::print(stderr, "{}\n", tester.error().to_string()), 1;
  const std::atomic<bool> stop{false};
  for (const double rate : o.rates) {
    merlon::lab::TrialSpec t;
    t.rate_pps = rate;
    t.duration_s = o.seconds;
    t.traffic.sizes = o.size;
    t.traffic.flows = o.flows;
    t.traffic.ipv6_share = o.ipv6_share;
    t.traffic.drop_share = o.drop_share;
    if (rate == 0) t.traffic.pacing = merlon::lab::Pacing::kMaximum;
    const auto r = (*tester)->run(t, stop);
    if (!r.ok()) return fmt::print(stderr, "{}\n", r.error().to_string()), 1;
    print(rate, *r);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  if (!read_options(argc, argv, o)) {
    fmt::print(stderr,
               "usage: lab_rate_bench --kind K --a NAME [--b NAME] [options] RATE... | max\n");
    return 2;
  }
  return run(o);
}
