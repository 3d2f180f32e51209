// SPDX-License-Identifier: Apache-2.0
#include "af_packet_queue.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "merlon/base/make_error.h"

namespace merlon::io {
namespace {

constexpr std::uint32_t kBlockSize = 64U << 10;
constexpr std::uint64_t kMaxRingSize = 1ULL << 30;
// Header, address, note and alignment before the frame's bytes in a slot.
constexpr std::uint32_t kSlotOverhead = 96;

// Tries while the kernel has no room, all of a burst together: some tens of microseconds, so that
// a short jam loses nothing and a dead device does not hold the worker.
constexpr unsigned kMaxTries = 16;

base::Error failed(const std::string& port, const char* what) {
  const int e = errno;
  const bool is_forbidden = e == EPERM || e == EACCES;
  return make_error(
      is_forbidden ? base::Errc::kRefused : base::Errc::kIo,
      fmt::format("port {}: can't {}: {}", port, what, std::strerror(e)),
      is_forbidden ? "needs root, or the capabilities CAP_NET_RAW and CAP_NET_ADMIN" : "");
}

template <class T>
bool set_option(int fd, int level, int name, const T& value) noexcept {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

// The system's limit stands where we may not go beyond it.
void set_buffer(int fd, int forced, int ordinary, std::uint32_t bytes) noexcept {
  const int value = static_cast<int>(std::min<std::uint32_t>(bytes, 1U << 30));
  if (!set_option(fd, SOL_SOCKET, forced, value)) set_option(fd, SOL_SOCKET, ordinary, value);
}

base::Result<void> bind_to(int fd, int index, std::uint16_t protocol, const std::string& name) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = index;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failed(name, "use the interface");
  return {};
}

}  // namespace

std::uint32_t af_packet_slot_size(std::uint32_t frame_size) noexcept {
  return std::bit_ceil(std::clamp<std::uint32_t>(frame_size, 64, 0x10000) + kSlotOverhead);
}

AfPacketPort::RxQueue::~RxQueue() {
  if (ring != nullptr) ::munmap(ring, ring_size);
  if (fd >= 0) ::close(fd);
}

base::Result<void> AfPacketPort::RxQueue::open(const AfPacketPortSettings& settings,
                                               std::uint32_t slot) {
  fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failed(settings.name, "open a packet socket");
  const int version = TPACKET_V2, on = 1;
  if (!set_option(fd, SOL_PACKET, PACKET_VERSION, version) ||
      !set_option(fd, SOL_PACKET, PACKET_VNET_HDR, on) ||
      !set_option(fd, SOL_PACKET, PACKET_COPY_THRESH, on))
    return failed(settings.name, "set up a packet socket");
  // Where the kernel doesn't know it (before 4.20), receive() passes over our own frames.
  set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, on);
  // Asked for, the kernel stamps on arrival; else when the frame reaches the ring.
  if (settings.has_kernel_stamps) set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, on);
  set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, settings.rx_large_bytes);
  slot_size = slot;
  return map_ring(settings);
}

base::Result<void> AfPacketPort::RxQueue::map_ring(const AfPacketPortSettings& settings) {
  const std::uint32_t block = std::max(kBlockSize, slot_size);
  const std::uint32_t per_block = block / slot_size;
  const std::uint64_t blocks = (settings.rx_frames + per_block - 1) / per_block;
  if (blocks == 0 || blocks * block > kMaxRingSize)
    return make_error(base::Errc::kInvalidValue,
                      fmt::format("port {}: a ring of {} frames of {} bytes is out of range",
                                  settings.name, settings.rx_frames, slot_size),
                      "at most 1 GiB");
  tpacket_req request{};
  request.tp_block_size = block;
  request.tp_block_nr = static_cast<unsigned>(blocks);
  request.tp_frame_size = slot_size;
  request.tp_frame_nr = static_cast<unsigned>(blocks) * per_block;
  if (!set_option(fd, SOL_PACKET, PACKET_RX_RING, request))
    return failed(settings.name, "get the kernel's memory for a receive ring");
  ring_size = blocks * block;
  void* memory =
      ::mmap(nullptr, ring_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) return failed(settings.name, "map a receive ring");
  ring = static_cast<base::Byte*>(memory);
  slot_count = request.tp_frame_nr;
  return {};
}

