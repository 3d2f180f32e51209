// SPDX-License-Identifier: Apache-2.0
#pragma once
// Port statistics of a DPDK program by its telemetry socket (DPDK guide "Telemetry library",
// protocol version 2). One connection a question; control-only. Cost: some hundred microseconds.
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/trial.h"

namespace merlon::lab {

// The answer, JSON, to a command such as "/ethdev/stats,0". kNotFound when nothing listens,
// kTimeout after two seconds.
base::Result<std::string> ask_dpdk(const std::string& socket_path, std::string_view command);
// Counters out of the answer to /ethdev/stats; none when it is not what is documented.
void add_dpdk_port(std::string_view json, const std::string& layer,
                   std::vector<LayerCounter>& counters);

}  // namespace merlon::lab
