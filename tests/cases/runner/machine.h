// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device under test: the real loader, life cycle, runtime and engine over ring ports, driven by
// a clock variable and without threads. One per case.
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "merlon/control/daemon_view.h"
#include "merlon/control/lifecycle.h"
#include "merlon/control/runtime.h"
#include "merlon/control/store.h"
#include "merlon/io/ring_port.h"
#include "merlon/telemetry/event_writer.h"

namespace merlon::cases {

struct MachineSettings {
  std::string config_file;
  std::string store_directory;  // made and removed by the machine
  unsigned workers = 1;
  base::Nanos start = 0;
  std::map<std::string, io::LinkType> link_types;  // by port; Ethernet otherwise
};

class Machine {
 public:
  static base::Result<std::unique_ptr<Machine>> start(const MachineSettings& settings);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // kNoPort when there is no port of that name.
  [[nodiscard]] std::uint16_t find_port(std::string_view name) const;
  [[nodiscard]] std::string port_name(std::uint16_t port) const { return names_[port]; }
  [[nodiscard]] std::uint16_t port_count() const {
    return static_cast<std::uint16_t>(names_.size());
  }
  [[nodiscard]] std::uint16_t peer(std::uint16_t port) const;
  [[nodiscard]] io::RingPort& port(std::uint16_t number) { return *ports_[number]; }

  bool inject(std::uint16_t port, base::ByteSpan frame, std::uint32_t length);
  // Lets all workers work until nothing is left to do, and gathers what they tell.
  void turn();
  void advance(base::Nanos by);
  void set_carrier(std::uint16_t port, bool is_up);
  // What explain says of the frame now; nothing where explain has no answer: fragments, links
  // without Ethernet.
  std::optional<base::DropReason> foretell(std::uint16_t port, base::ByteSpan frame);

  control::CommitOutcome commit(const std::string& file, base::Nanos confirm_within);
  control::PreviewReport preview(const std::string& file);
  [[nodiscard]] control::Lifecycle& lifecycle() { return *lifecycle_; }
  // After a roll back, so that events tell of the configuration that runs.
  [[nodiscard]] control::DaemonView& view() { return *view_; }
  [[nodiscard]] control::Runtime& runtime() { return *runtime_; }
  [[nodiscard]] base::Nanos now() const { return now_; }

  [[nodiscard]] telemetry::CounterTotals totals() const;
  [[nodiscard]] engine::Gauges::Values gauges() const;
  [[nodiscard]] std::vector<nlohmann::json>& events() { return events_; }

  // Ends all sessions; what does not add up at the end is told in a sentence.
  std::string finish();

 private:
  explicit Machine(const MachineSettings& settings);
  base::Result<void> bring_up();
  base::Result<std::vector<std::unique_ptr<io::Port>>> make_ports(
      const engine::EngineConfig& config);

  MachineSettings settings_;
  base::Nanos now_;
  std::vector<std::string> names_;
  std::vector<io::RingPort*> ports_;  // owned by the engine
  std::vector<std::uint16_t> peers_;
  std::shared_ptr<io::BufferPool> pool_;
  std::unique_ptr<control::Store> store_;
  std::unique_ptr<control::Runtime> runtime_;
  std::unique_ptr<control::Lifecycle> lifecycle_;
  std::unique_ptr<telemetry::EventWriter> writer_;
  std::unique_ptr<control::DaemonView> view_;
  std::mutex mutex_;
  std::vector<nlohmann::json> events_;
};

}  // namespace merlon::cases
