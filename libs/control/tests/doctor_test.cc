// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/doctor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "temporary_folder.h"

namespace merlon::control {
namespace {

using Level = Diagnosis::Level;

LoadedConfig config_of(const std::string& more = "workers: {count: 2, cores: [2, 3]}\n") {
  LoadResult loaded = load_bundle(Bundle::of(
      "version: 1\n" + more +
          "ports:\n  lan: {interface: eth1}\n  wan: {interface: eth2}\nwires:\n  "
          "office: {ports: [lan, wan]}\npolicy:\n  rules:\n    - {id: a, action: permit}\n",
      "test.yaml"));
  EXPECT_TRUE(loaded.config);
  return std::move(*loaded.config);
}

// A host about which there is nothing to say.
HostFacts sound_host() {
  HostFacts host;
  host.cpus = {0, 1, 2, 3};
  host.isolated = {2, 3};
  host.governors = {{2, "performance"}, {3, "performance"}};
  host.siblings = {{2, {2}}, {3, {3}}};
  host.memory_available = 8ULL << 30;
  host.can_send_raw = host.can_administer = true;
  host.is_clock_synchronised = true;
  host.backlog = 1000;
  const InterfaceFacts up{.is_up = true,
                          .has_carrier = true,
                          .is_virtual = false,
                          .has_lro = false,
                          .mtu = 1500,
                          .addresses = {}};
  host.interfaces = {{"eth1", up}, {"eth2", up}};
  host.folders = {
      {"/var/lib/merlon", {.exists = true, .is_writable = true, .free_size = 8ULL << 30}}};
  return host;
}

// All that is not good, one line each.
std::string complaints(const HostFacts& host, const LoadedConfig& config = config_of()) {
  std::string out;
  for (const Diagnosis& d : diagnose(config, host))
    if (d.level != Level::kGood)
      out +=
          std::string(level_name(d.level)) + " " + d.topic + ": " + d.text + " | " + d.mend + "\n";
  return out;
}

TEST(Doctor, FindsNothingOnASoundHost) { EXPECT_EQ(complaints(sound_host()), ""); }

TEST(Doctor, Cores) {
  HostFacts host = sound_host();
  host.cpus = {0, 2};
  EXPECT_EQ(complaints(host),
            "advice cores: 2 workers on 2 processors: commits and events take time from packets | "
            "set workers.count to 1\n"
            "problem cores: workers.cores names 3, which this host has not or does not allow | "
            "choose from 0,2\n");
  host = sound_host();
  host.cpus = {2};
  EXPECT_NE(complaints(host).find("problem cores: 2 workers share 1 processor:"),
            std::string::npos);
  host = sound_host();
  host.isolated = {3};
  host.governors[3] = "powersave";
  EXPECT_EQ(complaints(host),
            "advice cores: other work may run on the workers' cores 2 | kernel command line: "
            "isolcpus=2 nohz_full=2\n"
            "advice cores: the workers' cores 3 save power at the price of speed | cpupower -c 3 "
            "frequency-set -g performance\n");
  host = sound_host();
  host.siblings = {{2, {2, 3}}, {3, {2, 3}}};
  EXPECT_EQ(complaints(host),
            "advice cores: workers on 2 and 3 are two threads of one core | choose cores that "
            "share none: lscpu -e\n");
  EXPECT_EQ(complaints(sound_host(), config_of("workers: {count: 2}\n")),
            "advice cores: workers have no cores of their own: anything may delay them | set "
            "workers.cores\n");
}

TEST(Doctor, QuotaStopsWorkers) {
  HostFacts host = sound_host();
  host.cpu_quota = 2.5;
  EXPECT_EQ(complaints(host), "");
  host.cpu_quota = 2.0;
  EXPECT_NE(complaints(host).find("the control group allows 2.0 processors' time"),
            std::string::npos);
}

TEST(Doctor, ClockAndMemory) {
  HostFacts host = sound_host();
  host.has_steady_tsc = false;
  host.is_clock_synchronised = false;
  host.memory_available = 1 << 20;
  const std::string said = complaints(host);
  EXPECT_NE(said.find("problem clock: the processor's time stamp counter is not steady"),
            std::string::npos);
  EXPECT_NE(said.find("advice clock"), std::string::npos);
  EXPECT_NE(said.find("problem memory: sessions and policy may take"), std::string::npos) << said;
  host = sound_host();
  host.is_clock_synchronised.reset();  // not known: nothing is said
  EXPECT_EQ(complaints(host), "");
}

TEST(Doctor, Interfaces) {
  HostFacts host = sound_host();
  host.interfaces["eth1"].is_up = false;
  host.interfaces["eth2"].has_carrier = false;
  host.interfaces["eth2"].has_lro = true;
  host.interfaces["eth2"].addresses = {"192.0.2.1"};
  EXPECT_EQ(complaints(host),
            "problem port lan: eth1 is down | ip link set eth1 up\n"
            "problem port wan: eth2 has no link | \n"
            "advice port wan: eth2 has the address 192.0.2.1: this host answers beside the "
            "firewall | ip addr flush dev eth2\n"
            "problem port wan: eth2 joins received segments (LRO); they can't be sent as they came "
            "| ethtool -K eth2 lro off\n");
  host = sound_host();
  host.interfaces.erase("eth1");
  EXPECT_EQ(complaints(host),
            "problem port lan: there is no network interface eth1 | ip -br link lists them\n");
  host = sound_host();
  host.interfaces["eth1"].is_virtual = true;
  EXPECT_NE(complaints(host).find("sysctl -w net.core.netdev_max_backlog=16384"),
            std::string::npos);
  host.backlog = 16384;
  EXPECT_EQ(complaints(host), "");
}

TEST(Doctor, WireWithUnequalPorts) {
  HostFacts host = sound_host();
  host.interfaces["eth1"].mtu = 9000;
  EXPECT_EQ(complaints(host),
            "problem wire office: its ports have MTU 9000 and 1500: larger frames can't leave by "
            "wan | ip link set eth2 mtu 9000\n");
}

TEST(Doctor, Rights) {
  HostFacts host = sound_host();
  host.can_administer = false;
  EXPECT_NE(complaints(host).find("problem rights: `interface` ports need CAP_NET_RAW"),
            std::string::npos);
}

TEST(Doctor, Cards) {
  const LoadResult loaded =
      load_bundle(Bundle::of("version: 1\nworkers: {count: 1, cores: [2]}\nports:\n  lan: {pci: "
                             "\"0000:3b:00.0\", driver: vfio-pci}\ntaps: lan\n",
                             "test.yaml"));
  ASSERT_TRUE(loaded.config);
  const LoadedConfig& config = *loaded.config;
  HostFacts host = sound_host();
  host.is_root = true;
  host.huge_free = 1ULL << 30;
  EXPECT_NE(complaints(host, config).find("problem port lan: there is no PCI device"),
            std::string::npos);
  host.pci_drivers["0000:3b:00.0"] = "ixgbe";
  EXPECT_NE(complaints(host, config).find("dpdk-devbind.py -b vfio-pci"), std::string::npos);
  host.pci_drivers["0000:3b:00.0"] = "vfio-pci";
  EXPECT_EQ(complaints(host, config), "");
  host.huge_free = 0;
  EXPECT_NE(complaints(host, config).find("echo 128 >/proc/sys/vm/nr_hugepages"),
            std::string::npos);
  host.is_root = false;
  EXPECT_NE(complaints(host, config).find("problem rights: `pci` ports need root"),
            std::string::npos);
}

TEST(Doctor, Folders) {
  HostFacts host = sound_host();
  host.folders = {{"/a", {}},
                  {"/b", {.exists = true, .is_writable = false, .free_size = 1}},
                  {"/c", {.exists = true, .is_writable = true, .free_size = 5 << 20}}};
  EXPECT_EQ(complaints(host),
            "problem files: there is no folder /a | install -d -m 0750 /a\n"
            "problem files: /b can't be written | chown $(id -un) /b\n"
            "advice files: /c has 5 MiB free: events are lost when it is full | du -xhd1 /c\n");
}

class HostReading : public testing::Test {
 protected:
  HostReading() { std::filesystem::create_directories(folder_.path()); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] HostFacts read(const LoadedConfig& config = config_of()) const {
    return read_host(config, folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(HostReading, Cores) {
  write("/sys/devices/system/cpu/isolated", "1,3-5\n");
  write("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n");
  write("/sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "3,7\n");
  write("/proc/self/cgroup", "0::/system.slice/merlon.service\n");
  write("/sys/fs/cgroup/system.slice/merlon.service/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/system.slice/cpu.max", "250000 100000\n");
  write("/proc/cpuinfo", "processor: 0\nflags : fpu tsc constant_tsc\n");
  const HostFacts host = read();
  EXPECT_FALSE(host.cpus.empty());
  EXPECT_EQ(host.isolated, (std::vector<unsigned>{1, 3, 4, 5}));
  EXPECT_EQ(host.governors, (std::map<unsigned, std::string>{{2, "powersave"}}));
  EXPECT_EQ(host.siblings.at(3), (std::vector<unsigned>{3, 7}));
  EXPECT_EQ(host.cpu_quota, 2.5);
  EXPECT_FALSE(host.has_steady_tsc);
}

TEST_F(HostReading, MemoryRightsAndInterfaces) {
  write(
      "/proc/meminfo",
      "MemTotal: 9 kB\nMemAvailable:    4096 kB\nHugePages_Free:       3\nHugepagesize: 2048 kB\n");
  write("/proc/self/status", "CapPrm:\t0\nCapEff:\t0000000000002000\n");
  write("/proc/sys/net/core/netdev_max_backlog", "1000\n");
  write("/sys/devices/virtual/net/eth1/flags", "0x1003\n");
  write("/sys/devices/virtual/net/eth1/carrier", "1\n");
  write("/sys/devices/virtual/net/eth1/mtu", "1500\n");
  std::filesystem::create_directories(folder_.path() + "/sys/class/net");
  std::filesystem::create_directory_symlink("../../devices/virtual/net/eth1",
                                            folder_.path() + "/sys/class/net/eth1");
  const HostFacts host = read();
  EXPECT_EQ(host.memory_available, 4U << 20);
  EXPECT_EQ(host.huge_free, 6U << 20);
  EXPECT_TRUE(host.can_send_raw);
  EXPECT_FALSE(host.can_administer);
  EXPECT_EQ(host.backlog, 1000U);
  ASSERT_EQ(host.interfaces.size(), 1U);
  const InterfaceFacts& lan = host.interfaces.at("eth1");
  EXPECT_TRUE(lan.is_up && lan.has_carrier && lan.is_virtual);
  EXPECT_EQ(lan.mtu, 1500U);
}

TEST_F(HostReading, FoldersAreTheConfigurations) {
  LoadedConfig config = config_of();
  config.state_directory = folder_.path() + "/not/yet";
  config.api.socket = folder_.path() + "/run/api.sock";
  config.events.file.emplace().path = folder_.path() + "/eve.json";
  const HostFacts host = read(config);
  EXPECT_TRUE(host.folders.at(config.state_directory).is_writable);  // it is made at start
  EXPECT_FALSE(host.folders.at(folder_.path() + "/run").exists);
  EXPECT_TRUE(host.folders.at(folder_.path()).exists);
}

TEST_F(HostReading, AnEmptyHostSaysNothing) {
  const HostFacts host = read();
  EXPECT_TRUE(host.isolated.empty());
  EXPECT_FALSE(host.cpu_quota);
  EXPECT_FALSE(host.backlog);
  EXPECT_TRUE(host.has_steady_tsc);
  EXPECT_EQ(host.memory_available, 0U);
  EXPECT_TRUE(host.interfaces.empty());
}

}  // namespace
}  // namespace merlon::control
