// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/http_client.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "merlon/client/words.h"

namespace merlon::client {
namespace {

using base::Errc;
using base::Error;

Error not_http(std::string_view why) {
  return {Errc::kInvalidValue, fmt::format("the answer is not HTTP: {}", why)};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// Closes at the end of its scope.
struct Socket {
  int fd = -1;
  explicit Socket(int f) : fd(f) {}
  ~Socket() {
    if (fd >= 0) ::close(fd);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
};

base::Result<void> wait_for(int fd, short events, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd p{fd, events, 0};
    const int ready =
        ::poll(&p, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
    if (ready > 0) return {};
    if (ready == 0)
      return Error{Errc::kTimeout,
                   fmt::format("no answer within {} ms", timeout.count()),
                   {},
                   "a larger --timeout waits longer"};
    if (errno != EINTR)
      return Error{Errc::kIo, fmt::format("waiting failed: {}", std::strerror(errno))};
  }
}

base::Result<void> connect_to(int fd, const HttpOptions& options) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options.socket_path.empty() || options.socket_path.size() >= sizeof address.sun_path)
    return Error{Errc::kInvalidValue,
                 fmt::format("socket path \"{}\" must have 1 to {} bytes", options.socket_path,
                             sizeof address.sun_path - 1)};
  std::memcpy(address.sun_path, options.socket_path.data(), options.socket_path.size());
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return {};
  const int problem = errno;
  if (problem == ENOENT || problem == ECONNREFUSED)
    return Error{Errc::kNotFound,
                 fmt::format("no daemon answers on {}", options.socket_path),
                 {},
                 "start one with merlon run -c FILE, or name its socket with --socket"};
  if (problem == EACCES || problem == EPERM)
    return Error{Errc::kRefused,
                 fmt::format("no right to use {}", options.socket_path),
                 {},
                 "ask to be a member of the socket's group"};
  // A non-blocking Unix socket answers EAGAIN when the daemon's queue of new connections is full.
  return Error{problem == EAGAIN ? Errc::kTimeout : Errc::kIo,
               fmt::format("can't connect to {}: {}", options.socket_path, std::strerror(problem))};
}

base::Result<void> send_all(int fd, std::string_view bytes, std::chrono::milliseconds timeout) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (auto ready = wait_for(fd, POLLOUT, timeout); !ready) return ready;
    } else if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) {
      return {};  // the other side answered before reading all, for example 413: read its answer
    } else if (sent < 0 && errno != EINTR) {
      return Error{Errc::kIo, fmt::format("sending failed: {}", std::strerror(errno))};
    }
  }
  return {};
}

std::string head_text(const HttpRequest& request) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: merlon\r\nConnection: close\r\n",
                                 request.method, request.target);
  for (const auto& [name, value] : request.headers) {
    std::string clean = value;
    std::erase_if(clean, [](char c) { return c == '\r' || c == '\n'; });
    text += fmt::format("{}: {}\r\n", name, clean);
  }
  if (!request.body.empty() || request.method != "GET")
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  return text + "\r\n";
}

}  // namespace

bool HttpReplyParser::give(std::string_view piece) {
  if (piece.empty() || is_stopped_) return !is_stopped_;
  if (sink_ && !sink_(head_, piece)) is_stopped_ = true;
  return !is_stopped_;
}

base::Result<void> HttpReplyParser::parse_head(std::string_view text) {
  const std::size_t line_end = std::min(text.find("\r\n"), text.size());
  const std::string_view line = text.substr(0, line_end);
  if (!(line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ")) || line.size() < 12)
    return not_http("no status line");
  auto status = parse_number(line.substr(9, 3), 599);
  if (!status || *status < 100) return not_http("no status");
  head_.status = static_cast<int>(*status);
  text.remove_prefix(std::min(text.size(), line_end + 2));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\r\n"), text.size());
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 2));
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos || colon == 0) return not_http("a header without a name");
    head_.headers[lower(field.substr(0, colon))] = trim(field.substr(colon + 1));
  }
  if (head_.status < 200) {  // 100 Continue and its like: the real head follows
    head_ = {};
    return {};
  }
  const auto length = head_.headers.find("content-length");
  const auto coding = head_.headers.find("transfer-encoding");
  if (coding != head_.headers.end()) {
    if (lower(coding->second) != "chunked") return not_http("an unknown transfer encoding");
    state_ = State::kChunkSize;
  } else if (length != head_.headers.end()) {
    auto value = parse_number(length->second, ~0ULL);
    if (!value) return not_http("a wrong content length");
    left_ = *value;
    state_ = left_ == 0 ? State::kDone : State::kLength;
  } else {
    state_ = head_.status == 204 || head_.status == 304 ? State::kDone : State::kUntilClose;
  }
  return {};
}

