// SPDX-License-Identifier: Apache-2.0
// RFC 2544 with its later corrections (RFC 8219 reductions, RFC 9004 back-to-back).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "merlon/lab_search/search.h"
#include "suites.h"

namespace merlon::lab {

using base::Result;

namespace {

double mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace

Result<double> rfc2544_throughput(RowRun& run, double budget_s) {
  Row& row = run.row();
  auto goal = goal_preset("rfc2544");
  if (!goal) return goal.error();
  goal->final_duration_s = row.duration_s;
  goal->duration_sum_s = row.duration_s;
  goal->initial_duration_s = std::min(row.duration_s, 0.5);
  goal->width = parameter(row, "width");
  auto results = run.search(std::vector<Goal>{*goal}, row.traffic, budget_s);
  if (!results) return results.error();
  const GoalResult& result = results->front();
  row.kpis["throughput_pps"] = result.lower_pps;
  row.kpis["throughput_upper_pps"] = result.upper_pps;
  row.kpis["trial_s"] = row.duration_s;
  const double line_bps = parameter(row, "line_mbps") * 1e6;
  const double size = std::strtod(row.traffic.sizes.c_str(), nullptr);
  if (line_bps > 0 && size >= 64) {
    row.kpis["theoretical_pps"] = line_bps / (8 * (size + 20));
    row.kpis["line_share"] = result.lower_pps / row.kpis["theoretical_pps"];
  }
  return result.lower_pps;
}

Result<void> run_rfc2544_throughput(RowRun& run) {
  auto found = rfc2544_throughput(run, run.seconds_left());
  return found ? Result<void>{} : found.error();
}

// Section 26.2 at the throughput rate; every frame is tagged, so one trial stands for the RFC's
// single tagged frame many times over. The reductions are those of RFC 8219 section 7.2 and 7.3
// over `repeats` trials.
Result<void> run_rfc2544_latency(RowRun& run) {
  Row& row = run.row();
  double rate = row.rate_pps;
  if (rate <= 0) {
    auto found = rfc2544_throughput(run, run.seconds_left() * 0.5);
    if (!found) return found.error();
    rate = *found;
  }
  if (rate <= 0)
    return base::Error{base::Errc::kNotFound,
                       "no rate without loss was found to measure latency at",
                       {},
                       "give the row a rate",
                       {}};
  TrialRequest request;
  request.traffic = row.traffic;
  request.rate_pps = rate;
  request.duration_s = row.duration_s;
  if (row.rate_pps > 0)  // a search has warmed up by itself
    if (auto warm = warm_up(run, request); !warm) return warm;
  auto trials = run.trials(request);
  if (!trials) return trials.error();
  std::vector<double> means, medians, worst, variation;
  for (const TrialResult& trial : *trials) {
    const Histogram& h = trial.latency_actual;
    means.push_back(h.mean() / 1e3);
    medians.push_back(static_cast<double>(h.percentile(0.5)) / 1e3);
    worst.push_back(static_cast<double>(h.percentile(0.999)) / 1e3);
    variation.push_back(worst.back() - static_cast<double>(h.minimum()) / 1e3);
  }
  row.kpis["latency_rate_pps"] = rate;
  row.kpis["rfc2544_latency_us"] = mean(means);
  row.kpis["typical_latency_us"] = quantile(medians, 0.5);
  row.kpis["typical_latency_p01_us"] = quantile(medians, 0.01);
  row.kpis["typical_latency_p99_us"] = quantile(medians, 0.99);
  row.kpis["worst_latency_us"] = quantile(worst, 0.5);
  row.kpis["worst_latency_p99_us"] = quantile(worst, 0.99);
  row.kpis["pdv_8219_us"] = quantile(variation, 0.5);
  return {};
}

// Section 26.3: from the highest rate down in steps of 10 % until two trials in a row lose nothing.
Result<void> run_rfc2544_loss(RowRun& run) {
  Row& row = run.row();
  const double highest = row.rate_pps > 0 ? row.rate_pps : run.null_path().ceiling_pps;
  if (highest <= 0)
    return base::Error{
        base::Errc::kNotFound, "the highest rate is not known", {}, "give the row a rate", {}};
  row.kpis["hundred_percent_pps"] = highest;
  TrialRequest request;
  request.traffic = row.traffic;
  request.duration_s = row.duration_s;
  request.rate_pps = highest;
  if (auto warm = warm_up(run, request); !warm) return warm;
  unsigned clean = 0;
  for (int percent = 100; percent > 0 && clean < 2; percent -= 10) {
    request.rate_pps = highest * percent / 100;
    auto trial = run.trial(request);
    if (!trial) return trial.error();
    row.kpis[fmt::format("loss_at_{:03d}", percent)] = trial->loss_ratio;
    clean = trial->loss_ratio <= 0 ? clean + 1 : 0;
    if (clean == 2) row.kpis["first_clean_percent"] = percent + 10;
  }
  return {};
}

// RFC 9004: the longest burst at the highest rate without loss, many times over; the buffer's time
// corrected for what leaves while the burst arrives.
Result<void> run_rfc2544_back_to_back(RowRun& run) {
  Row& row = run.row();
  const double highest = run.null_path().ceiling_pps;
  auto found = rfc2544_throughput(run, run.seconds_left() * 0.4);
  if (!found) return found.error();
  row.kpis["burst_rate_pps"] = highest;
  if (highest <= 0 || *found >= 0.95 * highest) {
    // RFC 9004 section 3: where the throughput is the highest rate the buffer is never filled.
    run.decide({"throughput reaches the highest rate: bursts fill no buffer, no back-to-back test",
                "пропускная способность равна наибольшей частоте: всплески не наполняют буфер"});
    row.kpis["back_to_back_needed"] = 0;
    return {};
  }
  row.kpis["back_to_back_needed"] = 1;
  const auto passes = [&](double frames) -> Result<bool> {
    TrialRequest request;
    request.traffic = row.traffic;
    request.traffic.pacing = Pacing::kBurst;
    request.traffic.burst_frames = static_cast<std::uint32_t>(frames);
    request.duration_s = std::max(0.25, frames / highest + 0.1);
    request.rate_pps = frames / request.duration_s;
    auto trial = run.trial(request);
    if (!trial) return trial.error();
    return trial->frames.lost == 0;
  };
  const double longest = parameter(row, "max_burst");
  std::vector<double> bursts;
  const unsigned repeats = std::max(1U, row.repeats);
  for (unsigned r = 0; r < repeats && (r == 0 || run.seconds_left() > 1); ++r) {
    double low = 0, high = 64;
    while (high < longest) {
      auto ok = passes(high);
      if (!ok) return ok.error();
      if (!*ok) break;
      low = high;
      high *= 4;
    }
    while (high - low > std::max(16.0, low * 0.1)) {
      const double middle = std::floor((low + high) / 2);
      auto ok = passes(middle);
      if (!ok) return ok.error();
      (*ok ? low : high) = middle;
    }
    bursts.push_back(low);
  }
  const double average = mean(bursts);
  double square = 0;
  for (const double b : bursts) square += (b - average) * (b - average);
  row.kpis["burst_mean"] = average;
  row.kpis["burst_min"] = *std::min_element(bursts.begin(), bursts.end());
  row.kpis["burst_max"] = *std::max_element(bursts.begin(), bursts.end());
  row.kpis["burst_deviation"] =
      bursts.size() > 1 ? std::sqrt(square / static_cast<double>(bursts.size() - 1)) : 0;
  row.kpis["burst_repeats"] = static_cast<double>(bursts.size());
  row.kpis["implied_buffer_us"] = average / highest * 1e6;
  row.kpis["corrected_buffer_us"] = row.kpis["implied_buffer_us"] * (1 - *found / highest);
  return {};
}

}  // namespace merlon::lab
