// SPDX-License-Identifier: Apache-2.0
#include "dpdk_telemetry.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

struct Socket {
  Socket() : fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd >= 0) ::close(fd);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd;
};

// One message; empty when none comes in time.
std::string receive(int fd) {
  std::array<char, 16 * 1024> buffer{};
  const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
  return n > 0 ? std::string(buffer.data(), static_cast<std::size_t>(n)) : std::string();
}

}  // namespace

base::Result<std::string> ask_dpdk(const std::string& socket_path, std::string_view command) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return make_error(base::Errc::kInvalidValue, "the socket's path is too long: " + socket_path);
  }
  std::copy(socket_path.begin(), socket_path.end(), address.sun_path);
  const Socket socket;
  const timeval patience{2, 0};
  ::setsockopt(socket.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(socket.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return make_error(base::Errc::kNotFound, "nothing listens on " + socket_path);
  }
  // The server speaks first: its version and the size of its buffer.
  if (receive(socket.fd).empty() || ::send(socket.fd, command.data(), command.size(),
                                           MSG_NOSIGNAL) != static_cast<ssize_t>(command.size())) {
    return make_error(base::Errc::kTimeout, "no greeting on " + socket_path);
  }
  std::string answer = receive(socket.fd);
  if (answer.empty()) return make_error(base::Errc::kTimeout, "no answer on " + socket_path);
  return answer;
}

void add_dpdk_port(std::string_view json, const std::string& layer,
                   std::vector<LayerCounter>& counters) {
  const nlohmann::json answer = nlohmann::json::parse(json, nullptr, false);
  if (!answer.is_object() || !answer.contains("/ethdev/stats") ||
      !answer["/ethdev/stats"].is_object())
    return;
  const auto& stats = answer["/ethdev/stats"];
  const struct {
    const char *key, *name;
    bool is_loss;
  } columns[]{{"ipackets", "received", false}, {"opackets", "sent", false},
              {"imissed", "missed", true},     {"ierrors", "rx_errors", true},
              {"oerrors", "tx_errors", true},  {"rx_nombuf", "no_buffer", true}};
  for (const auto& column : columns) {
    const auto found = stats.find(column.key);
    if (found == stats.end() || !found->is_number()) continue;
    LayerCounter c;
    c.layer = layer;
    c.counter = column.name;
    c.delta = found->get<std::int64_t>();
    c.is_loss = column.is_loss;
    counters.push_back(std::move(c));
  }
}

}  // namespace merlon::lab
