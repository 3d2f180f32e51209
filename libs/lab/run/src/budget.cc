// SPDX-License-Identifier: Apache-2.0
#include "budget.h"

#include <algorithm>
#include <cmath>

#include "merlon/lab_run/plan.h"
#include "merlon/lab_run/suite.h"

namespace merlon::lab {

double need_s(const Row& row) {
  const Suite* suite = find_suite(row.suite);
  return suite == nullptr ? 0 : suite->need_s(row);
}

void Budget::spend(const TrialResult& trial, const DeviceSpec& device, bool is_new) {
  spent_s_ += trial.effective_s;
  const auto known = std::find_if(starts_.begin(), starts_.end(), [&](const auto& entry) {
    return is_same_device(entry.first, device);
  });
  const auto setup = trial.kpis.find("setup_s");
  double start_s = known == starts_.end() ? 0 : known->second;
  if (known == starts_.end() && setup != trial.kpis.end()) {
    start_s = setup->second;
    starts_.emplace_back(device, start_s);
  }
  if (is_new || !last_ || !is_same_device(*last_, device)) spent_s_ += start_s;
  last_ = device;
}

bool Budget::fit(Row& row, const std::vector<const Row*>& rest, double& allowance_s) const {
  double fixed = 0, starts = 0, searches = 0;
  const Row* last = nullptr;
  for (const Row* r : rest) {
    if (last == nullptr || !is_same_device(last->device, r->device)) starts += kDeviceStartS;
    last = r;
    const Suite* suite = find_suite(r->suite);
    if (suite == nullptr) continue;
    if (suite->is_search) {
      searches += need_s(*r);
    } else {
      fixed += need_s(*r);
    }
  }
  const double left = left_s() - starts;
  const double need = need_s(row);
  if (left <= 0 || need <= 0) {
    allowance_s = 0;
    return left > 0;
  }
  const Suite* suite = find_suite(row.suite);
  if (suite->is_search) {
    // Searches share what fixed rows leave; when those alone are too much, all shrink alike.
    const double share = std::max(left - fixed, left * searches / (fixed + searches)) / searches;
    allowance_s = need * share;
    return allowance_s >= kMinimumSearchS;
  }
  const double scale = std::min(1.0, left / (fixed + (searches > 0 ? searches * 0.3 : 0)));
  allowance_s = need * scale;
  if (scale >= 1) return true;
  const double repeats = std::max(1.0, std::floor(row.repeats * scale));
  row.repeats = static_cast<unsigned>(repeats);
  const double one = allowance_s / repeats - kTrialOverheadS;
  row.duration_s = std::clamp(one, kMinimumTrialS, row.duration_s);
  return allowance_s >= kMinimumTrialS;
}

}  // namespace merlon::lab
