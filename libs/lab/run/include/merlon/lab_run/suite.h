// SPDX-License-Identifier: Apache-2.0
#pragma once
// Suites: a suite turns a row into trials and their outcome into the row's kpis. It sees the world
// through RowRun only, and everything it decides follows from results of trials, so a row that was
// interrupted runs to the same end from its journal. control-only.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "merlon/lab_run/services.h"

namespace merlon::lab {

// What the tester is able to do without a device, measured in this run for frames of these sizes.
struct PathLimits {
  double ceiling_pps = 0;
  double cpu_s_per_packet = 0;
  double latency_p50_ns = 0, latency_p99_ns = 0;
};

struct TrialRequest {
  double rate_pps = 0;
  double duration_s = 1;
  TrafficSpec traffic;
  bool is_warm_up = false;
  // Called about ten times per second of the trial with the seconds since its start, while frames
  // flow. May block (a commit, a restart): sender and receiver go on. What it puts into the kpis
  // ends in the result.
  std::function<base::Result<void>(double elapsed_s, Device& device, Kpis& kpis)> during;
  // Called before the trial, with the device up and no traffic.
  std::function<base::Result<void>(Device& device, Kpis& kpis)> before;
  std::optional<TcpRequest> connections;  // instead of frames; rate and duration follow from it
  bool wants_new_device = false;          // started for it, though an equal one be up
  bool may_kill_device = false;           // a device that is dead afterwards is no failure
  bool has_hog = false;                   // a neighbour keeps the device's core busy meanwhile
};

// A row at work.
class RowRun {
 public:
  virtual ~RowRun() = default;
  [[nodiscard]] virtual Row& row() = 0;
  // Runs the next trial of the row, or returns it from the journal. Starts the device when it must.
  virtual base::Result<TrialResult> trial(const TrialRequest& request) = 0;
  // `row().repeats` trials, and as many again at most in place of contaminated ones.
  virtual base::Result<std::vector<TrialResult>> trials(const TrialRequest& request) = 0;
  // Searches the row's goals, or the given ones; results go to row().results too.
  virtual base::Result<std::vector<GoalResult>> search(const std::vector<Goal>& goals,
                                                       const TrafficSpec& traffic,
                                                       double budget_s) = 0;
  [[nodiscard]] virtual const PathLimits& null_path() = 0;
  // Not failed, and not contaminated, unless the machine is busy all the time.
  [[nodiscard]] virtual bool is_usable(const TrialResult& trial) const = 0;
  // Of the machine's time stamp counter; 0: not known.
  [[nodiscard]] virtual double tsc_hz() const = 0;
  // Seconds of the run's budget that this row may still use.
  [[nodiscard]] virtual double seconds_left() = 0;
  virtual void decide(const Text& why) = 0;
};

struct Suite {
  std::string name;
  Text what;
  std::string standard;  // "RFC 2544 26.1"; empty: ours
  base::Result<void> (*run)(RowRun& run);
  // Parameters of the row that it reads, with their defaults.
  std::map<std::string, double> parameters;
  // Seconds it needs when nothing is said, without the start of the device; searches take what is
  // left.
  double (*need_s)(const Row& row);
  bool is_search = false;
  // Of suites whose trials are all alike: rows of one "pair_group" can then be measured in turn, A
  // B B A.
  TrialRequest (*request)(const Row& row) = nullptr;
  // Its figures never rest on contaminated trials: it leaves these out, or tells nothing.
  bool leaves_out_disturbed = false;
};

const std::vector<Suite>& suites();
const Suite* find_suite(const std::string& name);

// What a trial must be like to tell a figure.
enum class Load : std::uint8_t { kAny, kMaximum, kPaced, kConnections };

// A figure by which two devices can be compared in turn.
struct ComparableFigure {
  std::string name;
  bool is_higher_better = false;
  Load load = Load::kAny;
};
const std::vector<ComparableFigure>& comparable_figures();
// What the paired row compares: what it names, or what fits its load.
std::vector<std::string> compared_figures(const Row& row);
// Why the row's load can't tell the figure; nothing when it can.
std::optional<std::string> why_not_comparable(const Row& row, const std::string& figure);

// Measures `a` and `b` in turn, A B B A, and puts the outcome into a's row. `seconds_left` counts
// the starts of the devices, too. An error of either side ends both.
base::Result<void> run_paired(RowRun& a, RowRun& b, const std::function<double()>& seconds_left);

// Medians and spreads of the trials' figures into row.kpis and row.spreads. Only the best stamp
// that occurs counts: clean ones, else tester-limited, else contaminated; kpis["trials"] says how
// many these were.
void reduce_row(Row& row, const std::vector<const TrialResult*>& trials,
                const PathLimits& null_path);
// The figure of a trial by its name: "received_pps", "loss_ratio", "latency_p99_us", ... or one of
// its kpis.
std::optional<double> trial_figure(const TrialResult& trial, const std::string& name);
const std::vector<std::string>& trial_figures();

// Did the tester limit the trial, whatever its stamp? One that others' work disturbed as well is
// stamped contaminated and has kpis["tester_limited"] beside it.
bool is_limited_by_tester(const TrialResult& trial);

// Longest time without a single frame, from the trial's time lines: RFC 6201 section 3.2
// (time-stamp method).
double longest_outage_s(const TrialResult& trial);

}  // namespace merlon::lab
