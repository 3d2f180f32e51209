// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/names_table.h"

#include <algorithm>
#include <mutex>

#include "merlon/engine/clock.h"
#include "merlon/flow/session.h"

namespace merlon::control {

void NamesTable::learn(const policy::Snapshot& policy, std::uint32_t revision) {
  auto zones = std::make_shared<std::vector<std::string>>();
  for (std::uint16_t z = 0; z < policy.zones().count(); ++z)
    zones->emplace_back(policy.zones().name(z));
  const base::Nanos now = engine::steady_now();
  Replaced replaced{.when = now, .words = {}};
  const std::unique_lock lock(mutex_);
  rules_.resize(std::max<std::size_t>(rules_.size(), policy.slot_count()));
  since_.resize(rules_.size());
  // Numbers that went back tell nothing of what came first.
  if (revision < newest_) std::ranges::fill(since_, 0U);
  newest_ = revision;
  for (std::uint32_t slot = 0; slot < policy.slot_count(); ++slot)
    if (const policy::SlotInfo* info = policy.slot(slot); info != nullptr)
      learn_rule(slot, *info, revision, replaced.words);
  while (!replaced_.empty() && now - replaced_.front().when > kReplacedKept) replaced_.pop_front();
  if (!replaced.words.empty()) replaced_.push_back(std::move(replaced));
  zones_[revision] = zones;
  kept_.push_back(std::move(zones));
  while (zones_.size() > kRevisionsKept) zones_.erase(zones_.begin());
  while (kept_.size() > 2 * kRevisionsKept) kept_.pop_front();
}

void NamesTable::learn_rule(std::uint32_t slot, const policy::SlotInfo& info,
                            std::uint32_t revision, std::vector<Words>& replaced) {
  Words& words = rules_[slot];
  const bool is_other = words != nullptr && words->id != info.id;
  if (words != nullptr && !is_other && words->reason == info.reason) return;
  if (is_other) since_[slot] = revision;
  if (words != nullptr) replaced.push_back(std::move(words));
  words = std::make_shared<const RuleWords>(RuleWords{.id = info.id, .reason = info.reason});
}

std::string_view NamesTable::port(std::uint16_t number) const {
  return number < ports_.size() ? std::string_view(ports_[number]) : std::string_view();
}

std::string_view NamesTable::zone(std::uint16_t number, std::uint32_t revision) const {
  const std::shared_lock lock(mutex_);
  const auto found = zones_.find(revision);
  if (found == zones_.end() || number >= found->second->size()) return {};
  return (*found->second)[number];
}

std::string_view NamesTable::rule(std::uint32_t slot) const {
  const std::shared_lock lock(mutex_);
  const bool is_known = slot < rules_.size() && rules_[slot] != nullptr;
  return is_known ? std::string_view(rules_[slot]->id) : std::string_view();
}

std::string_view NamesTable::rule(std::uint32_t slot, std::uint32_t revision) const {
  const std::shared_lock lock(mutex_);
  const bool is_known = slot < rules_.size() && rules_[slot] != nullptr && revision >= since_[slot];
  return is_known ? std::string_view(rules_[slot]->id) : std::string_view();
}

std::string_view NamesTable::rule_reason(std::uint32_t slot) const {
  const std::shared_lock lock(mutex_);
  const bool is_known = slot < rules_.size() && rules_[slot] != nullptr;
  return is_known ? std::string_view(rules_[slot]->reason) : std::string_view();
}

std::string_view NamesTable::session_state(std::uint8_t state) const {
  return flow::session_state_name(static_cast<flow::SessionState>(state));
}

telemetry::FlowState NamesTable::flow_state(std::uint8_t state) const {
  using flow::SessionState;
  switch (static_cast<SessionState>(state)) {
    case SessionState::kSynSent:
    case SessionState::kSynReceived:
    case SessionState::kUdpUnreplied:
    case SessionState::kSctpInit:
    case SessionState::kOtherUnreplied:
      return telemetry::FlowState::kNew;
    case SessionState::kClosing:
    case SessionState::kTimeWait:
    case SessionState::kReset:
    case SessionState::kSctpShutdown:
      return telemetry::FlowState::kClosed;
    default:
      return telemetry::FlowState::kEstablished;
  }
}

}  // namespace merlon::control
