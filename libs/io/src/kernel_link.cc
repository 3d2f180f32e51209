// SPDX-License-Identifier: Apache-2.0
#include "kernel_link.h"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "merlon/base/make_error.h"

namespace merlon::io {
namespace {

// A socket of the caller's namespace.
class Socket {
 public:
  Socket() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

class Request {
 public:
  Request(int fd, const std::string& interface) : fd_(fd) {
    const std::size_t n = std::min<std::size_t>(interface.size(), IFNAMSIZ - 1);
    std::memcpy(request.ifr_name, interface.data(), n);
  }

  bool run(unsigned long code) noexcept { return fd_ >= 0 && ::ioctl(fd_, code, &request) == 0; }

  ifreq request{};

 private:
  int fd_;
};

}  // namespace

std::optional<KernelLink> read_kernel_link(const std::string& interface) {
  const Socket socket;
  return read_kernel_link(socket.fd(), interface);
}

std::optional<KernelLink> read_kernel_link(int fd, const std::string& interface) {
  Request r(fd, interface);
  if (!r.run(SIOCGIFFLAGS)) return std::nullopt;
  KernelLink link;
  const int flags = r.request.ifr_flags;
  link.is_up = (flags & IFF_UP) != 0 && (flags & IFF_RUNNING) != 0;
  if (r.run(SIOCGIFMTU)) link.mtu = static_cast<std::uint16_t>(std::min(r.request.ifr_mtu, 65'535));
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  r.request.ifr_data = reinterpret_cast<char*>(&command);
  if (r.run(SIOCETHTOOL)) {
    const std::uint32_t speed = ethtool_cmd_speed(&command);
    link.speed_mbps = speed >= 0xffff'fff0U || speed == 0xffff ? 0 : speed;
    link.is_full_duplex = command.duplex != DUPLEX_HALF;
  }
  return link;
}

base::Result<void> set_kernel_link(const std::string& interface, bool up) {
  const Socket socket;
  return set_kernel_link(socket.fd(), interface, up);
}

base::Result<void> set_kernel_link(int fd, const std::string& interface, bool up) {
  Request r(fd, interface);
  bool done = r.run(SIOCGIFFLAGS);
  if (done) {
    const int flags = up ? r.request.ifr_flags | IFF_UP : r.request.ifr_flags & ~IFF_UP;
    r.request.ifr_flags = static_cast<short>(flags);
    done = r.run(SIOCSIFFLAGS);
  }
  if (done) return {};
  return make_error(base::Errc::kIo, fmt::format("can't set interface {} {}: {}", interface,
                                                 up ? "up" : "down", std::strerror(errno)));
}

}  // namespace merlon::io
