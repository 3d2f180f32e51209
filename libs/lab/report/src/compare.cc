// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_report/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>

#include "compare_digests.h"
#include "format.h"
#include "values.h"
#include "words.h"

namespace merlon::lab {
namespace report {
namespace {

// Four values on each side: that all of one side lie beyond all of the other happens by chance in 2
// of 70 cases.
constexpr std::size_t kLeastValues = 4;
constexpr double kLossPractical =
    0.001;  // a thousandth of the frames matters, whatever matters for rates

// Of a trial's slowest frames; they vary more than what the null path's A/A noise tells.
constexpr double kTailPractical = 0.1;

bool is_tail(std::string_view metric) {
  return metric.find("_p9") != std::string_view::npos ||
         metric.find("_max_") != std::string_view::npos;
}

// A run has some two hundred metrics, so at 95 % ten intervals of equal things miss 1. A change is
// claimed where the whole interval lies beyond what noise and practice allow.
bool is_beyond(const Interval& interval, double allowed) {
  return interval.low > 1 + allowed || interval.high < 1 / (1 + allowed);
}

// Fields of the environment without which two runs measure different things.
bool is_blocking(std::string_view field) {
  return field == "kernel" || field == "cpu" || field == "cores" || field == "virtualization" ||
         field.starts_with("mitigation ");
}

std::vector<Difference> environment_differences(const Digest& base, const Digest& other) {
  std::vector<Difference> out;
  auto all = base.environment;
  all.insert(other.environment.begin(), other.environment.end());
  for (const auto& [field, ignored] : all) {
    const auto a = base.environment.find(field), b = other.environment.find(field);
    const std::string left = a == base.environment.end() ? "" : a->second;
    const std::string right = b == other.environment.end() ? "" : b->second;
    if (left != right) out.push_back({field, left, right, is_blocking(field)});
  }
  return out;
}

const DigestRow* find_row(const Digest& digest, const std::string& key) {
  const auto found = std::find_if(digest.rows.begin(), digest.rows.end(),
                                  [&](const DigestRow& r) { return r.key == key; });
  return found == digest.rows.end() ? nullptr : &*found;
}

Verdict verdict_of(const Ratio& ratio, const ChangeLimits& limits) {
  switch (judge(ratio, limits)) {
    case Change::kNone:
      return Verdict::kSame;
    case Change::kBetter:
      return Verdict::kBetter;
    case Change::kWorse:
      return Verdict::kWorse;
    case Change::kUndecided:
      return Verdict::kUnclear;
  }
  return Verdict::kUnclear;
}

MetricChange change_of(const std::string& name, const DigestMetric& a, const DigestMetric& b,
                       double noise, const CompareOptions& options) {
  MetricChange m;
  m.name = name;
  m.base = median(a.values);
  m.value = median(b.values);
  m.noise = noise;
  m.base_count = a.values.size();
  m.value_count = b.values.size();
  if (a.values.empty() || b.values.empty()) return m;
  Ratio ratio;
  ChangeLimits limits;
  limits.minimum_pairs = kLeastValues;
  if (a.is_search && b.is_search) {
    ratio.value = m.base > 0 ? m.value / m.base : 0;
    if (a.lower > 0 && a.upper > 0 && b.lower > 0 && b.upper > 0) {
      // Each bound was decided by repeated trials already: the interval is as wide as both searches
      // left it.
      ratio.interval = {b.lower / a.upper, b.upper / a.lower};
      ratio.pair_count = kLeastValues;
    } else {
      ratio.interval = {ratio.value, ratio.value};  // irregular: not judged
    }
  } else {
    ratio = ratio_of_medians(a.values, b.values);
  }
  m.ratio = ratio.value;
  m.interval = ratio.interval;
  limits.noise = name == "delivered_ratio" ? 0 : noise;
  limits.practical =
      name == "delivered_ratio" ? std::min(options.practical, kLossPractical) : options.practical;
  limits.higher_is_better = name == "delivered_ratio" || value_info(name).better != Better::kLower;
  if (is_tail(name)) limits.practical = std::max(limits.practical, kTailPractical);
  const bool are_equal = m.base == m.value && m.base == 0;
  m.verdict = are_equal ? Verdict::kSame : verdict_of(ratio, limits);
  const bool is_change = m.verdict == Verdict::kBetter || m.verdict == Verdict::kWorse;
  if (is_change && !is_beyond(m.interval, std::max(limits.noise, limits.practical)))
    m.verdict = Verdict::kUnclear;
  return m;
}

std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> out(1);
  for (const char c : key)
    if (c == '|')
      out.emplace_back();
    else
      out.back().push_back(c);
  return out;
}

// Parts of `key` that `other` has not; how long trials are, is told in words.
Text parts_apart(const std::string& key, const std::string& other) {
  const std::vector<std::string> theirs = parts_of(other);
  Text out;
  for (const std::string& part : parts_of(key)) {
    if (std::find(theirs.begin(), theirs.end(), part) != theirs.end()) continue;
    const Text told = part.starts_with("s=") ? joined({"trials of ", "испытания по "},
                                                      same(part.substr(2) + "\u00a0s"))
                                             : same(part);
    out = out.en.empty() ? told : joined(joined(out, same(", ")), told);
  }
  return out;
}

// Rows of one title in both lists are the same to a reader: say why they are no pair.
void tell_apart(RunComparison& run) {
  for (Unpaired& a : run.only_in_base)
    for (Unpaired& b : run.only_in_other) {
      if (a.title.en != b.title.en || !a.apart.en.empty() || !b.apart.en.empty()) continue;
      a.apart = parts_apart(a.key, b.key);
      b.apart = parts_apart(b.key, a.key);
    }
}

}  // namespace

Ratio ratio_of_medians(const std::vector<double>& a, const std::vector<double>& b) {
  Ratio out;
  out.pair_count = std::min(a.size(), b.size());
  const double base = median(a);
  // A figure that is a difference may be negative: nothing is so many times that.
  if (out.pair_count == 0 || base <= 0 || median(b) < 0) {
    out.pair_count = 0;
    return out;
  }
  out.value = median(b) / base;
  std::mt19937_64 random(kStatisticsSeed);
  std::vector<double> ratios, left(a.size()), right(b.size());
  const auto draw = [&](const std::vector<double>& from, std::vector<double>& to) {
    for (double& v : to) v = from[random() % from.size()];
  };
  for (unsigned i = 0; i < kResamples; ++i) {
    draw(a, left);
    draw(b, right);
    const double divisor = median(left);
    if (divisor > 0) ratios.push_back(median(right) / divisor);
  }
  out.interval = {quantile(ratios, 0.025), quantile(ratios, 0.975)};
  return out;
}

RunComparison compare_digests(const Digest& base, const Digest& other,
                              const CompareOptions& options) {
  RunComparison out;
  out.id = other.id;
  out.differences = environment_differences(base, other);
  if (base.plan != other.plan) out.differences.push_back({"plan", base.plan, other.plan, false});
  for (const DigestRow& row : base.rows) {
    const DigestRow* partner = find_row(other, row.key);
    if (partner == nullptr)
      out.only_in_base.push_back({row.key, row.title, {}});
    else if (row.configuration != partner->configuration)
      out.differences.push_back({"device configuration of " + row.title.en, row.configuration,
                                 partner->configuration,
                                 !row.configuration.empty() && !partner->configuration.empty()});
  }
  for (const DigestRow& row : other.rows)
    if (find_row(base, row.key) == nullptr) out.only_in_other.push_back({row.key, row.title, {}});
  tell_apart(out);
  out.is_refused =
      !options.is_forced && std::any_of(out.differences.begin(), out.differences.end(),
                                        [](const Difference& d) { return d.is_blocking; });
  if (out.is_refused) return out;
  const double noise = std::max(base.noise, other.noise);
  for (const DigestRow& row : base.rows) {
    const DigestRow* partner = find_row(other, row.key);
    if (partner == nullptr) continue;
    RowChange change{row.key, row.title, {}};
    for (const auto& [name, metric] : row.metrics) {
      const auto same = partner->metrics.find(name);
      if (same != partner->metrics.end())
        change.metrics.push_back(change_of(name, metric, same->second, noise, options));
    }
    if (!change.metrics.empty()) out.rows.push_back(std::move(change));
  }
  return out;
}

}  // namespace report

