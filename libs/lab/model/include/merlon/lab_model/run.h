// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run: the plan's rows with their trials and searches, the machine, the findings; what
// result.json holds and what reports and comparisons read. Values only; JSON and its versioned
// schema in json.h. control-only.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/lab_model/trial.h"

namespace merlon::lab {

// A text in both report languages.
struct Text {
  std::string en, ru;
};

// The device under test of a row: which driver, how set up.
struct DeviceSpec {
  std::string
      driver;  // "null", "bridge", "nftables", "ovs", "ovs-dpdk", "testpmd", "merlon", "external"
  std::string mode;  // driver's own: "linear" | "set", "normal" | "openflow" | "conntrack", "wire"
                     // | "tap", ...
  std::string topology;        // "direct", "path1" .. "path11", "memif", "chain3"
  std::string place = "host";  // host | namespace | vm
  unsigned rules = 0;
  std::map<std::string, std::string> options;
};

enum class RowState : std::uint8_t { kPending, kDone, kSkipped, kFailed, kUnavailable };

// A search's goal (MLRsearch draft -15 section 4).
struct Goal {
  std::string name;  // "ndr", "pdr", "rfc2544", "tst009", "loss1"
  double loss_ratio = 0;
  double exceed_ratio = 0.5;
  double final_duration_s = 1, duration_sum_s = 21, initial_duration_s = 1;
  double width = 0.005;  // relative
};

struct GoalResult {
  Goal goal;
  double lower_pps = 0, upper_pps = 0;  // relevant bounds
  double conditional_pps = 0;           // conditional throughput
  bool is_regular = false;
  std::string why;  // why it ended: "width reached", "time budget", "maximum passes", ...
  std::vector<std::string> trials;  // ids, in order
};

// Two trials that were measured next to each other, one of each side.
struct PairedTrials {
  std::string a, b;  // ids
  double ratio = 0;  // B / A
};

// One figure of two devices that were measured in turn.
struct PairedOutcome {
  std::string figure;  // "packets_per_cpu_s", "latency_p50_us", ...
  bool is_higher_better = true;
  double a = 0, b = 0;                // medians over the pairs that count
  double ratio = 0;                   // B / A: median of the pairs' ratios
  double low = 0, high = 0;           // its 95 % interval
  double noise = 0;                   // ratios of equal things lie within 1 - noise .. 1 + noise
  double limit = 0;                   // the larger of noise and of what matters
  std::uint32_t pair_count = 0;       // that count
  std::uint32_t same_pair_count = 0;  // neighbours of one side; the noise rests on them
  std::uint32_t dropped_count = 0;    // pairs left out: a side contaminated, or no figure above 0
  std::string verdict;                // "better" | "worse" | "same" | "undecided": B against A
  Text sentence;                      // the verdict with its figures
  Text ended;                         // why no more pairs were measured
  std::vector<PairedTrials> pairs;
};

struct Row {
  std::string id;
  std::string parent;  // row that led to this one, or whose side B it is; empty: from the plan
  Text reason;         // why it was added
  Text title;
  std::string suite;  // "search", "rates", "rfc2544.latency", "rfc9411.cps", "reset", ...
  DeviceSpec device;
  TrafficSpec traffic;
  double rate_pps = 0;  // of a fixed-rate row
  double duration_s = 1;
  unsigned repeats = 1;
  std::vector<Goal> goals;
  std::map<std::string, double>
      parameters;  // of the suite; also chart axes ("interval_us", "rules", "frame_size")
  RowState state = RowState::kPending;
  Text state_reason;  // why skipped, failed, unavailable
  std::vector<GoalResult> results;
  std::map<std::string, double> kpis;     // reduced over the row's clean trials (median)
  std::map<std::string, double> spreads;  // (max - min) / median of the same
  double load_s = 0;                      // time to load the rules
  std::vector<std::string> commands;      // that set the device up
  std::vector<std::string> chain;  // boxes and links from generator to sink (Topology::chain())
  std::string device_config;       // dump
  // Of a paired row, which is side A. Side B is a row of its own, with this one as its parent.
  std::string against;                // id of side B's row; empty: not paired
  std::vector<std::string> compared;  // figures; the first one decides when it is enough
  std::vector<PairedOutcome> paired;  // of these figures
};

// A chart that the plan asks for; the report draws it from rows and trials.
struct ChartSpec {
  std::string id;
  std::string kind;  // "bars" | "lines" | "heat" | "timeline" | "percentiles" | "box"
  Text title, x_title, y_title;
  std::string x;  // a row parameter, "offered_pps", "rules", ... ; for percentiles unused
  std::string y;  // a row kpi, a trial value ("loss_ratio", "latency_p99_us", "received_pps", ...)
  std::string series;  // row parameter or device field that splits lines: "device", "rules", ...
  std::string rows;    // ids it takes: "cost." that start so, "*.max" that end so; empty: all
  bool is_log_x = false, is_log_y = false;

  [[nodiscard]] bool takes(std::string_view row_id) const noexcept {
    return rows.starts_with('*') ? row_id.ends_with(std::string_view(rows).substr(1))
                                 : row_id.starts_with(rows);
  }
};

// A statement about the outcome, checked by the plan's own code.
struct Finding {
  std::string id;
  Text claim;         // what the study or standard says
  std::string state;  // "reproduced" | "differs" | "pass" | "fail" | "disturbed" | "not_available"
  Text evidence;      // with figures; an explanation where it differs
};

struct Environment {
  std::string machine, cpu, kernel, distribution, clock_source, virtualization;
  unsigned cores = 0;
  double memory_mib = 0, tsc_hz = 0;
  std::map<std::string, std::string> versions;     // of tools and devices, "merlon" with commit
  std::map<std::string, std::string> mitigations;  // /sys/devices/system/cpu/vulnerabilities
  std::map<std::string, std::string> pinning;      // thread -> core
  std::string noise_grade;                         // A..D from the calibration
  double noise_ratio = 0;                          // A/A spread
};

struct Calibration {
  std::string when;  // "before" | "after"
  double ceiling_pps = 0;
  double latency_p50_ns = 0, latency_p99_ns = 0;
  double cpu_s_per_packet = 0;
  std::string trial;
};

struct Run {
  static constexpr int kSchemaVersion = 1;
  std::string id, plan;
  Text title, question;
  double started = 0, finished = 0, budget_s = 0;
  std::uint64_t seed = 1;
  bool is_partial = false;
  Text partial_reason;
  std::string command;
  Environment environment;
  std::vector<Calibration> calibrations;
  std::vector<Row> rows;
  std::vector<TrialResult> trials;
  std::vector<ChartSpec> charts;
  std::vector<Finding> findings;
};

}  // namespace merlon::lab
