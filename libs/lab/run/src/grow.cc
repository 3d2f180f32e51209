// SPDX-License-Identifier: Apache-2.0
// What happens after the plan's rows: rows that the plan grows by, and the checks of the outcome.
#include <fmt/format.h>

#include <algorithm>

#include "checks.h"
#include "manager.h"
#include "merlon/lab_search/dynamic_plan.h"

namespace merlon::lab {

using base::Result;

namespace {

bool can_grow(const Row& row) {
  const auto grows = row.parameters.find("grows");
  return row.suite == "rates" && (grows == row.parameters.end() || grows->second != 0);
}

// What ids of one series have in common: rows differ in their last word only, which tells the rate.
std::string series_of(const Row& row) { return row.id.substr(0, row.id.rfind('.')); }

double kpi(const Row& row, const char* name) {
  const auto found = row.kpis.find(name);
  return found == row.kpis.end() ? 0 : found->second;
}

std::string without_rate(const std::string& title) { return title.substr(0, title.rfind(',')); }

Row grown(const Row& parent, const std::string& id, const PlanAddition& addition) {
  Row row = parent;
  row.id = id;
  row.parent = parent.id;
  row.reason = addition.reason;
  row.rate_pps = addition.rate_pps;
  row.parameters["interval_us"] = 1e6 / addition.rate_pps;
  const std::string rate = si(addition.rate_pps);
  row.title = {fmt::format("{}, {}pps", without_rate(parent.title.en), rate),
               fmt::format("{}, {}pps", without_rate(parent.title.ru), rate)};
  row.state = RowState::kPending;
  row.state_reason = {};
  row.results.clear();
  row.kpis.clear();
  row.spreads.clear();
  row.commands.clear();
  row.chain.clear();
  row.device_config.clear();
  return row;
}

}  // namespace

PlanPoint Manager::point_of(const Row& row) const {
  PlanPoint point;
  point.id = row.id;
  point.series = series_of(row);
  point.rate_pps = row.rate_pps;
  point.is_finished = row.state == RowState::kDone;
  point.is_added = !row.parent.empty();
  point.is_bend = row.id.find(".bend") != std::string::npos;
  point.loss_ratio = kpi(row, "loss_ratio");
  point.forwarding_pps = kpi(row, "received_pps");
  point.latency_p99_us = kpi(row, "latency_p99_us");
  point.is_tester_limited = kpi(row, "trials_stamp") == static_cast<double>(Stamp::kTesterLimited);
  point.effective_s = kDeviceStartS;
  for (const TrialResult* trial : trials_of(row.id)) point.effective_s += trial->effective_s;
  return point;
}

// The plan's own rows are done: which rates would tell more? Depends on finished rows alone.
Result<bool> Manager::grow() {
  if (!plan_.growth.is_on || stop_) return false;
  std::vector<PlanPoint> points;
  for (const Row& row : book_.run().rows)
    if (can_grow(row)) points.push_back(point_of(row));
  GrowthLimits limits;
  limits.loss_ok = plan_.growth.loss_ok;
  limits.loss_high = plan_.growth.loss_high;
  limits.width = plan_.growth.width;
  limits.max_rows = plan_.growth.max_rows;
  limits.time_left_s = budget_.left_s();
  limits.minimum_pps = 100;
  for (const auto& [key, path] : paths_)
    limits.ceiling_pps = std::max(limits.ceiling_pps, path.ceiling_pps);
  if (limits.time_left_s <= kDeviceStartS) return false;
  const std::vector<PlanAddition> additions = ::merlon::lab::grow(points, limits);
  for (const PlanAddition& addition : additions) {
    const Row* parent = book_.row(addition.parent);
    if (parent == nullptr) continue;
    std::string id;
    for (unsigned n = 1; id.empty() || book_.row(id) != nullptr; ++n)
      id = fmt::format("{}.{}{}", addition.series, word(addition.rule), n);
    observer_.note({fmt::format("{}: {}", id, addition.reason.en),
                    fmt::format("{}: {}", id, addition.reason.ru)});
    if (auto added = book_.add_row(grown(*parent, id, addition)); !added) return added.error();
  }
  return !additions.empty();
}

Result<void> Manager::check() {
  if (stop_) return {};
  for (const std::string& name : plan_.checks) {
    const Check* check = find_check(name);
    if (check == nullptr) {
      observer_.note({"there is no check \"" + name + "\"", "нет проверки «" + name + "»"});
      continue;
    }
    if (auto kept = book_.finding(judge(*check, book_.run())); !kept) return kept;
  }
  return {};
}

}  // namespace merlon::lab
