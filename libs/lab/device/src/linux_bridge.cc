// SPDX-License-Identifier: Apache-2.0
#include "linux_bridge.h"

#include "drivers.h"
#include "merlon/lab_host/file.h"

namespace merlon::lab {
namespace {

// A cable: the null path that all others are compared with.
class CableDevice final : public DeviceBase {
 public:
  using DeviceBase::DeviceBase;
  ~CableDevice() override { static_cast<void>(stop()); }
  [[nodiscard]] std::string version() const override {
    return "veth of Linux " + read_line("/proc/sys/kernel/osrelease");
  }

 protected:
  base::Result<void> start_switch(bool) override {
    configuration_ = "a veth pair\n";
    return {};
  }
};

}  // namespace

std::string LinuxBridge::version() const {
  return "Linux " + read_line("/proc/sys/kernel/osrelease");
}

base::Result<void> LinuxBridge::make_bridge(const std::string& name,
                                            const std::vector<std::string>& ports) {
  const Argv ip{"ip", "-n", built().device_namespace(), "link"};
  if (auto made =
          run(ip + Argv{"add", name, "type", "bridge", "stp_state", "0", "mcast_snooping", "0"});
      !made.ok()) {
    return made.error();
  }
  for (const std::string& port : ports) {
    if (auto joined = run(ip + Argv{"set", port, "master", name}); !joined.ok())
      return joined.error();
  }
  if (auto up = run(ip + Argv{"set", name, "up"}); !up.ok()) return up.error();
  const auto shown =
      run_command({"ip", "-n", built().device_namespace(), "-d", "link", "show", "type", "bridge"});
  configuration_ = shown.ok() ? *shown : std::string();
  return {};
}

base::Result<void> LinuxBridge::start_switch(bool) {
  return make_bridge("br0", built().device_ports());
}

std::unique_ptr<Device> make_cable(const DeviceSpec& spec) {
  return std::make_unique<CableDevice>(spec);
}
std::unique_ptr<Device> make_bridge(const DeviceSpec& spec) {
  if (spec.place == "vm") return make_guest_bridge(spec);
  return std::make_unique<LinuxBridge>(spec);
}

}  // namespace merlon::lab
