// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small translations that the parts of DaemonView share.
#include "merlon/control/api_rows.h"
#include "merlon/engine/config.h"

namespace merlon::control {

// Addresses, ports and protocol of a kept packet, by the parser; nothing where it can't be parsed.
// The outer VLAN id comes back.
std::uint16_t fill_endpoints(DroppedPacket& packet, const engine::EngineConfig& config);

}  // namespace merlon::control
