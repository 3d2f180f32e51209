// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens the ports that a configuration names: capture files natively, everything else through DPDK,
// which is started when the first such port is met. control-only; once per process.
#include "merlon/control/runtime.h"

namespace merlon::control {

struct PortOptions {
  std::string instance;                    // names this daemon among several; empty: the process id
  bool may_bind = false;                   // bind NICs to their driver ourselves
  std::vector<std::string> eal_arguments;  // for DPDK's EAL, as they are
};

// kUnsupported for a mix of capture files and DPDK ports: their packet buffers differ.
PortFactory live_ports(PortOptions options);

}  // namespace merlon::control
