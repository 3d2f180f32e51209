// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words behind the numbers in events, kept safe for the writer's thread while commits go on: rule
// ids only ever grow, zone names are kept per configuration revision for the last 64. shared-atomic
// behind a mutex; asked once or twice per event.
#include <deque>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "merlon/policy/snapshot.h"
#include "merlon/telemetry/eve.h"

namespace merlon::control {

class NamesTable final : public telemetry::Names {
 public:
  static constexpr std::size_t kRevisionsKept = 64;

  explicit NamesTable(std::vector<std::string> ports) : ports_(std::move(ports)) {}

  // Before the policy is published: its rules and zones get their words.
  void learn(const policy::Snapshot& policy, std::uint32_t revision);

  [[nodiscard]] std::string_view port(std::uint16_t number) const override;
  [[nodiscard]] std::string_view zone(std::uint16_t number, std::uint32_t revision) const override;
  [[nodiscard]] std::string_view rule(std::uint32_t slot) const override;
  [[nodiscard]] std::string_view rule_reason(std::uint32_t slot) const override;
  [[nodiscard]] std::string_view session_state(std::uint8_t state) const override;
  [[nodiscard]] telemetry::FlowState flow_state(std::uint8_t state) const override;

 private:
  using Zones = std::shared_ptr<const std::vector<std::string>>;

  const std::vector<std::string> ports_;
  mutable std::shared_mutex mutex_;
  std::deque<std::string> rules_;              // by slot; never shrinks, elements never move
  std::unordered_set<std::string> reasons_;    // every reason that a rule ever had, once
  std::vector<const std::string*> reason_of_;  // by slot
  std::map<std::uint32_t, Zones> zones_;       // by revision
  std::deque<Zones> kept_;                     // what views of recent revisions may point to
};

}  // namespace merlon::control
