// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_report/csv.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "files.h"
#include "format.h"
#include "values.h"
#include "words.h"

namespace merlon::lab {
namespace {

struct Context {
  const TrialResult& trial;
  const Row* row;
};

std::string field(std::string_view text) {
  std::string out;
  const bool is_formula =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  if (is_formula) out.push_back('\'');
  out.append(text);
  if (out.find_first_of("\",\r\n") == std::string::npos) return out;
  std::string quoted = "\"";
  for (const char c : out) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.10g}", value) : std::string();
}
std::string number(std::uint64_t value) { return std::to_string(value); }

struct Column {
  const char* name;
  std::string (*of)(const Context&);
};

#define MERLON_FRAME_COLUMN(name)                                                 \
  Column {                                                                        \
    "frames_" #name, [](const Context& c) { return number(c.trial.frames.name); } \
  }

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& s : list) out.append(out.empty() ? "" : "; ").append(s);
  return out;
}

const std::array kColumns{
    Column{"trial", [](const Context& c) { return field(c.trial.spec.id); }},
    Column{"row", [](const Context& c) { return field(c.trial.spec.row); }},
    Column{"suite", [](const Context& c) { return c.row ? field(c.row->suite) : std::string(); }},
    Column{"driver",
           [](const Context& c) { return c.row ? field(c.row->device.driver) : std::string(); }},
    Column{"mode",
           [](const Context& c) { return c.row ? field(c.row->device.mode) : std::string(); }},
    Column{"topology",
           [](const Context& c) { return c.row ? field(c.row->device.topology) : std::string(); }},
    Column{"place",
           [](const Context& c) { return c.row ? field(c.row->device.place) : std::string(); }},
    Column{"rules",
           [](const Context& c) {
             return c.row ? std::to_string(c.row->device.rules) : std::string();
           }},
    Column{"sizes", [](const Context& c) { return field(c.trial.spec.traffic.sizes); }},
    Column{"protocol", [](const Context& c) { return field(c.trial.spec.traffic.protocol); }},
    Column{"flows", [](const Context& c) { return number(c.trial.spec.traffic.flows); }},
    Column{"started_unix_s",
           [](const Context& c) { return fmt::format("{:.3f}", c.trial.started); }},
    Column{"duration_s", [](const Context& c) { return number(c.trial.spec.duration_s); }},
    Column{"sending_s", [](const Context& c) { return number(c.trial.sending_s); }},
    Column{"warm_up",
           [](const Context& c) { return std::string(c.trial.spec.is_warm_up ? "1" : "0"); }},
    Column{"stamp",
           [](const Context& c) { return std::string(report::stamp_name(c.trial.stamp)); }},
    Column{"stamp_reasons", [](const Context& c) { return field(joined(c.trial.stamp_reasons)); }},
    Column{"intended_pps", [](const Context& c) { return number(c.trial.spec.rate_pps); }},
    Column{"offered_pps", [](const Context& c) { return number(c.trial.offered_pps); }},
    Column{"received_pps", [](const Context& c) { return number(c.trial.received_pps); }},
    Column{"received_l1_bps", [](const Context& c) { return number(c.trial.received_l1_bps); }},
    Column{"loss_ratio", [](const Context& c) { return number(c.trial.loss_ratio); }},
    MERLON_FRAME_COLUMN(intended),
    MERLON_FRAME_COLUMN(offered),
    MERLON_FRAME_COLUMN(received),
    MERLON_FRAME_COLUMN(lost),
    MERLON_FRAME_COLUMN(duplicated),
    MERLON_FRAME_COLUMN(reordered),
    MERLON_FRAME_COLUMN(corrupted),
    MERLON_FRAME_COLUMN(unexpected),
    MERLON_FRAME_COLUMN(expected_drops),
    MERLON_FRAME_COLUMN(false_accepts),
    MERLON_FRAME_COLUMN(false_denies),
    Column{"latency_samples",
           [](const Context& c) { return number(c.trial.latency_actual.count()); }},
};
#undef MERLON_FRAME_COLUMN

// Read by trial_value(); after the columns above.
constexpr std::array kValues{
    "latency_min_us", "latency_mean_us",   "latency_p50_us",     "latency_p90_us",
    "latency_p99_us", "latency_p999_us",   "latency_p9999_us",   "latency_max_us",
    "pdv_us",         "intended_p50_us",   "intended_p99_us",    "lateness_p99_us",
    "device_cpu_s",   "total_cpu",         "packets_per_cpu_s",  "cycles_per_packet",
    "device_rss_mib", "connections_per_s", "transactions_per_s", "goodput_bps",
    "ttfb_p50_ms",    "ttfb_p99_ms",       "ttlb_p50_ms",        "ttlb_p99_ms"};

}  // namespace

const std::vector<std::string>& trial_columns() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Column& c : kColumns) names.emplace_back(c.name);
    names.insert(names.end(), kValues.begin(), kValues.end());
    names.emplace_back("loss_sentence");
    return names;
  }();
  return kNames;
}

std::string trials_csv(const Run& run) {
  const report::RunIndex index(run);
  std::string out;
  for (const std::string& name : trial_columns()) out.append(out.empty() ? "" : ",").append(name);
  out.append("\r\n");
  for (const TrialResult& trial : run.trials) {
    const Context context{trial, index.row(trial.spec.row)};
    bool is_first = true;
    for (const Column& c : kColumns) {
      if (!is_first) out.push_back(',');
      is_first = false;
      out.append(c.of(context));
    }
    for (const char* name : kValues) {
      out.push_back(',');
      if (const auto v = report::trial_value(trial, name)) out.append(number(*v));
    }
    out.push_back(',');
    out.append(field(trial.loss_sentence_en)).append("\r\n");
  }
  return out;
}

base::Result<void> write_trials_csv(const Run& run, const std::string& path) {
  return report::write_file(path, trials_csv(run));
}

}  // namespace merlon::lab
