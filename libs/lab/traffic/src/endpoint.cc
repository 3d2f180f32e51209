// SPDX-License-Identifier: Apache-2.0
// Opening the ports that trials run on.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "merlon/base/make_error.h"
#include "merlon/io/af_packet_port.h"
#include "merlon/lab_traffic/cable_port.h"
#include "merlon/lab_traffic/tester.h"
#if defined(MERLON_WITH_DPDK)
#include "merlon/io/dpdk_port.h"
#endif

namespace merlon::lab {
namespace {

constexpr std::uint32_t kRingFrames = 32'768;  // 30 ms at 1 Mpps: what a descheduled receiver needs

class PortEndpoint final : public Endpoint {
 public:
  PortEndpoint(std::unique_ptr<io::Port> port, EndpointSpec spec, bool has_kernel_stamps)
      : port_(std::move(port)), spec_(std::move(spec)), has_kernel_stamps_(has_kernel_stamps) {}
  [[nodiscard]] io::Port& port() noexcept override { return *port_; }
  [[nodiscard]] const EndpointSpec& spec() const noexcept override { return spec_; }
  [[nodiscard]] bool has_kernel_stamps() const noexcept override { return has_kernel_stamps_; }

 private:
  std::unique_ptr<io::Port> port_;
  EndpointSpec spec_;
  bool has_kernel_stamps_;
};

// The calling thread in another network namespace, until it goes out of scope.
class InNamespace {
 public:
  InNamespace() = default;
  base::Result<void> enter(const std::string& name) {
    if (name.empty()) return {};
    if (name.find('/') != std::string::npos)
      return base::invalid(fmt::format("net_namespace '{}' is not a name", name));
    own_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    const int target = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    const int error = own_ < 0 || target < 0 || setns(target, CLONE_NEWNET) != 0 ? errno : 0;
    if (target >= 0) close(target);
    if (error == 0) {
      is_away_ = true;
      return {};
    }
    return make_error(
        base::Errc::kIo,
        fmt::format("can't enter network namespace {}: {}", name, std::strerror(error)),
        "needs root; `ip netns list` shows the names");
  }
  ~InNamespace() {
    // A thread that can't come back must not go on in the wrong network.
    if (is_away_ && setns(own_, CLONE_NEWNET) != 0) std::abort();
    if (own_ >= 0) close(own_);
  }
  InNamespace(const InNamespace&) = delete;
  InNamespace& operator=(const InNamespace&) = delete;

 private:
  int own_ = -1;
  bool is_away_ = false;
};

// Gives a link that has just been plugged the time the kernel takes to notice; a link that stays
// down is no error, a trial may begin with it.
void wait_for_link(io::Port& port) {
  constexpr int kLooks = 100;
  for (int i = 0; i < kLooks && !port.info().is_link_up; ++i) {
    usleep(20'000);
    port.poll_link();
  }
}

std::string next_name(const std::string& kind) {
  static std::atomic<unsigned> number{0};
  return fmt::format("lab{}{}", kind.substr(0, 2), number.fetch_add(1));
}

base::Result<std::unique_ptr<Endpoint>> open_af_packet(const EndpointSpec& spec) {
  io::BufferPoolSettings memory;
  memory.small_count = 4096;
  memory.large_count = 128;
  auto pool = io::BufferPool::create(memory);
  if (!pool.ok()) return pool.error();
  io::AfPacketPortSettings s;
  s.name = next_name("packet");
  s.interface = spec.interface;
  s.rx_frames = kRingFrames;
  s.has_kernel_stamps = true;
  auto port = io::AfPacketPort::create(std::move(s), *pool);
  if (!port.ok()) return port.error();
  wait_for_link(**port);
  return std::unique_ptr<Endpoint>(new PortEndpoint(std::move(*port), spec, true));
}

// The first endpoint of a name makes the cable and leaves the other end for the second.
base::Result<std::unique_ptr<Endpoint>> open_cable(const EndpointSpec& spec) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<CablePort>> waiting;
  const std::lock_guard lock(mutex);
  if (auto node = waiting.extract(spec.interface); !node.empty())
    return make_endpoint(std::move(node.mapped()), spec);
  CablePort::Settings s;
  s.name = spec.interface;
  auto ends = CablePort::create(s);
  if (!ends.ok()) return ends.error();
  waiting[spec.interface] = std::move(ends->second);
  return make_endpoint(std::move(ends->first), spec);
}

#if defined(MERLON_WITH_DPDK)
constexpr std::uint32_t kMbufCount = 32'767;

base::Result<std::shared_ptr<io::MbufPool>> dpdk_pool() {
  static std::weak_ptr<io::MbufPool> shared;
  if (!io::Dpdk::is_started()) {
    // The switch of a vhost-user link maps our memory: there has to be a file behind it.
    io::DpdkOptions options;
    options.extra_arguments = {"--single-file-segments"};
    if (auto ok = io::Dpdk::start(options); !ok.ok()) return ok.error();
  }
  if (auto pool = shared.lock()) return pool;
  io::MbufPoolSettings s;
  s.name = next_name("pool");
  s.count = kMbufCount;
  auto pool = io::MbufPool::create(s);
  if (pool.ok()) shared = *pool;
  return pool;
}

// A guest's end that listens waits in DPDK's driver for as long as no switch connects, and nothing
// ends that. So after `patience` somebody else connects, and the driver fails.
class Knock {
 public:
  Knock(std::string path, std::chrono::duration<double> patience)
      : thread_([this, path = std::move(path), patience] { wait(path, patience); }) {}
  ~Knock() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Knock(const Knock&) = delete;
  Knock& operator=(const Knock&) = delete;

