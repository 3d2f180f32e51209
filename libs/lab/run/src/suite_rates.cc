// SPDX-License-Identifier: Apache-2.0
// Suites of fixed rates, of the highest rate, and of searches.
#include <algorithm>
#include <cmath>

#include "merlon/lab_search/search.h"
#include "suites.h"

namespace merlon::lab {

using base::Result;

Result<void> warm_up(RowRun& run, TrialRequest request) {
  request.is_warm_up = true;
  request.before = nullptr;
  request.during = nullptr;
  request.may_kill_device = false;
  if (request.connections) {
    TcpRequest& tcp = *request.connections;
    tcp.connections_per_s /= 4;
    tcp.sustain_s = std::min(tcp.sustain_s, kWarmUpS);
    request.duration_s = tcp.sustain_s + 2 * tcp.ramp_s;
  } else {
    request.duration_s = std::min(request.duration_s, kWarmUpS);
  }
  auto done = run.trial(request);
  return done ? Result<void>{} : done.error();
}

TrialRequest rates_request(const Row& row) {
  TrialRequest request;
  request.rate_pps = row.rate_pps;
  request.duration_s = row.duration_s;
  request.traffic = row.traffic;
  return request;
}

TrialRequest maximum_request(const Row& row) {
  TrialRequest request = rates_request(row);
  request.rate_pps = 0;
  request.traffic.pacing = Pacing::kMaximum;
  return request;
}

Result<void> run_rates(RowRun& run) {
  const TrialRequest request = find_suite(run.row().suite)->request(run.row());
  if (auto warm = warm_up(run, request); !warm) return warm;
  auto trials = run.trials(request);
  return trials ? Result<void>{} : trials.error();
}

Result<void> run_search(RowRun& run) {
  Row& row = run.row();
  std::vector<Goal> goals = row.goals;
  if (goals.empty())
    for (const char* name : {"quick-ndr", "quick-pdr"}) {
      auto goal = goal_preset(name);
      if (!goal) return goal.error();
      goals.push_back(std::move(*goal));
    }
  auto results = run.search(goals, row.traffic, run.seconds_left());
  if (!results) return results.error();
  for (const GoalResult& result : *results) {
    row.kpis[result.goal.name + "_pps"] = result.conditional_pps;
    row.kpis[result.goal.name + "_lower_pps"] = result.lower_pps;
    row.kpis[result.goal.name + "_upper_pps"] = result.upper_pps;
  }
  return {};
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

namespace {

// The rate to starve the device at: the row's, or a share of what the device keeps alone. At a rate
// that costs it little of its core a neighbour takes nothing away; at its limit it loses by itself.
Result<double> starvation_rate(RowRun& run) {
  Row& row = run.row();
  if (row.rate_pps > 0) return row.rate_pps;
  auto goal = goal_preset("loss1");
  if (!goal) return goal.error();
  // A starting point, no result: coarse and soon.
  goal->initial_duration_s = goal->final_duration_s = 0.5;
  goal->duration_sum_s = 1.5;
  goal->width = parameter(row, "width");
  auto results = run.search(std::vector<Goal>{*goal}, row.traffic, parameter(row, "search_s"));
  if (!results) return results.error();
  const double own_pps = results->front().lower_pps;
  if (own_pps <= 0)
    return base::Error{base::Errc::kNotFound,
                       "no rate was found that the device keeps with its core to itself",
                       {},
                       "give the row a rate",
                       {}};
  row.kpis["own_limit_pps"] = own_pps;
  return own_pps * parameter(row, "load_share");
}

}  // namespace

// The same rate with the device's core to itself and with a neighbour on it: what a device does
// whose processor was promised but not reserved. Where others' work was on the cores all the time,
// the trials without the neighbour had neighbours too, and no share is told.
Result<void> run_starvation(RowRun& run) {
  TrialRequest request = rates_request(run.row());
  auto rate = starvation_rate(run);
  if (!rate) return rate.error();
  request.rate_pps = *rate;
  if (run.row().rate_pps > 0)  // a search has warmed up by itself
    if (auto warm = warm_up(run, request); !warm) return warm;
  auto trials = run.trials(request);
  if (!trials) return trials.error();
  std::vector<double> alone, received, loss;
  for (const TrialResult& trial : *trials)
    if (trial.stamp != Stamp::kContaminated && trial.stamp != Stamp::kFailed)
      alone.push_back(trial.received_pps);
  request.has_hog = true;
  for (unsigned i = 0; i < std::max(1U, run.row().repeats); ++i) {
    auto starved = run.trial(request);
    if (!starved) return starved.error();
    received.push_back(starved->received_pps);
    loss.push_back(starved->loss_ratio);
  }
  Kpis& kpis = run.row().kpis;
  kpis["starvation_rate_pps"] = *rate;
  kpis["starved_pps"] = middle(received);
  kpis["starved_loss_ratio"] = middle(loss);
  if (const double whole = middle(alone); whole > 0) {
    kpis["starved_share"] = kpis["starved_pps"] / whole;
    return {};
  }
  run.decide(
      {"no trial without the neighbour was free of other work on its core: no share is told",
       "ни одно испытание без соседа не обошлось без чужой работы на ядре: доля не названа"});
  return {};
}

// Delay of frames that are each the first of their flow, beside frames of known flows at the same
// rate (RFC 8204's initial-packet latency).
Result<void> run_initial_packet(RowRun& run) {
  Row& row = run.row();
  TrialRequest known = rates_request(row);
  known.traffic.flows = 1;
  if (auto warm = warm_up(run, known); !warm) return warm;
  auto old = run.trial(known);
  if (!old) return old.error();
  TrialRequest fresh = rates_request(row);
  // Four times as many flows as frames, in cyclic order: no flow returns within the trial.
  fresh.traffic.flows =
      static_cast<std::uint64_t>(std::clamp(4 * row.rate_pps * row.duration_s, 1000.0, 1e7));
  auto trials = run.trials(fresh);
  if (!trials) return trials.error();
  std::vector<double> p50, p99;
  for (const TrialResult& trial : *trials) {
    p50.push_back(static_cast<double>(trial.latency_actual.percentile(0.5)) / 1e3);
    p99.push_back(static_cast<double>(trial.latency_actual.percentile(0.99)) / 1e3);
  }
  std::sort(p50.begin(), p50.end());
  std::sort(p99.begin(), p99.end());
  row.kpis["first_packet_p50_us"] = p50[p50.size() / 2];
  row.kpis["first_packet_p99_us"] = p99[p99.size() / 2];
  row.kpis["known_flow_p50_us"] = static_cast<double>(old->latency_actual.percentile(0.5)) / 1e3;
  row.kpis["known_flow_p99_us"] = static_cast<double>(old->latency_actual.percentile(0.99)) / 1e3;
  return {};
}

// Raises the rate step by step until what is received parts from what is sent, and two steps
// beyond: the curve that tells a limit of the path from a limit of the firewall, with the CPU at
// each point.
Result<void> run_part(RowRun& run) {
  Row& row = run.row();
  const double factor = std::max(1.1, parameter(row, "factor"));
  const double parted = parameter(row, "parted_loss");
  TrialRequest request = rates_request(row);
  if (auto warm = warm_up(run, request); !warm) return warm;
  double highest_whole = 0;
  unsigned beyond = 0;
  const auto steps = static_cast<unsigned>(parameter(row, "max_steps"));
  for (unsigned step = 0; step < steps && beyond < 3; ++step, request.rate_pps *= factor) {
    if (step > 2 && run.seconds_left() < request.duration_s) {
      run.decide({"time is up before RX and TX parted for good",
                  "время вышло раньше, чем RX и TX окончательно разошлись"});
      break;
    }
    auto trial = run.trial(request);
    if (!trial) return trial.error();
    if (trial->loss_ratio <= parted) {
      highest_whole = std::max(highest_whole, trial->received_pps);
      beyond = 0;
      continue;
    }
    if (++beyond == 1) {
      row.kpis["part_offered_pps"] = trial->offered_pps;
      row.kpis["part_intended_pps"] = request.rate_pps;
      if (trial->sending_s > 0) {
        row.kpis["part_device_cpu"] = trial->device_cpu_s / trial->sending_s;
        row.kpis["part_total_cpu"] = trial->total_cpu_s / trial->sending_s;
      }
    }
    row.kpis["saturated_pps"] = std::max(row.kpis["saturated_pps"], trial->received_pps);
  }
  row.kpis["whole_pps"] = highest_whole;
  return {};
}

// What of the legitimate traffic still arrives while an attack runs beside it.
Result<void> run_protected_goodput(RowRun& run) {
  Row& row = run.row();
  TrialRequest calm = rates_request(row);
  calm.traffic.attack = AttackKind::kNone;
  calm.traffic.attack_pps = 0;
  if (auto warm = warm_up(run, calm); !warm) return warm;
  auto before = run.trials(calm);
  if (!before) return before.error();
  auto under = run.trials(rates_request(row));
  if (!under) return under.error();
  const auto best = [](const std::vector<TrialResult>& trials, auto figure) {
    std::vector<double> values;
    for (const TrialResult& trial : trials) values.push_back(figure(trial));
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  const auto rate = [](const TrialResult& t) { return t.received_pps; };
  const auto p99 = [](const TrialResult& t) {
    return static_cast<double>(t.latency_actual.percentile(0.99)) / 1e3;
  };
  const double calm_pps = best(*before, rate);
  row.kpis["calm_pps"] = calm_pps;
  row.kpis["attacked_pps"] = best(*under, rate);
  row.kpis["protected_ratio"] = calm_pps > 0 ? row.kpis["attacked_pps"] / calm_pps : 0;
  row.kpis["calm_p99_us"] = best(*before, p99);
  row.kpis["attacked_p99_us"] = best(*under, p99);
  return {};
}

// Speed is not to be bought by not looking: verdicts of every frame are checked while the device is
// loaded.
Result<void> run_effectiveness(RowRun& run) {
  Row& row = run.row();
  TrialRequest request = rates_request(row);
  if (request.traffic.drop_share <= 0) request.traffic.drop_share = 0.1;
  if (auto warm = warm_up(run, request); !warm) return warm;
  auto trials = run.trials(request);
  if (!trials) return trials.error();
  double accepts = 0, denies = 0, drops = 0, frames = 0;
  for (const TrialResult& trial : *trials) {
    accepts += static_cast<double>(trial.frames.false_accepts);
    denies += static_cast<double>(trial.frames.false_denies);
    drops += static_cast<double>(trial.frames.expected_drops);
    frames += static_cast<double>(trial.frames.offered);
  }
  row.kpis["judged_frames"] = frames;
  row.kpis["must_drop_frames"] = drops;
  row.kpis["wrongly_passed"] = accepts;
  row.kpis["wrongly_dropped"] = denies;
  return {};
}

// What a passive device took in, by its own counters: frames reach the sink past it whether it
// keeps up or not. Marked traffic and flood share the rate that the null path can offer.
Result<void> run_monitor(RowRun& run) {
  Row& row = run.row();
  const double ceiling = run.null_path().ceiling_pps;
  if (ceiling <= 0)
    return base::Error{base::Errc::kNotFound, "the tester's own ceiling is not known", {}, "", {}};
  TrialRequest request = rates_request(row);
  const bool has_flood = request.traffic.attack != AttackKind::kNone;
  if (has_flood && request.traffic.attack_pps <= 0)
    request.traffic.attack_pps = ceiling * parameter(row, "flood_share");
  if (request.rate_pps <= 0) request.rate_pps = ceiling * parameter(row, "traffic_share");
  if (auto warm = warm_up(run, request); !warm) return warm;
  auto trials = run.trials(request);
  if (!trials) return trials.error();
  std::vector<double> rates, losses;
  for (const TrialResult& trial : *trials) {
    double seen = 0, sent = 0;
    for (const LayerCounter& counter : trial.layers) {
      if (counter.layer.starts_with("merlon port") && counter.counter == "received")
        seen += static_cast<double>(counter.delta);
      if (counter.layer.starts_with("generator") && counter.counter == "tx_packets")
        sent += static_cast<double>(counter.delta);
    }
    rates.push_back(trial.sending_s > 0 ? seen / trial.sending_s : 0);
    losses.push_back(sent > 0 ? std::max(0.0, 1 - seen / sent) : 0);
  }
  std::sort(rates.begin(), rates.end());
  std::sort(losses.begin(), losses.end());
  row.kpis["monitored_pps"] = rates[rates.size() / 2];
  row.kpis["unseen_ratio"] = losses[losses.size() / 2];
  return {};
}

}  // namespace merlon::lab
