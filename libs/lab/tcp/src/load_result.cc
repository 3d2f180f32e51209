// SPDX-License-Identifier: Apache-2.0
#include "load_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace merlon::lab::tcp {
namespace {

// Shares beyond which the tester, not the device, made the result.
constexpr double kLateLimit = 0.01, kUnsentLimit = 0.001;
constexpr double kLatenessLimitMs = 10;
// Of the thread's own time in sustain, and of that TLS's part.
constexpr double kBusyLimit = 0.95, kTlsShare = 0.5;

double ratio(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

using Kpis = std::map<std::string, double>;

void put_percentiles(Kpis& kpis, const std::string& name, const Histogram& h) {
  if (h.count() == 0) return;
  kpis[name + "_p50_ms"] = static_cast<double>(h.percentile(0.5)) / 1e6;
  kpis[name + "_p99_ms"] = static_cast<double>(h.percentile(0.99)) / 1e6;
  kpis[name + "_max_ms"] = static_cast<double>(h.maximum()) / 1e6;
  kpis[name + "_mean_ms"] = h.mean() / 1e6;
}

// The largest distance of a whole second of sustain from their mean, as a share of it; -1 with
// fewer than two.
double deviation(const std::vector<double>& values, std::size_t first, std::size_t end) {
  end = std::min(end, values.size());
  if (end < first + 2) return -1;
  double sum = 0, most = 0;
  for (std::size_t i = first; i < end; ++i) sum += values[i];
  const double mean = sum / static_cast<double>(end - first);
  if (mean <= 0) return -1;
  for (std::size_t i = first; i < end; ++i)
    most = std::max(most, std::abs(values[i] - mean) / mean);
  return most;
}

void put_series(const LoadParts& p, TrialResult& r) {
  const auto phases =
      static_cast<std::size_t>(std::ceil(p.spec.ramp_up_s + p.spec.sustain_s + p.spec.ramp_down_s));
  const auto& seconds = p.client->tally().series;
  const std::size_t count = std::min(seconds.size(), std::max<std::size_t>(phases, 1));
  const auto put = [&](const char* name, auto value) {
    std::vector<double>& out = r.series[name];
    for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<double>(value(seconds[i])));
  };
  put("attempted_per_s", [](const Second& s) { return s.attempted; });
  put("established_per_s", [](const Second& s) { return s.established; });
  put("connections_per_s", [](const Second& s) { return s.completed; });
  put("failed_per_s", [](const Second& s) { return s.failed; });
  put("resets_per_s", [](const Second& s) { return s.resets; });
  if (p.spec.tls.is_on()) put("handshakes_per_s", [](const Second& s) { return s.handshakes; });
  put("transactions_per_s", [](const Second& s) { return s.transactions; });
  put("failed_transactions_per_s", [](const Second& s) { return s.transactions_failed; });
  put("goodput_bps", [](const Second& s) { return s.bytes * 8; });
  put("concurrent", [](const Second& s) { return s.concurrent; });
}

void put_tls_of_client(const LoadParts& p, Kpis& k) {
  const Tally& t = p.client->tally();
  const double sustain = p.spec.sustain_s > 0 ? p.spec.sustain_s : 1;
  k["handshakes_per_s"] = static_cast<double>(t.during_sustain.handshakes) / sustain;
  k["handshakes"] = static_cast<double>(t.all.handshakes);
  k["handshakes_resumed"] = static_cast<double>(t.all.resumptions);
  k["tls_last_alert"] = p.client->tls()->last_alert();
  put_percentiles(k, "tls_established", t.secured);
  put_percentiles(k, "tls_handshake", t.handshake);
  if (p.tls_memory_per_end > 0) k["tls_memory_per_end_bytes"] = p.tls_memory_per_end;
}

void put_client(const LoadParts& p, TrialResult& r) {
  const Tally& t = p.client->tally();
  Kpis& k = r.kpis;
  const double sustain = p.spec.sustain_s > 0 ? p.spec.sustain_s : 1;
  k["connections_per_s"] = static_cast<double>(t.during_sustain.completed) / sustain;
  // What the schedule asked for; holding a number, what was opened.
  k["offered_connections_per_s"] = p.spec.concurrent == 0
                                       ? p.spec.connections_per_s
                                       : static_cast<double>(t.during_sustain.attempted) / sustain;
  k["established_per_s"] = static_cast<double>(t.during_sustain.established) / sustain;
  k["transactions_per_s"] = static_cast<double>(t.during_sustain.transactions) / sustain;
  k["goodput_bps"] = static_cast<double>(t.during_sustain.bytes) * 8 / sustain;
  k["attempted"] = static_cast<double>(t.all.attempted);
  k["established"] = static_cast<double>(t.all.established);
  k["failed"] = static_cast<double>(t.all.failed());
  for (std::size_t i = 0; i < kOutcomeCount; ++i) {
    const auto o = static_cast<Outcome>(i);
    k[std::string(outcome_name(o))] = static_cast<double>(t.all.of(o));
  }
  k["transactions_attempted"] = static_cast<double>(t.all.transactions_attempted);
  k["transactions_failed"] = static_cast<double>(t.all.transactions_failed);
  const Cohort& c = t.sustain;
  k["sustain_connections_attempted"] = static_cast<double>(c.attempted);
  k["sustain_transactions_attempted"] = static_cast<double>(c.transactions_attempted);
  k["failed_transaction_ratio"] = ratio(c.transactions_failed, c.transactions_attempted);
  k["failed_connection_ratio"] = ratio(c.failed(), c.attempted);
  k["reset_ratio"] = ratio(c.of(Outcome::kReset) + c.of(Outcome::kRefused), c.attempted);
  k["concurrent_max"] = t.concurrent_maximum;
  k["concurrent_mean"] = ratio(t.concurrent_sum, t.concurrent_samples);
  k["tuple_count"] = static_cast<double>(p.client->tuple_count());
  if (p.client->tls() != nullptr) put_tls_of_client(p, k);
  put_percentiles(k, "connect", t.connect);
  put_percentiles(k, "ttfb", t.first_byte);
  put_percentiles(k, "ttlb", t.last_byte);
  const bool has_transactions = t.last_byte.count() > 0;
  r.latency_intended = has_transactions ? t.last_byte : t.connect;
  r.latency_actual = has_transactions ? t.last_byte_actual : t.connect_actual;
  r.lateness = t.lateness;
  put_series(p, r);
}

// RFC 9411 wants them constant over sustain. The rate is of bytes, or of connections where none are
// carried.
void put_deviations(const LoadParts& p, TrialResult& r) {
  const auto first = static_cast<std::size_t>(std::ceil(p.spec.ramp_up_s));
  const auto end = static_cast<std::size_t>(p.spec.ramp_up_s + p.spec.sustain_s);
  const bool has_bytes = p.spec.transactions_per_connection != 0;
  r.kpis["rate_deviation"] =
      deviation(r.series[has_bytes ? "goodput_bps" : "connections_per_s"], first, end);
  const Tally& t = p.client->tally();
  const double mean = ratio(t.concurrent_sum, t.concurrent_samples);
  const bool is_held = p.spec.concurrent != 0 && mean > 0;
  r.kpis["concurrent_deviation"] =
      is_held ? std::max(mean - t.concurrent_minimum, t.sustained_maximum - mean) / mean : -1;
}

void put_server(const LoadParts& p, TrialResult& r) {
  const ServerCounters& s = p.server->counters();
  Kpis& k = r.kpis;
  k["server_syns"] = static_cast<double>(s.syns);
  k["server_established"] = static_cast<double>(s.established);
  k["server_completed"] = static_cast<double>(s.completed);
  k["server_resets"] = static_cast<double>(s.resets);
  k["server_timed_out"] = static_cast<double>(s.timed_out);
  k["server_replaced"] = static_cast<double>(s.replaced);
  k["server_requests"] = static_cast<double>(s.requests);
  k["server_bad_requests"] = static_cast<double>(s.bad_requests);
  k["server_table_full"] = static_cast<double>(s.table_full);
  if (p.server->tls() != nullptr) {
    k["server_handshakes"] = static_cast<double>(s.handshakes);
    k["server_handshakes_resumed"] = static_cast<double>(s.resumptions);
    k["server_tls_alerts"] = static_cast<double>(s.tls_alerts);
    k["server_tls_bad_records"] = static_cast<double>(s.tls_bad_records);
    k["server_tls_truncated"] = static_cast<double>(s.tls_truncated);
    k["server_tls_last_alert"] = p.server->tls()->last_alert();
  }
  k["server_open"] = p.server->open_count();
  if (p.flood != nullptr) {
    k["attack_sent"] = static_cast<double>(p.flood->sent());
    k["attack_passed"] = static_cast<double>(p.server->role_counters().attack);
  }
}

// Both sides counted apart: what one says the other must say too, or the device kept or made
// something.
void put_agreement(const LoadParts& p, TrialResult& r) {
  const Cohort& c = p.client->tally().all;
  const ServerCounters& s = p.server->counters();
  r.kpis["sides_disagree"] =
      std::abs(static_cast<double>(c.of(Outcome::kCompleted)) - static_cast<double>(s.completed));
}

void add_role(const Role& role, TrialResult& r) {
  const StackCounters& s = role.stack_counters();
  const RoleCounters& c = role.role_counters();
  r.kpis["retransmissions"] += static_cast<double>(s.retransmissions);
  r.kpis["syn_retransmissions"] += static_cast<double>(s.syn_retransmissions);
  r.kpis["fast_retransmissions"] += static_cast<double>(s.fast_retransmissions);
  r.kpis["resets_ignored"] += static_cast<double>(s.resets_ignored);
  r.kpis["bad_acks"] += static_cast<double>(s.bad_acks);
  r.kpis["segments_out_of_window"] += static_cast<double>(s.out_of_window);
  r.kpis["segments_out_of_order"] += static_cast<double>(s.holes);
  r.kpis["malformed_frames"] += static_cast<double>(c.malformed);
  r.kpis["stray_segments"] += static_cast<double>(c.strays);
  r.frames.intended += role.transmitter().sent() + role.transmitter().unsent();
  r.frames.offered += role.transmitter().sent();
  r.frames.received += c.received - c.other - c.attack - c.malformed;
  r.frames.unexpected += c.other;
  r.frames.corrupted += c.malformed;
}

// TSC ticks within OpenSSL, of both roles as far as they are ours.
std::uint64_t tls_ticks(const LoadParts& p) {
  std::uint64_t ticks = 0;
  if (p.client != nullptr && p.client->tls() != nullptr) ticks += p.client->tls()->ticks();
  if (p.server != nullptr && p.server->tls() != nullptr) ticks += p.server->tls()->ticks();
  return ticks;
}

// What TLS itself costs the tester, and whether that was all it had.
void put_tls_cost(const LoadParts& p, TrialResult& r) {
  const std::uint64_t ticks = tls_ticks(p);
  if (ticks == 0) return;
  const double share = std::min(1.0, ratio(ticks, p.use.busy_ticks));
  r.kpis["tester_tls_ratio"] = share;
  r.kpis["tester_sustain_busy_ratio"] = p.use.sustain_busy_ratio;
  if (p.client != nullptr && p.client->tally().all.handshakes > 0)
    r.kpis["tester_tls_cycles_per_handshake"] = ratio(ticks, p.client->tally().all.handshakes);
  if (p.use.sustain_busy_ratio < kBusyLimit || share < kTlsShare) return;
  if (r.stamp == Stamp::kClean) r.stamp = Stamp::kTesterLimited;
  r.stamp_reasons.push_back(fmt::format(
      "the tester was busy {:.0f} % of sustain, {:.0f} % of it with TLS of its own ends",
      p.use.sustain_busy_ratio * 100, share * 100));
}

void stamp(const LoadParts& p, TrialResult& r) {
  const auto limited = [&](std::string why) {
    if (r.stamp == Stamp::kClean) r.stamp = Stamp::kTesterLimited;
    r.stamp_reasons.push_back(std::move(why));
  };
  const std::uint64_t unsent = r.frames.intended - r.frames.offered;
  r.kpis["unsent_segments"] = static_cast<double>(unsent);
  if (ratio(unsent, r.frames.intended) > kUnsentLimit)
    limited(fmt::format("the ports took {} of {} segments", r.frames.offered, r.frames.intended));
  if (p.client == nullptr) return;
  const Tally& t = p.client->tally();
  const std::uint64_t not_opened = p.client->not_opened();
  r.kpis["not_opened"] = static_cast<double>(not_opened);
  if (ratio(not_opened, not_opened + t.all.attempted) > kLateLimit)
    limited(fmt::format("{} of {} scheduled connections were not opened in time", not_opened,
                        not_opened + t.all.attempted));
  if (t.all.of(Outcome::kTableFull) > 0)
    limited(
        fmt::format("{} connections found the tester's table full", t.all.of(Outcome::kTableFull)));
  if (p.server != nullptr && p.server->counters().table_full > 0)
    limited(fmt::format("{} SYNs found the servers' table full", p.server->counters().table_full));
  const double late = static_cast<double>(t.lateness.percentile(0.5)) / 1e6;
  if (t.lateness.count() > 0 && late > kLatenessLimitMs)
    limited(fmt::format("half of the connections were opened {:.1f} ms late or more", late));
}

}  // namespace

