// SPDX-License-Identifier: Apache-2.0
// Merlon as a device: its daemon as a process in the device's namespace, spoken to by its API only.
// Mode wire forwards between the two ports; mode tap listens on a third port of a hub that joins
// them, so that the tester's frames arrive whether Merlon keeps up or not and its own counters tell
// what it saw.
#include <cstdlib>
#include <filesystem>

#include "drivers.h"
#include "linux_bridge.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_host/capability.h"
#include "merlon/lab_host/file.h"
#include "merlon/lab_host/unix_http.h"
#include "merlon_config.h"

namespace merlon::lab {
namespace {

namespace fs = std::filesystem;

std::string beside_this_program(const char* name) {
  std::error_code problem;
  const fs::path self = fs::read_symlink("/proc/self/exe", problem);
  return problem ? std::string() : (self.parent_path() / name).string();
}

class Merlon final : public LinuxBridge {
 public:
  using LinuxBridge::LinuxBridge;
  ~Merlon() override { static_cast<void>(stop()); }
  [[nodiscard]] std::string version() const override {
    const auto said = run_command({binary(), "--version"});
    return "Merlon" + (said.ok() ? " " + std::string(trim(*said)) : std::string());
  }

 protected:
  [[nodiscard]] std::optional<Absence> find_absence() const override;
  base::Result<void> start_switch(bool is_again) override;
  base::Result<void> apply_rules(const RuleSet& rules) override;
  base::Result<void> look_ready() override;
  void add_counters(std::vector<LayerCounter>& counters) const override;
  [[nodiscard]] std::string middle_name() const override {
    return spec_.mode == "tap" ? "hub, merlon beside it" : "merlon";
  }

 private:
  // Option "binary", $MERLON_LAB_MERLOND, beside this program, in $PATH.
  [[nodiscard]] std::string binary() const;
  base::Result<void> make_hub();
  [[nodiscard]] std::string socket() const { return folder() + "/api.sock"; }
  [[nodiscard]] std::string config_path() const { return folder() + "/merlon.yaml"; }

  MerlonSetup setup_;
};

std::string Merlon::binary() const {
  const char* chosen = std::getenv("MERLON_LAB_MERLOND");
  for (const std::string& path : {option("binary"), std::string(chosen != nullptr ? chosen : ""),
                                  beside_this_program("merlond")}) {
    if (!path.empty() && !find_program(path).empty()) return path;
  }
  return find_program("merlond");
}

std::optional<Absence> Merlon::find_absence() const {
  if (binary().empty()) {
    return absence("merlond is not beside this program nor in the path: name it with option binary",
                   "merlond нет ни рядом с этой программой, ни в PATH: укажите его опцией binary");
  }
  if (option("port") == "af_xdp") {
    const Capability xdp = probe_af_xdp();
    if (!xdp.is_there) return Absence{xdp.reason};
  }
  return std::nullopt;
}

base::Result<void> Merlon::make_hub() {
  const std::string space = built().device_namespace();
  const Argv ip{"ip", "-n", space, "link"};
  const LinkEnd in_hub{space, "t0"}, mirror{space, "t1"};
  std::vector<std::string> commands;
  auto made = make_veth(in_hub, mirror, 1500, commands);
  for (const std::string& command : commands) note(command);
  if (!made.ok()) return made;
  const std::vector<std::string> ports{built().device_ports()[0], built().device_ports()[1], "t0"};
  if (auto bridge = make_bridge("hub", ports); !bridge.ok()) return bridge;
  // A bridge that learns nothing floods everything to every port.
  for (const std::string& port : ports) {
    if (auto set = run(ip + Argv{"set", port, "type", "bridge_slave", "learning", "off"});
        !set.ok()) {
      return set.error();
    }
  }
  return {};
}

base::Result<void> Merlon::start_switch(bool is_again) {
  if (!is_again) {
    setup_ = {};
    setup_.mode = spec_.mode;
    setup_.ports = built().device_ports();
    setup_.port_kind = layout().is_shared_memory() ? layout().name : option("port", "native");
    setup_.folder = folder();
    setup_.sessions = option("sessions");
    setup_.sections = option("config");
    setup_.cores = cores();
    if (spec_.mode == "tap" && !layout().is_shared_memory()) {
      if (auto hub = make_hub(); !hub.ok()) return hub;
      setup_.ports = {"t1"};
    }
  }
  configuration_ = merlon_config(setup_, {});
  if (auto written = write_file(config_path(), configuration_); !written.ok()) return written;
  ProcessSpec process;
  process.name = "merlond";
  process.net_namespace = layout().is_shared_memory() ? std::string() : built().device_namespace();
  // DPDK's sockets and locks in the device's folder instead of the machine's.
  process.environment = {{"RUNTIME_DIRECTORY", folder()}};
  const fs::path place(folder());
  process.argv = {
      binary(),     "run",
      "-c",         config_path(),
      "--state",    folder() + "/state",
      "--socket",   socket(),
      "--instance", place.parent_path().filename().string() + "-" + place.filename().string()};
  if (auto started = spawn(std::move(process)); !started.ok()) return started.error();
  return {};
}

base::Result<void> Merlon::look_ready() {
  const auto answer = http_request(socket(), "GET", "/api/v1/status", {}, std::chrono::seconds(2));
  if (answer.ok() && answer->status == 200 && answer->body.find("\"running\"") != std::string::npos)
    return {};
  return make_error(base::Errc::kConflict, "its API does not answer yet");
}

base::Result<void> Merlon::apply_rules(const RuleSet& rules) {
  const std::string text = merlon_config(setup_, rules);
  if (auto written = write_file(config_path(), text); !written.ok()) return written;
  note("merlon --socket " + socket() + " config commit " + config_path());
  const auto answer =
      http_request(socket(), "POST", "/api/v1/config/commit",
                   merlon_commit_body(config_path(), text), std::chrono::minutes(2));
  if (!answer.ok()) return answer.error();
  if (answer->status != 200) return merlon_error(answer->status, answer->body);
  configuration_ = text.substr(0, 8192);
  return {};
}

void Merlon::add_counters(std::vector<LayerCounter>& counters) const {
  const auto ports = http_request(socket(), "GET", "/api/v1/ports", {}, std::chrono::seconds(5));
  std::vector<LayerCounter> own;
  if (ports.ok() && ports->status == 200) add_merlon_ports(ports->body, own);
  std::int64_t taken = 0;
  for (const LayerCounter& c : own) {
    if (c.counter == "received" || c.counter == "rx_dropped" || c.counter == "rx_errors")
      taken += c.delta;
  }
  // DPDK's packet-socket ports don't count what the kernel drops before their ring.
  if (!own.empty() && setup_.mode == "wire" && !layout().is_shared_memory()) {
    add_receive_gap(counters, "merlon receive rings", taken);
  }
  counters.insert(counters.end(), own.begin(), own.end());
  const auto drops = http_request(socket(), "GET", "/api/v1/drops", {}, std::chrono::seconds(5));
  if (drops.ok() && drops->status == 200) add_merlon_drops(drops->body, counters);
}

}  // namespace

std::unique_ptr<Device> make_merlon(const DeviceSpec& spec) {
  return std::make_unique<Merlon>(spec);
}

}  // namespace merlon::lab
