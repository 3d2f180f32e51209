// SPDX-License-Identifier: Apache-2.0
#pragma once
// The running engine under the life cycle: compiles what a commit brings, publishes it, and tells
// what live sessions would meet. Owns the engine, the rule slots and the words for events.
// control-only: one thread at a time (the daemon holds its mutex); policy(), names() and
// find_slot() may be used by others.
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/control/gone_rules.h"
#include "merlon/control/lifecycle.h"
#include "merlon/control/names_table.h"
#include "merlon/engine/engine.h"
#include "merlon/policy/analysis.h"
#include "merlon/policy/compile.h"

namespace merlon::control {

// Opens the ports of a configuration, by number.
using PortFactory = std::function<base::Result<std::vector<std::unique_ptr<io::Port>>>(
    const engine::EngineConfig&)>;

class Runtime final : public Applier {
 public:
  // With `replay_time` the engine has no threads and time is what it points to.
  explicit Runtime(PortFactory ports, const base::Nanos* replay_time = nullptr,
                   policy::CompileLimits limits = {});
  ~Runtime() override;

  CheckFindings check(const policy::PolicyModel& policy,
                      const engine::EngineConfig& engine) override;
  base::Result<SessionEffect> preview(const LoadedConfig& running, const LoadedConfig& candidate,
                                      Prepared* prepared) override;
  base::Result<ApplyReport> apply(const LoadedConfig* running, const LoadedConfig& candidate,
                                  Prepared* prepared) override;

  // nullptr until the first apply().
  [[nodiscard]] engine::Engine* engine() noexcept { return engine_.get(); }
  [[nodiscard]] NamesTable& names() noexcept { return *names_; }
  [[nodiscard]] std::shared_ptr<const policy::Snapshot> policy() const;
  // The number of a rule that runs, or ran and still has it (GoneRules); any thread.
  [[nodiscard]] std::optional<std::uint32_t> find_slot(std::string_view rule) const;
  // Rules that are gone and still have their slots; any thread.
  [[nodiscard]] std::uint32_t gone_rules() const noexcept { return gone_.count(); }
  [[nodiscard]] const policy::CompileStats& stats() const noexcept { return stats_; }
  // What the last apply() took.
  [[nodiscard]] const ApplyReport& last_apply() const noexcept { return last_apply_; }

  // Schedule edges and expiries: publishes the same policy anew when one has passed, so that
  // sessions ask again. Frees retired snapshots. Call at least once a second, in a replay before
  // each batch.
  void tick(base::Nanos now);
  // Gives the configuration in force its number, which a first start learns only afterwards.
  void renumber(std::uint64_t revision);
  // Ends the workers and their sessions.
  void stop();

 private:
  struct Compilation;
  std::shared_ptr<Compilation> compile(const policy::PolicyModel& policy) const;
  // What check() compiled, when it is still good; else nullptr.
  Compilation* good(Prepared* prepared) const;
  base::Result<void> start(const LoadedConfig& config, engine::EngineSnapshot snapshot);
  base::Result<void> publish(const policy::Snapshot& next, engine::EngineSnapshot snapshot,
                             const engine::EngineSnapshot& before, ApplyReport& report);
  void take_slots(policy::RuleSlots&& slots);

  PortFactory open_ports_;
  const base::Nanos* replay_time_;
  policy::CompileLimits limits_;
  policy::RuleSlots slots_;
  mutable std::mutex slots_mutex_;   // of slots_, where one thread changes and others look
  std::uint64_t slots_version_ = 0;  // what was compiled with other slots is no good
  GoneRules gone_;
  policy::CompileStats stats_;
  ApplyReport last_apply_;
  std::unique_ptr<NamesTable> names_;
  std::unique_ptr<engine::Engine> engine_;
  mutable std::mutex policy_mutex_;
  std::shared_ptr<const policy::Snapshot> policy_;
  std::optional<policy::Analysis> analysis_;  // of policy_, when a check has made it
  engine::EngineSnapshot template_;           // the parts beside policy, for publishing anew
  base::Nanos next_edge_ = policy::kNever;
  base::Nanos last_tick_ = 0;
};

// A model's findings as warnings of the configuration.
base::Errors findings_as_warnings(const std::vector<policy::Finding>& findings);

}  // namespace merlon::control
