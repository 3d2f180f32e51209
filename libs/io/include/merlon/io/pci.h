// SPDX-License-Identifier: Apache-2.0
#pragma once
// PCI devices as the kernel shows them, and handing one to a user-space driver. control-only; a few
// sysfs files per call. The sysfs root is a parameter, so that everything is tested on a made-up
// tree.
#include <functional>
#include <string>
#include <string_view>

#include "merlon/base/result.h"

namespace merlon::io {

struct PciDevice {
  std::string address;            // "0000:3b:00.0"
  std::string driver;             // bound kernel driver; empty when none
  std::string id;                 // "8086:10fb"
  std::string network_interface;  // the kernel's interface on it, if any
  bool is_interface_up = false;   // that interface is in use
  int numa_node = -1;
};

// True for "3b:00.0" and "0000:3b:00.0".
bool is_pci_address(std::string_view text) noexcept;
// With its domain: "3b:00.0" becomes "0000:3b:00.0".
std::string full_pci_address(std::string_view text);

// kNotFound when there is no such device; the hint says how to list them.
base::Result<PciDevice> read_pci_device(std::string_view address,
                                        const std::string& sysfs = "/sys");

struct PciBindOptions {
  bool may_bind = false;  // root and configured: do it ourselves
  std::string sysfs = "/sys";
  // Called after the kernel was asked to probe; the kernel needs no help, a test's made-up tree
  // does.
  std::function<void()> after_probe;
};

// Makes sure that `driver` holds the device. When it does not and may_bind is false, the error's
// hint is the command that does it. Refuses (kConflict) to take a device whose network interface is
// up.
base::Result<void> ensure_pci_driver(std::string_view address, const std::string& driver,
                                     const PciBindOptions& options = {});

}  // namespace merlon::io
