// SPDX-License-Identifier: Apache-2.0
#pragma once
// A guest small enough to be made on the spot: a distribution's kernel, its modules, a static
// busybox and a start script in one archive in memory. Nothing is downloaded. control-only.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::lab {

struct GuestKernel {
  std::string image;    // boot/vmlinuz-<release>
  std::string modules;  // lib/modules/<release>/kernel
};
// In $MERLON_LAB_GUEST, /var/lib/merlon-lab/guest (a kernel package unpacked there) or the host's
// own /boot; the newest by name that has virtio_net as a plain module.
std::optional<GuestKernel> find_guest_kernel();

struct ArchiveFile {
  std::string name;  // without a leading slash
  unsigned mode = 0100644;
  std::string content;
};
// cpio "newc" (kernel: Documentation/driver-api/early-userspace/buffer-format.rst), which the
// kernel unpacks.
std::string make_cpio(const std::vector<ArchiveFile>& files);

// The archive of a guest that bridges its two interfaces and then says kGuestReady on its console.
inline constexpr const char* kGuestReady = "laboratory guest forwards";
base::Result<std::string> make_bridge_guest(const GuestKernel& kernel, const std::string& busybox);

}  // namespace merlon::lab
