// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices under test behind one interface, and the topologies they stand in. A topology owns
// namespaces and links, named after the run's id, and takes them away whatever happens.
// control-only.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"
#include "merlon/lab_traffic/tester.h"

namespace merlon::lab {

// Why a device can't run here; both languages, with the command that would mend it where there is
// one.
struct Absence {
  Text reason;
};

struct RuleSet {
  unsigned count = 0;  // non-matching rules before the allow
  bool has_drop_rule =
      false;  // a rule that drops kDropPort, so that the oracle has something to see
  bool is_per_connection = false;  // stateful allow where the device knows state
  double ipv6_share = 0;           // of the non-matching rules, as TrafficSpec has it of the frames
  std::uint64_t seed = 1;
};

// The place between the tester's two endpoints.
class Topology {
 public:
  virtual ~Topology() = default;  // takes everything away
  [[nodiscard]] virtual EndpointSpec generator() const = 0;
  [[nodiscard]] virtual EndpointSpec sink() const = 0;
  // Namespace the device runs in; its two interfaces there (or memif socket paths), generator's
  // side first.
  [[nodiscard]] virtual std::string device_namespace() const = 0;
  [[nodiscard]] virtual std::vector<std::string> device_ports() const = 0;
  // Boxes and lines for the report: "gen", "g0", "s0", "bridge", "s1", "k0", "snk".
  [[nodiscard]] virtual std::vector<std::string> chain() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& commands() const = 0;
  // Interrupts the link on the generator's side for `seconds`.
  virtual base::Result<void> flap(double seconds) = 0;
};

class Device {
 public:
  virtual ~Device() = default;  // stops
  // Can it run on this machine? Cheap, changes nothing.
  [[nodiscard]] virtual std::optional<Absence> probe() const = 0;
  // Builds its topology, starts, waits until it forwards.
  virtual base::Result<void> start(const std::string& run_id) = 0;
  virtual base::Result<double> load_rules(
      const RuleSet& rules) = 0;  // seconds it took, live traffic or not
  virtual base::Result<void> stop() = 0;
  virtual base::Result<void>
  kill() = 0;  // kill -9 of the forwarding process; kUnsupported in the kernel
  virtual base::Result<void> restart() = 0;  // after kill()
  [[nodiscard]] virtual bool is_alive() const = 0;
  // Monotonic counters of every layer between the endpoints; their differences locate loss.
  [[nodiscard]] virtual std::vector<LayerCounter> counters() const = 0;
  // Process ids whose CPU is the device's; empty for the kernel.
  [[nodiscard]] virtual std::vector<int> processes() const = 0;
  [[nodiscard]] virtual Topology& topology() = 0;
  [[nodiscard]] virtual std::string configuration() const = 0;  // dump for the report
  [[nodiscard]] virtual const std::vector<std::string>& commands() const = 0;
  [[nodiscard]] virtual std::string version() const = 0;
  // What a reader of its results must know, such as "functional only"; empty: nothing. After
  // start().
  [[nodiscard]] virtual Text caveat() const { return {}; }
};

// kInvalidValue with the known names for an unknown driver, mode or topology.
base::Result<std::unique_ptr<Device>> make_device(const DeviceSpec& spec);
// Every driver with its modes and topologies, for `merlon lab list`.
struct DriverInfo {
  std::string name;
  std::vector<std::string> modes, topologies;
  Text what;
};
const std::vector<DriverInfo>& drivers();
// Takes away what runs that died left behind (namespaces "mlab-<run>-*" without a living owner,
// processes by the ids in their run folder). Returns what was removed.
std::vector<std::string> clean_leftovers();

}  // namespace merlon::lab
