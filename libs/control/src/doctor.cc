// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "merlon/control/config_print.h"
#include "merlon/flow/session_table.h"
#include "merlon/io/pci.h"
#include "merlon/policy/compile.h"

namespace merlon::control {
namespace {

using engine::PortConfig;
using Level = Diagnosis::Level;

constexpr std::uint64_t kMib = 1U << 20;
constexpr std::uint64_t kHugePage = 2 * kMib;
constexpr std::uint32_t kUsualBacklog = 1000;

bool has(const std::vector<unsigned>& list, unsigned value) {
  return std::ranges::find(list, value) != list.end();
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string list_text(const std::vector<unsigned>& list) {
  return fmt::format("{}", fmt::join(list, ","));
}

bool needs_dpdk(const LoadedConfig& config) {
  return std::ranges::any_of(config.engine.ports, [](const PortConfig& p) {
    return p.type == PortConfig::Type::kPci || p.type == PortConfig::Type::kDevice;
  });
}

class Doctor {
 public:
  Doctor(const LoadedConfig& config, const HostFacts& host) : config_(config), host_(host) {}

  std::vector<Diagnosis> run() {
    look_at_cores();
    look_at_clock();
    look_at_memory();
    look_at_rights();
    for (const PortConfig& port : config_.engine.ports) look_at_port(port);
    look_at_wires();
    look_at_folders();
    return std::move(found_);
  }

 private:
  void say(Level level, std::string topic, std::string text, std::string mend = {}) {
    found_.push_back({level, std::move(topic), std::move(text), std::move(mend)});
  }
  void look_at_cores();
  void look_at_pinned_cores();
  void look_at_clock();
  void look_at_memory();
  void look_at_rights();
  void look_at_port(const PortConfig& port);
  void look_at_interface(const PortConfig& port, const InterfaceFacts& facts);
  void look_at_wires();
  void look_at_folders();

  const LoadedConfig& config_;
  const HostFacts& host_;
  std::vector<Diagnosis> found_;
};

void Doctor::look_at_cores() {
  const unsigned workers = config_.engine.workers;
  const std::size_t cpus = host_.cpus.size();
  if (workers > cpus) {
    say(Level::kProblem, "cores",
        fmt::format("{} share {}: packets wait while another worker runs",
                    counted(workers, "worker"), counted(cpus, "processor")),
        fmt::format("set workers.count to {}", std::max<std::size_t>(1, cpus)));
  } else if (workers == cpus) {
    say(Level::kAdvice, "cores",
        fmt::format("{} on {}: commits and events take time from packets",
                    counted(workers, "worker"), counted(cpus, "processor")),
        cpus > 1 ? fmt::format("set workers.count to {}", cpus - 1) : "");
  } else {
    say(Level::kGood, "cores", counted(workers, "worker") + " on " + counted(cpus, "processor"));
  }
  if (host_.cpu_quota && *host_.cpu_quota < static_cast<double>(workers) + 0.5)
    say(Level::kProblem, "cores",
        fmt::format("the control group allows {:.1f} processors' time; workers that use it up are "
                    "stopped for tens of milliseconds",
                    *host_.cpu_quota),
        "raise CPUQuota= of the service or the container's limit");
  look_at_pinned_cores();
}

void Doctor::look_at_pinned_cores() {
  const auto& cores = config_.engine.worker_cores;
  if (cores.empty()) {
    if (host_.cpus.size() > config_.engine.workers)
      say(Level::kAdvice, "cores", "workers have no cores of their own: anything may delay them",
          "set workers.cores");
    return;
  }
  std::vector<unsigned> absent, shared, slow;
  for (const unsigned core : cores) {
    if (!has(host_.cpus, core)) absent.push_back(core);
    if (!has(host_.isolated, core)) shared.push_back(core);
    const auto governor = host_.governors.find(core);
    if (governor != host_.governors.end() && governor->second != "performance")
      slow.push_back(core);
    const auto siblings = host_.siblings.find(core);
    if (siblings == host_.siblings.end()) continue;
    for (const unsigned other : siblings->second)
      if (other > core && has(cores, other))
        say(Level::kAdvice, "cores",
            fmt::format("workers on {} and {} are two threads of one core", core, other),
            "choose cores that share none: lscpu -e");
  }
  if (!absent.empty())
    say(Level::kProblem, "cores",
        fmt::format("workers.cores names {}, which this host has not or does not allow",
                    list_text(absent)),
        fmt::format("choose from {}", list_text(host_.cpus)));
  if (!shared.empty())
    say(Level::kAdvice, "cores",
        fmt::format("other work may run on the workers' cores {}", list_text(shared)),
        fmt::format("kernel command line: isolcpus={0} nohz_full={0}", list_text(shared)));
  if (!slow.empty())
    say(Level::kAdvice, "cores",
        fmt::format("the workers' cores {} save power at the price of speed", list_text(slow)),
        fmt::format("cpupower -c {} frequency-set -g performance", list_text(slow)));
}

void Doctor::look_at_clock() {
  if (!host_.has_steady_tsc)
    say(Level::kProblem, "clock",
        "the processor's time stamp counter is not steady: workers would misjudge time-outs",
        "a hypervisor must pass constant_tsc and nonstop_tsc on");
  if (!host_.is_clock_synchronised) return;
  if (*host_.is_clock_synchronised) {
    say(Level::kGood, "clock", "synchronised");
  } else {
    say(Level::kAdvice, "clock",
        "nothing keeps the clock right: events, schedules and expiry dates depend on it",
        "timedatectl set-ntp true");
  }
}

void Doctor::look_at_memory() {
  flow::TableOptions share = config_.engine.table;
  share.max_sessions /= std::max(1U, config_.engine.workers);
  const std::uint64_t sessions =
      flow::SessionTable::memory_for(share) * std::uint64_t{config_.engine.workers};
  // During a commit both policies are there.
  const std::uint64_t policy = 2 * std::uint64_t{policy::estimate(config_.policy)};
  const std::uint64_t need = sessions + policy;
  if (host_.memory_available != 0 && need > host_.memory_available) {
    say(Level::kProblem, "memory",
        fmt::format("sessions and policy may take {} MiB, {} are free", need / kMib,
                    host_.memory_available / kMib),
        "lower sessions.max, or add memory");
  } else {
    say(Level::kGood, "memory", fmt::format("sessions and policy take {} MiB", need / kMib));
  }
  if (!needs_dpdk(config_)) return;
  // As control/src/ports.cc asks for: rings and tables of DPDK, and packet buffers.
  constexpr std::uint64_t kPacketMemory = 128 * kMib;
  if (host_.huge_free >= kPacketMemory) {
    say(Level::kGood, "huge pages", fmt::format("{} MiB free", host_.huge_free / kMib));
  } else {
    say(Level::kAdvice, "huge pages",
        fmt::format("{} MiB free: packets go through ordinary pages, which costs speed",
                    host_.huge_free / kMib),
        fmt::format("echo {} >/proc/sys/vm/nr_hugepages", 2 * kPacketMemory / kHugePage));
  }
}

void Doctor::look_at_rights() {
  const bool has_interfaces = std::ranges::any_of(config_.engine.ports, [](const PortConfig& p) {
    return p.type == PortConfig::Type::kInterface;
  });
  if (has_interfaces && !(host_.can_send_raw && host_.can_administer))
    say(Level::kProblem, "rights", "`interface` ports need CAP_NET_RAW and CAP_NET_ADMIN",
        "setcap cap_net_raw,cap_net_admin+ep $(command -v merlond)");
  const bool has_cards = std::ranges::any_of(
      config_.engine.ports, [](const PortConfig& p) { return p.type == PortConfig::Type::kPci; });
  if (has_cards && !host_.is_root)
    say(Level::kProblem, "rights", "`pci` ports need root", "run it as root");
}

void Doctor::look_at_port(const PortConfig& port) {
  const std::string topic = "port " + port.name;
  if (port.type == PortConfig::Type::kPci) {
    const auto driver = host_.pci_drivers.find(io::full_pci_address(port.pci_address));
    if (driver == host_.pci_drivers.end()) {
      say(Level::kProblem, topic, fmt::format("there is no PCI device {}", port.pci_address),
          "lspci -D -d ::02xx lists network devices");
    } else if (!port.uio_driver.empty() && driver->second != port.uio_driver) {
      say(Level::kProblem, topic,
          fmt::format("{} is bound to {}, not to {}", port.pci_address,
                      driver->second.empty() ? "no driver" : driver->second, port.uio_driver),
          fmt::format("dpdk-devbind.py -b {} {}", port.uio_driver, port.pci_address));
    } else {
      say(Level::kGood, topic, fmt::format("{} is there", port.pci_address));
    }
    return;
  }
  if (port.type != PortConfig::Type::kInterface) return;
  const auto facts = host_.interfaces.find(port.interface);
  if (facts == host_.interfaces.end()) {
    say(Level::kProblem, topic, fmt::format("there is no network interface {}", port.interface),
        "ip -br link lists them");
    return;
  }
  look_at_interface(port, facts->second);
}

void Doctor::look_at_interface(const PortConfig& port, const InterfaceFacts& facts) {
  const std::string topic = "port " + port.name;
  const std::string& name = port.interface;
  const std::size_t before = found_.size();
  if (!facts.is_up) {
    say(Level::kProblem, topic, fmt::format("{} is down", name),
        fmt::format("ip link set {} up", name));
  } else if (!facts.has_carrier) {
    say(Level::kProblem, topic, fmt::format("{} has no link", name));
  }
  if (!facts.addresses.empty())
    say(Level::kAdvice, topic,
        fmt::format("{} has the address {}: this host answers beside the firewall", name,
                    facts.addresses.front()),
        fmt::format("ip addr flush dev {}", name));
  if (facts.has_lro)
    say(Level::kProblem, topic,
        fmt::format("{} joins received segments (LRO); they can't be sent as they came", name),
        fmt::format("ethtool -K {} lro off", name));
  // Frames between virtual interfaces wait in the processor's backlog first.
  if (facts.is_virtual && host_.backlog && *host_.backlog <= kUsualBacklog)
    say(Level::kAdvice, topic,
        fmt::format("{} is virtual: what finds {} frames waiting is lost inside the kernel", name,
                    *host_.backlog),
        "sysctl -w net.core.netdev_max_backlog=16384");
  if (found_.size() == before) say(Level::kGood, topic, fmt::format("{} is up", name));
}

void Doctor::look_at_wires() {
  for (const engine::WireConfig& wire : config_.engine.wires) {
    const auto mtu_of = [this](std::uint16_t number) {
      const PortConfig& port = config_.engine.ports[number];
      const auto facts = host_.interfaces.find(port.interface);
      if (port.mtu != 0 || facts == host_.interfaces.end()) return std::uint32_t{port.mtu};
      return facts->second.mtu;
    };
    const std::uint32_t a = mtu_of(wire.port_a), b = mtu_of(wire.port_b);
    if (a == 0 || b == 0 || a == b) continue;
    const bool is_a_smaller = a < b;
    const PortConfig& smaller = config_.engine.ports[is_a_smaller ? wire.port_a : wire.port_b];
    say(Level::kProblem, "wire " + wire.name,
        fmt::format("its ports have MTU {} and {}: larger frames can't leave by {}", a, b,
                    smaller.name),
        smaller.interface.empty()
            ? std::string("set mtu of both ports")
            : fmt::format("ip link set {} mtu {}", smaller.interface, std::max(a, b)));
  }
}

void Doctor::look_at_folders() {
  constexpr std::uint64_t kFewBytes = 256 * kMib;
  for (const auto& [path, facts] : host_.folders) {
    if (!facts.exists) {
      say(Level::kProblem, "files", fmt::format("there is no folder {}", path),
          fmt::format("install -d -m 0750 {}", path));
    } else if (!facts.is_writable) {
      say(Level::kProblem, "files", fmt::format("{} can't be written", path),
          fmt::format("chown $(id -un) {}", path));
    } else if (facts.free_size < kFewBytes) {
      say(Level::kAdvice, "files",
          fmt::format("{} has {} MiB free: events are lost when it is full", path,
                      facts.free_size / kMib),
          fmt::format("du -xhd1 {}", path));
    } else {
      say(Level::kGood, "files", fmt::format("{} can be written", path));
    }
  }
}

std::string text_of(const std::vector<Diagnosis>& found) {
  std::string out;
  for (const Diagnosis& d : found) {
    out += fmt::format("{:<8} {:<12} {}\n", level_name(d.level), d.topic, d.text);
    if (!d.mend.empty()) out += fmt::format("{:<22}{}\n", "", d.mend);
  }
  return out;
}

std::string json_of(const std::vector<Diagnosis>& found, bool is_lines) {
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::string lines;
  for (const Diagnosis& d : found) {
    nlohmann::ordered_json one{
        {"level", level_name(d.level)}, {"topic", d.topic}, {"text", d.text}};
    if (!d.mend.empty()) one["mend"] = d.mend;
    lines += one.dump(-1, ' ', false, kReplace) + "\n";
    all.push_back(std::move(one));
  }
  return is_lines ? lines : all.dump(2, ' ', false, kReplace) + "\n";
}

}  // namespace

std::string_view level_name(Level level) noexcept {
  constexpr std::string_view kNames[] = {"ok", "advice", "problem"};
  return kNames[static_cast<std::size_t>(level)];
}

std::vector<Diagnosis> diagnose(const LoadedConfig& config, const HostFacts& host) {
  return Doctor(config, host).run();
}

int run_doctor(const DoctorOptions& options) {
  constexpr int kProblems = 3;
  const LoadResult loaded = load_file(options.config_file);
  if (!loaded.config) {
    std::fputs(
        format_findings(loaded.errors, {}, loaded.bundle,
                        {.use_colour = isatty(2) != 0, .outcome = "the host was not looked at"})
            .c_str(),
        stderr);
    return kProblems;
  }
  const std::vector<Diagnosis> found = diagnose(*loaded.config, read_host(*loaded.config));
  const bool is_json = options.output.starts_with("json");
  std::fputs((is_json ? json_of(found, options.output == "jsonl") : text_of(found)).c_str(),
             stdout);
  const bool is_ill =
      std::ranges::any_of(found, [](const Diagnosis& d) { return d.level == Level::kProblem; });
  return is_ill ? kProblems : 0;
}

}  // namespace merlon::control
