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
  rules.seed = 1;
  return rules;
}

// Seeds of trials depend on the run's seed and the trial's id alone.
std::uint64_t seed_of(std::uint64_t run_seed, const std::string& id) {
  std::uint64_t h = 0xcbf29ce484222325ULL ^ (run_seed * 0x9e3779b97f4a7c15ULL);
  for (const char c : id) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h | 1;
}

Text error_text(const Error& error) {
  const std::string text =
      error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint);
  return {text, text};
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

Result<void> Manager::stand(Row& row) {
  const RuleSet rules = rules_of(row);
  if (standing_ && is_same_device(standing_->spec, row.device) &&
      standing_->has_drop_rule == rules.has_drop_rule &&
      standing_->is_per_connection == rules.is_per_connection && standing_->device->is_alive()) {
    return {};
  }
  take_down();
  auto made = services_.device(row.device);
  if (!made) return made.error();
  const double started = services_.now();
  Standing standing;
  standing.spec = row.device;
  standing.has_drop_rule = rules.has_drop_rule;
  standing.is_per_connection = rules.is_per_connection;
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
  return {};
}

Result<TrialResult> Manager::trial(Row& row, const std::string& id, const TrialRequest& request,
                                   const PathLimits& path) {
  if (const TrialResult* done = book_.finished(id)) {
    budget_.spend(*done, row.device);
    if (const auto load = done->kpis.find("load_s"); load != done->kpis.end())
      row.load_s = load->second;
    observer_.trial_done(*done, true);
    return *done;
  }
  if (stop_) return interrupted();
  if (auto up = stand(row); !up) return up.error();
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
  row.commands = standing_->device->commands();
  row.chain = standing_->device->topology().chain();
  if (row.device_config.empty())
    row.device_config = lasting_configuration(standing_->device->configuration(), instance_);
  if (result.stamp == Stamp::kFailed) take_down();
  if (auto kept = book_.trial(result); !kept) {
    is_journal_broken_ = true;
    return kept.error();
  }
  budget_.spend(result, row.device);
  observer_.trial_done(result, false);
  observer_.budget(budget_.spent_s(), budget_.left_s());
  return result;
}

Result<bool> Manager::is_out(Row& row) {
  const Suite* suite = find_suite(row.suite);
  if (suite == nullptr) {
    const std::string text = fmt::format("unknown suite \"{}\"", row.suite);
    if (auto kept = set_state(row, RowState::kFailed, {text, text}); !kept) return kept.error();
    return true;
  }
  if (const auto needs = row.device.options.find("needs"); needs != row.device.options.end()) {
    if (const auto absence = services_.missing(row.device, needs->second)) {
      if (auto kept = set_state(row, RowState::kUnavailable, absence->reason); !kept)
        return kept.error();
      return true;
    }
  }
  auto device = services_.device(row.device);
  if (!device) {
    if (auto kept = set_state(row, RowState::kFailed, error_text(device.error())); !kept)
      return kept.error();
    return true;
  }
  if (const auto absence = (*device)->probe()) {
    if (auto kept = set_state(row, RowState::kSkipped, absence->reason); !kept) return kept.error();
    return true;
  }
  return false;
}

// What a connection costs above the same connection over the bare cable, when the plan measured
// that too: busy cycles of the tester's thread (within which the kernel does an inline device's
// work) and CPU time of all others. Not told when it drowns in the noise.
void Manager::subtract_cable(Row& row) {
  const double tsc_hz = book_.run().environment.tsc_hz;
  if (!row.kpis.contains("marginal_beside_s") || tsc_hz <= 0) return;
  const auto cycles = [tsc_hz](const Row& r) {
    return r.kpis.at("marginal_beside_s") * tsc_hz + r.kpis.at("marginal_tester_cycles");
  };
  for (const Row& other : book_.run().rows) {
    if (other.device.driver != "null" || other.suite != row.suite || other.id == row.id ||
        !other.kpis.contains("marginal_beside_s"))
      continue;
    if (const double more = cycles(row) - cycles(other); more > 0)
      row.kpis["cycles_per_connection"] = more;
    return;
  }
}