// Moves bytes up to the line's end into pending_; when the line is complete pending_ ends with
// "\n".
base::Result<void> HttpReplyParser::take_line(std::string_view& bytes, std::size_t limit) {
  const std::size_t end = bytes.find('\n');
  const std::size_t take = end == std::string_view::npos ? bytes.size() : end + 1;
  if (pending_.size() + take > limit) return not_http("a line is too long");
  pending_.append(bytes.substr(0, take));
  bytes.remove_prefix(take);
  return {};
}

base::Result<void> HttpReplyParser::parse_line(std::string_view line) {
  line = trim(line);
  switch (state_) {
    case State::kChunkSize: {
      const std::string_view digits = trim(line.substr(0, line.find(';')));
      std::uint64_t size = 0;
      const auto [end, problem] =
          std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
      if (digits.empty() || problem != std::errc() || end != digits.data() + digits.size())
        return not_http("a wrong chunk size");
      left_ = size;
      state_ = size == 0 ? State::kTrailer : State::kChunkData;
      return {};
    }
    case State::kChunkEnd:
      if (!line.empty()) return not_http("a chunk is longer than its size");
      state_ = State::kChunkSize;
      return {};
    default:
      if (line.empty()) state_ = State::kDone;
      return {};
  }
}

base::Result<void> HttpReplyParser::feed(std::string_view bytes) {
  while (!bytes.empty() && !is_stopped_) {
    switch (state_) {
      case State::kHead: {
        // Only the last bytes can hold a new end of the head; earlier ones were searched before.
        const std::size_t before = pending_.size();
        const std::size_t take = std::min(bytes.size(), kMaxHead + 1 - before);
        pending_.append(bytes.substr(0, take));
        const std::size_t end = pending_.find("\r\n\r\n", before < 3 ? 0 : before - 3);
        if (end == std::string::npos) {
          if (pending_.size() > kMaxHead) return not_http("the head is too long");
          bytes.remove_prefix(take);
          break;
        }
        bytes.remove_prefix(end + 4 - before);
        const std::string text = pending_.substr(0, end);
        pending_.clear();
        if (auto parsed = parse_head(text); !parsed) return parsed;
        break;
      }
      case State::kLength:
      case State::kChunkData: {
        const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
        give(bytes.substr(0, take));
        bytes.remove_prefix(take);
        left_ -= take;
        if (left_ == 0) state_ = state_ == State::kLength ? State::kDone : State::kChunkEnd;
        break;
      }
      case State::kUntilClose:
        give(bytes);
        bytes = {};
        break;
      case State::kChunkSize:
      case State::kChunkEnd:
      case State::kTrailer: {
        if (auto taken = take_line(bytes, kMaxChunkLine); !taken) return taken;
        if (!pending_.ends_with('\n')) break;
        const std::string line = pending_.substr(0, pending_.size() - 1);
        pending_.clear();
        if (auto parsed = parse_line(line); !parsed) return parsed;
        break;
      }
      case State::kDone:
        return not_http("bytes after the end");
    }
  }
  return {};
}

base::Result<void> HttpReplyParser::close() {
  if (state_ == State::kUntilClose) state_ = State::kDone;
  if (state_ != State::kDone && !is_stopped_)
    return Error{Errc::kIo, head_.status == 0 ? "the daemon closed the connection without an answer"
                                              : "the answer was cut short"};
  return {};
}

base::Result<HttpHead> http_send(const HttpOptions& options, const HttpRequest& request,
                                 const BodySink& sink) {
  const Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.fd < 0) return Error{Errc::kIo, fmt::format("no socket: {}", std::strerror(errno))};
  if (auto done = connect_to(socket.fd, options); !done) return done.error();
  if (auto done = send_all(socket.fd, head_text(request), options.timeout); !done)
    return done.error();
  if (auto done = send_all(socket.fd, request.body, options.timeout); !done) return done.error();
  HttpReplyParser parser(sink);
  std::array<char, 65536> buffer;
  while (!parser.is_complete() && !parser.is_stopped()) {
    if (auto ready = wait_for(socket.fd, POLLIN, options.timeout); !ready) return ready.error();
    const ssize_t got = ::recv(socket.fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0 && errno != ECONNRESET)
      return Error{Errc::kIo, fmt::format("receiving failed: {}", std::strerror(errno))};
    if (got <= 0) {
      if (auto closed = parser.close(); !closed) return closed.error();
      break;
    }
    auto fed = parser.feed({buffer.data(), static_cast<std::size_t>(got)});
    if (!fed) return fed.error();
  }
  return parser.head();
}

}  // namespace merlon::client
