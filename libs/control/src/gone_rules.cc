// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/gone_rules.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "merlon/base/log.h"
#include "merlon/engine/session_walk.h"

namespace merlon::control {

void GoneRules::settle(policy::RuleSlots& slots, std::mutex& mutex, const policy::Snapshot& policy,
                       engine::Engine& engine) {
  ++turn_;
  count_ = note(slots, policy);
  if (unused_.empty() && count() >= next_walk_) find_unused(slots, engine);
  if (unused_.empty() || !are_events_read(engine)) return;
  const std::lock_guard lock(mutex);
  give_back(slots);
}

std::uint32_t GoneRules::note(const policy::RuleSlots& slots, const policy::Snapshot& policy) {
  std::vector<bool> is_in_force(slots.count());
  is_in_force[policy::kDefaultRuleSlot] = true;
  for (const std::uint32_t slot : policy.order()) is_in_force[slot] = true;
  gone_since_.resize(slots.count());
  std::uint32_t gone = 0;
  for (std::uint32_t slot = 0; slot < slots.count(); ++slot) {
    if (is_in_force[slot] || !slots.is_taken(slot)) {
      gone_since_[slot] = 0;
      continue;
    }
    if (gone_since_[slot] == 0) gone_since_[slot] = turn_;
    ++gone;
  }
  // Back again: sessions may have it from now on.
  std::erase_if(unused_, [&](std::uint32_t slot) { return gone_since_[slot] == 0; });
  return gone;
}

void GoneRules::find_unused(const policy::RuleSlots& slots, engine::Engine& engine) {
  std::vector<std::uint32_t> oldest;
  for (std::uint32_t slot = 0; slot < slots.count(); ++slot)
    if (gone_since_[slot] != 0) oldest.push_back(slot);
  std::ranges::stable_sort(oldest, {}, [this](std::uint32_t slot) { return gone_since_[slot]; });
  oldest.resize(oldest.size() - std::min<std::size_t>(oldest.size(), kKept / 2));

  // Shared: a worker that did not answer in time may still be at it later.
  auto is_used = std::make_shared<std::vector<std::atomic<bool>>>(slots.count());
  engine::SessionWalk walk(
      engine, [is_used](const flow::Session& s, const flow::SessionCold&, base::Ticks) {
        if (s.rule < is_used->size()) (*is_used)[s.rule].store(true, std::memory_order_relaxed);
        return false;
      });
  std::vector<engine::SessionView> none;
  while (walk.next(none)) {
  }
  next_walk_ = count() + kKept / 4;
  if (!walk.is_complete()) return;
  for (const std::uint32_t slot : oldest)
    if (!(*is_used)[slot].load(std::memory_order_relaxed)) unused_.push_back(slot);
  events_by_then_.clear();
  for (unsigned w = 0; w < engine.worker_count(); ++w)
    events_by_then_.push_back(engine.read_worker(w).counters.events_written);
}

// A worker counts an event before it puts it into the ring, so that one less is there for certain.
bool GoneRules::are_events_read(engine::Engine& engine) const {
  const auto rings = engine.event_rings();
  for (unsigned w = 0; w < rings.size(); ++w) {
    const std::uint64_t written = engine.read_worker(w).counters.events_written;
    const std::size_t waiting = rings[w]->count();
    if (waiting != 0 && written < events_by_then_[w] + waiting + 1) return false;
  }
  return true;
}

void GoneRules::give_back(policy::RuleSlots& slots) {
  for (const std::uint32_t slot : unused_) {
    slots.release(slot);
    gone_since_[slot] = 0;
  }
  count_ -= static_cast<std::uint32_t>(unused_.size());
  next_walk_ = std::max(kKept + 1, count() + kKept / 4);
  base::log(base::LogLevel::kDebug, "policy", "{} rules gone for good, {} kept", unused_.size(),
            count());
  unused_.clear();
}

}  // namespace merlon::control
