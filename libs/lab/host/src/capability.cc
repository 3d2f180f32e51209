// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/capability.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "merlon/lab_host/command.h"
#include "merlon/lab_host/file.h"

namespace merlon::lab {
namespace {

namespace fs = std::filesystem;

Capability there(std::string name) {
  Capability c;
  c.name = std::move(name);
  c.is_there = true;
  return c;
}

Capability missing(std::string name, std::string en, std::string ru) {
  Capability c;
  c.name = std::move(name);
  c.reason.en = std::move(en);
  c.reason.ru = std::move(ru);
  return c;
}

std::string kernel_release() { return read_line("/proc/sys/kernel/osrelease"); }

}  // namespace

Capability probe_root() {
  if (::geteuid() == 0) return there("root");
  return missing("root", "network namespaces need root; run it with sudo",
                 "для сетевых пространств имён нужен root; запустите через sudo");
}

Capability probe_program(const std::string& program, const std::string& package) {
  const std::string name = "program " + program;
  if (!find_program(program).empty()) return there(name);
  const std::string install = "apt-get install " + package;
  if (package.empty()) return missing(name, program + " is not there", "нет программы " + program);
  return missing(name, program + " is not installed: " + install,
                 program + " не установлена: " + install);
}

Capability probe_module(const std::string& module) {
  const std::string name = "module " + module;
  std::error_code problem;
  if (fs::exists("/sys/module/" + module, problem)) return there(name);
  if (!find_program("modprobe").empty()) {
    const auto answer = run_to_end({"modprobe", "--dry-run", "--quiet", module});
    if (answer.ok() && answer->exit_code == 0) return there(name);
  }
  const std::string kernel = kernel_release();
  return missing(
      name, "the running kernel " + kernel + " has no module " + module + ": boot one that has",
      "в ядре " + kernel + " нет модуля " + module + ": загрузите ядро, в котором он есть");
}

Capability probe_device_node(const std::string& path, const Text& without) {
  // The node may be there without a driver behind it.
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    ::close(fd);
    return there(path);
  }
  return missing(path, without.en, without.ru);
}

unsigned free_huge_mib(const std::string& sysfs) {
  std::uint64_t kib = 0;
  std::error_code problem;
  for (fs::directory_iterator it(sysfs + "/kernel/mm/hugepages", problem), end;
       !problem && it != end; it.increment(problem)) {
    // "hugepages-2048kB"
    const std::string name = it->path().filename().string();
    const std::size_t dash = name.find('-'), unit = name.find("kB");
    if (dash == std::string::npos || unit == std::string::npos || unit <= dash + 1) continue;
    const auto size = parse_count(std::string_view(name).substr(dash + 1, unit - dash - 1));
    const auto pages = parse_count(read_line(it->path().string() + "/free_hugepages"));
    kib += size.value_or(0) * pages.value_or(0);
  }
  return static_cast<unsigned>(kib / 1024);
}

Capability probe_huge_pages(unsigned mib, const std::string& sysfs) {
  const std::string name = "huge pages of " + std::to_string(mib) + " MiB";
  const unsigned free = free_huge_mib(sysfs);
  if (free >= mib) return there(name);
  const std::string mend = "echo " + std::to_string((mib + 1) / 2) + " >/proc/sys/vm/nr_hugepages";
  return missing(name,
                 "needs " + std::to_string(mib) + " MiB of free huge pages, there are " +
                     std::to_string(free) + ": " + mend,
                 "нужно " + std::to_string(mib) + " МиБ свободных больших страниц, есть " +
                     std::to_string(free) + ": " + mend);
}

Capability probe_af_xdp() {
  const int fd = ::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    ::close(fd);
    return there("AF_XDP");
  }
  return missing("AF_XDP", "the kernel gives no AF_XDP sockets (CONFIG_XDP_SOCKETS, root)",
                 "ядро не даёт сокетов AF_XDP (CONFIG_XDP_SOCKETS, root)");
}

Capability probe_kvm() {
  return probe_device_node(
      "/dev/kvm", {"there is no /dev/kvm: switch virtualization on in the firmware, or in the host "
                   "when this machine is itself a guest",
                   "нет /dev/kvm: включите виртуализацию в прошивке или, если эта машина сама "
                   "гость, на хосте"});
}

Capability probe_bridge_conntrack() {
  const std::string name = "conntrack in the bridge family";
  const auto answer =
      run_to_end({"unshare", "--net", "nft",
                  "add table bridge lab; add chain bridge lab forward { type filter hook forward "
                  "priority 0; }; add rule bridge lab forward ct state established accept"});
  if (answer.ok() && answer->exit_code == 0) return there(name);
  return missing(name,
                 "the kernel has no connection tracking for bridges: modprobe nf_conntrack_bridge",
                 "в ядре нет отслеживания соединений для мостов: modprobe nf_conntrack_bridge");
}

std::vector<Capability> probe_host() {
  std::vector<Capability> all{probe_root(),
                              probe_kvm(),
                              probe_af_xdp(),
                              probe_huge_pages(1024),
                              probe_module("openvswitch"),
                              probe_module("vhost_net")};
  for (const auto& [program, package] :
       {std::pair{"ip", "iproute2"}, std::pair{"nft", "nftables"},
        std::pair{"ovs-vswitchd", "openvswitch-switch"}, std::pair{"dpdk-testpmd", "dpdk-dev"},
        std::pair{"qemu-system-x86_64", "qemu-system-x86"}}) {
    all.push_back(probe_program(program, package));
  }
  if (probe_root().is_there && !find_program("nft").empty())
    all.push_back(probe_bridge_conntrack());
  return all;
}

}  // namespace merlon::lab
