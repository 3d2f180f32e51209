// SPDX-License-Identifier: Apache-2.0
#pragma once
// A histogram of durations in nanoseconds with a bounded relative error (HDR form: buckets double,
// each divided into 64 linear parts, so a value is kept within 1/64). Counts every frame, not a
// sample. worker-owned while recording, a value afterwards. Cost: record() a handful of
// instructions, no allocation.
#include <cstdint>
#include <utility>
#include <vector>

namespace merlon::lab {

class Histogram {
 public:
  Histogram();

  // Values below 0 count as 0, values beyond the range (about 73 minutes) as its end.
  void record(std::int64_t nanos, std::uint64_t count = 1) noexcept;
  void merge(const Histogram& other);
  void clear() noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return total_; }
  [[nodiscard]] std::int64_t minimum() const noexcept;  // exact; 0 when empty
  [[nodiscard]] std::int64_t maximum() const noexcept;  // exact; 0 when empty
  [[nodiscard]] double mean() const noexcept;
  // The value below or at which `share` (0..1) of the values lie; the upper end of its bucket.
  [[nodiscard]] std::int64_t percentile(double share) const noexcept;
  // Occupied buckets as (highest value of the bucket, count), ascending; from_buckets() restores an
  // equal one.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::uint64_t>> buckets() const;
  static Histogram from_buckets(const std::vector<std::pair<std::int64_t, std::uint64_t>>& buckets,
                                std::int64_t minimum, std::int64_t maximum);

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  std::int64_t minimum_ = 0, maximum_ = 0;
};

}  // namespace merlon::lab