void fill_result(const LoadParts& p, TrialResult& r) {
  r.sending_s = p.spec.ramp_up_s + p.spec.sustain_s + p.spec.ramp_down_s;
  r.effective_s = p.use.elapsed_s;
  if (p.client != nullptr) {
    put_client(p, r);
    put_deviations(p, r);
    add_role(*p.client, r);
  }
  if (p.server != nullptr) {
    put_server(p, r);
    add_role(*p.server, r);
  }
  if (p.client != nullptr && p.server != nullptr) {
    put_agreement(p, r);
    // Lost somewhere between the ports; frames on their way when the trial ended count as such.
    r.frames.lost = r.frames.offered > r.frames.received ? r.frames.offered - r.frames.received : 0;
    r.loss_ratio = ratio(r.frames.lost, r.frames.offered);
  }
  if (r.effective_s > 0) {
    r.offered_pps = static_cast<double>(r.frames.offered) / r.effective_s;
    r.received_pps = static_cast<double>(r.frames.received) / r.effective_s;
  }
  r.kpis["tester_longest_gap_ms"] =
      static_cast<double>(p.use.longest_gap_ticks) / base::TscClock::frequency() * 1e3;
  r.kpis["tester_busy_ratio"] = ratio(p.use.busy_ticks, p.use.ticks);
  if (p.client != nullptr && p.client->tally().all.of(Outcome::kCompleted) > 0)
    r.kpis["tester_cycles_per_connection"] =
        ratio(p.use.busy_ticks, p.client->tally().all.of(Outcome::kCompleted));
  stamp(p, r);
  put_tls_cost(p, r);
}

}  // namespace merlon::lab::tcp
