// SPDX-License-Identifier: Apache-2.0
#pragma once
// When each frame of a stream is due. A pure function of the frame's number, so that sender,
// receiver and evaluation agree without carrying it. immutable, any thread. Cost: a multiplication
// per call (ramp: a square root; capture: a table look-up; steps: a look
// at each).
#include <cstdint>
#include <memory>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/base/time.h"
#include "merlon/lab_model/traffic.h"

namespace merlon::lab {

class Schedule {
 public:
  // `rate_pps` is the mean of kConstant and kBurst, the rate at the end of kRamp (whose mean is
  // half of it) and unused by kMaximum. kInvalidValue: a rate that is not positive or above 2^30
  // frames a second, a duration outside 1 ms .. 1 h, a burst of 0, or more than 2^32 - 1 frames in
  // all.
  static base::Result<Schedule> create(Pacing pacing, double rate_pps, double duration_s,
                                       std::uint32_t burst_frames = 1);
  // Frames at `times` (nanoseconds from 0, rising), repeated every `period`, for `duration_s`.
  static base::Result<Schedule> repeat(std::shared_ptr<const std::vector<base::Nanos>> times,
                                       base::Nanos period, double duration_s);

  // One rate after the other: each step's factor times `rate_pps` for its share of the duration.
  // kInvalidValue also for none or more than kMaxSteps of them, a factor that is negative, no
  // factor above 0, and shares that are not positive or don't make 1.
  static base::Result<Schedule> steps(const std::vector<RateStep>& steps, double rate_pps,
                                      double duration_s);
  static constexpr std::size_t kMaxSteps = 64;

  // Due time of frame `number`, nanoseconds from the trial's start. 0 for kMaximum: always due.
  [[nodiscard]] base::Nanos due(std::uint64_t number) const noexcept;
  // Frames in all; kMaximum: 2^32 - 1, it ends with the duration.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] bool is_maximum() const noexcept { return kind_ == Kind::kMaximum; }
  [[nodiscard]] base::Nanos duration() const noexcept { return duration_; }

 private:
  enum class Kind : std::uint8_t { kEven, kBurst, kRamp, kMaximum, kTimes, kSteps };
  struct Step {
    std::uint64_t first = 0;  // number of its first frame
    base::Nanos start = 0;
    double gap = 0;
  };

  Schedule() = default;

  Kind kind_ = Kind::kEven;
  double gap_ = 0;  // ns between frames; kRamp: 2 T / R in ns^2
  std::uint64_t burst_ = 1;
  std::uint64_t count_ = 0;
  base::Nanos duration_ = 0;
  std::shared_ptr<const std::vector<base::Nanos>> times_;
  base::Nanos period_ = 0;
  std::shared_ptr<const std::vector<Step>> steps_;  // those with frames
};

}  // namespace merlon::lab