 private:
  void wait(const std::string& path, std::chrono::duration<double> patience) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, patience, [this] { return is_over_; })) return;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    static_cast<void>(!connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to));
    if (fd >= 0) close(fd);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;  // last: it uses the others
};

// The guest's end of a vhost-user link: it shares its memory, the other end is the switch's.
std::string virtio_device(const EndpointSpec& spec, const std::string& name) {
  return fmt::format("net_virtio_user_{},path={}{}", name, spec.interface,
                     spec.is_server ? ",server=1" : "");
}

std::string dpdk_device(const EndpointSpec& spec, const std::string& name) {
  if (spec.kind == "af_xdp") return io::af_xdp_device(name, spec.interface);
  if (spec.kind == "memif") return io::memif_device(name, spec.is_server, spec.interface);
  if (spec.kind == "tap") return io::tap_device(name, spec.interface);
  if (spec.kind == "vhost")
    return io::vhost_device(name, spec.interface) + (spec.is_server ? "" : ",client=1");
  if (spec.kind == "virtio") return virtio_device(spec, name);
  return spec.device;
}

base::Result<std::unique_ptr<Endpoint>> open_dpdk(const EndpointSpec& spec) {
  auto pool = dpdk_pool();
  if (!pool.ok()) return pool.error();
  io::DpdkPortSettings s;
  s.name = next_name(spec.kind);
  s.device = dpdk_device(spec, s.name);
  // DPDK writes to a guest's socket without asking whether somebody is there; a switch that goes
  // must not end us.
  if (spec.kind == "virtio") std::signal(SIGPIPE, SIG_IGN);
  std::optional<Knock> knock;
  if (spec.kind == "virtio" && spec.is_server) {
    knock.emplace(spec.interface, std::chrono::duration<double>(spec.peer_wait_s));
  }
  auto port = io::DpdkPort::create(s, *pool);
  if (!port.ok()) return port.error();
  return make_endpoint(std::move(*port), spec);
}
#else
base::Result<std::unique_ptr<Endpoint>> open_dpdk(const EndpointSpec& spec) {
  return make_error(base::Errc::kUnsupported,
                    fmt::format("endpoint kind {}: this build has no DPDK", spec.kind),
                    "af_packet and ring work without it");
}
#endif

}  // namespace

std::unique_ptr<Endpoint> make_endpoint(std::unique_ptr<io::Port> port, EndpointSpec spec) {
  return std::make_unique<PortEndpoint>(std::move(port), std::move(spec), false);
}

base::Result<std::unique_ptr<Endpoint>> open_endpoint(const EndpointSpec& spec) {
  const bool is_dpdk = spec.kind == "af_xdp" || spec.kind == "memif" || spec.kind == "tap" ||
                       spec.kind == "vhost" || spec.kind == "virtio" || spec.kind == "dpdk";
  if (!is_dpdk && spec.kind != "af_packet" && spec.kind != "ring")
    return base::invalid(fmt::format("endpoint kind '{}' is not known", spec.kind),
                         "af_packet | af_xdp | memif | tap | vhost | virtio | dpdk | ring");
  if ((spec.kind == "dpdk" ? spec.device : spec.interface).empty())
    return base::invalid(fmt::format("endpoint kind {} without {}", spec.kind,
                                     spec.kind == "dpdk" ? "device" : "interface"));
  if (spec.kind == "ring") return open_cable(spec);
  InNamespace place;
  if (auto ok = place.enter(spec.net_namespace); !ok.ok()) return ok.error();
  return spec.kind == "af_packet" ? open_af_packet(spec) : open_dpdk(spec);
}

}  // namespace merlon::lab
