// SPDX-License-Identifier: Apache-2.0
#include "manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "configuration.h"
#include "row_at_work.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

RuleSet rules_of(const Row& row) {
  RuleSet rules;
  rules.count = row.device.rules;
  rules.has_drop_rule = row.traffic.drop_share > 0 || row.parameters.contains("drop_rule");
  rules.is_per_connection = row.parameters.contains("stateful");
  rules.ipv6_share = row.traffic.ipv6_share;
  rules.seed = 1;
  return rules;
}

// Seeds of trials depend on the run's seed and the trial's id alone.
std::uint64_t seed_of(std::uint64_t run_seed, const std::string& id) {
  std::uint64_t h = 0xcbf29ce484222325ULL ^ (run_seed * 0x9e3779b97f4a7c15ULL);
  for (const char c : id) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h | 1;
}

}  // namespace

Manager::Manager(const Plan& plan, const RunOptions& options, Services& services,
                 Observer& observer, const std::atomic<bool>& stop, Book& book)
    : plan_(plan),
      options_(options),
      services_(services),
      observer_(observer),
      stop_(stop),
      book_(book),
      budget_(book.run().budget_s),
      instance_(book.run().id) {}

Result<void> Manager::set_state(Row& row, RowState state, Text reason) {
  row.state = state;
  row.state_reason = std::move(reason);
  auto kept = book_.row_state(row);
  observer_.row_done(row);
  return kept;
}

std::vector<const TrialResult*> Manager::trials_of(const std::string& row) const {
  std::vector<const TrialResult*> out;
  for (const TrialResult& trial : book_.run().trials)
    if (trial.spec.row == row) out.push_back(&trial);
  return out;
}

void Manager::take_down() {
  if (!standing_) return;
  standing_->runner.reset();  // closes the endpoints before their interfaces go
  if (auto stopped = standing_->device->stop(); !stopped)
    observer_.note(
        {fmt::format("stopping {}: {}", standing_->spec.driver, stopped.error().message),
         fmt::format("остановка {}: {}", standing_->spec.driver, stopped.error().message)});
  standing_.reset();
}

Result<bool> Manager::stand(Row& row) {
  const RuleSet rules = rules_of(row);
  if (standing_ && is_same_device(standing_->spec, row.device) &&
      standing_->has_drop_rule == rules.has_drop_rule &&
      standing_->is_per_connection == rules.is_per_connection &&
      (rules.count == 0 || standing_->ipv6_share == rules.ipv6_share) &&
      standing_->device->is_alive()) {
    return false;
  }
  take_down();
  auto made = services_.device(row.device);
  if (!made) return made.error();
  const double started = services_.now();
  Standing standing;
  standing.spec = row.device;
  standing.has_drop_rule = rules.has_drop_rule;
  standing.is_per_connection = rules.is_per_connection;
  standing.ipv6_share = rules.ipv6_share;
  standing.device = std::move(*made);
  if (auto up = standing.device->start(fmt::format("{}{}", instance_, ++devices_)); !up)
    return up.error();
  if (rules.count > 0 || rules.has_drop_rule || rules.is_per_connection) {
    auto loaded = standing.device->load_rules(rules);
    if (!loaded) return loaded.error();
    standing.load_s = *loaded;
  }
  standing.runner = std::make_unique<TrialRunner>(services_, *standing.device);
  standing.setup_s = std::round((services_.now() - started) * 1e3) / 1e3;
  standing_ = std::move(standing);
  return true;
}

// The warm-up that a row asked for was for a device that is no longer there: an earlier session's,
// or one that died. What follows must find this one as warm. Not a trial: nobody decides by it.
Result<void> Manager::warm_again(const std::string& id, const TrialRequest& warm_up,
                                 const PathLimits& path) {
  TrialSpec spec;
  spec.id = id + ".warm";
  spec.rate_pps = warm_up.rate_pps;
  spec.duration_s = warm_up.duration_s;
  spec.traffic = warm_up.traffic;
  spec.seed = seed_of(book_.run().seed, spec.id);
  spec.is_warm_up = true;
  const double started = services_.now();
  auto done = standing_->runner->run(spec, warm_up, path, stop_, {});
  standing_->setup_s += std::round((services_.now() - started) * 1e3) / 1e3;
  // A device that died of it is met by the trial itself.
  return done || !standing_->device->is_alive() ? Result<void>{} : done.error();
}

