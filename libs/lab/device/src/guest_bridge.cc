// SPDX-License-Identifier: Apache-2.0
// The Linux bridge in a virtual machine: QEMU with two virtio cards on taps, each tap joined with
// the device's port by a bridge of the host, as libvirt does it. With KVM a measurement; without,
// the processor is emulated and the guest is good for nothing but to see that the path works, which
// caveat() says.
#include <atomic>
#include <thread>

#include "drivers.h"
#include "guest_image.h"
#include "linux_bridge.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_host/capability.h"
#include "merlon/lab_host/file.h"
#include "merlon/lab_host/net_namespace.h"

namespace merlon::lab {
namespace {

constexpr const char* kQemu = "qemu-system-x86_64";
// A guest that KVM really runs is up in seconds. Some hosts have a /dev/kvm that opens and a guest
// that stands still.
constexpr std::chrono::seconds kKvmPatience{25};
std::atomic<bool> is_kvm_broken{false};

class GuestBridge final : public LinuxBridge {
 public:
  using LinuxBridge::LinuxBridge;
  ~GuestBridge() override { static_cast<void>(stop()); }
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] Text caveat() const override;

 protected:
  [[nodiscard]] std::optional<Absence> find_absence() const override;
  base::Result<void> start_switch(bool is_again) override;
  base::Result<void> look_ready() override;
  [[nodiscard]] std::string middle_name() const override { return "bridge in VM"; }
  [[nodiscard]] unsigned patience_s() const override { return 180; }

 private:
  base::Result<void> start_guest();
  base::Result<void> join_taps(bool is_again);
  [[nodiscard]] bool is_up() const {
    return read_file(folder() + "/console.log").value_or("").find(kGuestReady) != std::string::npos;
  }

  GuestKernel kernel_;
  bool has_kvm_ = false;
};

std::string GuestBridge::version() const {
  const auto said = run_command({kQemu, "--version"});
  const std::string qemu =
      said.ok() ? std::string(trim(said->substr(0, said->find('\n')))) : std::string("QEMU");
  return kernel_.image.substr(kernel_.image.rfind('/') + 1) + " in " + qemu +
         (has_kvm_ ? " (KVM)" : " (TCG)");
}

Text GuestBridge::caveat() const {
  if (has_kvm_) return {};
  return {
      "functional only: the guest's processor is emulated (TCG), so its rates and delays are the "
      "emulator's",
      "только проверка работоспособности: процессор гостя эмулируется (TCG), скорости и задержки — "
      "эмулятора"};
}

std::optional<Absence> GuestBridge::find_absence() const {
  if (auto missing = need_program(kQemu, "qemu-system-x86")) return missing;
  if (auto missing = need_program("busybox", "busybox-static")) return missing;
  const Capability tun = probe_device_node(
      "/dev/net/tun", {"there is no /dev/net/tun: modprobe tun", "нет /dev/net/tun: modprobe tun"});
  if (!tun.is_there) return Absence{tun.reason};
  if (find_guest_kernel()) return std::nullopt;
  const std::string mend =
      "apt-get download $(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: //p') "
      "&& dpkg-deb -x linux-image-*.deb /var/lib/merlon-lab/guest";
  return absence("there is no kernel for a guest: " + mend, "нет ядра для гостя: " + mend);
}

base::Result<void> GuestBridge::start_guest() {
  ProcessSpec qemu;
  qemu.name = "qemu";
  qemu.net_namespace = built().device_namespace();
  qemu.cores = cores();
  qemu.argv = {kQemu,
               "-M",
               "q35",
               "-accel",
               has_kvm_ ? "kvm" : "tcg",
               "-cpu",
               "max",
               "-smp",
               "1",
               "-m",
               "256",
               "-display",
               "none",
               "-nodefaults",
               "-no-reboot",
               "-kernel",
               kernel_.image,
               "-initrd",
               folder() + "/guest.cpio",
               "-serial",
               "file:" + folder() + "/console.log",
               "-append",
               "console=ttyS0 quiet panic=-1"};
  for (const char* number : {"0", "1"}) {
    const std::string id = std::string("n") + number;
    qemu.argv = qemu.argv + Argv{"-netdev",
                                 "tap,id=" + id + ",ifname=t" + number + ",script=no,downscript=no",
                                 "-device", "virtio-net-pci,romfile=,netdev=" + id};
  }
  auto started = spawn(std::move(qemu));
  if (!started.ok()) return started.error();
  for (int i = 0; i < 1000; ++i) {
    const InterfaceTable there = interface_counters(built().device_namespace());
    if (there.count("t0") != 0 && there.count("t1") != 0) return {};
    if ((*started)->wait(std::chrono::milliseconds(10))) break;
  }
  return make_error(base::Errc::kIo, "QEMU made no taps: " + (*started)->log_tail());
}

base::Result<void> GuestBridge::join_taps(bool is_again) {
  const std::vector<std::string> ports = built().device_ports();
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string tap = "t" + std::to_string(i), bridge = "hb" + std::to_string(i);
    if (!is_again) {
      if (auto made = make_bridge(bridge, {ports[i]}); !made.ok()) return made;
    }
    // A tap goes with its QEMU, the host's bridge stays.
    const auto joined =
        run({"ip", "-n", built().device_namespace(), "link", "set", tap, "master", bridge, "up"});
    if (!joined.ok()) return joined.error();
  }
  return {};
}

base::Result<void> GuestBridge::start_switch(bool is_again) {
  const auto kernel = find_guest_kernel();
  if (!kernel) return make_error(base::Errc::kNotFound, "the guest's kernel is gone");
  kernel_ = *kernel;
  const auto image = make_bridge_guest(kernel_, find_program("busybox"));
  if (!image.ok()) return image.error();
  if (auto written = write_file(folder() + "/guest.cpio", *image); !written.ok()) return written;
  has_kvm_ = option("accel") != "tcg" && !is_kvm_broken && probe_kvm().is_there;
  if (auto up = start_guest(); !up.ok()) return up;
  if (auto joined = join_taps(is_again); !joined.ok()) return joined;
  if (has_kvm_) {
    const auto end = std::chrono::steady_clock::now() + kKvmPatience;
    while (!is_up() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!is_up()) {
      is_kvm_broken = true;
      has_kvm_ = false;
      processes_.back()->kill();
      processes_.pop_back();
      note("# the guest did not come up with KVM; again with an emulated processor");
      if (auto up = start_guest(); !up.ok()) return up;
      if (auto joined = join_taps(true); !joined.ok()) return joined;
    }
  }
  configuration_ = processes_.back()->command() + "\n";
  return {};
}

base::Result<void> GuestBridge::look_ready() {
  if (is_up()) return {};
  return make_error(base::Errc::kConflict, "the guest is not up yet");
}

}  // namespace

std::unique_ptr<Device> make_guest_bridge(const DeviceSpec& spec) {
  return std::make_unique<GuestBridge>(spec);
}

}  // namespace merlon::lab
