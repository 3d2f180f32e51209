// SPDX-License-Identifier: Apache-2.0
// Facts of this host for `merlon doctor`.
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "merlon/control/doctor.h"
#include "merlon/io/pci.h"

namespace merlon::control {
namespace {

using engine::PortConfig;
namespace fs = std::filesystem;

// Empty when the file can't be read.
std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string first_word(const std::string& text) {
  std::istringstream in(text);
  std::string word;
  in >> word;
  return word;
}

std::optional<std::uint64_t> number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (problem != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// "0,2-5" as the kernel writes lists of processors.
std::vector<unsigned> cpu_list(const std::string& text) {
  constexpr std::uint64_t kMaxCpu = 4096;
  std::vector<unsigned> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    const std::size_t dash = part.find('-');
    const auto first = number(part);
    const auto last = dash == std::string::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last > kMaxCpu) continue;
    for (std::uint64_t cpu = *first; cpu <= *last; ++cpu) out.push_back(static_cast<unsigned>(cpu));
  }
  return out;
}

std::vector<unsigned> allowed_cpus() {
  std::vector<unsigned> out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  return out;
}

// The tightest limit of our control group and those above it (version 2).
std::optional<double> cpu_quota(const std::string& root) {
  std::string group = first_word(read_text(root + "/proc/self/cgroup"));
  if (!group.starts_with("0::")) return std::nullopt;
  group.erase(0, 3);
  std::optional<double> least;
  for (;;) {
    std::istringstream in(read_text(root + "/sys/fs/cgroup" + group + "/cpu.max"));
    double quota = 0, period = 0;
    if (in >> quota >> period && period > 0) least = std::min(least.value_or(1e9), quota / period);
    const std::size_t slash = group.rfind('/');
    if (group.size() <= 1 || slash == std::string::npos) return least;
    group.erase(slash);
  }
}

// A line's number behind "NAME:", in the file's own unit.
std::uint64_t field(const std::string& text, const std::string& name, int base = 10) {
  const std::size_t at = text.find(name + ":");
  if (at == std::string::npos) return 0;
  const std::size_t begin = text.find_first_not_of(" \t", at + name.size() + 1);
  return begin == std::string::npos
             ? 0
             : number(std::string_view(text).substr(begin), base).value_or(0);
}

void read_rights(const std::string& root, HostFacts& host) {
  constexpr unsigned kNetAdmin = 12, kNetRaw = 13;  // linux/capability.h
  host.is_root = ::geteuid() == 0;
  const std::uint64_t effective = field(read_text(root + "/proc/self/status"), "CapEff", 16);
  host.can_send_raw = (effective >> kNetRaw & 1) != 0;
  host.can_administer = (effective >> kNetAdmin & 1) != 0;
}

bool has_lro(const std::string& name) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  ethtool_value value{.cmd = ETHTOOL_GFLAGS, .data = 0};
  ifreq request{};
  std::copy_n(name.data(), std::min<std::size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
  request.ifr_data = reinterpret_cast<char*>(&value);
  const bool is_known = ::ioctl(fd, SIOCETHTOOL, &request) == 0;
  ::close(fd);
  return is_known && (value.data & ETH_FLAG_LRO) != 0;
}

std::vector<std::string> addresses_of(const std::string& name) {
  std::vector<std::string> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* a = all; a != nullptr; a = a->ifa_next) {
    if (a->ifa_addr == nullptr || name != a->ifa_name) continue;
    const int family = a->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, NI_MAXHOST> text{};
    const auto size =
        static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (::getnameinfo(a->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
      out.emplace_back(text.data());
  }
  ::freeifaddrs(all);
  return out;
}

std::optional<InterfaceFacts> read_interface(const std::string& root, const std::string& name) {
  const std::string folder = root + "/sys/class/net/" + name;
  std::error_code problem;
  if (!fs::exists(folder, problem)) return std::nullopt;
  InterfaceFacts facts;
  std::string flags = first_word(read_text(folder + "/flags"));
  if (flags.starts_with("0x")) flags.erase(0, 2);
  facts.is_up = (number(flags, 16).value_or(0) & IFF_UP) != 0;
  facts.has_carrier = first_word(read_text(folder + "/carrier")) == "1";
  facts.mtu = static_cast<std::uint32_t>(number(read_text(folder + "/mtu")).value_or(0));
  const std::string target = fs::read_symlink(folder, problem).string();
  facts.is_virtual = target.find("/virtual/") != std::string::npos;
  facts.has_lro = has_lro(name);
  facts.addresses = addresses_of(name);
  return facts;
}

// Of a folder that is not there yet, but is made at start: what holds of the one it is made in.
FolderFacts read_folder(fs::path path, bool is_made_at_start) {
  std::error_code problem;
  while (is_made_at_start && path.has_relative_path() && !fs::exists(path, problem))
    path = path.parent_path();
  FolderFacts facts;
  facts.exists = fs::is_directory(path, problem);
  facts.is_writable = facts.exists && ::access(path.c_str(), W_OK | X_OK) == 0;
  struct statvfs space {};
  if (::statvfs(path.c_str(), &space) == 0)
    facts.free_size = std::uint64_t{space.f_bavail} * space.f_frsize;
  return facts;
}

void read_cores(const LoadedConfig& config, const std::string& root, HostFacts& host) {
  const std::string all = root + "/sys/devices/system/cpu/";
  host.cpus = allowed_cpus();
  host.isolated = cpu_list(first_word(read_text(all + "isolated")));
  host.cpu_quota = cpu_quota(root);
  for (const unsigned core : config.engine.worker_cores) {
    const std::string one = all + "cpu" + std::to_string(core) + "/";
    if (std::string word = first_word(read_text(one + "cpufreq/scaling_governor")); !word.empty())
      host.governors[core] = std::move(word);
    host.siblings[core] = cpu_list(first_word(read_text(one + "topology/thread_siblings_list")));
  }
  const std::string processors = read_text(root + "/proc/cpuinfo");
  const bool tells_flags = processors.find("\nflags") != std::string::npos;
  host.has_steady_tsc = !tells_flags || (processors.find(" constant_tsc") != std::string::npos &&
                                         processors.find(" nonstop_tsc") != std::string::npos);
}

}  // namespace

HostFacts read_host(const LoadedConfig& config, const std::string& root) {
  constexpr std::uint64_t kKib = 1024;
  HostFacts host;
  read_cores(config, root, host);
  read_rights(root, host);
  const std::string memory = read_text(root + "/proc/meminfo");
  host.memory_available = field(memory, "MemAvailable") * kKib;
  host.huge_free = field(memory, "HugePages_Free") * field(memory, "Hugepagesize") * kKib;
  timex clock{};
  if (const int state = ::adjtimex(&clock); state >= 0)
    host.is_clock_synchronised = state != TIME_ERROR;
  if (const auto backlog = number(read_text(root + "/proc/sys/net/core/netdev_max_backlog")))
    host.backlog = static_cast<std::uint32_t>(*backlog);
  for (const PortConfig& port : config.engine.ports) {
    if (port.type == PortConfig::Type::kInterface) {
      if (auto facts = read_interface(root, port.interface))
        host.interfaces[port.interface] = std::move(*facts);
    } else if (port.type == PortConfig::Type::kPci) {
      const std::string address = io::full_pci_address(port.pci_address);
      if (const auto device = io::read_pci_device(address, root + "/sys"))
        host.pci_drivers[address] = device->driver;
    }
  }
  host.folders[config.state_directory] = read_folder(config.state_directory, true);
  const std::string run = fs::path(config.api.socket).parent_path().string();
  host.folders[run] = read_folder(run, false);
  // A socket holds no bytes: the file system's room does not matter.
  if (run != config.state_directory) host.folders[run].free_size = ~0ULL;
  if (config.events.file) {
    const std::string logs = fs::path(config.events.file->path).parent_path().string();
    host.folders[logs] = read_folder(logs, false);
  }
  return host;
}

}  // namespace merlon::control
