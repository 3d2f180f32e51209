// SPDX-License-Identifier: Apache-2.0
// What control asks of an AF_PACKET port, and the port over native buffers.
#include "merlon/io/af_packet_port.h"

#include <fmt/format.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "af_packet_path.h"
#include "kernel_link.h"
#include "merlon/base/log.h"
#include "merlon/base/make_error.h"

namespace merlon::io {
namespace {

constexpr unsigned kMaxQueues = 64;
constexpr std::uint32_t kEthernetOverhead = 22;  // header and two tags
// Slots for a larger MTU (of lo, say) would cost more memory than the system calls they save.
constexpr std::uint32_t kMaxUsualFrame = 9216;
// Since Linux 5.15; older headers don't have it, older kernels pass over it.
constexpr int kFanoutIgnoresOutgoing = 0x4000;

ifreq make_request(const std::string& interface) {
  ifreq r{};
  std::memcpy(r.ifr_name, interface.data(), std::min<std::size_t>(interface.size(), IFNAMSIZ - 1));
  return r;
}

// 0 when there is none.
int interface_index(int fd, const std::string& interface) noexcept {
  ifreq r = make_request(interface);
  return ::ioctl(fd, SIOCGIFINDEX, &r) == 0 ? r.ifr_ifindex : 0;
}

// Native packet memory: a frame is one buffer.
class NativeMemory {
 public:
  static constexpr BufferKind kKind = BufferKind::kNative;
  static constexpr unsigned kMaxSegments = 1;
  static constexpr bool kCarriesOffloads = true;

  explicit NativeMemory(std::shared_ptr<BufferPool> pool) : pool_(std::move(pool)) {}

  void* take(std::uint32_t size, iovec* pieces, unsigned& count) noexcept {
    Buffer* b = pool_->allocate(size);
    if (b == nullptr) return nullptr;
    pieces[0] = {b->data, std::min(size, b->capacity)};
    count = 1;
    return b;
  }
  static std::uint32_t finish(void* handle, std::uint32_t captured, std::uint32_t length,
                              base::Nanos time, const FrameOffload& offload) noexcept {
    auto* b = static_cast<Buffer*>(handle);
    b->length = captured;
    b->wire_length = length;
    b->time = time;
    b->offload = offload;
    return captured;
  }
  // A frame that was cut can't go on.
  static unsigned view(void* handle, iovec* pieces, std::uint32_t& length,
                       FrameOffload& offload) noexcept {
    auto* b = static_cast<Buffer*>(handle);
    if (b->wire_length > b->length) return 0;
    pieces[0] = {b->data, b->length};
    length = b->length;
    offload = b->offload;
    return 1;
  }
  static void release(void* const* handles, unsigned count) noexcept {
    BufferPool::release(handles, count);
  }
  void* allocate(std::uint32_t size, base::Byte*& data) noexcept {
    Buffer* b = size > pool_->large_size() ? nullptr : pool_->allocate(size);
    if (b != nullptr) data = b->data;
    return b;
  }
  static void set_length(void* handle, std::uint32_t length) noexcept {
    auto* b = static_cast<Buffer*>(handle);
    b->length = b->wire_length = std::min(length, b->capacity);
  }

