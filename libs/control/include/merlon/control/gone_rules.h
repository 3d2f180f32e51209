// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules that are no longer in the policy, and when their slots may go to other rules, so that
// ever new rule ids take no more memory than kKept rules beside those in force, those that living
// sessions have, and those that the last commit took out. A gone rule keeps its slot, and with it
// its counters, for its return (rollback, an unconfirmed commit). When more than kKept are gone,
// the oldest half that nothing refers to gives its slots back:
//
// - snapshots: settle() is called when all workers use `policy`, in which these rules are not;
// - sessions: a walk over all of them after that; a new one can't get a rule that is not in policy;
// - events: those that the rings held at the end of the walk have been read.
//
// What refers by number and is kept longer (last drops, listings under way) asks NamesTable with
// the revision. control-only: Runtime's, one thread at a time. settle() costs a pass over the
// slots, and once in kKept / 4 gone rules or less a visit to every session.
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "merlon/engine/engine.h"
#include "merlon/policy/slots.h"
#include "merlon/policy/snapshot.h"

namespace merlon::control {

class GoneRules {
 public:
  static constexpr std::uint32_t kKept = 4096;

  // After `policy` was published and no worker uses anything older. Takes `mutex` to change
  // `slots`.
  void settle(policy::RuleSlots& slots, std::mutex& mutex, const policy::Snapshot& policy,
              engine::Engine& engine);
  // Some worker may have used another policy than the one settled last, so that sessions may have
  // rules that are gone again.
  void doubt() { unused_.clear(); }
  // Gone rules that still have their slots; any thread.
  [[nodiscard]] std::uint32_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }

 private:
  // Which rules are gone since when; returns how many.
  std::uint32_t note(const policy::RuleSlots& slots, const policy::Snapshot& policy);
  void find_unused(const policy::RuleSlots& slots, engine::Engine& engine);
  [[nodiscard]] bool are_events_read(engine::Engine& engine) const;
  void give_back(policy::RuleSlots& slots);

  std::uint64_t turn_ = 0;
  std::vector<std::uint64_t> gone_since_;  // turn, by slot; 0: not gone
  std::atomic<std::uint32_t> count_{0};
  std::uint32_t next_walk_ = kKept + 1;        // at this many
  std::vector<std::uint32_t> unused_;          // slots that only unread events may refer to
  std::vector<std::uint64_t> events_by_then_;  // written by each worker, when that was found
};

}  // namespace merlon::control
