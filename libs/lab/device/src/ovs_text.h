// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flows that the ovs driver loads, and what ovs-appctl and ovs-ofctl print. Pure functions.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "merlon/lab_device/device.h"

namespace merlon::lab {

// Lines of a flow file. `mode`: normal, openflow, conntrack. `last`: the action of the allow,
// "NORMAL" by custom. Drops of the oracle carry cookie 1, those of rules that don't match cookie 2.
std::string ovs_flows(const std::string& mode, const RuleSet& rules, const std::string& last);

using NamedCounts = std::map<std::string, std::uint64_t>;
// dpif-netdev/pmd-stats-show: each "name: number", added up over the threads.
NamedCounts parse_pmd_stats(std::string_view text);
// coverage/show: each "name  rates  total: number".
NamedCounts parse_coverage(std::string_view text);
// Drops and errors of both directions in `ovs-ofctl dump-ports`, by the name of the port: "s0 rx
// drop".
NamedCounts parse_port_drops(std::string_view text);

}  // namespace merlon::lab
