// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/null_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

constexpr double kMinLatencyRate = 100;

TrialSpec spec_of(const NullPathSettings& settings, const char* what) {
  TrialSpec t;
  t.id = fmt::format("null.{}.{}", settings.when, what);
  t.row = "null";
  t.duration_s = settings.trial_s;
  t.traffic = settings.traffic;
  t.traffic.drop_share = 0;
  t.traffic.attack = AttackKind::kNone;
  t.seed = settings.seed;
  return t;
}

}  // namespace

base::Result<NullPath> calibrate_null_path(Tester& tester, const NullPathSettings& settings,
                                           const std::atomic<bool>& stop,
                                           const ProgressFn& progress) {
  TrialSpec fastest = spec_of(settings, "ceiling");
  fastest.traffic.pacing = Pacing::kMaximum;
  auto ceiling = tester.run(fastest, stop, progress);
  if (!ceiling.ok()) return ceiling.error();
  if (ceiling->frames.received == 0)
    return make_error(base::Errc::kIo,
                      fmt::format("null path: none of {} frames arrived", ceiling->frames.offered),
                      "are the tester's endpoints joined, and both links up?");
  TrialSpec calm = spec_of(settings, "latency");
  calm.traffic.pacing = Pacing::kConstant;
  calm.rate_pps = std::clamp(ceiling->received_pps * settings.latency_share, kMinLatencyRate,
                             std::max(settings.latency_max_pps, kMinLatencyRate));
  auto latency = tester.run(calm, stop, progress);
  if (!latency.ok()) return latency.error();

  double cpu = 0;
  for (const ProcessUse& p : ceiling->processes) cpu += p.user_s + p.system_s;
  NullPath out;
  Calibration& c = out.calibration;
  c.when = settings.when;
  c.ceiling_pps = ceiling->received_pps;
  c.cpu_s_per_packet = cpu / static_cast<double>(ceiling->frames.received);
  c.latency_p50_ns = static_cast<double>(latency->latency_actual.percentile(0.5));
  c.latency_p99_ns = static_cast<double>(latency->latency_actual.percentile(0.99));
  c.trial = fastest.id;
  out.trials.push_back(std::move(*ceiling));
  out.trials.push_back(std::move(*latency));
  return out;
}

}  // namespace merlon::lab
