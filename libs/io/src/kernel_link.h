// SPDX-License-Identifier: Apache-2.0
#pragma once
// Link of a kernel network interface. control-only; some ioctls per call.
#include <cstdint>
#include <optional>
#include <string>

#include "merlon/base/result.h"

namespace merlon::io {

struct KernelLink {
  bool is_up = false;  // administratively up and with carrier
  bool is_full_duplex = true;
  std::uint32_t speed_mbps = 0;
  std::uint16_t mtu = 0;
};

// Nothing when there is no such interface.
std::optional<KernelLink> read_kernel_link(const std::string& interface);
base::Result<void> set_kernel_link(const std::string& interface, bool up);
// The same in the namespace that the socket `fd` was made in.
std::optional<KernelLink> read_kernel_link(int fd, const std::string& interface);
base::Result<void> set_kernel_link(int fd, const std::string& interface, bool up);

}  // namespace merlon::io
