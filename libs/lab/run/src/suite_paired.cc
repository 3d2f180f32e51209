// SPDX-License-Identifier: Apache-2.0
// Two devices measured in turn, A B B A, until the ratio of a figure is known well enough. Each
// change of side takes the other device down and starts this one anew, so that neither shares the
// cores with the other, and warms it up by a trial that is not used.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "merlon/lab_search/paired.h"
#include "suites.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

Load load_of(const Row& row) {
  if (row.parameters.contains("cps")) return Load::kConnections;
  return row.rate_pps > 0 ? Load::kPaced : Load::kMaximum;
}

const ComparableFigure* find_figure(const std::string& name) {
  for (const ComparableFigure& figure : comparable_figures())
    if (figure.name == name) return &figure;
  return nullptr;
}

double kpi(const TrialResult& trial, const char* name) {
  const auto found = trial.kpis.find(name);
  return found == trial.kpis.end() ? 0 : found->second;
}

// All cycles that the host spent, divided among the connections: busy ones of the tester's thread,
// within which the kernel does an inline device's work, and CPU time of all others.
double cycles_of_connections(const TrialResult& trial, double tsc_hz) {
  double tester_s = 0;
  for (const ProcessUse& use : trial.processes)
    if (use.role == "tester") tester_s += use.user_s + use.system_s;
  return std::max(0.0, trial.total_cpu_s - tester_s) * tsc_hz +
         kpi(trial, "tester_cycles_per_connection") * kpi(trial, "completed");
}

// One side at its turn.
struct Sample {
  TrialResult trial;                 // whose figures count
  std::optional<TrialResult> fewer;  // connections only: at a quarter of the rate
};

class Comparison {
 public:
  Comparison(RowRun& a, RowRun& b)
      : a_(a), b_(b), figures_(compared_figures(a.row())), samples_(figures_.size()) {
    limits_.practical = parameter(a.row(), "practical");
    plan_.least_pairs = static_cast<std::size_t>(parameter(a.row(), "min_pairs"));
    plan_.most_pairs =
        std::max(plan_.least_pairs, static_cast<std::size_t>(parameter(a.row(), "max_pairs")));
  }

  Result<void> run(const std::function<double()>& seconds_left);

 private:
  Result<void> measure(Side side);
  Result<Sample> sample(RowRun& run);
  [[nodiscard]] std::optional<double> value(const Sample& sample, const std::string& figure) const;
  [[nodiscard]] PairedResult result(std::size_t figure) const;
  [[nodiscard]] PairedOutcome outcome(std::size_t figure, const Text& ended) const;
  void tell(const PairedResult& result, const std::optional<Text>& ended);
  RowRun& run_of(Side side) { return side == Side::kA ? a_ : b_; }

  RowRun& a_;
  RowRun& b_;
  std::vector<std::string> figures_;
  std::vector<std::vector<PairedSample>> samples_;  // of each figure
  std::array<unsigned, 2> limited_{};               // trials of a side that the tester limited
  std::array<unsigned, 2> disturbed_{};             // used though contaminated
  std::optional<Side> standing_;                    // whose device is up and warm
  ChangeLimits limits_;
  PairedPlan plan_;
};

// `share`: of the row's rate of connections.
Result<TrialRequest> request_of(const Row& row, double share = 1) {
  switch (load_of(row)) {
    case Load::kConnections: {
      auto tcp = tcp_request(row);
      if (!tcp) return tcp.error();
      tcp->connections_per_s = parameter(row, "cps") * share;
      return connections_request(row, std::move(*tcp));
    }
    case Load::kPaced:
      return rates_request(row);
    case Load::kAny:
    case Load::kMaximum:
      break;
  }
  return maximum_request(row);
}

Result<Sample> Comparison::sample(RowRun& run) {
  Sample out;
  if (load_of(run.row()) == Load::kConnections) {
    auto request = request_of(run.row(), 0.25);
    if (!request) return request.error();
    auto fewer = run.trial(*request);
    if (!fewer) return fewer.error();
    out.fewer = std::move(*fewer);
  }
  auto request = request_of(run.row());
  if (!request) return request.error();
  auto trial = run.trial(*request);
  if (!trial) return trial.error();
  out.trial = std::move(*trial);
  return out;
}

