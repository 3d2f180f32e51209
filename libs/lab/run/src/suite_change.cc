// SPDX-License-Identifier: Apache-2.0
// What happens to traffic while the device is changed, killed, or its link goes: RFC 6201 and ours.
#include <algorithm>
#include <functional>
#include <memory>

#include "suites.h"

namespace merlon::lab {

using base::Result;

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

using Deed = std::function<Result<void>(Device&, Kpis&)>;

// `repeats` trials at the row's rate with one deed a third into each.
Result<void> run_once(RowRun& run, const Deed& deed, bool may_kill) {
  Row& row = run.row();
  if (auto warm = warm_up(run, rates_request(row)); !warm) return warm;
  std::vector<double> blocked, outage, lost;
  for (unsigned i = 0; i < std::max(1U, row.repeats); ++i) {
    TrialRequest request = rates_request(row);
    request.may_kill_device = may_kill;
    request.during = [&deed, at = row.duration_s / 3, is_done = false, last = 0.0](
                         double elapsed, Device& device, Kpis& kpis) mutable -> Result<void> {
      if (elapsed < last) is_done = false;  // the trial is done again
      last = elapsed;
      if (is_done || elapsed < at) return {};
      is_done = true;
      kpis["event_at_s"] = elapsed;
      return deed(device, kpis);
    };
    auto trial = run.trial(request);
    if (!trial) return trial.error();
    if (!trial->kpis.contains("event_at_s"))
      return base::Error{base::Errc::kInternal,
                         "the trial ended before the change",
                         {},
                         "give the row a longer duration",
                         {}};
    // Frames that could not even be sent (the link was down) are missing, too: RFC 6201 section 3.2
    // counts by rate.
    blocked.push_back(trial->loss_ratio * row.duration_s);
    outage.push_back(longest_outage_s(*trial));
    lost.push_back(trial->loss_ratio * row.duration_s * row.rate_pps);
  }
  row.kpis["blocked_by_loss_ms"] = median(blocked) * 1e3;
  row.kpis["blocked_by_loss_max_ms"] = *std::max_element(blocked.begin(), blocked.end()) * 1e3;
  row.kpis["blocked_by_time_ms"] = median(outage) * 1e3;
  row.kpis["lost_frames"] = median(lost);
  return {};
}

Result<void> commit(Device& device, Kpis& kpis, const RuleSet& rules) {
  auto loaded = device.load_rules(rules);
  if (!loaded) return loaded.error();
  kpis["change_ms"] = *loaded * 1e3;
  return {};
}

RuleSet rules_of(const Row& row, unsigned count, std::uint64_t seed) {
  RuleSet rules;
  rules.count = count;
  rules.seed = seed;
  rules.has_drop_rule = row.traffic.drop_share > 0 || row.parameters.contains("drop_rule");
  rules.is_per_connection = row.parameters.contains("stateful");
  rules.ipv6_share = row.traffic.ipv6_share;
  return rules;
}

}  // namespace

Result<void> run_reset_kill(RowRun& run) {
  return run_once(
      run,
      [](Device& device, Kpis&) -> Result<void> {
        if (auto killed = device.kill(); !killed) return killed;
        return device.restart();
      },
      true);
}

Result<void> run_link_flap(RowRun& run) {
  const double down = parameter(run.row(), "down_s");
  auto done = run_once(
      run, [down](Device& device, Kpis&) -> Result<void> { return device.topology().flap(down); },
      false);
  if (!done) return done;
  // What the device adds to the time that the link was down by our own doing.
  Kpis& kpis = run.row().kpis;
  kpis["down_ms"] = down * 1e3;
  kpis["recovery_ms"] = std::max(0.0, kpis["blocked_by_loss_ms"] - down * 1e3);
  return {};
}

// The same number of other rules, all of them exchanged at once.
Result<void> run_commit(RowRun& run) {
  auto seed = std::make_shared<std::uint64_t>(1);
  const Row& row = run.row();
  const unsigned count = row.device.rules;
  return run_once(
      run,
      [&row, seed, count](Device& device, Kpis& kpis) -> Result<void> {
        return commit(device, kpis, rules_of(row, count, ++*seed));
      },
      false);
}

// Control and data coupling: rules change all the time, as often as asked or as the device manages,
// at a rate that it otherwise forwards; the same trial without changes beside it.
Result<void> run_coupling(RowRun& run) {
  Row& row = run.row();
  const TrialRequest quiet = rates_request(row);
  if (auto warm = warm_up(run, quiet); !warm) return warm;
  auto before = run.trial(quiet);
  if (!before) return before.error();
  const double per_s = parameter(row, "changes_per_s");
  const unsigned count = row.device.rules;
  TrialRequest request = quiet;
  request.during = [&row, per_s, count, done = 0.0, last = 0.0](
                       double elapsed, Device& device, Kpis& kpis) mutable -> Result<void> {
    if (elapsed < last) done = 0;  // the next trial
    last = elapsed;
    while (done < elapsed * per_s) {
      auto changed =
          commit(device, kpis, rules_of(row, count + (static_cast<unsigned>(done) % 2), 1));
      if (!changed) return changed;
      kpis["changes"] = ++done;
      // One change per call once we are late: the trial's end must be seen.
      if (kpis["change_ms"] > 50) break;
    }
    return {};
  };
  auto trials = run.trials(request);
  if (!trials) return trials.error();
  std::vector<double> changes, lost, p99, each;
  for (const TrialResult& trial : *trials) {
    const auto made = trial.kpis.find("changes");
    changes.push_back(made == trial.kpis.end() ? 0 : made->second / row.duration_s);
    const auto took = trial.kpis.find("change_ms");
    if (took != trial.kpis.end()) each.push_back(took->second);
    lost.push_back(trial.loss_ratio);
    p99.push_back(static_cast<double>(trial.latency_actual.percentile(0.99)) / 1e3);
  }
  row.kpis["changes_per_s"] = median(changes);
  row.kpis["change_ms"] = median(each);
  row.kpis["coupled_loss_ratio"] = median(lost);
  row.kpis["coupled_p99_us"] = median(p99);
  row.kpis["quiet_loss_ratio"] = before->loss_ratio;
  row.kpis["quiet_p99_us"] = static_cast<double>(before->latency_actual.percentile(0.99)) / 1e3;
  return {};
}

}  // namespace merlon::lab