Result<void> Manager::finish_row(Row& row, const Result<void>& outcome) {
  if (is_journal_broken_) return outcome;
  if (!outcome && stop_) return {};  // stays pending: a resumed run goes on with it
  reduce_row(row, trials_of(row.id), null_path(row));
  subtract_cable(row);
  if (outcome) return set_state(row, RowState::kDone, row.state_reason);
  take_down();  // whatever state the failure left it in
  return set_state(row, RowState::kFailed, error_text(outcome.error()));
}

Result<void> Manager::run_row(Row& row, const std::vector<const Row*>& rest) {
  if (auto out = is_out(row); !out || *out) return out ? Result<void>{} : out.error();
  static_cast<void>(null_path(row));
  double allowance_s = 0;
  if (!budget_.fit(row, rest, allowance_s))
    return set_state(row, RowState::kSkipped,
                     {"the time budget was used up; run it with a larger --budget",
                      "бюджет времени исчерпан; задайте больший --budget"});
  RowAtWork work(*this, row, allowance_s);
  const Result<void> outcome = find_suite(row.suite)->run(work);
  auto finished = finish_row(row, outcome);
  if (work.has_changed_device()) take_down();
  return finished;
}

// Rows measured in turn, A B B A ..., so that what changes slowly on the machine meets all of them.
Result<void> Manager::run_group(const std::vector<Row*>& group,
                                const std::vector<const Row*>& rest) {
  std::vector<std::unique_ptr<RowAtWork>> work;
  for (Row* row : group) {
    if (auto out = is_out(*row); !out || *out) {
      if (!out) return out.error();
      continue;
    }
    double allowance_s = 0;
    static_cast<void>(null_path(*row));
    budget_.fit(*row, rest, allowance_s);
    work.push_back(std::make_unique<RowAtWork>(*this, *row, allowance_s));
  }
  std::vector<Result<void>> outcomes(work.size());
  unsigned rounds = 0;
  for (const auto& w : work) rounds = std::max(rounds, std::max(1U, w->row().repeats));
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < work.size(); ++k) {
      const std::size_t i = round % 2 == 0 ? k : work.size() - 1 - k;
      if (!outcomes[i]) continue;
      TrialRequest request = find_suite(work[i]->row().suite)->request(work[i]->row());
      if (round == 0) {
        TrialRequest warm = request;
        warm.is_warm_up = true;
        warm.duration_s = std::min(warm.duration_s, kMinimumTrialS);
        if (auto done = work[i]->trial(warm); !done) outcomes[i] = done.error();
        if (!outcomes[i]) continue;
      }
      if (auto done = work[i]->trial(request); !done) outcomes[i] = done.error();
    }
    if (stop_ || is_journal_broken_) break;
  }
  for (std::size_t i = 0; i < work.size(); ++i) {
    const Result<void> outcome = stop_ && outcomes[i] ? Result<void>(interrupted()) : outcomes[i];
    if (auto done = finish_row(work[i]->row(), outcome); !done) return done;
  }
  return {};
}

Result<void> Manager::run_rows() {
  for (;;) {
    std::vector<Row*> pending;
    for (Row& row : book_.run().rows)
      if (row.state == RowState::kPending) pending.push_back(&row);
    if (pending.empty()) {
      auto grown = grow();
      if (!grown) return grown.error();
      if (!*grown) return {};
      continue;
    }
    for (std::size_t i = 0; i < pending.size();) {
      if (stop_) return {};
      const std::vector<const Row*> rest(pending.begin() + static_cast<std::ptrdiff_t>(i),
                                         pending.end());
      const auto group_of = [](const Row& row) {
        const auto found = row.parameters.find("pair_group");
        const Suite* suite = find_suite(row.suite);
        return found == row.parameters.end() || suite == nullptr || suite->request == nullptr
                   ? 0.0
                   : found->second;
      };
      std::size_t end = i + 1;
      if (group_of(*pending[i]) > 0)
        while (end < pending.size() && group_of(*pending[end]) == group_of(*pending[i])) ++end;
      observer_.row(*pending[i], book_.run().rows.size() - pending.size() + i + 1,
                    book_.run().rows.size());
      auto done = end - i > 1 ? run_group({pending.begin() + static_cast<std::ptrdiff_t>(i),
                                           pending.begin() + static_cast<std::ptrdiff_t>(end)},
                                          rest)
                              : run_row(*pending[i], rest);
      if (!done) return done;
      i = end;
    }
  }
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