std::optional<double> Comparison::value(const Sample& sample, const std::string& figure) const {
  if (figure != "host_cycles_per_connection") return trial_figure(sample.trial, figure);
  // The slope between two rates: a device that polls while it is idle would seem dear at a low one.
  const double more = kpi(sample.trial, "completed") - kpi(*sample.fewer, "completed");
  if (more <= 0 || a_.tsc_hz() <= 0) return std::nullopt;
  return (cycles_of_connections(sample.trial, a_.tsc_hz()) -
          cycles_of_connections(*sample.fewer, a_.tsc_hz())) /
         more;
}

Result<void> Comparison::measure(Side side) {
  RowRun& run = run_of(side);
  if (standing_ != side) {
    auto first = request_of(run.row());
    if (!first) return first.error();
    first->wants_new_device = true;  // a device against itself, too
    if (auto warm = warm_up(run, std::move(*first)); !warm) return warm;
  }
  standing_ = side;
  auto taken = sample(run);
  if (!taken) return taken.error();
  const TrialResult& trial = taken->trial;
  const bool is_usable = run.is_usable(trial) && (!taken->fewer || run.is_usable(*taken->fewer));
  if (is_limited_by_tester(trial)) ++limited_[static_cast<std::size_t>(side)];
  if (is_usable && trial.stamp == Stamp::kContaminated)
    ++disturbed_[static_cast<std::size_t>(side)];
  for (std::size_t i = 0; i < figures_.size(); ++i)
    samples_[i].push_back(
        {side, value(*taken, figures_[i]).value_or(0), !is_usable, trial.spec.id});
  return {};
}

PairedResult Comparison::result(std::size_t figure) const {
  ChangeLimits limits = limits_;
  const ComparableFigure* known = find_figure(figures_[figure]);
  limits.higher_is_better = known != nullptr && known->is_higher_better;
  return compare_pairs(samples_[figure], limits);
}

// A rate that the tester could not raise any further tells less than the whole difference.
void add_limited(Text& sentence, const std::array<unsigned, 2>& limited) {
  if (limited[0] + limited[1] == 0) return;
  sentence.en +=
      fmt::format("; trials limited by the tester: {} of A, {} of B", limited[0], limited[1]);
  sentence.ru +=
      fmt::format("; испытаний, ограниченных тестером: A {}, B {}", limited[0], limited[1]);
}

// On a machine that is busy all the time there are no others; the noise holds what they add.
void add_disturbed(Text& sentence, const std::array<unsigned, 2>& disturbed) {
  if (disturbed[0] + disturbed[1] == 0) return;
  sentence.en += fmt::format("; trials beside other work on the cores: {} of A, {} of B",
                             disturbed[0], disturbed[1]);
  sentence.ru += fmt::format("; испытаний рядом с чужой работой на ядрах: A {}, B {}", disturbed[0],
                             disturbed[1]);
}

PairedOutcome Comparison::outcome(std::size_t figure, const Text& ended) const {
  const PairedResult r = result(figure);
  const ComparableFigure* known = find_figure(figures_[figure]);
  PairedOutcome out;
  out.figure = figures_[figure];
  out.is_higher_better = known != nullptr && known->is_higher_better;
  out.a = r.a;
  out.b = r.b;
  out.ratio = r.ratio.value;
  out.low = r.ratio.interval.low;
  out.high = r.ratio.interval.high;
  out.noise = r.noise;
  out.limit = r.limit;
  out.pair_count = static_cast<std::uint32_t>(r.ratio.pair_count);
  out.same_pair_count = static_cast<std::uint32_t>(r.same_pair_count);
  out.dropped_count = static_cast<std::uint32_t>(r.dropped_count);
  out.verdict = paired_word(r.verdict);
  out.sentence = r.sentence;
  if (out.figure.ends_with("_pps") || out.figure == "connections_per_s")
    add_limited(out.sentence, limited_);
  add_disturbed(out.sentence, disturbed_);
  out.ended = ended;
  out.pairs = r.trials;
  return out;
}

void Comparison::tell(const PairedResult& result, const std::optional<Text>& ended) {
  const Text next = ended.value_or(Text{"more pairs are needed", "нужны ещё пары"});
  a_.decide({fmt::format("{}; {}", result.sentence.en, next.en),
             fmt::format("{}; {}", result.sentence.ru, next.ru)});
}

