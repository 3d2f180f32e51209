// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Linux bridge between the device's two ports; nftables stands on it. In the kernel: no
// process, no kill.
#include "device_base.h"

namespace merlon::lab {

class LinuxBridge : public DeviceBase {
 public:
  using DeviceBase::DeviceBase;
  ~LinuxBridge() override { static_cast<void>(stop()); }
  [[nodiscard]] std::string version() const override;

 protected:
  base::Result<void> start_switch(bool is_again) override;
  // "bridge" over these ports, without spanning tree and multicast snooping, up.
  base::Result<void> make_bridge(const std::string& name, const std::vector<std::string>& ports);
};

}  // namespace merlon::lab
