// SPDX-License-Identifier: Apache-2.0
// Suites of whole TCP connections: connection rate and cost, RFC 9411.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "https.h"
#include "merlon/lab_tcp/rfc9411.h"
#include "suites.h"

namespace merlon::lab {

using base::Result;

Result<TcpRequest> tcp_request(const Row& row) {
  TcpRequest tcp;
  auto tls = tls_of(row);
  if (!tls) return tls.error();
  tcp.tls = std::move(*tls);
  tcp.object_kib = parameter(row, "object_kib");
  tcp.transactions = static_cast<unsigned>(parameter(row, "transactions"));
  tcp.ramp_s = parameter(row, "ramp_s");
  tcp.sustain_s = row.duration_s;
  tcp.client_addresses = static_cast<unsigned>(parameter(row, "clients"));
  tcp.server_addresses = static_cast<unsigned>(parameter(row, "servers"));
  return tcp;
}

TrialRequest connections_request(const Row& row, TcpRequest tcp) {
  TrialRequest request;
  request.traffic = row.traffic;
  request.rate_pps = 0;
  request.duration_s = tcp.sustain_s + 2 * tcp.ramp_s;
  request.connections = std::move(tcp);
  return request;
}

namespace {

double kpi(const TrialResult& trial, const char* name) {
  const auto found = trial.kpis.find(name);
  return found == trial.kpis.end() ? 0 : found->second;
}

// Does a trial keep what it offered? Every connection that was started came to a good end, but for
// `share`.
bool keeps_up(const TrialResult& trial, double share) {
  return kpi(trial, "attempted") > 0 && kpi(trial, "failed") <= share * kpi(trial, "attempted") &&
         kpi(trial, "connections_per_s") >= 0.95 * kpi(trial, "offered_connections_per_s");
}

// Fewer a second are no search's business.
constexpr double kLeastCps = 10;

// The highest rate of new connections that passes, between one that does and one that doesn't.
struct RateSearch {
  double limit = 0, width = 0;
  double low = 0, high = 0;  // passes, fails; 0: not known

