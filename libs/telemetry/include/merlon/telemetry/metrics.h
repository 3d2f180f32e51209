// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prometheus text. A MetricsWriter is made for one scrape, gets samples family by family and gives
// the page; there is no registry and no state between scrapes. control-only.
//
//   MetricsWriter w(MetricsFormat::kPrometheus);
//   w.family(metric::kDrops).sample({{"reason", "policy_deny"}}, 17);
//   std::string page = w.take();
//
// Text format 0.0.4, or OpenMetrics 1.0 where the scraper asks for it. Families used twice are
// joined, so that a page is valid whatever the order of the callers.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/telemetry/metric_families.h"

namespace merlon::telemetry {

enum class MetricsFormat : std::uint8_t { kPrometheus, kOpenMetrics };

// Value of the Content-Type header.
std::string_view metrics_content_type(MetricsFormat format) noexcept;
// The format that an Accept header asks for; Prometheus text when in doubt.
MetricsFormat metrics_format_for(std::string_view accept) noexcept;

struct Label {
  std::string_view name, value;  // any text; escaped here
};
using Labels = std::initializer_list<Label>;

class MetricsWriter {
 public:
  explicit MetricsWriter(MetricsFormat format = MetricsFormat::kPrometheus) : format_(format) {}

  // Samples that follow belong to this family.
  MetricsWriter& family(const MetricFamily& family);

  // Never addresses or other unbounded text as label values.
  template <std::integral T>
  MetricsWriter& sample(Labels labels, T value) {
    if constexpr (std::unsigned_integral<T>)
      return integer({}, labels, value, false);
    else
      return integer(
          {}, labels,
          value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value),
          value < 0);
  }
  MetricsWriter& sample(Labels labels, double value);
  // `counts` per bucket, not cumulative, one per bound; `beyond` counts what is above the last
  // bound.
  MetricsWriter& histogram(Labels labels, std::span<const double> bounds,
                           std::span<const std::uint64_t> counts, std::uint64_t beyond, double sum);

  // The page; the writer is empty afterwards.
  std::string take();

 private:
  struct Block {
    const MetricFamily* family;
    std::string text;
  };
  MetricsWriter& integer(std::string_view suffix, Labels labels, std::uint64_t value,
                         bool negative);
  void head(std::string_view suffix, Labels labels, const Label* extra);

  MetricsFormat format_;
  std::vector<Block> blocks_;
  std::size_t current_ = 0;
};

}  // namespace merlon::telemetry
