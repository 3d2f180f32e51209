// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "merlon/base/make_error.h"
#include "merlon/telemetry/event_sink.h"

namespace merlon::telemetry {
namespace {

using base::Errc;
using base::Error;
using base::Nanos;
using base::Result;

struct Destination {
  sockaddr_storage address{};
  socklen_t size = 0;
};

template <class T>
Destination make_destination(const T& address) {
  Destination d;
  static_assert(sizeof(T) <= sizeof d.address);
  std::memcpy(&d.address, &address, sizeof address);
  d.size = sizeof address;
  return d;
}

Result<Destination> resolve(const SyslogSinkOptions& o) {
  if (o.transport == SyslogSinkOptions::Transport::kUnix) {
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    if (o.address.empty() || o.address.size() >= sizeof un.sun_path)
      return make_error(Errc::kInvalidValue, "syslog socket path \"" + o.address +
                                                 "\" is empty or longer than 107 bytes");
    std::memcpy(un.sun_path, o.address.data(), o.address.size());
    return make_destination(un);
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(o.port);
  if (::inet_pton(AF_INET, o.address.c_str(), &v4.sin_addr) == 1) return make_destination(v4);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(o.port);
  if (::inet_pton(AF_INET6, o.address.c_str(), &v6.sin6_addr) == 1) return make_destination(v6);
  return make_error(Errc::kInvalidValue,
                    "syslog address \"" + o.address + "\" is no literal IP address",
                    "names are not resolved here; write the address of the collector");
}

class DatagramSink final : public EventSink {
 public:
  DatagramSink(const SyslogSinkOptions& options, const Destination& to)
      : EventSink(options.name, "syslog"), options_(options), to_(to) {}
  ~DatagramSink() override { close_socket(); }

  void write(std::string_view line, Severity severity, Nanos now) noexcept override {
    if (take_reopen()) close_socket();
    try {
      message_.clear();
      append_syslog_message(options_, severity, now, line, message_);
    } catch (...) {
      count_lost(1);
      return;
    }
    if (fd_ < 0)
      fd_ = ::socket(to_.address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    // Unconnected, so that a /dev/log that is created anew is found again.
    const ssize_t n = ::sendto(fd_, message_.data(), message_.size(), MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&to_.address), to_.size);
    if (n < 0) {
      const int error = errno;
      note_failure(options_.address, error);
      count_lost(1);
      return;
    }
    count_written(1, message_.size());
    note_success();
  }
  void flush(Nanos /*now*/) noexcept override {}

 private:
  void close_socket() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  const SyslogSinkOptions options_;
  const Destination to_;
  int fd_ = -1;
  std::string message_;
};

// Octet counting (RFC 6587 section 3.4.1): "LENGTH SP MESSAGE". Messages wait in one bounded
// buffer; on a broken connection what waits is lost, because how much of it arrived is unknown.
class StreamSink final : public EventSink {
 public:
  StreamSink(const SyslogSinkOptions& options, const Destination& to)
      : EventSink(options.name, "syslog"), options_(options), to_(to) {}
  ~StreamSink() override {
    send_waiting();
    disconnect();
  }

  void write(std::string_view line, Severity severity, Nanos now) noexcept override {
    if (take_reopen()) disconnect();
    if (fd_ < 0) connect(now);
    try {
      message_.clear();
      append_syslog_message(options_, severity, now, line, message_);
      const std::string frame = std::to_string(message_.size()) + " ";
      if (fd_ < 0 || buffer_.size() + frame.size() + message_.size() > options_.buffer_size) {
        if (fd_ >= 0) note_failure(options_.address, EAGAIN);
        count_lost(1);
        return;
      }
      buffer_.append(frame).append(message_);
      ++waiting_;
    } catch (...) {
      count_lost(1);
      return;
    }
    if (buffer_.size() >= kSendSize) send_waiting();
  }
  void flush(Nanos now) noexcept override {
    if (fd_ < 0) connect(now);
    send_waiting();
  }

 private:
  static constexpr std::size_t kSendSize = 16 * 1024;

  void connect(Nanos now) noexcept {
    if (has_tried_ && now >= last_try_ && now - last_try_ < base::kNanosPerSecond) return;
    has_tried_ = true;
    last_try_ = now;
    fd_ = ::socket(to_.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) return note_failure(options_.address, errno);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to_.address), to_.size) != 0 &&
        errno != EINPROGRESS) {
      note_failure(options_.address, errno);
      disconnect();
    }
  }

  void send_waiting() noexcept {
    if (fd_ < 0 || buffer_.empty()) return;
    const ssize_t n = ::send(fd_, buffer_.data(), buffer_.size(), MSG_NOSIGNAL);
    if (n < 0) {
      // ENOTCONN and EAGAIN: the connection is still being made, or the receiver is slow.
      if (errno == EAGAIN || errno == EINTR || errno == ENOTCONN) return;
      note_failure(options_.address, errno);
      return disconnect();
    }
    buffer_.erase(0, static_cast<std::size_t>(n));
    sent_bytes_ += static_cast<std::uint64_t>(n);
    if (!buffer_.empty()) return;
    count_written(waiting_, sent_bytes_);
    waiting_ = sent_bytes_ = 0;
    note_success();
  }

  void disconnect() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    count_lost(waiting_);
    waiting_ = sent_bytes_ = 0;
    buffer_.clear();
  }

  const SyslogSinkOptions options_;
  const Destination to_;
  int fd_ = -1;
  bool has_tried_ = false;
  Nanos last_try_ = 0;
  std::string buffer_, message_;
  std::uint64_t waiting_ = 0;     // messages not yet counted as written
  std::uint64_t sent_bytes_ = 0;  // of these
};

// A header field: printable ASCII without blanks, bounded; "-" when nothing is left (RFC 5424
// section 6).
void append_field(std::string_view text, std::size_t limit, std::string& out) {
  const std::size_t before = out.size();
  for (const char c : text.substr(0, limit))
    if (c > ' ' && c < 0x7f) out.push_back(c);
  if (out.size() == before) out.push_back('-');
}

}  // namespace

void append_syslog_message(const SyslogSinkOptions& options, Severity severity, Nanos time,
                           std::string_view line, std::string& out) {
  static const std::string kProcess = std::to_string(::getpid());
  std::array<char, 31> stamp;
  base::format_timestamp_to(time, stamp.data());
  out.push_back('<');
  out.append(std::to_string(options.facility * 8 + static_cast<unsigned>(severity)));
  out.append(">1 ");
  out.append(stamp.data(), 26);  // RFC 3339 wants Z or +00:00, EVE has +0000
  out.append("Z ");
  append_field(options.host, 255, out);
  out.push_back(' ');
  append_field(options.app, 48, out);
  out.push_back(' ');
  out.append(kProcess);
  out.append(" eve - ");
  out.append(line);
}

Result<std::unique_ptr<EventSink>> open_syslog_sink(const SyslogSinkOptions& options) {
  if (options.facility > 23)
    return make_error(Errc::kInvalidValue,
                      "syslog facility " + std::to_string(options.facility) + " is above 23");
  auto to = resolve(options);
  if (!to) return to.error();
  if (options.transport == SyslogSinkOptions::Transport::kTcp)
    return std::unique_ptr<EventSink>(std::make_unique<StreamSink>(options, *to));
  return std::unique_ptr<EventSink>(std::make_unique<DatagramSink>(options, *to));
}

}  // namespace merlon::telemetry
