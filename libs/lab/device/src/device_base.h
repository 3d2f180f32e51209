// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all drivers share: the run's registry, the topology, processes, the wait for the first
// frame, the counters of the links. A driver adds how its switch is started, ruled and asked.
// control-only.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "built_topology.h"
#include "merlon/lab_device/device.h"
#include "merlon/lab_host/command.h"
#include "merlon/lab_host/process.h"
#include "merlon/lab_host/run_registry.h"

namespace merlon::lab {

class DeviceBase : public Device {
 public:
  explicit DeviceBase(DeviceSpec spec);
  // Drivers call stop() in their own destructor: it needs stop_switch().
  ~DeviceBase() override = default;

  [[nodiscard]] std::optional<Absence> probe() const override;
  base::Result<void> start(const std::string& run_id) final;
  base::Result<double> load_rules(const RuleSet& rules) final;
  base::Result<void> stop() final;
  base::Result<void> kill() override;
  base::Result<void> restart() override;
  [[nodiscard]] bool is_alive() const override;
  [[nodiscard]] std::vector<LayerCounter> counters() const final;
  [[nodiscard]] std::vector<int> processes() const override;
  [[nodiscard]] Topology& topology() final;
  [[nodiscard]] Text caveat() const override;
  // With the caveat as its first line: a reader of the dump must not miss it.
  [[nodiscard]] std::string configuration() const override;
  [[nodiscard]] const std::vector<std::string>& commands() const final { return commands_; }

 protected:
  // What the driver can't do without, beyond what all need; nothing: it can run.
  [[nodiscard]] virtual std::optional<Absence> find_absence() const { return std::nullopt; }
  // Starts the switch in the topology that stands; `is_again` after a kill.
  virtual base::Result<void> start_switch(bool is_again) = 0;
  virtual void stop_switch() noexcept {}
  // Puts the rules in place of those that were there.
  virtual base::Result<void> apply_rules(const RuleSet& rules);
  virtual void add_counters(std::vector<LayerCounter>& counters) const;
  // The driver's own sign that it forwards, for topologies that no kernel frame can be sent
  // through. kConflict: not yet.
  virtual base::Result<void> look_ready();
  [[nodiscard]] virtual std::string middle_name() const { return spec_.driver; }
  // What reached the device's interfaces and its ports neither received nor dropped by their own
  // count: the kernel threw it away before a full socket or ring.
  static void add_receive_gap(std::vector<LayerCounter>& counters, const std::string& layer,
                              std::int64_t taken);
  // Seconds until a start is given up, unless option start_timeout_s says.
  [[nodiscard]] virtual unsigned patience_s() const { return 20; }

  // Runs and notes a command of the set-up.
  base::Result<std::string> run(const Argv& argv, std::string_view input = {});
  // Prepends "ip netns exec <device's namespace>".
  [[nodiscard]] Argv inside(const Argv& argv) const;
  base::Result<Process*> spawn(ProcessSpec spec);
  [[nodiscard]] std::string option(const std::string& name,
                                   const std::string& otherwise = {}) const;
  // Cores of option "cores" ("0" or "0,1"); empty: unpinned.
  [[nodiscard]] std::vector<int> cores() const;
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] BuiltTopology& built() const { return *topology_; }
  [[nodiscard]] bool is_started() const { return topology_ != nullptr; }
  void note(const std::string& command) { commands_.push_back(command); }

  DeviceSpec spec_;
  std::string configuration_;
  std::vector<std::unique_ptr<Process>> processes_;

 private:
  base::Result<void> build();
  base::Result<void> wait_until_forwarding();
  base::Result<void> check_processes();

  Layout layout_;
  std::shared_ptr<RunRegistry> registry_;
  std::unique_ptr<BuiltTopology> topology_;
  std::string folder_;
  std::vector<std::string> commands_;
  std::optional<RuleSet> rules_;
};

// Helpers for probes: an Absence in both languages.
Absence absence(std::string en, std::string ru);
// The program is not there: names the package that brings it.
std::optional<Absence> need_program(const std::string& program, const std::string& package);
std::optional<Absence> need_huge_pages(unsigned mib);

}  // namespace merlon::lab
