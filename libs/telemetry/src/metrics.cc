// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/metrics.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>

namespace merlon::telemetry {
namespace {

constexpr std::string_view kTotal = "_total";

std::string_view type_name(MetricType type) noexcept {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "gauge";
}

// Label values escape backslash, quote and line feed. HELP text escapes the quote in OpenMetrics
// only.
void append_escaped(std::string_view text, bool escapes_quote, std::string& out) {
  for (const char c : text) {
    if (c == '\\')
      out.append("\\\\");
    else if (c == '\n')
      out.append("\\n");
    else if (c == '"' && escapes_quote)
      out.append("\\\"");
    else
      out.push_back(c);
  }
}

void append_double(double value, std::string& out) {
  if (std::isnan(value)) {
    out.append("NaN");
  } else if (std::isinf(value)) {
    out.append(value > 0 ? "+Inf" : "-Inf");
  } else {
    out += fmt::format("{}", value);
  }
}

void append_unsigned(std::uint64_t value, std::string& out) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// OpenMetrics names a counter's family without its suffix.
std::string_view family_name(const MetricFamily& f, MetricsFormat format) noexcept {
  std::string_view name = f.name;
  if (format == MetricsFormat::kOpenMetrics && f.type == MetricType::kCounter &&
      name.ends_with(kTotal))
    name.remove_suffix(kTotal.size());
  return name;
}

void append_family_head(const MetricFamily& f, MetricsFormat format, std::string& out) {
  const std::string_view name = family_name(f, format);
  const bool is_open = format == MetricsFormat::kOpenMetrics;
  out.append("# HELP ").append(name).push_back(' ');
  append_escaped(f.help, is_open, out);
  out.append("\n# TYPE ").append(name).append(" ").append(type_name(f.type)).push_back('\n');
  // OpenMetrics 1.0: a unit must be the last part of the name.
  if (is_open && !f.unit.empty() && name.size() > f.unit.size() && name.ends_with(f.unit) &&
      name[name.size() - f.unit.size() - 1] == '_')
    out.append("# UNIT ").append(name).append(" ").append(f.unit).push_back('\n');
}

}  // namespace

std::span<const MetricFamily* const> metric_families() noexcept {
  static constexpr std::array kAll{
#define MERLON_X(symbol, name, type, unit, help, labels) &metric::k##symbol,
      MERLON_METRIC_FAMILIES(MERLON_X)
#undef MERLON_X
  };
  return kAll;
}

std::string_view metrics_content_type(MetricsFormat format) noexcept {
  return format == MetricsFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

MetricsFormat metrics_format_for(std::string_view accept) noexcept {
  return accept.find("application/openmetrics-text") != std::string_view::npos
             ? MetricsFormat::kOpenMetrics
             : MetricsFormat::kPrometheus;
}

MetricsWriter& MetricsWriter::family(const MetricFamily& family) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].family->name != family.name) continue;
    current_ = i;
    return *this;
  }
  current_ = blocks_.size();
  blocks_.push_back({&family, {}});
  append_family_head(family, format_, blocks_.back().text);
  return *this;
}

void MetricsWriter::head(std::string_view suffix, Labels labels, const Label* extra) {
  Block& block = blocks_[current_];
  std::string& out = block.text;
  out.append(block.family->name).append(suffix);
  bool is_first = true;
  const auto put = [&](const Label& label) {
    out.push_back(is_first ? '{' : ',');
    is_first = false;
    out.append(label.name).append("=\"");
    append_escaped(label.value, true, out);
    out.push_back('"');
  };
  for (const Label& label : labels) put(label);
  if (extra != nullptr) put(*extra);
  if (!is_first) out.push_back('}');
  out.push_back(' ');
}

MetricsWriter& MetricsWriter::integer(std::string_view suffix, Labels labels, std::uint64_t value,
                                      bool negative) {
  if (blocks_.empty()) return *this;
  head(suffix, labels, nullptr);
  std::string& out = blocks_[current_].text;
  if (negative) out.push_back('-');
  append_unsigned(value, out);
  out.push_back('\n');
  return *this;
}

MetricsWriter& MetricsWriter::sample(Labels labels, double value) {
  if (blocks_.empty()) return *this;
  head({}, labels, nullptr);
  append_double(value, blocks_[current_].text);
  blocks_[current_].text.push_back('\n');
  return *this;
}

MetricsWriter& MetricsWriter::histogram(Labels labels, std::span<const double> bounds,
                                        std::span<const std::uint64_t> counts, std::uint64_t beyond,
                                        double sum) {
  if (blocks_.empty()) return *this;
  std::uint64_t below = 0;
  const auto bucket = [&](double bound) {
    std::string le;
    append_double(bound, le);
    // OpenMetrics wants floats here: "8.0".
    if (format_ == MetricsFormat::kOpenMetrics &&
        le.find_first_not_of("0123456789") == std::string::npos)
      le.append(".0");
    const Label label{"le", le};
    head("_bucket", labels, &label);
    append_unsigned(below, blocks_[current_].text);
    blocks_[current_].text.push_back('\n');
  };
  for (std::size_t i = 0; i < bounds.size() && i < counts.size(); ++i) {
    below += counts[i];
    bucket(bounds[i]);
  }
  below += beyond;
  bucket(HUGE_VAL);
  head("_sum", labels, nullptr);
  append_double(sum, blocks_[current_].text);
  blocks_[current_].text.push_back('\n');
  return integer("_count", labels, below, false);
}

std::string MetricsWriter::take() {
  std::string page;
  for (const Block& block : blocks_) page.append(block.text);
  if (format_ == MetricsFormat::kOpenMetrics) page.append("# EOF\n");
  blocks_.clear();
  current_ = 0;
  return page;
}

}  // namespace merlon::telemetry
