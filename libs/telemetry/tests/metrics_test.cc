// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "merlon/telemetry/standard_metrics.h"

namespace merlon::telemetry {
namespace {

using testing::IsEmpty;

// The rules of the text format and the lints that Prometheus' own checker applies to a page.
std::vector<std::string> page_errors(const std::string& page) {
  static const std::regex kSample(
      R"re(^([a-z_]+)(\{([a-z]+="([^"\\]|\\["\\n])*")(,[a-z]+="([^"\\]|\\["\\n])*")*\})? (-?[0-9.e+-]+|NaN|[+-]Inf)$)re");
  std::vector<std::string> errors;
  std::set<std::string> families, series;
  std::string family, type;
  bool has_help = false;
  std::istringstream lines(page);
  if (page.empty() || page.back() != '\n') errors.push_back("no line end at the end");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, keyword, name, rest;
    if (line.starts_with("# ")) {
      words >> hash >> keyword >> name;
      std::getline(words >> std::ws, rest);
      if (keyword == "HELP") {
        family = name;
        has_help = !rest.empty();
        if (!families.insert(name).second) errors.push_back(name + ": family twice");
      } else if (keyword == "TYPE") {
        type = rest;
        if (name != family || !has_help) errors.push_back(name + ": no HELP before TYPE");
        if ((type == "counter") != name.ends_with("_total"))
          errors.push_back(name + ": _total is for counters");
      }
      continue;
    }
    std::smatch m;
    if (!std::regex_match(line, m, kSample)) {
      errors.push_back("no sample: " + line);
      continue;
    }
    const std::string sample = m[1];
    const std::set<std::string> allowed =
        type == "histogram"
            ? std::set<std::string>{family + "_bucket", family + "_sum", family + "_count"}
            : std::set<std::string>{family};
    if (!allowed.contains(sample)) errors.push_back(sample + ": outside its family");
    if (!series.insert(line.substr(0, line.rfind(' '))).second)
      errors.push_back(line + ": series twice");
  }
  return errors;
}

constexpr MetricFamily kCounter{"merlon_test_things_total", MetricType::kCounter, "things",
                                "Things \"seen\".", "a"};
constexpr MetricFamily kGauge{"merlon_test_seconds", MetricType::kGauge, "seconds", "A \\ gauge.",
                              ""};
constexpr MetricFamily kHistogram{"merlon_test_burst", MetricType::kHistogram, "packets",
                                  "A histogram.", "w"};

void fill(MetricsWriter& w) {
  w.family(kCounter).sample({{"a", "x\"\\\n"}}, std::uint64_t{18446744073709551615U});
  w.family(kGauge).sample({}, 0.25);
  w.family(kCounter).sample({{"a", "y"}, {"b", "z"}}, 7);  // joins its family
  w.family(kHistogram)
      .histogram({{"w", "0"}}, std::array<double, 2>{1, 2.5}, std::array<std::uint64_t, 2>{3, 4}, 5,
                 60);
}

TEST(Metrics, PrometheusText) {
  MetricsWriter w;
  fill(w);
  const std::string page = w.take();
  EXPECT_EQ(page,
            "# HELP merlon_test_things_total Things \"seen\".\n"
            "# TYPE merlon_test_things_total counter\n"
            "merlon_test_things_total{a=\"x\\\"\\\\\\n\"} 18446744073709551615\n"
            "merlon_test_things_total{a=\"y\",b=\"z\"} 7\n"
            "# HELP merlon_test_seconds A \\\\ gauge.\n"
            "# TYPE merlon_test_seconds gauge\n"
            "merlon_test_seconds 0.25\n"
            "# HELP merlon_test_burst A histogram.\n"
            "# TYPE merlon_test_burst histogram\n"
            "merlon_test_burst_bucket{w=\"0\",le=\"1\"} 3\n"
            "merlon_test_burst_bucket{w=\"0\",le=\"2.5\"} 7\n"
            "merlon_test_burst_bucket{w=\"0\",le=\"+Inf\"} 12\n"
            "merlon_test_burst_sum{w=\"0\"} 60\n"
            "merlon_test_burst_count{w=\"0\"} 12\n");
  EXPECT_THAT(page_errors(page), IsEmpty());
  EXPECT_EQ(w.take(), "");
}

TEST(Metrics, OpenMetrics) {
  MetricsWriter w(MetricsFormat::kOpenMetrics);
  fill(w);
  EXPECT_EQ(w.take(),
            "# HELP merlon_test_things Things \\\"seen\\\".\n"
            "# TYPE merlon_test_things counter\n"
            "# UNIT merlon_test_things things\n"
            "merlon_test_things_total{a=\"x\\\"\\\\\\n\"} 18446744073709551615\n"
            "merlon_test_things_total{a=\"y\",b=\"z\"} 7\n"
            "# HELP merlon_test_seconds A \\\\ gauge.\n"
            "# TYPE merlon_test_seconds gauge\n"
            "# UNIT merlon_test_seconds seconds\n"
            "merlon_test_seconds 0.25\n"
            "# HELP merlon_test_burst A histogram.\n"
            "# TYPE merlon_test_burst histogram\n"
            "merlon_test_burst_bucket{w=\"0\",le=\"1.0\"} 3\n"
            "merlon_test_burst_bucket{w=\"0\",le=\"2.5\"} 7\n"
            "merlon_test_burst_bucket{w=\"0\",le=\"+Inf\"} 12\n"
            "merlon_test_burst_sum{w=\"0\"} 60\n"
            "merlon_test_burst_count{w=\"0\"} 12\n"
            "# EOF\n");
}

TEST(Metrics, OddValues) {
  MetricsWriter w;
  w.family(kGauge)
      .sample({{"v", "a"}}, std::numeric_limits<std::int64_t>::min())
      .sample({{"v", "b"}}, -HUGE_VAL)
      .sample({{"v", "c"}}, std::nan(""));
  const std::string page = w.take();
  EXPECT_NE(page.find("{v=\"a\"} -9223372036854775808\n"), std::string::npos);
  EXPECT_NE(page.find("{v=\"b\"} -Inf\n"), std::string::npos);
  EXPECT_NE(page.find("{v=\"c\"} NaN\n"), std::string::npos);
}

TEST(Metrics, FormatByAcceptHeader) {
  EXPECT_EQ(metrics_format_for(""), MetricsFormat::kPrometheus);
  EXPECT_EQ(metrics_format_for("text/plain;version=0.0.4"), MetricsFormat::kPrometheus);
  EXPECT_EQ(metrics_format_for("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            MetricsFormat::kOpenMetrics);
  EXPECT_EQ(metrics_content_type(MetricsFormat::kPrometheus),
            "text/plain; version=0.0.4; charset=utf-8");
}

TEST(Metrics, StandardFamilies) {
  std::array<WorkerCounters, 2> rows;
  rows[0].add_burst(64, 4096);
  rows[1].add_burst(2, 128);
  rows[1].add_drop(base::DropReason::kLinkDown, 64);
  rows[0].busy_cycles.add(3'000'000'000);
  rows[0].cycles.add(6'000'000'000);
  rows[0].add_session_end(base::SessionEnd::kCleared);
  const std::array<const WorkerCounters*, 2> pointers{&rows[0], &rows[1]};
  std::vector<SinkStatus> sinks(1);
  sinks[0].name = "eve";
  sinks[0].lost = 4;
  MetricsWriter w;
  write_worker_metrics(w, pointers, 2e9);
  write_sink_metrics(w, sinks);
  const std::string page = w.take();
  EXPECT_THAT(page_errors(page), IsEmpty());
  for (const char* line : {"merlon_worker_receive_packets_total{worker=\"0\"} 64\n",
                           "merlon_worker_receive_packets_total{worker=\"1\"} 2\n",
                           "merlon_worker_busy_seconds_total{worker=\"0\"} 1.5\n",
                           "merlon_drops_total{reason=\"link_down\"} 1\n",
                           "merlon_worker_turn_seconds_total{worker=\"0\"} 3\n",
                           "merlon_drop_bytes_total{reason=\"link_down\"} 64\n",
                           "merlon_drops_total{reason=\"policy_deny\"} 0\n",
                           "merlon_session_ended_total{cause=\"cleared\"} 1\n",
                           "merlon_export_lost_events_total{sink=\"eve\"} 4\n",
                           "merlon_worker_burst_packets_bucket{worker=\"0\",le=\"32\"} 0\n",
                           "merlon_worker_burst_packets_bucket{worker=\"0\",le=\"64\"} 1\n",
                           "merlon_worker_burst_packets_sum{worker=\"0\"} 64\n"})
    EXPECT_NE(page.find(line), std::string::npos) << line;
}

TEST(Metrics, TableKeepsTheConventions) {
  std::set<std::string_view> names;
  for (const MetricFamily* f : metric_families()) {
    EXPECT_TRUE(names.insert(f->name).second) << f->name;
    EXPECT_TRUE(f->name.starts_with("merlon_")) << f->name;
    EXPECT_EQ(f->name.ends_with("_total"), f->type == MetricType::kCounter) << f->name;
    EXPECT_TRUE(f->help.ends_with(".")) << f->name;
    EXPECT_EQ(f->name.find("milli"), std::string_view::npos) << f->name;
    for (const auto suffix : {"_count", "_sum", "_bucket"})
      EXPECT_FALSE(f->name.ends_with(suffix)) << f->name;
    if (f->unit == "seconds" || f->unit == "bytes") {
      EXPECT_NE(f->name.find("_" + std::string(f->unit)), std::string_view::npos) << f->name;
    }
    EXPECT_EQ(f->labels.find("address"), std::string_view::npos) << f->name;
  }
  EXPECT_GT(names.size(), 40U);
}

}  // namespace
}  // namespace merlon::telemetry