  [[nodiscard]] bool is_done() const {
    if (high == 0) return low >= limit;
    return low > 0 ? high - low <= width * high : high <= kLeastCps;
  }
  // Doubled until a rate fails. Below one that failed at once, what came through there says where
  // to look, and no more than that: a device that collapsed may do many times as much. Far bounds
  // are halved by their ratio, near ones by their difference.
  [[nodiscard]] double next(double managed_cps) const {
    if (high == 0) return std::min(limit, 2 * low);
    if (low == 0) return std::clamp(0.8 * managed_cps, high / 8, high / 2);
    return high > 4 * low ? std::sqrt(low * high) : (low + high) / 2;
  }
};

// Each result of a trial decides, so that a resumed run goes the same way. Where the lowest rate
// that failed was more than the tester could open, the row says that the device was not the limit.
Result<double> highest_rate(RowRun& run, TcpRequest tcp, double start, double limit, double width,
                            double share, TrialResult* best) {
  RateSearch search{.limit = limit, .width = width};
  Kpis& kpis = run.row().kpis;
  for (double rate = std::min(start, limit);;) {
    tcp.connections_per_s = rate;
    auto trial = run.trial(connections_request(run.row(), tcp));
    // What failed beside others' work, once, may not be the device's failure.
    if (trial && !keeps_up(*trial, share) && !run.is_usable(*trial))
      trial = run.trial(connections_request(run.row(), tcp));
    if (!trial) return trial.error();
    if (keeps_up(*trial, share)) {
      search.low = rate;
      if (best != nullptr) *best = *trial;
    } else {
      search.high = rate;
      kpis["limited_by_tester"] = is_limited_by_tester(*trial) ? 1 : 0;
    }
    // Without a rate that passes there is no result: the way down goes on while there is any time.
    const double least_s = search.low > 0 ? 2 * tcp.sustain_s : 0;
    if (search.is_done() || run.seconds_left() <= least_s) break;
    rate = search.next(kpi(*trial, "connections_per_s"));
  }
  kpis["higher_rate_failed"] = search.high > 0 ? 1 : 0;
  return search.low;
}

void keep_verdict(Row& row, const TrialResult& trial) {
  const Rfc9411Verdict verdict = judge_rfc9411(trial);
  for (const Rfc9411Limit& limit : verdict.limits) {
    if (!limit.is_measured) continue;
    row.kpis[limit.name] = limit.value;
    row.kpis[limit.name + "_limit"] = limit.limit;
    row.kpis[limit.name + "_passed"] = limit.has_passed ? 1 : 0;
  }
  row.kpis["passed"] = verdict.has_passed ? 1 : 0;
  for (const auto& [name, value] : trial.kpis) row.kpis.emplace(name, value);
}

// A rate that a busy tester could not raise, or that nothing stopped, is a lower bound.
void tell_what_ended(Row& row) {
  if (row.kpis["max_cps"] <= 0 && row.kpis["limited_by_tester"] == 0)
    row.state_reason = {"no rate passed: connections failed at the lowest that there was time for",
                        "ни одна частота не прошла: соединения отказывали и на наименьшей, на "
                        "которую хватило времени"};
  else if (row.kpis["limited_by_tester"] != 0)
    row.state_reason = {"the tester could not open more connections; the device may do more",
                        "тестер не смог открыть больше соединений; устройство может больше"};
  else if (row.kpis["higher_rate_failed"] == 0)
    row.state_reason = {
        "the search's time or range ended before any rate failed; more may be possible",
        "время или диапазон поиска кончились раньше, чем отказала хоть одна частота; "
        "возможно и больше"};
}

}  // namespace

// Connections from SYN to FIN per second: the highest rate at which all of them come to a good end.
Result<void> run_connection_rate(RowRun& run) {
  Row& row = run.row();
  const auto tcp = tcp_request(row);
  if (!tcp) return tcp.error();
  TcpRequest first = *tcp;
  first.connections_per_s = parameter(row, "start_cps");
  if (auto warm = warm_up(run, connections_request(row, first)); !warm) return warm;
  TrialResult best;
  auto rate = highest_rate(run, *tcp, parameter(row, "start_cps"), parameter(row, "limit_cps"),
                           parameter(row, "width"), 0.00001, &best);
  if (!rate) return rate.error();
  row.kpis["max_cps"] = *rate;
  for (const auto& [name, value] : best.kpis) row.kpis.emplace(name, value);
  tell_what_ended(row);
  return {};
}

namespace {

// Work of a whole trial, by connections that came to their end.
struct Work {
  double connections = 0, beside_s = 0, device_s = 0, tester_cycles = 0;
};

Work work_of(const std::vector<TrialResult>& trials) {
  Work sum;
  for (const TrialResult& trial : trials) {
    const double done = kpi(trial, "completed");
    sum.connections += done;
    sum.device_s += trial.device_cpu_s;
    sum.tester_cycles += kpi(trial, "tester_cycles_per_connection") * done;
    // All but the tester's thread, which turns whether it has work or not; it counts its busy
    // cycles itself.
    double tester_s = 0;
    for (const ProcessUse& use : trial.processes)
      if (use.role == "tester") tester_s += use.user_s + use.system_s;
    sum.beside_s += std::max(0.0, trial.total_cpu_s - tester_s);
  }
  return sum;
}

}  // namespace

// What one more connection costs: the work at a rate less that at a quarter of it. A device that
// polls its ports while it has nothing to do would else seem dear at low rates.
Result<void> run_connection_cost(RowRun& run) {
  Row& row = run.row();
  const auto wanted = tcp_request(row);
  if (!wanted) return wanted.error();
  TcpRequest tcp = *wanted;
  tcp.connections_per_s = parameter(row, "cps") / 4;
  if (auto warm = warm_up(run, connections_request(row, tcp)); !warm) return warm;
  auto few = run.trials(connections_request(row, tcp));
  if (!few) return few.error();
  tcp.connections_per_s = parameter(row, "cps");
  auto many = run.trials(connections_request(row, tcp));
  if (!many) return many.error();
  std::vector<double> rate;
  for (const TrialResult& trial : *many) rate.push_back(kpi(trial, "connections_per_s"));
  std::sort(rate.begin(), rate.end());
  row.kpis["connections_per_s"] = rate[rate.size() / 2];
  const Work low = work_of(*few), high = work_of(*many);
  // The same number of trials on both sides, or the sums would not compare.
  const double scale = static_cast<double>(many->size()) / static_cast<double>(few->size());
  const double more = high.connections - low.connections * scale;
  if (more <= 0) return {};
  row.kpis["marginal_beside_s"] = (high.beside_s - low.beside_s * scale) / more;
  row.kpis["marginal_device_s"] = (high.device_s - low.device_s * scale) / more;
  row.kpis["marginal_tester_cycles"] = (high.tester_cycles - low.tester_cycles * scale) / more;
  return {};
}

// Section 7's procedure: initialise at a tenth of the target, run the target, search the highest
// that still passes; all figures over the sustain phase. The row's parameter "test" chooses the
// benchmark.
Result<void> run_rfc9411(RowRun& run) {
  Row& row = run.row();
  const auto wanted = tcp_request(row);
  if (!wanted) return wanted.error();
  TcpRequest tcp = *wanted;
  // "rate" and "https_rate" differ by what tcp_request() read.
  std::string kind = row.suite.substr(row.suite.find('.') + 1);
  if (kind.starts_with("https_")) kind.erase(0, kind.find('_') + 1);
  tcp.kind = kind;
  const double target = parameter(row, "cps");
  if (kind == "concurrent") {
    tcp.concurrent = parameter(row, "concurrent");
    if (auto warm = warm_up(run, connections_request(row, tcp)); !warm) return warm;
    auto trials = run.trials(connections_request(row, tcp));
    if (!trials) return trials.error();
    keep_verdict(row, trials->back());
    return {};
  }
  tcp.connections_per_s = target / 10;
  TrialRequest first = connections_request(row, tcp);
  first.is_warm_up = true;
  auto initial = run.trial(first);
  if (!initial) return initial.error();
  row.kpis["qualified"] = judge_rfc9411(*initial).has_passed ? 1 : 0;
  if (kind == "latency") {
    // Benchmark 7.4 measures at half of the highest rate; the row names it.
    tcp.connections_per_s = target;
    auto trials = run.trials(connections_request(row, tcp));
    if (!trials) return trials.error();
    keep_verdict(row, trials->back());
    return {};
  }
  TrialResult best;
  auto rate = highest_rate(run, tcp, target, parameter(row, "limit_cps"), parameter(row, "width"),
                           0.00001, &best);
  if (!rate) return rate.error();
  row.kpis["max_cps"] = *rate;
  if (*rate > 0) keep_verdict(row, best);
  tell_what_ended(row);
  // The security functions work under load, or speed would be bought by not looking (section 4.2).
  if (parameter(row, "effectiveness_pps") > 0) {
    TrialRequest probe = rates_request(row);
    probe.rate_pps = parameter(row, "effectiveness_pps");
    probe.duration_s = 0.5;
    probe.traffic.protocol = "udp";
    probe.traffic.drop_share = 0.1;
    auto probed = run.trial(probe);
    if (!probed) return probed.error();
    row.kpis["wrongly_passed"] = static_cast<double>(probed->frames.false_accepts);
    row.kpis["wrongly_dropped"] = static_cast<double>(probed->frames.false_denies);
  }
  return {};
}

}  // namespace merlon::lab