bool has_ratio(const MetricChange& change) noexcept { return change.base > 0 && change.value >= 0; }

std::string_view word(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kUnclear:
      return "unclear";
  }
  return "unclear";
}

std::size_t Comparison::count(Verdict verdict) const noexcept {
  std::size_t n = 0;
  for (const RunComparison& run : runs)
    for (const RowChange& row : run.rows)
      n += static_cast<std::size_t>(
          std::count_if(row.metrics.begin(), row.metrics.end(),
                        [&](const MetricChange& m) { return m.verdict == verdict; }));
  return n;
}

bool Comparison::is_refused() const noexcept {
  return std::any_of(runs.begin(), runs.end(), [](const RunComparison& r) { return r.is_refused; });
}

int Comparison::exit_code() const noexcept {
  if (is_refused()) return 5;
  return count(Verdict::kWorse) != 0 ? 1 : 0;
}

base::Result<Comparison> compare(const std::vector<Run>& runs, const CompareOptions& options) {
  if (runs.size() < 2)
    return base::Error{base::Errc::kInvalidValue,
                       fmt::format("{} given, a comparison needs two",
                                   report::counted(runs.size(), report::kRuns).en),
                       {},
                       "name the base first, then the runs to compare with it",
                       {}};
  const report::Digest base = report::digest(runs.front());
  Comparison out;
  out.base_id = base.id;
  out.title = base.title;
  for (std::size_t i = 1; i < runs.size(); ++i)
    out.runs.push_back(report::compare_digests(base, report::digest(runs[i]), options));
  return out;
}

}  // namespace merlon::lab
