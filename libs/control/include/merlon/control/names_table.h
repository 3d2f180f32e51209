// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words behind the numbers in events, kept safe for the writer's thread while commits go on: what a
// rule's words are replaced by stays beside them for a minute, zone names are kept per
// configuration revision for the last 64. shared-atomic behind a mutex; asked once or twice per
// event.
#include <deque>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "merlon/policy/snapshot.h"
#include "merlon/telemetry/eve.h"

namespace merlon::control {

class NamesTable final : public telemetry::Names {
 public:
  static constexpr std::size_t kRevisionsKept = 64;
  // Views of words that were replaced are good for as long; they are copied within microseconds.
  static constexpr base::Nanos kReplacedKept = 60 * base::kNanosPerSecond;

  explicit NamesTable(std::vector<std::string> ports) : ports_(std::move(ports)) {}

  // Before the policy is published: its rules and zones get their words.
  void learn(const policy::Snapshot& policy, std::uint32_t revision);

  [[nodiscard]] std::string_view port(std::uint16_t number) const override;
  [[nodiscard]] std::string_view zone(std::uint16_t number, std::uint32_t revision) const override;
  [[nodiscard]] std::string_view rule(std::uint32_t slot) const override;
  // The same of what was noted under that revision, which may be long ago: empty when the slot has
  // gone to another rule since.
  [[nodiscard]] std::string_view rule(std::uint32_t slot, std::uint32_t revision) const;
  [[nodiscard]] std::string_view rule_reason(std::uint32_t slot) const override;
  [[nodiscard]] std::string_view session_state(std::uint8_t state) const override;
  [[nodiscard]] telemetry::FlowState flow_state(std::uint8_t state) const override;

 private:
  using Zones = std::shared_ptr<const std::vector<std::string>>;
  struct RuleWords {
    std::string id, reason;
  };
  using Words = std::shared_ptr<const RuleWords>;
  struct Replaced {
    base::Nanos when;  // steady
    std::vector<Words> words;
  };
  void learn_rule(std::uint32_t slot, const policy::SlotInfo& info, std::uint32_t revision,
                  std::vector<Words>& replaced);

  const std::vector<std::string> ports_;
  mutable std::shared_mutex mutex_;
  std::vector<Words> rules_;              // by slot; null: never had a rule
  std::vector<std::uint32_t> since_;      // by slot: first revision of its present rule
  std::deque<Replaced> replaced_;         // what views may still point to
  std::uint32_t newest_ = 0;              // revision learned last
  std::map<std::uint32_t, Zones> zones_;  // by revision
  std::deque<Zones> kept_;                // what views of recent revisions may point to
};

}  // namespace merlon::control
