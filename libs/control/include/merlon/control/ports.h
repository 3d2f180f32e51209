// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens the ports that a configuration names: capture files and kernel interfaces natively, cards
// and device strings through DPDK, which is started only when there are some. control-only; once
// per process.
#include "merlon/control/runtime.h"

namespace merlon::control {

struct PortOptions {
  std::string instance;                    // names this daemon among several; empty: the process id
  bool may_bind = false;                   // bind NICs to their driver ourselves
  std::vector<std::string> eal_arguments;  // for DPDK's EAL, as they are
};

// All ports share one kind of packet memory: native, or DPDK's where a port needs it. kUnsupported
// for capture files beside DPDK ports.
PortFactory live_ports(PortOptions options);

}  // namespace merlon::control
