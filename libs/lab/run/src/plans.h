// SPDX-License-Identifier: Apache-2.0
#pragma once
// The built-in plans, one function each. Values only.
#include "merlon/lab_run/plan.h"

namespace merlon::lab {

Plan quick_plan();             // plan_quick.cc
Plan ab_plan();                // plan_ab.cc
Plan vswitch_openflow_plan();  // plan_vswitch.cc
Plan ngfw_emix_plan();         // plan_firewall.cc
Plan dfw_plan();
Plan monitor_core_plan();
Plan rfc2544_plan();  // plan_standard.cc
Plan rfc9411_plan();
Plan vswitch_set_plan();
Plan change_plan();
Plan locality_plan();

// Rows for plans to start from.
Row row_of(std::string id, Text title, std::string suite, DeviceSpec device);
// Makes `a` side A of a comparison; returns side B, which is to stand behind it in the plan: the
// same rate, duration and parameters, another device, perhaps other traffic.
Text other_title(const Row& a);  // unless it has one of its own
Row other_side(Row& a, Text title, DeviceSpec device, TrafficSpec traffic);
DeviceSpec cable();
DeviceSpec linux_bridge(std::string topology = "path7");
DeviceSpec nftables(std::string mode, unsigned rules);
DeviceSpec ovs(std::string mode, unsigned rules, std::string topology = "path8");
DeviceSpec merlon_device(std::string mode, unsigned rules);
ChartSpec chart(std::string id, std::string kind, Text title, std::string x, std::string y,
                std::string series, std::string rows);

}  // namespace merlon::lab
