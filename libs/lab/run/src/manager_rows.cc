// SPDX-License-Identifier: Apache-2.0
// The manager's rows: which can run, in which order, alone, as a group or as a pair.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "manager.h"
#include "row_at_work.h"
#include "suites.h"

namespace merlon::lab {

using base::Error;
using base::Result;

namespace {

Text error_text(const Error& error) {
  const std::string text =
      error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint);
  return {text, text};
}

const Text kTimeUp{"the time budget was used up; run it with a larger --budget",
                   "бюджет времени исчерпан; задайте больший --budget"};

const Text kByDefault{
    "measured as the build has the function by default; option config switches it on",
    "измерено с настройками сборки по умолчанию; функцию включает опция config"};

// Rows of one number above 0 are measured in turn.
double group_of(const Row& row) {
  const auto found = row.parameters.find("pair_group");
  const Suite* suite = find_suite(row.suite);
  return found == row.parameters.end() || suite == nullptr || suite->request == nullptr
             ? 0.0
             : found->second;
}

}  // namespace

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
    // Shown with the figures: whether the function was at work is not ours to know.
    if (!row.device.options.contains("config")) row.state_reason = kByDefault;
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
  if (!budget_.fit(row, rest, allowance_s)) return set_state(row, RowState::kSkipped, kTimeUp);
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
    // One that an interrupted session ended has its share of the time already.
    if (row->state == RowState::kPending) budget_.fit(*row, rest, allowance_s);
    work.push_back(std::make_unique<RowAtWork>(*this, *row, allowance_s));
  }
  std::vector<Result<void>> outcomes(work.size());
  const Row* last = nullptr;
  unsigned rounds = 0;
  for (const auto& w : work) rounds = std::max(rounds, std::max(1U, w->row().repeats));
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < work.size(); ++k) {
      const std::size_t i = round % 2 == 0 ? k : work.size() - 1 - k;
      if (!outcomes[i]) continue;
      TrialRequest request = find_suite(work[i]->row().suite)->request(work[i]->row());
      // A device that is started for its turn is warmed up for it.
      const Row* before = std::exchange(last, &work[i]->row());
      if (round == 0 || !is_same_device(before->device, last->device)) {
        if (auto done = warm_up(*work[i], request); !done) outcomes[i] = done.error();
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

// Two devices in turn, A B B A. Side B's row ends first: an interrupted run finds side A pending
// then, and comes to the end of both again.
Result<void> Manager::run_pair(Row& a, const std::vector<const Row*>& rest) {
  Row* b = book_.row(a.against);
  if (b == nullptr) {
    const std::string why = fmt::format("there is no row \"{}\" to compare with", a.against);
    return set_state(a, RowState::kFailed, {why, why});
  }
  for (Row* side : {b, &a}) {
    auto out = is_out(*side);
    if (!out) return out.error();
    if (!*out) continue;
    const bool is_b = side == b;
    return set_state(is_b ? a : *b, side->state,
                     {(is_b ? "side B: " : "side A: ") + side->state_reason.en,
                      (is_b ? "сторона B: " : "сторона A: ") + side->state_reason.ru});
  }
  static_cast<void>(null_path(a));
  static_cast<void>(null_path(*b));
  double allowance_s = 0;
  if (!budget_.fit(a, rest, allowance_s)) {
    auto done = set_state(*b, RowState::kSkipped, kTimeUp);
    return done ? set_state(a, RowState::kSkipped, kTimeUp) : done;
  }
  RowAtWork side_a(*this, a, allowance_s), side_b(*this, *b, allowance_s);
  const double begun = budget_.spent_s();
  const Result<void> outcome =
      run_paired(side_a, side_b, [&] { return allowance_s - (budget_.spent_s() - begun); });
  auto done = finish_row(*b, outcome);
  return done ? finish_row(a, outcome) : done;
}

// The row with its neighbours of the same group, those that have ended, too: a session that was
// interrupted while they ended one after the other must find them all together again.
std::vector<Row*> Manager::group_around(const Row& row) {
  std::vector<Row*> group;
  bool has_row = false;
  for (Row& other : book_.run().rows) {
    if (group_of(other) == group_of(row)) {
      group.push_back(&other);
      has_row |= &other == &row;
    } else if (has_row) {
      break;
    } else {
      group.clear();
    }
  }
  return group;
}

// The rows from `first` on that are run together: how many.
Result<std::size_t> Manager::run_next(const std::vector<Row*>& pending, std::size_t first) {
  const auto at = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
  Row& row = *pending[first];
  const std::vector<const Row*> rest(pending.begin() + at(first), pending.end());
  if (row.state != RowState::kPending) return std::size_t{1};  // side B of a pair that is done
  observer_.row(row, book_.run().rows.size() - pending.size() + first + 1, book_.run().rows.size());
  Result<void> done;
  std::size_t count = 1;
  if (const Row* parent = book_.row(row.parent); parent != nullptr && parent->against == row.id) {
    // Side A ended without it: something kept both from running.
    done = parent->state == RowState::kPending
               ? Result<void>{}
               : set_state(row, parent->state, parent->state_reason);
  } else if (!row.against.empty()) {
    done = run_pair(row, rest);
  } else {
    std::vector<Row*> group{&row};
    if (group_of(row) > 0) group = group_around(row);
    while (first + count < pending.size() &&
           std::find(group.begin(), group.end(), pending[first + count]) != group.end())
      ++count;
    std::vector<const Row*> all(group.begin(), group.end());
    all.insert(all.end(), rest.begin() + at(count), rest.end());
    done = group.size() > 1 ? run_group(group, all) : run_row(row, all);
  }
  if (!done) return done.error();
  return count;
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
      auto count = run_next(pending, i);
      if (!count) return count.error();
      i += *count;
    }
  }
}

}  // namespace merlon::lab
