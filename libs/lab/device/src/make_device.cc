// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "drivers.h"
#include "layout.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_device/device.h"
#include "merlon/lab_host/run_registry.h"

namespace merlon::lab {
namespace {

using Names = std::vector<std::string>;

// Topologies with a device between two kernel links; the first one is what an empty name means.
const Names& link_paths() {
  static const Names kNames{"path7", "path1", "path2", "path3",  "path4", "path5",
                            "path6", "path8", "path9", "path10", "chain3"};
  return kNames;
}

// How the tester may hold kernel interfaces; option tester_port.
const Names& tester_ports() {
  static const Names kNames{"native", "af_packet", "af_xdp"};
  return kNames;
}

Names with(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

struct Maker {
  DriverInfo info;
  std::unique_ptr<Device> (*make)(const DeviceSpec&);
};

const std::vector<Maker>& makers() {
  static const std::vector<Maker> kAll{
      {{"null", {"veth"}, {"direct", "path11"}, {"a cable: veth pair", "кабель: пара veth"}},
       make_cable},
      {{"bridge", {"linux"}, with(link_paths(), {"tap"}), {"Linux bridge", "мост Linux"}},
       make_bridge},
      {{"nftables",
        {"linear", "set", "ct", "routed", "routed-set", "routed-ct"},
        with(link_paths(), {"tap"}),
        {"Linux bridge or router with nftables rules",
         "мост или маршрутизатор Linux с правилами nftables"}},
       make_nftables},
      {{"ovs",
        {"normal", "openflow", "conntrack"},
        with(link_paths(), {"tap"}),
        {"Open vSwitch in user space", "Open vSwitch в пространстве пользователя"}},
       make_ovs},
      {{"ovs-kernel",
        {"normal", "openflow", "conntrack"},
        with(link_paths(), {"tap"}),
        {"Open vSwitch with the kernel's datapath", "Open vSwitch с коммутацией в ядре"}},
       make_ovs},
      {{"ovs-dpdk",
        {"normal", "openflow", "conntrack"},
        with(link_paths(), {"vhost"}),
        {"Open vSwitch with DPDK", "Open vSwitch с DPDK"}},
       make_ovs},
      {{"merlon",
        {"wire", "tap"},
        with(link_paths(), {"tap", "memif", "vhost"}),
        {"Merlon", "Merlon"}},
       make_merlon},
      {{"testpmd",
        {"io", "mac", "macswap"},
        with(link_paths(), {"tap", "memif", "vhost", "virtio", "loopback"}),
        {"dpdk-testpmd: the limit of a port", "dpdk-testpmd: предел порта"}},
       make_testpmd},
      {{"external",
        {"command"},
        link_paths(),
        {"any program, by commands of your own", "любая программа, по вашим командам"}},
       make_external},
  };
  return kAll;
}

base::Error unknown(const std::string& what, const std::string& name, const Names& known) {
  std::string list;
  for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
  return make_error(base::Errc::kInvalidValue, "\"" + name + "\" is no " + what,
                    "choose one of: " + list);
}

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

base::Result<std::unique_ptr<Device>> make_device(const DeviceSpec& wanted) {
  const Maker* maker = nullptr;
  Names known;
  for (const Maker& m : makers()) {
    if (m.info.name == wanted.driver) maker = &m;
    known.push_back(m.info.name);
  }
  if (maker == nullptr) return unknown("driver", wanted.driver, known);
  DeviceSpec spec = wanted;
  if (spec.mode.empty()) spec.mode = maker->info.modes.front();
  if (spec.topology.empty()) spec.topology = maker->info.topologies.front();
  if (!has(maker->info.modes, spec.mode)) {
    return unknown("mode of " + spec.driver, spec.mode, maker->info.modes);
  }
  if (!find_layout(spec.topology)) return unknown("topology", spec.topology, layout_names());
  if (!has(maker->info.topologies, spec.topology)) {
    return unknown("topology for " + spec.driver, spec.topology, maker->info.topologies);
  }
  if (!has({"host", "namespace", "vm"}, spec.place)) {
    return unknown("place", spec.place, {"host", "namespace", "vm"});
  }
  if (const auto port = spec.options.find("tester_port");
      port != spec.options.end() && !has(tester_ports(), port->second)) {
    return unknown("tester_port", port->second, tester_ports());
  }
  return maker->make(spec);
}

const std::vector<DriverInfo>& drivers() {
  static const std::vector<DriverInfo> kAll = [] {
    std::vector<DriverInfo> infos;
    for (const Maker& m : makers()) infos.push_back(m.info);
    return infos;
  }();
  return kAll;
}

std::vector<std::string> clean_leftovers() { return remove_dead_runs(); }

}  // namespace merlon::lab
