// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

constexpr double kMaxRate = 1U << 30;
constexpr double kMinDuration = 0.001, kMaxDuration = 3600;
constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint32_t>::max();
constexpr double kNanos = 1e9;

base::Result<void> check_duration(double duration_s) {
  if (!(duration_s >= kMinDuration && duration_s <= kMaxDuration))
    return base::invalid(fmt::format("duration_s {} is out of range", duration_s),
                         "0.001 to 3600 seconds");
  return {};
}

base::Result<void> check_steps(const std::vector<RateStep>& steps, double rate_pps) {
  if (steps.empty() || steps.size() > Schedule::kMaxSteps)
    return base::invalid(fmt::format("{} steps", steps.size()),
                         fmt::format("pacing steps takes 1 to {}", Schedule::kMaxSteps));
  double shares = 0;
  for (const RateStep& step : steps) {
    if (!(step.share > 0))
      return base::invalid(fmt::format("a step's share {} is out of range", step.share),
                           "above 0; the shares of all steps make 1");
    if (!(step.factor >= 0 && step.factor * rate_pps <= kMaxRate))
      return base::invalid(fmt::format("a step's factor {} is out of range", step.factor),
                           "0 or more, at most 1073741824 frames a second");
    shares += step.share;
  }
  constexpr double kRounding = 1e-6;
  if (!(std::abs(shares - 1) <= kRounding))
    return base::invalid(fmt::format("the steps' shares make {}", shares), "they must make 1");
  if (!(rate_pps > 0))
    return base::invalid(fmt::format("rate_pps {} is out of range", rate_pps), "above 0");
  return {};
}

base::Error too_many(double frames) {
  return base::invalid(fmt::format("{:.0f} frames are more than a trial can number", frames),
                       fmt::format("at most {}: lower the rate or the duration", kMaxCount));
}

}  // namespace

base::Result<Schedule> Schedule::create(Pacing pacing, double rate_pps, double duration_s,
                                        std::uint32_t burst_frames) {
  if (auto ok = check_duration(duration_s); !ok.ok()) return ok.error();
  Schedule s;
  s.duration_ = static_cast<base::Nanos>(std::llround(duration_s * kNanos));
  if (pacing == Pacing::kMaximum) {
    s.kind_ = Kind::kMaximum;
    s.count_ = kMaxCount;
    return s;
  }
  if (!(rate_pps > 0 && rate_pps <= kMaxRate))
    return base::invalid(fmt::format("rate_pps {} is out of range", rate_pps),
                         "above 0, at most 1073741824 frames a second");
  if (pacing == Pacing::kBurst && burst_frames == 0)
    return base::invalid("burst_frames is 0", "at least 1");
  double frames = rate_pps * duration_s;
  s.gap_ = kNanos / rate_pps;
  if (pacing == Pacing::kBurst) {
    s.kind_ = Kind::kBurst;
    s.burst_ = burst_frames;
  } else if (pacing == Pacing::kRamp) {
    // N(t) = R t^2 / 2T frames are due until t.
    s.kind_ = Kind::kRamp;
    frames /= 2;
    s.gap_ = 2 * duration_s * kNanos * kNanos / rate_pps;
  }
  if (frames > static_cast<double>(kMaxCount)) return too_many(frames);
  s.count_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(frames)));
  return s;
}

base::Result<Schedule> Schedule::repeat(std::shared_ptr<const std::vector<base::Nanos>> times,
                                        base::Nanos period, double duration_s) {
  if (auto ok = check_duration(duration_s); !ok.ok()) return ok.error();
  if (times == nullptr || times->empty() || period <= times->back() || times->front() < 0 ||
      !std::is_sorted(times->begin(), times->end()))
    return base::invalid("a capture's times must rise from 0 and end before its period");
  Schedule s;
  s.kind_ = Kind::kTimes;
  s.duration_ = static_cast<base::Nanos>(std::llround(duration_s * kNanos));
  s.period_ = period;
  const auto rounds = static_cast<std::uint64_t>(s.duration_ / period);
  const base::Nanos rest = s.duration_ % period;
  const auto last = std::lower_bound(times->begin(), times->end(), rest) - times->begin();
  const double frames =
      static_cast<double>(rounds) * static_cast<double>(times->size()) + static_cast<double>(last);
  if (frames > static_cast<double>(kMaxCount)) return too_many(frames);
  s.count_ = rounds * times->size() + static_cast<std::uint64_t>(last);
  s.times_ = std::move(times);
  return s;
}

base::Result<Schedule> Schedule::steps(const std::vector<RateStep>& steps, double rate_pps,
                                       double duration_s) {
  if (auto ok = check_duration(duration_s); !ok.ok()) return ok.error();
  if (auto ok = check_steps(steps, rate_pps); !ok.ok()) return ok.error();
  Schedule s;
  s.kind_ = Kind::kSteps;
  s.duration_ = static_cast<base::Nanos>(std::llround(duration_s * kNanos));
  std::vector<Step> parts;
  double share = 0, frames = 0;
  for (const RateStep& step : steps) {
    const double rate = rate_pps * step.factor;
    const double start = share * duration_s * kNanos;
    share += step.share;
    const double count = std::round(rate * step.share * duration_s);
    if (count < 1) continue;
    parts.push_back({static_cast<std::uint64_t>(frames),
                     static_cast<base::Nanos>(std::llround(start)), kNanos / rate});
    frames += count;
    if (frames > static_cast<double>(kMaxCount)) return too_many(frames);
  }
  if (parts.empty())
    return base::invalid("steps: no frame is due in any of them", "a longer duration or more rate");
  s.count_ = static_cast<std::uint64_t>(frames);
  s.steps_ = std::make_shared<const std::vector<Step>>(std::move(parts));
  return s;
}

base::Nanos Schedule::due(std::uint64_t number) const noexcept {
  switch (kind_) {
    case Kind::kEven:
      return static_cast<base::Nanos>(static_cast<double>(number) * gap_);
    case Kind::kBurst:
      return static_cast<base::Nanos>(static_cast<double>(number - number % burst_) * gap_);
    case Kind::kRamp:
      return static_cast<base::Nanos>(std::sqrt(static_cast<double>(number) * gap_));
    case Kind::kMaximum:
      return 0;
    case Kind::kSteps: {
      std::size_t i = steps_->size() - 1;
      while (number < (*steps_)[i].first) --i;
      const Step& step = (*steps_)[i];
      return step.start +
             static_cast<base::Nanos>(static_cast<double>(number - step.first) * step.gap);
    }
    case Kind::kTimes:
      return (*times_)[number % times_->size()] +
             static_cast<base::Nanos>(number / times_->size()) * period_;
  }
  return 0;
}

}  // namespace merlon::lab