// Before the first trial that was measured on it is recorded.
Result<void> Manager::keep_setup(Row& row) {
  if (!row.chain.empty() || !row.commands.empty()) return {};
  row.commands = standing_->device->commands();
  row.chain = standing_->device->topology().chain();
  row.device_config = lasting_configuration(standing_->device->configuration(), instance_);
  if (book_.row(row.id) == nullptr) return {};  // the calibration is no row of the plan
  auto kept = book_.row_setup(row);
  is_journal_broken_ = !kept;
  return kept;
}

Result<TrialResult> Manager::trial(Row& row, const std::string& id, const TrialRequest& request,
                                   const PathLimits& path, const TrialRequest* warm_up) {
  if (const TrialResult* done = book_.finished(id)) {
    budget_.spend(*done, row.device, request.wants_new_device);
    if (const auto load = done->kpis.find("load_s"); load != done->kpis.end())
      row.load_s = load->second;
    observer_.trial_done(*done, true);
    return *done;
  }
  if (stop_) return interrupted();
  if (request.wants_new_device) take_down();
  auto is_new = stand(row);
  if (!is_new) return is_new.error();
  if (stop_) return interrupted();
  if (*is_new && warm_up != nullptr && !request.is_warm_up)
    if (auto warm = warm_again(id, *warm_up, path); !warm) return warm.error();
  if (stop_) return interrupted();
  TrialSpec spec;
  spec.id = id;
  if (book_.row(row.id) != nullptr) spec.row = row.id;  // the calibration is no row of the plan
  spec.rate_pps = request.rate_pps;
  spec.duration_s = request.duration_s;
  spec.traffic = request.traffic;
  spec.seed = seed_of(book_.run().seed, id);
  spec.is_warm_up = request.is_warm_up;
  observer_.trial_started(spec);
  auto measured = standing_->runner->run(spec, request, path, stop_, [&](const Progress& progress) {
    observer_.trial_progress(spec, progress);
  });
  if (stop_) return interrupted();  // it was cut short: not a result
  TrialResult result;
  if (measured) {
    result = std::move(*measured);
  } else {
    if (standing_->device->is_alive()) return measured.error();
    result.spec = spec;
    result.started = services_.now();
    result.stamp = Stamp::kFailed;
    result.stamp_reasons = {"the device died during the trial", measured.error().message};
  }
  if (standing_->setup_s > 0) {
    result.kpis["setup_s"] = standing_->setup_s;
    result.kpis["load_s"] = standing_->load_s;
    row.load_s = standing_->load_s;
    standing_->setup_s = 0;
  }
  if (auto kept = keep_setup(row); !kept) return kept.error();
  if (result.stamp == Stamp::kFailed) take_down();
  if (auto kept = book_.trial(result); !kept) {
    is_journal_broken_ = true;
    return kept.error();
  }
  budget_.spend(result, row.device, request.wants_new_device);
  observer_.trial_done(result, false);
  observer_.budget(budget_.spent_s(), budget_.left_s());
  return result;
}

Result<void> Manager::run() {
  std::vector<Row> rows;
  for (const Row& row : plan_.rows)
    if (book_.row(row.id) == nullptr) rows.push_back(row);
  for (Row& row : rows)
    if (auto added = book_.add_row(std::move(row)); !added) return added;
  auto done = calibrate("before");
  if (done) done = run_rows();
  if (done && !stop_) done = calibrate("after");
  take_down();
  if (!done) return done;
  return check();
}

}  // namespace merlon::lab