Result<void> Comparison::run(const std::function<double()>& seconds_left) {
  const std::vector<Side> order = interleaved(plan_.most_pairs);
  const double begun = seconds_left();
  std::optional<Text> ended;
  for (std::size_t pairs = 0; !ended;) {
    for (const Side side : {order[2 * pairs], order[2 * pairs + 1]})
      if (auto done = measure(side); !done) return done;
    ++pairs;
    const PairedResult now = result(0);
    ended = enough_pairs(now, pairs, limits_, plan_);
    // Another pair takes as long as those before it did.
    const double left = seconds_left();
    if (!ended && left < (begun - left) / static_cast<double>(pairs))
      ended = Text{"time was up", "время вышло"};
    if (ended || pairs % plan_.look_every == 0) tell(now, ended);
  }
  Row& row = a_.row();
  row.paired.clear();
  for (std::size_t i = 0; i < figures_.size(); ++i) row.paired.push_back(outcome(i, *ended));
  if (row.paired.front().pair_count > 0) row.kpis["paired_ratio"] = row.paired.front().ratio;
  return {};
}

}  // namespace

const std::vector<ComparableFigure>& comparable_figures() {
  static const std::vector<ComparableFigure> all = {
      {"packets_per_cpu_s", true, Load::kMaximum},
      {"cost_ns", false, Load::kMaximum},
      {"received_pps", true, Load::kAny},
      {"cycles_per_packet", false, Load::kAny},
      {"device_cpu", false, Load::kAny},
      {"latency_p50_us", false, Load::kPaced},
      {"latency_p90_us", false, Load::kPaced},
      {"latency_p99_us", false, Load::kPaced},
      {"latency_p999_us", false, Load::kPaced},
      {"latency_mean_us", false, Load::kPaced},
      {"intended_p50_us", false, Load::kPaced},
      {"intended_p99_us", false, Load::kPaced},
      {"pdv_us", false, Load::kPaced},
      {"host_cycles_per_connection", false, Load::kConnections},
      {"connections_per_s", true, Load::kConnections},
      {"connect_p50_ms", false, Load::kConnections},
      {"connect_p99_ms", false, Load::kConnections},
  };
  return all;
}

std::vector<std::string> compared_figures(const Row& row) {
  if (!row.compared.empty()) return row.compared;
  switch (load_of(row)) {
    case Load::kConnections:
      return {"host_cycles_per_connection", "connect_p99_ms"};
    case Load::kPaced:
      return {"latency_p50_us", "latency_p99_us"};
    case Load::kAny:
    case Load::kMaximum:
      break;
  }
  return {"packets_per_cpu_s", "received_pps"};
}

std::optional<std::string> why_not_comparable(const Row& row, const std::string& figure) {
  const ComparableFigure* known = find_figure(figure);
  if (known == nullptr) {
    std::string all;
    for (const ComparableFigure& f : comparable_figures())
      all += (all.empty() ? "" : ", ") + f.name;
    return "is no figure to compare by; there are " + all;
  }
  const Load load = load_of(row);
  if (known->load == load || (known->load == Load::kAny && load != Load::kConnections))
    return std::nullopt;
  if (known->load == Load::kMaximum)
    return "is told at the highest rate only: leave out rate and cps";
  return known->load == Load::kPaced         ? "is told at a fixed rate only: give the row a rate"
         : known->load == Load::kConnections ? "is told of connections only: give the row cps"
                                             : "is told of frames only: leave out cps";
}

Result<void> run_paired(RowRun& a, RowRun& b, const std::function<double()>& seconds_left) {
  for (const std::string& figure : compared_figures(a.row()))
    if (const auto why = why_not_comparable(a.row(), figure))
      return Error{Errc::kInvalidValue, fmt::format("{} {}", figure, *why), {}, {}, {}};
  return Comparison(a, b).run(seconds_left);
}

Result<void> run_unpaired(RowRun& /*run*/) {
  return Error{
      Errc::kInvalidValue, "a paired row needs another device", {}, "name it under against", {}};
}

}  // namespace merlon::lab
