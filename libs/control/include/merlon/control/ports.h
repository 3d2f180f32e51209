// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens the ports that a configuration names: capture files and kernel interfaces natively, cards
// and device strings through DPDK, which is started only when there are some. control-only; once
// per process.
#include <chrono>
#include <memory>
#include <span>

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

// Waits until the links of all ports are up, `patience` at most for all together, so that traffic
// passes as soon as the daemon says that it runs; logs whose it waits for. Links that another
// program brings (memif, vhost) may come at any time and are not waited for.
void wait_for_links(std::span<const std::unique_ptr<io::Port>> ports,
                    std::chrono::milliseconds patience = std::chrono::seconds(2));

}  // namespace merlon::control
