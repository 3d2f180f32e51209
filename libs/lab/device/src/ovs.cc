// SPDX-License-Identifier: Apache-2.0
// Open vSwitch as a private instance: its own database, sockets and logs in the device's folder,
// its switch in the device's namespace; nothing of an installed service is touched. Datapaths:
// netdev (in user space, on packet sockets), system (the kernel's, where its module is), netdev of
// the DPDK build on DPDK's or AF_XDP ports.
#include <algorithm>
#include <filesystem>
#include <thread>

#include "device_base.h"
#include "drivers.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_device/loss.h"
#include "merlon/lab_host/capability.h"
#include "merlon/lab_host/file.h"
#include "ovs_text.h"

namespace merlon::lab {
namespace {

constexpr const char* kDpdkBinary = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
constexpr const char* kSchema = "/usr/share/openvswitch/vswitch.ovsschema";
constexpr unsigned kDpdkMemoryMib = 512;  // less, and its packet pools don't fit

class OpenVswitch final : public DeviceBase {
 public:
  using DeviceBase::DeviceBase;
  ~OpenVswitch() override { static_cast<void>(stop()); }
  [[nodiscard]] std::string version() const override {
    const auto said = run_command({program(), "--version"});
    return said.ok() ? std::string(trim(said->substr(0, said->find('\n')))) : spec_.driver;
  }

 protected:
  [[nodiscard]] std::optional<Absence> find_absence() const override;
  base::Result<void> start_switch(bool is_again) override;
  void stop_switch() noexcept override;
  base::Result<void> apply_rules(const RuleSet& rules) override;
  void add_counters(std::vector<LayerCounter>& counters) const override;
  [[nodiscard]] std::string middle_name() const override { return spec_.driver + " " + spec_.mode; }

