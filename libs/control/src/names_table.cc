// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/names_table.h"

#include <mutex>

#include "merlon/flow/session.h"

namespace merlon::control {
namespace {
const std::string kEmpty;
}

void NamesTable::learn(const policy::Snapshot& policy, std::uint32_t revision) {
  auto zones = std::make_shared<std::vector<std::string>>();
  for (std::uint16_t z = 0; z < policy.zones().count(); ++z)
    zones->emplace_back(policy.zones().name(z));
  const std::unique_lock lock(mutex_);
  while (rules_.size() < policy.slot_count()) {
    rules_.emplace_back();
    reason_of_.push_back(&kEmpty);
  }
  for (std::uint32_t slot = 0; slot < policy.slot_count(); ++slot) {
    const policy::SlotInfo* info = policy.slot(slot);
    if (info == nullptr) continue;
    if (rules_[slot].empty()) rules_[slot] = info->id;
    if (*reason_of_[slot] == info->reason) continue;
    reason_of_[slot] = &*reasons_.insert(info->reason).first;
  }
  zones_[revision] = zones;
  kept_.push_back(std::move(zones));
  while (zones_.size() > kRevisionsKept) zones_.erase(zones_.begin());
  while (kept_.size() > 2 * kRevisionsKept) kept_.pop_front();
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
  return slot < rules_.size() ? std::string_view(rules_[slot]) : std::string_view();
}

std::string_view NamesTable::rule_reason(std::uint32_t slot) const {
  const std::shared_lock lock(mutex_);
  return slot < reason_of_.size() ? std::string_view(*reason_of_[slot]) : std::string_view();
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