 private:
  std::shared_ptr<BufferPool> pool_;
};

}  // namespace

AfPacketPort::AfPacketPort(AfPacketPortSettings settings, unsigned segments)
    : settings_(std::move(settings)), segments_(segments) {}

AfPacketPort::~AfPacketPort() {
  if (control_ >= 0) ::close(control_);
}

base::Result<std::unique_ptr<AfPacketPort>> AfPacketPort::create(AfPacketPortSettings settings,
                                                                 std::shared_ptr<BufferPool> pool) {
  auto port = std::make_unique<AfPacketPath<NativeMemory>>(std::move(settings),
                                                           NativeMemory(std::move(pool)));
  if (auto opened = port->open(); !opened.ok()) return opened.error();
  return std::unique_ptr<AfPacketPort>(std::move(port));
}

base::Result<void> AfPacketPort::open() {
  const auto& s = settings_;
  if (s.rx_queues == 0 || s.rx_queues > kMaxQueues || s.tx_queues == 0 ||
      s.tx_queues > kMaxQueues || s.rx_frames == 0)
    return make_error(base::Errc::kInvalidValue,
                      fmt::format("port {}: {} + {} queues of {} frames are out of range", s.name,
                                  s.rx_queues, s.tx_queues, s.rx_frames),
                      "1 to 64 queues");
  if (auto r = find_interface(); !r.ok()) return r;
  const auto kernel = read_kernel_link(control_, s.interface);
  const std::uint32_t mtu = kernel ? kernel->mtu : 1500;
  const std::uint32_t usual = std::min(mtu + kEthernetOverhead, kMaxUsualFrame);
  if (auto r = open_queues(af_packet_slot_size(s.frame_size != 0 ? s.frame_size : usual)); !r.ok())
    return r;
  base::log(base::LogLevel::kInfo, "port",
            "{}: interface={} driver=af_packet mac={} rx_queues={} tx_queues={} ring={}x{} mtu={} "
            "offloads={}",
            s.name, s.interface, mac_.to_string(), s.rx_queues, s.tx_queues, rx_[0]->slot_count,
            rx_[0]->slot_size, mtu, s.carries_offloads ? "carried" : "completed");
  wait_for_link();
  return {};
}

base::Result<void> AfPacketPort::find_interface() {
  const auto& s = settings_;
  control_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (control_ < 0)
    return make_error(base::Errc::kIo,
                      fmt::format("port {}: no socket: {}", s.name, std::strerror(errno)));
  index_ = interface_index(control_, s.interface);
  if (index_ == 0)
    return make_error(
        base::Errc::kNotFound,
        fmt::format("port {}: there is no network interface \"{}\"", s.name, s.interface),
        "`ip -br link` lists the interfaces of this network namespace");
  ifreq r = make_request(s.interface);
  if (::ioctl(control_, SIOCGIFHWADDR, &r) != 0 ||
      (r.ifr_hwaddr.sa_family != ARPHRD_ETHER && r.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK))
    return make_error(base::Errc::kUnsupported,
                      fmt::format("port {}: {} is no Ethernet interface", s.name, s.interface));
  read_mac();
  if (s.mtu == 0) return {};
  r.ifr_mtu = s.mtu;
  if (::ioctl(control_, SIOCSIFMTU, &r) == 0) return {};
  return make_error(base::Errc::kInvalidValue,
                    fmt::format("port {}: can't set the MTU of {} to {}: {}", s.name, s.interface,
                                s.mtu, std::strerror(errno)));
}

void AfPacketPort::read_mac() {
  ifreq r = make_request(settings_.interface);
  if (::ioctl(control_, SIOCGIFHWADDR, &r) == 0)
    std::memcpy(mac_.bytes.data(), r.ifr_hwaddr.sa_data, mac_.bytes.size());
}

base::Result<void> AfPacketPort::open_queues(std::uint32_t slot) {
  for (unsigned q = 0; q < settings_.rx_queues; ++q) {
    rx_.push_back(std::make_unique<RxQueue>());
    if (auto r = rx_.back()->open(settings_, slot); !r.ok()) return r;
  }
  for (unsigned q = 0; q < settings_.tx_queues; ++q) {
    tx_.push_back(std::make_unique<TxQueue>());
    if (auto r = tx_.back()->open(settings_, segments_); !r.ok()) return r;
  }
  const bool is_shared = rx_.size() > 1;
  // Until they share, each socket would get every frame.
  if (is_shared)
    for (const auto& q : rx_) q->shut();
  if (auto r = bind_queues(); !r.ok()) return r;
  if (!is_shared) return {};
  if (auto r = share_queues(); !r.ok()) return r;
  for (const auto& q : rx_) q->let_in();
  return {};
}

base::Result<void> AfPacketPort::bind_queues() {
  for (const auto& q : rx_)
    if (auto r = q->bind(index_, settings_.is_promiscuous); !r.ok()) return r;
  for (const auto& q : tx_)
    if (auto r = q->bind(index_, settings_.name); !r.ok()) return r;
  return {};
}

// The kernel's hash is symmetric and keyed by a secret of its own, so that nobody can compute the
// queue beforehand, we neither. Never with "defrag", which would join fragments.
base::Result<void> AfPacketPort::share_queues() {
  int type = PACKET_FANOUT_HASH | kFanoutIgnoresOutgoing | PACKET_FANOUT_FLAG_UNIQUEID;
  unsigned id = 0;
  for (const auto& q : rx_) {
    const unsigned value = id | static_cast<unsigned>(type) << 16;
    if (::setsockopt(q->fd, SOL_PACKET, PACKET_FANOUT, &value, sizeof value) != 0)
      return make_error(base::Errc::kIo,
                        fmt::format("port {}: the kernel can't spread over {} queues: {}",
                                    settings_.name, rx_.size(), std::strerror(errno)));
    if ((type & PACKET_FANOUT_FLAG_UNIQUEID) == 0) continue;
    unsigned chosen = 0;
    socklen_t size = sizeof chosen;
    ::getsockopt(q->fd, SOL_PACKET, PACKET_FANOUT, &chosen, &size);
    id = chosen & 0xffff;
    type &= ~PACKET_FANOUT_FLAG_UNIQUEID;
  }
  return {};
}

int AfPacketPort::fd(unsigned queue) const noexcept {
  return queue < rx_.size() ? rx_[queue]->fd : -1;
}

PortCounters AfPacketPort::counters() const {
  const std::lock_guard lock(mutex_);
  PortCounters c;
  for (const auto& q : rx_) {
    c.rx_packets += q->counters.packets.get();
    c.rx_bytes += q->counters.bytes.get();
    c.rx_errors += q->counters.errors.get();
    c.rx_ring_full += q->read_kernel_drops();
    c.rx_cut += q->cut.get();
  }
  c.rx_dropped = c.rx_ring_full;
  for (const auto& q : tx_) {
    c.tx_packets += q->counters.packets.get();
    c.tx_bytes += q->counters.bytes.get();
    c.tx_errors += q->counters.errors.get();
    c.tx_dropped += q->counters.dropped.get();
  }
  return c;
}

AfPacketCounters AfPacketPort::details() const {
  const std::lock_guard lock(mutex_);
  AfPacketCounters c;
  for (const auto& q : rx_) {
    c.rx_ring_full += q->read_kernel_drops();
    c.rx_large += q->large.get();
    c.rx_checksums_completed += q->checksums.get();
    c.rx_super_frames += q->super_frames.get();
  }
  for (const auto& q : tx_) {
    c.tx_too_large += q->too_large.get();
    c.tx_link_down += q->link_down.get();
    c.tx_kernel_full += q->kernel_full.get();
  }
  return c;
}

PortInfo AfPacketPort::info() const {
  PortInfo i;
  i.name = settings_.name;
  i.device = settings_.interface;
  i.driver = "af_packet";
  i.rx_queues = settings_.rx_queues;
  i.tx_queues = settings_.tx_queues;
  if (const auto kernel = read_kernel_link(control_, settings_.interface)) i.mtu = kernel->mtu;
  const std::lock_guard lock(mutex_);
  i.mac = mac_;
  i.is_link_up = link_.is_up;
  i.is_full_duplex = link_.is_full_duplex;
  i.speed_mbps = link_.speed_mbps;
  i.is_held_down = is_held_down_;
  return i;
}

AfPacketPort::Link AfPacketPort::read_link() const {
  const auto kernel = read_kernel_link(control_, settings_.interface);
  return kernel ? Link{kernel->is_up, kernel->is_full_duplex, kernel->speed_mbps} : Link{};
}

void AfPacketPort::wait_for_link() {
  using namespace std::chrono_literals;
  link_ = read_link();
  for (unsigned waited = 0; !link_.is_up && waited < settings_.link_wait_ms; waited += 20) {
    std::this_thread::sleep_for(20ms);
    link_ = read_link();
  }
  log_link();
}

void AfPacketPort::log_link() const {
  if (!link_.is_up) {
    base::log(base::LogLevel::kWarning, "port", "{}: link down", settings_.name);
  } else if (link_.speed_mbps == 0) {
    base::log(base::LogLevel::kInfo, "port", "{}: link up", settings_.name);
  } else {
    base::log(base::LogLevel::kInfo, "port", "{}: link up {} Mbit/s {}-duplex", settings_.name,
              link_.speed_mbps, link_.is_full_duplex ? "full" : "half");
  }
}

void AfPacketPort::tell_refused_frames() {
  if (has_told_too_large_) return;
  const auto is_hit = [](const auto& q) { return q->too_large.get() != 0; };
  if (std::ranges::none_of(tx_, is_hit)) return;
  has_told_too_large_ = true;
  base::log(base::LogLevel::kWarning, "port",
            "{}: frames larger than the MTU of {} allows are refused by the kernel and counted as "
            "tx_errors; raise its MTU, or have their sender cut them (ethtool -K IF tso off gso "
            "off)",
            settings_.name, settings_.interface);
}

void AfPacketPort::follow_interface() {
  const int index = interface_index(control_, settings_.interface);
  if (index == index_ || index == 0) return;
  index_ = index;
  if (rx_.size() > 1) {
    base::log(base::LogLevel::kError, "port",
              "{}: interface {} was made anew; a port with several receive queues can't follow it, "
              "restart the daemon",
              settings_.name, settings_.interface);
    return;
  }
  const auto bound = bind_queues();
  read_mac();
  if (bound.ok())
    base::log(base::LogLevel::kInfo, "port", "{}: interface {} was made anew, followed",
              settings_.name, settings_.interface);
  else
    base::log(base::LogLevel::kError, "port", "{}: interface {} was made anew: {}", settings_.name,
              settings_.interface, bound.error().message);
}

bool AfPacketPort::poll_link() {
  const std::lock_guard lock(mutex_);
  follow_interface();
  tell_refused_frames();
  if (is_held_down_) return false;
  const Link now = read_link();
  if (now == link_) return false;
  link_ = now;
  log_link();
  return true;
}

base::Result<void> AfPacketPort::set_link(bool up) {
  const std::lock_guard lock(mutex_);
  if (auto done = set_kernel_link(control_, settings_.interface, up); !done.ok()) return done;
  if (is_held_down_ == up)
    base::log(base::LogLevel::kInfo, "port", "{}: link {} by us", settings_.name,
              up ? "released" : "held down");
  is_held_down_ = !up;
  if (!up) link_.is_up = false;
  return {};
}

}  // namespace merlon::io
