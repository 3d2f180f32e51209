// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this host can do: rights, programs, kernel parts, memory. Each answer that is no carries its
// reason in both report languages with the command that mends it, where there is one. Cheap,
// changes nothing but where said.
#include <string>
#include <vector>

#include "merlon/lab_model/run.h"

namespace merlon::lab {

struct Capability {
  std::string name;  // "root", "program ovs-vswitchd", "module openvswitch", ...
  bool is_there = false;
  Text reason;  // why not; empty when it is there
};

Capability probe_root();
// `package`: what brings it on Debian; empty: nothing that can be named.
Capability probe_program(const std::string& program, const std::string& package);
// Loaded, built in, or loadable by modprobe (asked with --dry-run).
Capability probe_module(const std::string& module);
Capability probe_device_node(const std::string& path, const Text& without);
// Free huge pages of 2 MiB and 1 GiB together.
unsigned free_huge_mib(const std::string& sysfs = "/sys");
Capability probe_huge_pages(unsigned mib, const std::string& sysfs = "/sys");
Capability probe_af_xdp();
Capability probe_kvm();
// Connection tracking in nftables' bridge family, tried in a namespace of this thread's own that is
// gone afterwards.
Capability probe_bridge_conntrack();

// All of the above, for `merlon lab list` and the environment's page.
std::vector<Capability> probe_host();

}  // namespace merlon::lab
