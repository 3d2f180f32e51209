// SPDX-License-Identifier: Apache-2.0
#pragma once
// `merlon doctor`: is this host fit for that configuration? Reading the host and judging it are
// apart, so that every judgement is tested on made-up facts. control-only; changes nothing.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/control/config_load.h"

namespace merlon::control {

struct InterfaceFacts {
  bool is_up = false;        // set up by the administrator
  bool has_carrier = false;  // and a cable, or a partner, is there
  bool is_virtual = false;   // no hardware behind it: veth, tap, bridge
  bool has_lro = false;      // received segments are joined so that they can't be sent as they came
  std::uint32_t mtu = 0;
  std::vector<std::string> addresses;  // of the host, in text
};

struct FolderFacts {
  bool exists = false, is_writable = false;
  std::uint64_t free_size = 0;  // bytes
};

// What matters of a host. Of what can't be read nothing is said: an optional is empty, a list too.
struct HostFacts {
  std::vector<unsigned> cpus;      // this process may run on
  std::vector<unsigned> isolated;  // kept free of other work (isolcpus)
  std::map<unsigned, std::string> governors;
  std::map<unsigned, std::vector<unsigned>> siblings;  // threads of one core, itself among them
  std::optional<double> cpu_quota;                     // processors that the control group allows
  std::uint64_t memory_available = 0;                  // bytes; 0: not known
  std::uint64_t huge_free = 0;                         // bytes in free huge pages
  bool is_root = false, can_send_raw = false, can_administer = false;
  bool has_steady_tsc = true;
  std::optional<bool> is_clock_synchronised;
  std::optional<std::uint32_t> backlog;  // net.core.netdev_max_backlog
  std::map<std::string, InterfaceFacts> interfaces;
  std::map<std::string, std::string> pci_drivers;  // by full address
  std::map<std::string, FolderFacts> folders;      // those that the configuration names
};

// Reads the facts that `config` makes interesting. `root` is put before /proc and /sys paths.
HostFacts read_host(const LoadedConfig& config, const std::string& root = {});

struct Diagnosis {
  // Advice: it works, but could be better. Problem: it doesn't work, or not as configured.
  enum class Level : std::uint8_t { kGood, kAdvice, kProblem } level = Level::kGood;
  std::string topic;  // "cores", "port lan", "memory"
  std::string text;
  std::string mend;  // the command that mends it; empty where there is none
};

std::vector<Diagnosis> diagnose(const LoadedConfig& config, const HostFacts& host);
std::string_view level_name(Diagnosis::Level level) noexcept;

struct DoctorOptions {
  std::string config_file;
  std::string output = "text";  // or "json", "jsonl"; other words are text
};
// 0: no problem, advice at most; 3: problems, or the configuration has errors.
int run_doctor(const DoctorOptions& options);

}  // namespace merlon::control
