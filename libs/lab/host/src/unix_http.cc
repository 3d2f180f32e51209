// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/unix_http.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "merlon/base/make_error.h"
#include "merlon/lab_host/file.h"

namespace merlon::lab {
namespace {

using Clock = std::chrono::steady_clock;

struct Socket {
  explicit Socket(int fd_of) : fd(fd_of) {}
  ~Socket() {
    if (fd >= 0) ::close(fd);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd;
};

bool wait_for(int fd, short what, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd p{fd, what, 0};
    const int n = ::poll(&p, 1, static_cast<int>(left.count()));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
  }
}

base::Error not_http(const char* what) {
  return make_error(base::Errc::kInvalidValue, std::string("the answer is not HTTP: ") + what);
}

base::Result<void> send_all(int fd, std::string_view bytes, Clock::time_point end) {
  while (!bytes.empty()) {
    if (!wait_for(fd, POLLOUT, end)) {
      return make_error(base::Errc::kTimeout, "the daemon does not take the request");
    }
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return base::system_error("can't send to the daemon");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

base::Result<std::string> receive_all(int fd, Clock::time_point end) {
  std::string bytes;
  char piece[64 * 1024];
  while (true) {
    if (!wait_for(fd, POLLIN, end)) {
      return make_error(base::Errc::kTimeout, "the daemon does not answer");
    }
    const ssize_t n = ::recv(fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n == 0) return bytes;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return base::system_error("can't read the daemon's answer");
    if (bytes.size() + static_cast<std::size_t>(n) > kMaxHttpAnswer) {
      return make_error(base::Errc::kCapacity, "the daemon's answer is larger than 64 MiB");
    }
    bytes.append(piece, static_cast<std::size_t>(n));
  }
}

bool is_header(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

base::Result<std::string> join_chunks(std::string_view bytes) {
  std::string body;
  while (true) {
    const std::size_t line_end = bytes.find("\r\n");
    if (line_end == std::string_view::npos) return not_http("a chunk's length is missing");
    std::size_t size = 0;
    const auto [stop, problem] = std::from_chars(bytes.data(), bytes.data() + line_end, size, 16);
    const bool is_whole = stop == bytes.data() + line_end || *stop == ';';
    if (problem != std::errc{} || !is_whole) return not_http("a chunk's length is no number");
    bytes.remove_prefix(line_end + 2);
    if (size == 0) return body;
    if (size > bytes.size() || bytes.size() - size < 2) return not_http("a chunk is cut short");
    body.append(bytes.substr(0, size));
    bytes.remove_prefix(size + 2);
  }
}

}  // namespace

base::Result<HttpAnswer> parse_http_answer(std::string_view bytes) {
  const std::size_t head_end = bytes.find("\r\n\r\n");
  if (head_end == std::string_view::npos) return not_http("its head does not end");
  const std::string_view head = bytes.substr(0, head_end);
  const auto words = split_words(head.substr(0, head.find("\r\n")));
  const auto status = words.size() < 2 ? std::nullopt : parse_count(words[1]);
  if (!status || *status > 999 || !words[0].starts_with("HTTP/1."))
    return not_http("no status line");
  HttpAnswer answer;
  answer.status = static_cast<int>(*status);
  bytes.remove_prefix(head_end + 4);
  std::optional<std::uint64_t> length;
  for (const std::string_view line : split(head, '\n')) {
    const std::string_view value = trim(line.substr(std::min(line.size(), line.find(':') + 1)));
    if (is_header(line, "transfer-encoding") && value == "chunked") {
      auto body = join_chunks(bytes);
      if (!body.ok()) return body.error();
      answer.body = std::move(*body);
      return answer;
    }
    if (is_header(line, "content-length")) length = parse_count(value);
  }
  if (length && *length > bytes.size()) return not_http("its body is cut short");
  answer.body = std::string(bytes.substr(0, length.value_or(bytes.size())));
  return answer;
}

base::Result<HttpAnswer> http_request(const std::string& socket_path, std::string_view method,
                                      std::string_view target, std::string_view body,
                                      std::chrono::milliseconds timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return make_error(base::Errc::kInvalidValue, "the socket's path is too long: " + socket_path);
  }
  std::copy(socket_path.begin(), socket_path.end(), address.sun_path);
  const Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.fd < 0) return base::system_error("can't open a socket");
  if (::connect(socket.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != ENOENT && errno != ECONNREFUSED)
      return base::system_error("can't connect to " + socket_path);
    return make_error(base::Errc::kNotFound, "nothing listens on " + socket_path);
  }
  std::string request;
  request.append(method).append(" ").append(target).append(
      " HTTP/1.1\r\nHost: lab\r\nAccept: application/json\r\nConnection: close\r\n");
  if (!body.empty()) {
    request +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  request.append("\r\n").append(body);
  const auto end = Clock::now() + timeout;
  if (auto sent = send_all(socket.fd, request, end); !sent.ok()) return sent.error();
  const auto bytes = receive_all(socket.fd, end);
  if (!bytes.ok()) return bytes.error();
  return parse_http_answer(*bytes);
}

}  // namespace merlon::lab
