// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs against each other: the first is the base, each other one is compared with it, row by row
// where device, traffic and suite are the same. A change is claimed only where its whole interval
// lies beyond both the machines' own A/A noise and what matters in practice (10 % at least for the
// slowest frames), since of two hundred metrics some miss 1 by chance. Runs of
// different machines, kernels or device configurations are refused unless that is forced.
// control-only. Cost: 2,000 resamples per metric.
#include <cstddef>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"
#include "merlon/lab_model/statistics.h"
#include "merlon/lab_report/report.h"
#include "merlon/lab_report/terminal.h"

namespace merlon::lab {

struct CompareOptions {
  bool is_forced = false;  // compare what is not comparable; the differences are named all the same
  double practical = 0.02;  // relative changes below matter to nobody
};

enum class Verdict : std::uint8_t { kSame, kBetter, kWorse, kUnclear };
std::string_view word(Verdict verdict) noexcept;  // "same", "better", "worse", "unclear"

struct MetricChange {
  std::string name;            // "ndr_pps", "latency_p99_us", ...
  double base = 0, value = 0;  // medians, or results of the searches
  double ratio = 0;            // value / base
  Interval interval;           // of the ratio, 95 %; from the bounds where both are searches
  double noise = 0;            // A/A, the larger of both runs
  std::size_t base_count = 0, value_count = 0;  // values that they rest on
  Verdict verdict = Verdict::kUnclear;
};

// Of nothing, and of what is below it, there is no ratio.
[[nodiscard]] bool has_ratio(const MetricChange& change) noexcept;

struct RowChange {
  std::string key;  // device, traffic and suite in words; equal keys are comparable
  Text title;
  std::vector<MetricChange> metrics;
};

struct Difference {
  std::string field;  // "kernel", "version merlon", "device configuration of ..."
  std::string base, value;
  bool is_blocking = false;  // makes the runs incomparable
};

// A row of one run that the other has not.
struct Unpaired {
  std::string key;
  Text title;
  Text apart;  // where the other has a row of this title: what this one has and that one has not
};

struct RunComparison {
  std::string id;
  std::vector<Difference> differences;
  bool is_refused = false;  // rows are empty then
  std::vector<RowChange> rows;
  std::vector<Unpaired> only_in_base, only_in_other;
};

struct Comparison {
  std::string base_id;
  Text title;
  std::vector<RunComparison> runs;

  [[nodiscard]] std::size_t count(Verdict verdict) const noexcept;
  [[nodiscard]] bool is_refused() const noexcept;
  // 5 when a run was refused, 1 when a metric got worse, else 0.
  [[nodiscard]] int exit_code() const noexcept;
};

// kInvalidValue with fewer than two runs.
base::Result<Comparison> compare(const std::vector<Run>& runs, const CompareOptions& options = {});

std::string render_comparison(const Comparison& comparison, const TerminalOptions& options = {});
std::string render_comparison_html(const Comparison& comparison, const ReportOptions& options = {});
base::Result<void> write_comparison(const Comparison& comparison, const std::string& path,
                                    const ReportOptions& options = {});

}  // namespace merlon::lab
