// SPDX-License-Identifier: Apache-2.0
#pragma once
// The drivers behind make_device(): each takes a spec whose driver, mode and topology are known to
// fit.
#include <memory>

#include "merlon/lab_device/device.h"

namespace merlon::lab {

std::unique_ptr<Device> make_cable(const DeviceSpec& spec);         // nothing between the ends
std::unique_ptr<Device> make_bridge(const DeviceSpec& spec);        // Linux bridge
std::unique_ptr<Device> make_guest_bridge(const DeviceSpec& spec);  // the same in a virtual machine
std::unique_ptr<Device> make_nftables(
    const DeviceSpec& spec);  // Linux bridge or router with nftables rules
std::unique_ptr<Device> make_ovs(const DeviceSpec& spec);  // ovs, ovs-dpdk, ovs-kernel
std::unique_ptr<Device> make_testpmd(const DeviceSpec& spec);
std::unique_ptr<Device> make_merlon(const DeviceSpec& spec);
std::unique_ptr<Device> make_external(const DeviceSpec& spec);

}  // namespace merlon::lab