base::Result<void> AfPacketPort::RxQueue::bind(int index, bool is_promiscuous) const {
  if (auto r = bind_to(fd, index, ETH_P_ALL, "queue"); !r.ok()) return r;
  if (!is_promiscuous) return {};
  packet_mreq request{};
  request.mr_ifindex = index;
  request.mr_type = PACKET_MR_PROMISC;
  if (!set_option(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, request))
    return failed("queue", "make the interface promiscuous");
  return {};
}

void AfPacketPort::RxQueue::shut() const noexcept {
  sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &refuse};
  set_option(fd, SOL_SOCKET, SO_ATTACH_FILTER, program);
}

void AfPacketPort::RxQueue::let_in() const noexcept {
  set_option(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
}

std::uint64_t AfPacketPort::RxQueue::read_kernel_drops() noexcept {
  tpacket_stats since{};
  socklen_t size = sizeof since;
  // Reading sets the kernel's figures back to 0.
  if (::getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &since, &size) == 0)
    kernel_drops += since.tp_drops;
  return kernel_drops;
}

AfPacketPort::TxQueue::~TxQueue() {
  if (fd >= 0) ::close(fd);
}

base::Result<void> AfPacketPort::TxQueue::open(const AfPacketPortSettings& settings,
                                               unsigned segments) {
  // Protocol 0: this socket never receives.
  fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failed(settings.name, "open a packet socket");
  const int on = 1;
  if (settings.carries_offloads) {
    if (!set_option(fd, SOL_PACKET, PACKET_VNET_HDR, on))
      return failed(settings.name, "set up a packet socket");
  } else if (settings.is_qdisc_bypassed) {
    set_option(fd, SOL_PACKET, PACKET_QDISC_BYPASS, on);
  }
  set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, settings.tx_bytes);
  // A note and the frame's pieces for each message.
  const unsigned each = segments + 1;
  pieces.resize(std::size_t{kBatch} * each);
  for (unsigned i = 0; i < kBatch; ++i) {
    pieces[std::size_t{i} * each] = {&notes[i], kVnetSize};
    messages[i].msg_hdr.msg_iov =
        &pieces[std::size_t{i} * each + (settings.carries_offloads ? 0 : 1)];
  }
  return {};
}

base::Result<void> AfPacketPort::TxQueue::bind(int index, const std::string& name) const {
  return bind_to(fd, index, 0, name);
}

unsigned AfPacketPort::TxQueue::send(unsigned count) noexcept {
  unsigned done = 0, sent = 0;
  for (unsigned tries = 0; done < count;) {
    const int r = ::sendmmsg(fd, messages.data() + done, count - done, MSG_DONTWAIT);
    if (r > 0) {
      done += static_cast<unsigned>(r);
      sent += static_cast<unsigned>(r);
      continue;
    }
    switch (errno) {
      case EINTR:
        break;
      case EAGAIN:
      case ENOBUFS:  // the device or its queue is full; this frame has not gone
        if (++tries < kMaxTries) break;
        kernel_full.add(count - done);
        counters.dropped.add(count - done);
        return sent;
      case ENETDOWN:
      case ENXIO:
      case ENODEV:
        link_down.add(count - done);
        counters.dropped.add(count - done);
        return sent;
      case EMSGSIZE:
        too_large.add(1);
        [[fallthrough]];
      default:  // this frame is refused, the next ones may be fine
        counters.errors.add(1);
        ++done;
    }
  }
  return sent;
}

}  // namespace merlon::io
