// SPDX-License-Identifier: Apache-2.0
#include "trial_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

std::string si(double value) {
  if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{:.0f} ", value);
}

// The worst stamp stays; that the tester was the limit is kept beside it.
void stamp(TrialResult& result, Stamp stamp, std::string reason) {
  result.stamp = std::max(result.stamp, stamp);
  if (stamp == Stamp::kTesterLimited) result.kpis["tester_limited"] = 1;
  result.stamp_reasons.push_back(std::move(reason));
}

}  // namespace

void judge_tester_limit(TrialResult& result, double ceiling_pps) {
  if (ceiling_pps <= 0) return;
  const double limit = kCeilingShare * ceiling_pps;
  const bool is_near =
      std::max(result.spec.rate_pps, result.offered_pps) >= limit && result.received_pps >= limit;
  if (is_limited_by_tester(result) && result.received_pps < limit && result.offered_pps < limit) {
    // The sender alone does more than it did here, so what slowed it down is the device, whose work
    // the kernel does within the sender's system call. Its unsent frames count as lost already.
    if (result.stamp == Stamp::kTesterLimited) result.stamp = Stamp::kClean;
    result.kpis.erase("tester_limited");
    result.stamp_reasons.push_back(
        fmt::format("the device runs in the sender's time (inline): {}pps were offered where the "
                    "null path takes {}pps",
                    si(result.offered_pps), si(ceiling_pps)));
    return;
  }
  if (is_near && result.stamp != Stamp::kFailed && !is_limited_by_tester(result))
    stamp(result, Stamp::kTesterLimited,
          fmt::format("{}pps are within {:.0f} % of the null path's ceiling of {}pps",
                      si(result.received_pps), kCeilingShare * 100, si(ceiling_pps)));
}

Result<TrialResult> TrialRunner::send(const TrialSpec& spec, const TrialRequest& request,
                                      const std::atomic<bool>& stop, const ProgressFn& progress,
                                      Kpis& kpis) {
  std::optional<Error> problem;
  const ProgressFn during = [&](const Progress& at) {
    if (progress) progress(at);
    if (!request.during || problem) return;
    if (auto done = request.during(at.elapsed_s, device_, kpis); !done) problem = done.error();
  };
  const std::shared_ptr<void> hog = request.has_hog ? services_.hog(1) : nullptr;
  Result<TrialResult> result = [&]() -> Result<TrialResult> {
    if (request.connections) {
      tester_.reset();
      return services_.connections(device_.topology(), *request.connections, spec, stop, during);
    }
    if (!tester_) {
      auto made = services_.tester(device_.topology());
      if (!made) return made.error();
      tester_ = std::move(*made);
    }
    return tester_->run(spec, stop, during);
  }();
  if (problem) return *problem;
  return result;
}

Result<TrialResult> TrialRunner::run(const TrialSpec& spec, const TrialRequest& request,
                                     const PathLimits& null_path, const std::atomic<bool>& stop,
                                     const ProgressFn& progress) {
  Kpis kpis;
  if (request.before)
    if (auto done = request.before(device_, kpis); !done) return done.error();
  const double started = services_.now();
  const std::unique_ptr<Accountant> accountant = services_.accountant();
  const std::vector<LayerCounter> before = device_.counters();
  accountant->begin(device_.processes());
  auto sent = send(spec, request, stop, progress, kpis);
  if (!sent) return sent.error();
  TrialResult result = std::move(*sent);
  // What others did, told next, is a worse stamp.
  if (result.stamp == Stamp::kTesterLimited) result.kpis["tester_limited"] = 1;
  accountant->end(result);

  result.spec = spec;
  result.started = started;
  for (const auto& [name, value] : kpis) result.kpis[name] = value;
  const LossPlace place = services_.locate(before, device_.counters(), result.frames.lost);
  // The tester knows its own ports' counters already.
  result.layers.insert(result.layers.end(), place.layers.begin(), place.layers.end());
  result.loss_sentence_en = place.sentence.en;
  result.loss_sentence_ru = place.sentence.ru;
  result.commands = device_.commands();
  judge(request, null_path, result);
  if (const Text caveat = device_.caveat(); !caveat.en.empty())
    result.stamp_reasons.push_back(caveat.en);
  // In whole milliseconds: decisions that rest on it must not hang on a clock's last bits.
  result.effective_s = std::round((services_.now() - started) * 1e3) / 1e3;
  return result;
}

void TrialRunner::judge(const TrialRequest& request, const PathLimits& null_path,
                        TrialResult& result) {
  if (!request.connections) {
    judge_tester_limit(result, null_path.ceiling_pps);
    const double frames = static_cast<double>(result.frames.received);
    // A paced sender spins until a frame is due: its CPU time says something at the highest rate
    // only.
    const bool is_most = result.spec.traffic.pacing == Pacing::kMaximum;
    if (!is_most) result.packets_per_cpu_s = 0;
    if (is_most && frames > 0 && result.total_cpu_s > 0) {
      if (result.packets_per_cpu_s == 0) result.packets_per_cpu_s = frames / result.total_cpu_s;
      // What the device adds: all CPU time of the trial, less what the same frames cost without it.
      if (null_path.cpu_s_per_packet > 0)
        result.kpis["cost_ns"] = (result.total_cpu_s / frames - null_path.cpu_s_per_packet) * 1e9;
    }
  }
  if (request.may_kill_device) return;
  if (!device_.is_alive()) {
    stamp(result, Stamp::kFailed, "the device died during the trial");
    return;
  }
  const bool is_silent = request.connections
                             ? false
                             : result.frames.received == 0 &&
                                   result.frames.offered > result.frames.expected_drops &&
                                   result.spec.traffic.drop_share < 1;
  if (is_silent) stamp(result, Stamp::kFailed, "the device passed no frame at all");
}

}  // namespace merlon::lab
