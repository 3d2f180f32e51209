// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the report says of the machine: processor, kernel, clock, virtualization, mitigations,
// versions of tools. control-only. Cost: some ten milliseconds, most of it asking programs for
// their versions.
#include <string>
#include <string_view>

#include "merlon/lab_model/run.h"

namespace merlon::lab {

// Fills all but pinning, noise and Merlon's own version, which the run knows.
Environment read_environment();

// "AMD EPYC 9B45" of /proc/cpuinfo; empty when it says none.
std::string cpu_model(std::string_view cpuinfo);
// The flag "hypervisor" of /proc/cpuinfo: this machine is itself a guest.
bool has_hypervisor(std::string_view cpuinfo);
// PRETTY_NAME of /etc/os-release.
std::string distribution_name(std::string_view os_release);

}  // namespace merlon::lab
