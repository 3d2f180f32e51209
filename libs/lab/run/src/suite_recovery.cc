// SPDX-License-Identifier: Apache-2.0
// RFC 2544 section 26.5: how soon a device is itself again after an overload.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "merlon/lab_traffic/recovery.h"
#include "suites.h"

namespace merlon::lab {

using base::Result;

namespace {

// `overload` times the throughput for `overload_s`, then half of the throughput for the row's
// duration; whole milliseconds, as the timelines have them.
TrialRequest overload_request(const Row& row, double throughput_pps, double overload_pps) {
  const double first_s = std::round(parameter(row, "overload_s") * 1e3) / 1e3;
  const double then_s = std::round(row.duration_s * 1e3) / 1e3;
  TrialRequest request;
  request.traffic = row.traffic;
  request.traffic.pacing = Pacing::kSteps;
  request.duration_s = first_s + then_s;
  request.rate_pps = throughput_pps;
  const double share = first_s / request.duration_s;
  request.traffic.steps = {{overload_pps / throughput_pps, share}, {0.5, 1 - share}};
  return request;
}

// Figures of the trials in which there was an overload.
void keep(Row& row, RowRun& run, const std::vector<TrialResult>& trials, double overload_s) {
  double sum_ms = 0, most_ms = 0, overloaded = 0, recovered = 0;
  const bool has_usable = std::any_of(trials.begin(), trials.end(),
                                      [&](const TrialResult& t) { return run.is_usable(t); });
  for (const TrialResult& trial : trials) {
    if (has_usable && !run.is_usable(trial)) continue;
    const Recovery r = find_recovery(trial, overload_s);
    if (r.lost_before == 0) continue;
    overloaded += 1;
    if (r.has_recovered) recovered += 1;
    sum_ms += r.seconds * 1e3;
    most_ms = std::max(most_ms, r.seconds * 1e3);
  }
  row.kpis["overloaded_trials"] = overloaded;
  if (overloaded == 0) {
    run.decide({"no frame was lost in the overload: there was nothing to recover from",
                "в перегрузке не потерян ни один кадр: восстанавливаться было не после чего"});
    return;
  }
  row.kpis["recovered_trials"] = recovered;
  row.kpis["recovery_ms"] = sum_ms / overloaded;
  row.kpis["recovery_max_ms"] = most_ms;
  if (recovered < overloaded)
    run.decide(
        {fmt::format("in {:.0f} of {:.0f} trials frames were still lost at the end of the time "
                     "after the overload: the time to recover is a lower bound",
                     overloaded - recovered, overloaded),
         fmt::format("в {:.0f} из {:.0f} испытаний кадры терялись до конца наблюдения после "
                     "перегрузки: время восстановления — оценка снизу",
                     overloaded - recovered, overloaded)});
}

}  // namespace

Result<void> run_rfc2544_recovery(RowRun& run) {
  Row& row = run.row();
  double throughput_pps = row.rate_pps;
  if (throughput_pps <= 0) {
    auto found = rfc2544_throughput(run, parameter(row, "search_s"));
    if (!found) return found.error();
    throughput_pps = *found;
  }
  if (throughput_pps <= 0)
    return base::Error{base::Errc::kNotFound,
                       "no rate without loss was found to go beyond",
                       {},
                       "give the row a rate",
                       {}};
  // The standard: or the highest rate of the medium where that is less.
  double overload_pps = throughput_pps * parameter(row, "overload");
  const double highest = run.null_path().ceiling_pps;
  if (highest > 0) overload_pps = std::min(overload_pps, highest);
  row.kpis["overload_pps"] = overload_pps;
  row.kpis["after_pps"] = throughput_pps / 2;
  if (overload_pps <= throughput_pps) {
    row.kpis["overloaded_trials"] = 0;
    run.decide(
        {"the throughput is the tester's highest rate: the device can't be overloaded from here",
         "пропускная способность равна наибольшей частоте генератора: перегрузить устройство "
         "отсюда нельзя"});
    return {};
  }
  const TrialRequest request = overload_request(row, throughput_pps, overload_pps);
  if (row.rate_pps > 0)  // a search has warmed up by itself
    if (auto warm = warm_up(run, request); !warm) return warm;
  auto trials = run.trials(request);
  if (!trials) return trials.error();
  keep(row, run, *trials, request.traffic.steps.front().share * request.duration_s);
  return {};
}

}  // namespace merlon::lab
