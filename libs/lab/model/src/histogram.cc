// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_model/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace merlon::lab {
namespace {

// Values below 128 have a bucket each; from there on every doubling has 64. A value with its
// highest bit at m >= 6 is kept as its 7 leading bits: index = (m - 6) * 64 + (value >> (m - 6)).
constexpr unsigned kLinearBits = 6;
constexpr unsigned kRangeBits = 42;
constexpr std::int64_t kRangeEnd = (std::int64_t{1} << kRangeBits) - 1;

constexpr std::size_t index_of(std::int64_t value) noexcept {
  const auto bits = static_cast<std::uint64_t>(value);
  const auto width = static_cast<unsigned>(std::bit_width(bits));
  const unsigned shift = width > kLinearBits + 1 ? width - (kLinearBits + 1) : 0;
  return (std::size_t{shift} << kLinearBits) + static_cast<std::size_t>(bits >> shift);
}
constexpr std::size_t kBucketCount = index_of(kRangeEnd) + 1;

constexpr unsigned shift_of(std::size_t index) noexcept {
  return index < (std::size_t{2} << kLinearBits) ? 0U
                                                 : static_cast<unsigned>(index >> kLinearBits) - 1;
}
constexpr std::int64_t lowest_of(std::size_t index) noexcept {
  const unsigned shift = shift_of(index);
  return static_cast<std::int64_t>(index - (std::size_t{shift} << kLinearBits)) << shift;
}
constexpr std::int64_t highest_of(std::size_t index) noexcept {
  return lowest_of(index) + (std::int64_t{1} << shift_of(index)) - 1;
}
static_assert(highest_of(kBucketCount - 1) == kRangeEnd && lowest_of(128) == 128 &&
              highest_of(127) == 127);

}  // namespace

Histogram::Histogram() : counts_(kBucketCount) {}

void Histogram::record(std::int64_t nanos, std::uint64_t count) noexcept {
  if (count == 0) return;
  const std::int64_t value = std::clamp<std::int64_t>(nanos, 0, kRangeEnd);
  const std::size_t index = index_of(value);
  // Only a restored histogram is shorter than the range, and nothing records into one on a
  // measuring thread.
  if (index >= counts_.size()) [[unlikely]]
    counts_.resize(kBucketCount);
  counts_[index] += count;
  minimum_ = total_ == 0 ? value : std::min(minimum_, value);
  maximum_ = total_ == 0 ? value : std::max(maximum_, value);
  total_ += count;
}

void Histogram::merge(const Histogram& other) {
  if (other.total_ == 0) return;
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  minimum_ = total_ == 0 ? other.minimum_ : std::min(minimum_, other.minimum_);
  maximum_ = total_ == 0 ? other.maximum_ : std::max(maximum_, other.maximum_);
  total_ += other.total_;
}

void Histogram::clear() noexcept {
  std::fill(counts_.begin(), counts_.end(), 0);
  total_ = 0;
  minimum_ = maximum_ = 0;
}

std::int64_t Histogram::minimum() const noexcept { return minimum_; }
std::int64_t Histogram::maximum() const noexcept { return maximum_; }

double Histogram::mean() const noexcept {
  if (total_ == 0) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const double middle =
        (static_cast<double>(lowest_of(i)) + static_cast<double>(highest_of(i))) / 2;
    sum += middle * static_cast<double>(counts_[i]);
  }
  // A bucket's middle may lie outside of what was seen; the mean may not.
  return std::clamp(sum / static_cast<double>(total_), static_cast<double>(minimum_),
                    static_cast<double>(maximum_));
}

std::int64_t Histogram::percentile(double share) const noexcept {
  if (total_ == 0) return 0;
  if (!(share > 0)) return minimum_;
  if (share >= 1) return maximum_;
  // At least one value, and never more than there are: the product may round up past the total.
  const double exact = std::ceil(share * static_cast<double>(total_));
  const std::uint64_t wanted = exact >= static_cast<double>(total_)
                                   ? total_
                                   : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(exact));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted) return std::clamp(highest_of(i), minimum_, maximum_);
  }
  return maximum_;
}

std::vector<std::pair<std::int64_t, std::uint64_t>> Histogram::buckets() const {
  std::vector<std::pair<std::int64_t, std::uint64_t>> occupied;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) occupied.emplace_back(highest_of(i), counts_[i]);
  }
  return occupied;
}

Histogram Histogram::from_buckets(
    const std::vector<std::pair<std::int64_t, std::uint64_t>>& buckets, std::int64_t minimum,
    std::int64_t maximum) {
  Histogram restored;
  std::size_t highest = 0;
  for (const auto& [value, count] : buckets) {
    restored.record(value, count);
    highest = std::max(highest, index_of(std::clamp<std::int64_t>(value, 0, kRangeEnd)));
  }
  restored.counts_.resize(highest + 1);
  restored.counts_
      .shrink_to_fit();  // a file of many trials would otherwise cost 19 KiB per histogram
  if (restored.total_ != 0) {
    restored.minimum_ = std::clamp<std::int64_t>(minimum, 0, kRangeEnd);
    restored.maximum_ = std::clamp<std::int64_t>(maximum, restored.minimum_, kRangeEnd);
  }
  return restored;
}

}  // namespace merlon::lab
