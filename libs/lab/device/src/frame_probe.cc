// SPDX-License-Identifier: Apache-2.0
#include "frame_probe.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "merlon/base/make_error.h"
#include "merlon/lab_host/net_namespace.h"

namespace merlon::lab {
namespace {

// The mark of a UDP frame ends its payload; that of a TCP frame is its sequence number, 32 bits of
// it.
constexpr std::size_t kSize = 60, kIp = 14, kTransport = 34, kUdpMark = 52, kTcpMark = 38;

void put(std::vector<std::uint8_t>& frame, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    frame[at + i] = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - i)));
  }
}

std::uint16_t checksum(const std::uint8_t* bytes, std::size_t size, std::uint32_t sum) {
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    sum += static_cast<std::uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  }
  if (size % 2 != 0) sum += static_cast<std::uint32_t>(bytes[size - 1] << 8);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

int open_socket(const std::string& interface) {
  const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  if (address.sll_ifindex != 0 &&
      ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return fd;
  }
  const int problem = errno;
  ::close(fd);
  errno = problem;
  return -1;
}

base::Result<int> open_in(const EndpointSpec& end) {
  int fd = -1;
  const auto entered = in_namespace(end.net_namespace, [&]() -> base::Result<void> {
    fd = open_socket(end.interface);
    if (fd < 0) return base::system_error("can't open a socket on " + end.interface);
    return {};
  });
  if (!entered.ok()) return entered.error();
  return fd;
}

// Reads all that waits; true when one of the frames carries a mark from `first` to `last`.
bool has_arrived(int fd, std::uint64_t first, std::uint64_t last) {
  std::array<std::uint8_t, 2048> frame{};
  while (true) {
    sockaddr_ll from{};
    socklen_t size = sizeof from;
    const ssize_t n =
        ::recvfrom(fd, frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (n < 0) return false;
    const auto length = static_cast<std::size_t>(n);
    const bool is_tcp = frame[kIp + 9] == 6;
    const std::size_t at = is_tcp ? kTcpMark : kUdpMark, bytes = is_tcp ? 4 : 8;
    if (length < at + bytes || from.sll_pkttype == PACKET_OUTGOING) continue;
    std::uint64_t mark = is_tcp ? first & ~std::uint64_t{0xffff'ffff} : 0;
    for (std::size_t i = 0; i < bytes; ++i)
      mark |= std::uint64_t{frame[at + i]} << (8 * (bytes - 1 - i));
    if (mark >= first && mark <= last) return true;
  }
}

}  // namespace

std::vector<std::uint8_t> build_probe(const ProbeFrame& f, std::uint64_t mark) {
  std::vector<std::uint8_t> frame(kSize, 0);
  const bool is_tcp = f.protocol == 6;
  const std::size_t ip_size = kSize - kIp, transport_size = ip_size - 20;
  put(frame, 0, f.destination_mac, 6);
  put(frame, 6, f.source_mac, 6);
  put(frame, 12, ETH_P_IP, 2);
  put(frame, kIp, 0x4500, 2);
  put(frame, kIp + 2, ip_size, 2);
  put(frame, kIp + 8, std::uint64_t{64} << 8 | f.protocol, 2);
  put(frame, kIp + 12, f.source_ip, 4);
  put(frame, kIp + 16, f.destination_ip, 4);
  put(frame, kIp + 10, checksum(&frame[kIp], 20, 0), 2);
  put(frame, kTransport, f.source_port, 2);
  put(frame, kTransport + 2, f.destination_port, 2);
  if (is_tcp) {
    put(frame, kIp + 2, 40, 2);
    put(frame, kIp + 10, 0, 2);
    put(frame, kIp + 10, checksum(&frame[kIp], 20, 0), 2);
    put(frame, kTcpMark, mark, 4);
    put(frame, kTransport + 12, 0x5002, 2);
    put(frame, kTransport + 14, 0xffff, 2);
  } else {
    put(frame, kTransport + 4, transport_size, 2);
  }
  const std::size_t covered = is_tcp ? 20 : transport_size;
  if (!is_tcp) put(frame, kUdpMark, mark, 8);
  const std::uint32_t pseudo = (f.source_ip >> 16) + (f.source_ip & 0xffff) +
                               (f.destination_ip >> 16) + (f.destination_ip & 0xffff) + f.protocol +
                               static_cast<std::uint32_t>(covered);
  const std::uint16_t sum = checksum(&frame[kTransport], covered, pseudo);
  put(frame, kTransport + (is_tcp ? 16 : 6), sum == 0 ? 0xffff : sum, 2);
  return frame;
}

FrameProbe::~FrameProbe() {
  if (from_ >= 0) ::close(from_);
  if (to_ >= 0) ::close(to_);
}

base::Result<void> FrameProbe::open(const EndpointSpec& from, const EndpointSpec& to) {
  auto source = open_in(from);
  if (!source.ok()) return source.error();
  from_ = *source;
  auto sink = open_in(to);
  if (!sink.ok()) return sink.error();
  to_ = *sink;
  return {};
}

bool FrameProbe::passes(const ProbeFrame& frame, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  const std::uint64_t first = next_mark_;
  while (true) {
    const std::vector<std::uint8_t> bytes = build_probe(frame, next_mark_);
    // A link that is not up yet refuses the frame; the next one may go.
    static_cast<void>(!::send(from_, bytes.data(), bytes.size(), 0));
    pollfd p{to_, POLLIN, 0};
    ::poll(&p, 1, 5);
    const bool is_there = has_arrived(to_, first, next_mark_++);
    if (is_there) return true;
    if (std::chrono::steady_clock::now() > end) return false;
  }
}

}  // namespace merlon::lab
