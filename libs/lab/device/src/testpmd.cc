// SPDX-License-Identifier: Apache-2.0
// dpdk-testpmd: forwards and does nothing else, which makes it the limit that other devices on the
// same ports are seen against. One core forwards; a second one, which sleeps, is its main thread's.
#include <filesystem>
#include <thread>

#include "device_base.h"
#include "dpdk_telemetry.h"
#include "drivers.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_host/capability.h"
#include "merlon/lab_host/file.h"

namespace merlon::lab {
namespace {

constexpr unsigned kMemoryMib = 256;

class Testpmd final : public DeviceBase {
 public:
  using DeviceBase::DeviceBase;
  ~Testpmd() override { static_cast<void>(stop()); }
  [[nodiscard]] std::string version() const override;

 protected:
  [[nodiscard]] std::optional<Absence> find_absence() const override;
  base::Result<void> start_switch(bool is_again) override;
  base::Result<void> look_ready() override;
  void add_counters(std::vector<LayerCounter>& counters) const override;
  [[nodiscard]] std::string middle_name() const override { return "testpmd " + spec_.mode; }

 private:
  [[nodiscard]] std::string program() const { return option("binary", "dpdk-testpmd"); }
  [[nodiscard]] std::string port_kind() const {
    switch (layout().medium) {
      case Medium::kMemif:
      case Medium::kVhost:
      case Medium::kVirtio:
        return layout().name;
      case Medium::kTap:
      case Medium::kLinks:
        break;
    }
    return option("port", "af_packet");
  }
  [[nodiscard]] std::string telemetry() const { return folder() + "/dpdk/lab/dpdk_telemetry.v2"; }
  [[nodiscard]] std::string device_text(std::size_t i) const;
  [[nodiscard]] Argv memory_words() const;
  [[nodiscard]] std::string core_list() const;
};

std::string Testpmd::version() const {
  // It has no option that tells its version without starting it; its package knows.
  const auto said = run_to_end({"dpkg-query", "-W", "-f", "${Version}", "dpdk-dev"});
  return said.ok() && said->exit_code == 0 ? "dpdk-testpmd " + said->out
                                           : std::string("dpdk-testpmd");
}

std::optional<Absence> Testpmd::find_absence() const {
  if (auto missing = need_program(program(), "dpdk-dev")) return missing;
  if (port_kind() == "af_xdp") {
    const Capability xdp = probe_af_xdp();
    if (!xdp.is_there) return Absence{xdp.reason};
    // Without huge pages its packet memory is larger than the area that the driver registers.
    return need_huge_pages(kMemoryMib);
  }
  return std::nullopt;
}

std::string Testpmd::device_text(std::size_t i) const {
  const std::string number = std::to_string(i), port = built().device_ports()[i];
  if (port_kind() == "memif") {
    return "net_memif" + number + ",role=server,socket=" + port + ",socket-abstract=no";
  }
  if (port_kind() == "vhost") return "net_vhost" + number + ",iface=" + port + ",client=1";
  if (port_kind() == "virtio") return "net_virtio_user" + number + ",path=" + port + ",server=1";
  return "net_" + port_kind() + number + ",iface=" + port;
}

Argv Testpmd::memory_words() const {
  Argv words = free_huge_mib() >= kMemoryMib
                   ? Argv{"--in-memory", "-m", std::to_string(kMemoryMib)}
                   : Argv{"--no-huge", "-m", std::to_string(2 * kMemoryMib)};
  // A guest's memory is mapped by its switch: it needs a file behind it, if only in memory, and the
  // protocol names eight of them at most.
  if (port_kind() == "virtio") words.push_back("--single-file-segments");
  return words;
}

std::string Testpmd::core_list() const {
  const std::vector<int> chosen = cores();
  const unsigned count = std::max(1U, std::thread::hardware_concurrency());
  const unsigned forwarding = chosen.empty() ? count - 1 : static_cast<unsigned>(chosen[0]);
  // Two logical cores on whatever there is: the main thread may share the forwarding one's core.
  const unsigned main = forwarding == 0 && count > 1 ? 1 : 0;
  return "(0)@" + std::to_string(main) + ",(1)@" + std::to_string(forwarding);
}

base::Result<void> Testpmd::start_switch(bool) {
  ProcessSpec process;
  process.name = "testpmd";
  process.net_namespace = layout().is_shared_memory() ? std::string() : built().device_namespace();
  // Sockets and locks in the device's folder instead of the machine's.
  process.environment = {{"RUNTIME_DIRECTORY", folder()}};
  process.argv = {program(), "--lcores=" + core_list(), "--main-lcore=0", "--no-pci",
                  "--file-prefix=lab"};
  process.argv = process.argv + memory_words();
  const std::size_t ports = built().device_ports().size();
  for (std::size_t i = 0; i < ports; ++i) process.argv.push_back("--vdev=" + device_text(i));
  process.argv =
      process.argv + Argv{"--",
                          "--forward-mode=" + spec_.mode,
                          "--total-num-mbufs=32768",
                          "--no-mlockall",
                          "--disable-link-check",
                          "--port-topology=" + std::string(ports == 1 ? "loop" : "paired")};
  configuration_ = shell_text(process.argv) + "\n";
  if (auto started = spawn(std::move(process)); !started.ok()) return started.error();
  return {};
}

base::Result<void> Testpmd::look_ready() {
  // A guest that listens starts when its switch, the tester, has come: port by port.
  if (port_kind() == "virtio") {
    std::error_code problem;
    if (std::filesystem::exists(built().device_ports().front(), problem)) return {};
    return make_error(base::Errc::kConflict, "it does not listen yet");
  }
  // Its own words stay in its buffer. Statistics of a vhost port that is not started yet kill it.
  const std::string last = std::to_string(built().device_ports().size() - 1);
  const auto answer = ask_dpdk(telemetry(), "/ethdev/info," + last);
  if (answer.ok() && answer->find("\"dev_started\":1") != std::string::npos) return {};
  return make_error(base::Errc::kConflict, "it does not answer yet");
}

void Testpmd::add_counters(std::vector<LayerCounter>& counters) const {
  std::vector<LayerCounter> own;
  for (std::size_t i = 0; i < built().device_ports().size(); ++i) {
    const auto answer = ask_dpdk(telemetry(), "/ethdev/stats," + std::to_string(i));
    if (answer.ok()) add_dpdk_port(*answer, "testpmd port " + std::to_string(i), own);
  }
  std::int64_t taken = 0;
  for (const LayerCounter& c : own) {
    if (c.counter == "received" || c.counter == "missed" || c.counter == "no_buffer")
      taken += c.delta;
  }
  // Its packet-socket ports don't count what the kernel drops before their ring.
  if (!own.empty() && !layout().is_shared_memory())
    add_receive_gap(counters, "testpmd receive rings", taken);
  counters.insert(counters.end(), own.begin(), own.end());
}

}  // namespace

std::unique_ptr<Device> make_testpmd(const DeviceSpec& spec) {
  return std::make_unique<Testpmd>(spec);
}

}  // namespace merlon::lab
