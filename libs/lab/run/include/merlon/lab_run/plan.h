// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan: what is asked, the rows that answer it, the charts and the checks of the outcome. Values
// only; plans come from the built-in list or from YAML files (docs/lab/plans.md), and both forms
// are equal. control-only.
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab {

// How far a plan may grow by itself (intensity correction of the study's method).
struct Growth {
  bool is_on = false;
  double loss_ok = 0.01;    // loss that still passes
  double loss_high = 0.05;  // loss above which the rate is lowered at once
  double width = 0.1;       // relative distance of passing and failing rate that is near enough
  unsigned max_rows = 60;   // rows added at most
};

struct Plan {
  std::string name;
  Text title, question;
  double budget_s = 600;  // of the whole run, calibration included
  std::vector<Row> rows;
  std::vector<ChartSpec> charts;
  std::vector<std::string> checks;  // names of check_table()
  Growth growth;
};

// Names in the order of `merlon lab list`.
const std::vector<std::string>& built_in_plans();
// kNotFound with the names that exist.
base::Result<Plan> built_in_plan(std::string_view name);

// Strict: unknown and repeated keys, anchors, wrong types and values out of range are errors, all
// at once, each with file, line, column and hint.
struct PlanFile {
  Plan plan;
  base::Errors errors;  // the plan is usable when empty
};
PlanFile read_plan(std::string_view text, const std::string& file_name);
// A text that read_plan() reads back to an equal plan.
std::string print_plan(const Plan& plan);
// 64-bit FNV-1a of print_plan(), as 16 hex digits: names the plan in the journal.
std::string plan_hash(const Plan& plan);

// Keeps rows whose id starts with one of `starts`; kNotFound with the ids that exist when a start
// names none.
base::Result<void> choose_rows(Plan& plan, const std::vector<std::string>& starts);

// "90", "90s", "10m", "1h30m" as seconds.
base::Result<double> parse_seconds(std::string_view text);
// "1000", "10k", "1.5M", with or without "pps".
base::Result<double> parse_rate(std::string_view text);

// A row that names the study's interval between two packets instead of a rate.
Row at_interval(Row row, double interval_us);
// "row", "row.2", ...: devices of equal specification run one after another without being started
// anew.
bool is_same_device(const DeviceSpec& a, const DeviceSpec& b);

}  // namespace merlon::lab
