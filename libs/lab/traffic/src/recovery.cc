// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/recovery.h"

#include <algorithm>
#include <cmath>

namespace merlon::lab {

Recovery find_recovery(const TrialResult& result, double overload_s) {
  constexpr double kSlots = 1000;  // of the timelines, in a second
  const auto& lost = result.timeline_lost;
  const std::size_t step =
      std::min(lost.size(), static_cast<std::size_t>(std::llround(overload_s * kSlots)));
  const std::size_t watched = lost.size() - step;
  Recovery r;
  std::size_t last = step;  // behind the last loss
  for (std::size_t i = 0; i < lost.size(); ++i) {
    (i < step ? r.lost_before : r.lost_after) += lost[i];
    if (i >= step && lost[i] > 0) last = i + 1;
  }
  r.has_recovered = last - step <= watched - watched / 10;
  r.seconds = static_cast<double>(r.has_recovered ? last - step : watched) / kSlots;
  return r;
}

}  // namespace merlon::lab
