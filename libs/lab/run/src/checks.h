// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of a run's outcome against what a study, a standard or plain reason says. Each reads the
// run's figures only and gives a Finding with evidence and, where it differs, the explanation that
// the data support. control-only.
#include "merlon/lab_run/suite.h"

namespace merlon::lab {

struct Check {
  std::string name;
  Text claim;
  // Fills state and evidence; stamps are judge()'s concern.
  void (*judge)(const Run& run, Finding& finding);
};

const std::vector<Check>& check_table();
const Check* find_check(const std::string& name);
// By undisturbed rows where these tell it; "disturbed" where only others do, with what they would
// say as they are.
Finding judge(const Check& check, const Run& run);

// checks_quiet.cc
// Trials whose figures may be others' doing: contaminated or failed, warm-ups aside.
// Of one row, or of any where `row` is empty.
bool has_disturbed_trials(const Run& run, const std::string& row = {});
// The run without the rows whose figures rest on such trials, without these trials, and without
// calibrations that most of their trials disturbed. Of trials only what checks read is kept:
// spec, stamp, frames, kpis.
Run undisturbed(const Run& run);

// Rows that are done and whose id starts with `start`.
std::vector<const Row*> rows_of(const Run& run, const std::string& start);
std::optional<double> kpi_of(const Row& row, const std::string& name);
std::optional<double> kpi_of(const Run& run, const std::string& id, const std::string& name);
// "123", "45.6 k", "1.23 M".
std::string si(double value);
// Nothing of what it needs was measured: says which rows and why not.
void not_available(const Run& run, Finding& finding, const std::string& start);

// checks_ab.cc, checks_quick.cc, checks_vswitch.cc, checks_firewall.cc
std::vector<Check> ab_checks();
std::vector<Check> quick_checks();
std::vector<Check> vswitch_checks();
std::vector<Check> firewall_checks();

}  // namespace merlon::lab