 private:
  [[nodiscard]] bool is_dpdk() const { return spec_.driver == "ovs-dpdk"; }
  [[nodiscard]] bool is_kernel() const { return spec_.driver == "ovs-kernel"; }
  [[nodiscard]] std::string program() const {
    return is_dpdk() ? option("binary", kDpdkBinary)
                     : option("binary", "/usr/lib/openvswitch-switch/ovs-vswitchd");
  }
  [[nodiscard]] std::string at(const char* name) const { return folder() + "/" + name; }
  [[nodiscard]] std::string database() const { return "unix:" + at("db.sock"); }
  base::Result<void> start_database();
  base::Result<void> configure_dpdk();
  base::Result<void> start_daemon();
  base::Result<void> add_ports();
  base::Result<std::string> vsctl(const Argv& words);
  [[nodiscard]] Argv port_words(std::size_t i) const;
  [[nodiscard]] std::string ask(const Argv& words) const;
};

std::optional<Absence> OpenVswitch::find_absence() const {
  if (auto missing = need_program("ovs-vsctl", "openvswitch-switch")) return missing;
  if (auto missing =
          need_program(program(), is_dpdk() ? "openvswitch-switch-dpdk" : "openvswitch-switch")) {
    return missing;
  }
  if (is_kernel()) {
    const Capability module = probe_module("openvswitch");
    if (!module.is_there) return Absence{module.reason};
  }
  if (is_dpdk()) {
    if (option("port") == "afxdp") {
      const Capability xdp = probe_af_xdp();
      if (!xdp.is_there) return Absence{xdp.reason};
    }
    return need_huge_pages(kDpdkMemoryMib);
  }
  return std::nullopt;
}

base::Result<std::string> OpenVswitch::vsctl(const Argv& words) {
  return run(Argv{"ovs-vsctl", "--timeout=30", "--db=" + database()} + words);
}

base::Result<void> OpenVswitch::start_database() {
  if (auto made = run({"ovsdb-tool", "create", at("conf.db"), option("schema", kSchema)});
      !made.ok()) {
    return made.error();
  }
  ProcessSpec server;
  server.name = "ovsdb-server";
  server.argv = {"ovsdb-server", at("conf.db"), "--remote=p" + database(),
                 "--unixctl=" + at("db.ctl"), "-vconsole:warn"};
  server.environment = {
      {"OVS_RUNDIR", folder()}, {"OVS_LOGDIR", folder()}, {"OVS_DBDIR", folder()}};
  auto started = spawn(std::move(server));
  if (!started.ok()) return started.error();
  for (int i = 0; i < 1000 && !std::filesystem::exists(at("db.sock")); ++i) {
    if ((*started)->wait(std::chrono::milliseconds(5))) break;
  }
  if (!std::filesystem::exists(at("db.sock"))) {
    return make_error(base::Errc::kTimeout,
                      "ovsdb-server does not listen: " + (*started)->log_tail());
  }
  auto ready = vsctl({"--no-wait", "init"});
  if (!ready.ok()) return ready.error();
  return {};
}

base::Result<void> OpenVswitch::configure_dpdk() {
  const std::filesystem::path place(folder());
  const std::string prefix =
      place.parent_path().filename().string() + "-" + place.filename().string();
  std::uint64_t mask = 0;
  for (const int core : cores()) mask |= std::uint64_t{1} << static_cast<unsigned>(core);
  // The last core when none is chosen: the sender has the first one.
  if (mask == 0) mask = std::uint64_t{1} << (std::max(1U, std::thread::hardware_concurrency()) - 1);
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(mask));
  const auto set = vsctl({"--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                          "other_config:dpdk-socket-mem=" + std::to_string(kDpdkMemoryMib),
                          "other_config:dpdk-extra=--no-pci --iova-mode=va --file-prefix=" + prefix,
                          "other_config:pmd-cpu-mask=" + std::string(text)});
  if (!set.ok()) return set.error();
  return {};
}

base::Result<void> OpenVswitch::start_daemon() {
  ProcessSpec daemon;
  daemon.name = "ovs-vswitchd";
  daemon.argv = {program(), database(), "--unixctl=" + at("vs.ctl"), "-vconsole:warn"};
  daemon.net_namespace = built().device_namespace();  // none with shared memory
  daemon.environment = {{"RUNTIME_DIRECTORY", folder()},
                        {"OVS_RUNDIR", folder()},
                        {"OVS_LOGDIR", folder()},
                        {"OVS_DBDIR", folder()}};
  if (!is_dpdk()) daemon.cores = cores();
  if (auto started = spawn(std::move(daemon)); !started.ok()) return started.error();
  return {};
}

Argv OpenVswitch::port_words(std::size_t i) const {
  const std::string port = built().device_ports()[i], number = std::to_string(i);
  if (layout().medium == Medium::kVhost) {
    return {"--",
            "add-port",
            "br0",
            "d" + number,
            "--",
            "set",
            "Interface",
            "d" + number,
            "type=dpdkvhostuserclient",
            "options:vhost-server-path=" + port};
  }
  if (!is_dpdk()) return {"--", "add-port", "br0", port};
  if (option("port") == "afxdp") {
    return {"--", "add-port", "br0", port, "--", "set", "Interface", port, "type=afxdp"};
  }
  // The kernel's interface keeps its name, so the port of the switch needs another one.
  return {"--",        "add-port",
          "br0",       "d" + number,
          "--",        "set",
          "Interface", "d" + number,
          "type=dpdk", "options:dpdk-devargs=net_af_packet" + number + ",iface=" + port};
}

base::Result<void> OpenVswitch::add_ports() {
  Argv words{"add-br",
             "br0",
             "--",
             "set",
             "bridge",
             "br0",
             std::string("datapath_type=") + (is_kernel() ? "system" : "netdev"),
             std::string("fail_mode=") + (spec_.mode == "normal" ? "standalone" : "secure"),
             "other_config:mac-table-size=65536"};
  for (std::size_t i = 0; i < built().device_ports().size(); ++i) words = words + port_words(i);
  const auto added = vsctl(words);
  if (!added.ok()) return added.error();
  // The switch takes a port that it can't open and tells so here only.
  const auto problems = vsctl({"--bare", "--columns=name,error", "find", "Interface", "error!=[]"});
  if (problems.ok() && !trim(*problems).empty()) {
    return make_error(base::Errc::kIo,
                      "Open vSwitch can't open a port: " + std::string(trim(*problems)));
  }
  return {};
}

base::Result<void> OpenVswitch::start_switch(bool is_again) {
  if (!is_again) {
    if (auto up = start_database(); !up.ok()) return up;
    if (is_dpdk()) {
      if (auto set = configure_dpdk(); !set.ok()) return set;
    }
  }
  if (auto up = start_daemon(); !up.ok()) return up;
  // After a kill the database still has bridge and ports.
  if (!is_again) {
    if (auto added = add_ports(); !added.ok()) {
      base::Error error = added.error();
      error.message += "; " + processes_.back()->log_tail();
      return error;
    }
  } else if (auto waited = vsctl({"set", "bridge", "br0", "external_ids:restarted=yes"});
             !waited.ok()) {
    return waited.error();
  }
  const auto shown = vsctl({"show"});
  configuration_ = shown.ok() ? *shown : std::string();
  return spec_.mode == "normal" ? base::Result<void>{} : apply_rules({});
}

void OpenVswitch::stop_switch() noexcept {
  // A switch that goes without this can leave persistent interfaces behind.
  if (processes_.size() < 2 || !processes_.back()->is_running()) return;
  static_cast<void>(run_command(
      {"ovs-vsctl", "--timeout=5", "--db=" + database(), "--if-exists", "del-br", "br0"}));
}

base::Result<void> OpenVswitch::apply_rules(const RuleSet& rules) {
  const std::string text = ovs_flows(spec_.mode, rules, option("last", "NORMAL"));
  const std::string path = at("flows.txt");
  if (auto written = write_file(path, text); !written.ok()) return written;
  const Argv argv{
      "ovs-ofctl", "-O", "OpenFlow14", "--bundle", "replace-flows", "unix:" + at("br0.mgmt"), path};
  note(shell_text(argv));
  // After a restart the bridge's socket of before is there until the new switch listens on its own.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    const auto loaded = run_command(argv, {}, std::chrono::minutes(2));
    if (loaded.ok()) break;
    if (loaded.error().message.find("refused") == std::string::npos ||
        std::chrono::steady_clock::now() > patience)
      return loaded.error();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  configuration_ = text.substr(0, 8192);
  return {};
}

std::string OpenVswitch::ask(const Argv& words) const {
  const auto said = run_command(words, {}, std::chrono::seconds(5));
  return said.ok() ? *said : std::string();
}

void OpenVswitch::add_counters(std::vector<LayerCounter>& counters) const {
  const auto add = [&](std::string layer, std::string name, std::uint64_t value, bool is_loss) {
    LayerCounter c;
    c.layer = std::move(layer);
    c.counter = std::move(name);
    c.delta = static_cast<std::int64_t>(value);
    c.is_loss = is_loss;
    counters.push_back(std::move(c));
  };
  const Argv appctl{"ovs-appctl", "--timeout=5", "-t", at("vs.ctl")};
  if (!is_kernel()) {
    const NamedCounts pmd = parse_pmd_stats(ask(appctl + Argv{"dpif-netdev/pmd-stats-show"}));
    for (const auto& [name, value] : pmd) {
      const bool is_time =
          name.find("cycles") != std::string::npos || name.find("iterations") != std::string::npos;
      if (!is_time) add("ovs datapath", name, value, name == "miss with failed upcall");
    }
    const auto received = pmd.find("packets received");
    if (received != pmd.end() && !layout().is_shared_memory()) {
      add_receive_gap(counters, "ovs receive queues", static_cast<std::int64_t>(received->second));
    }
  }
  for (const auto& [name, value] : parse_coverage(ask(appctl + Argv{"coverage/show"}))) {
    if (name == "drop_action_of_pipeline")
      add("ovs OpenFlow rules", std::string(kDroppedByRule), value, false);
    // Failed upcalls are counted above already.
    if (name.starts_with("datapath_drop_") && name != "datapath_drop_upcall_error")
      add("ovs datapath", name, value, true);
  }
  for (const auto& [name, value] :
       parse_port_drops(ask({"ovs-ofctl", "dump-ports", "unix:" + at("br0.mgmt")}))) {
    // What the kernel's interface counts is in the list as its own; DPDK's ports count for
    // themselves. LOCAL is the host's own port: copies of flooded frames end there.
    const bool is_own = is_dpdk() && !name.starts_with("LOCAL ");
    if (value != 0 || is_own) add("ovs port " + name, "dropped", value, is_own);
  }
}

}  // namespace

std::unique_ptr<Device> make_ovs(const DeviceSpec& spec) {
  return std::make_unique<OpenVswitch>(spec);
}

}  // namespace merlon::lab
