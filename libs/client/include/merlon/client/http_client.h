// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small HTTP/1.1 client over a Unix socket, for the API of a daemon on this host. One request per
// connection, blocking, one thread. Everything from the other side is bounded: head 64 KiB, chunk
// line 1 KiB; the body is handed to the caller as it comes and never collected here.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::client {

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query, already percent-encoded
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
};

struct HttpHead {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers{};  // names in lower case
};

// Takes a piece of the body; false stops reading, which is not an error.
using BodySink = std::function<bool(const HttpHead& head, std::string_view piece)>;

// Incremental parser of one reply: Content-Length, chunked (RFC 9112 section 7.1) or until close.
// feed() may be given any split of the bytes.
class HttpReplyParser {
 public:
  static constexpr std::size_t kMaxHead = 64 * 1024;
  static constexpr std::size_t kMaxChunkLine = 1024;

  explicit HttpReplyParser(BodySink sink) : sink_(std::move(sink)) {}

  // kInvalidValue when the bytes are not HTTP, kRefused when the sink has stopped.
  base::Result<void> feed(std::string_view bytes);
  // To be called when the peer has closed: kIo when the reply is cut short.
  base::Result<void> close();
  [[nodiscard]] bool is_complete() const noexcept { return state_ == State::kDone; }
  [[nodiscard]] bool is_stopped() const noexcept { return is_stopped_; }
  [[nodiscard]] const HttpHead& head() const noexcept { return head_; }

 private:
  enum class State : std::uint8_t {
    kHead,
    kLength,
    kUntilClose,
    kChunkSize,
    kChunkData,
    kChunkEnd,
    kTrailer,
    kDone
  };
  base::Result<void> parse_head(std::string_view text);
  base::Result<void> parse_line(std::string_view line);
  base::Result<void> take_line(std::string_view& bytes, std::size_t limit);
  bool give(std::string_view piece);

  BodySink sink_;
  HttpHead head_;
  std::string pending_{};  // an incomplete head or line
  std::uint64_t left_ = 0;
  State state_ = State::kHead;
  bool is_stopped_ = false;
};

struct HttpOptions {
  std::string socket_path{};
  std::chrono::milliseconds timeout{10'000};  // for connecting and for each wait for bytes
};

// Errors: kNotFound nothing listens on the socket, kRefused no right to connect, kTimeout, kIo
// broken or cut short, kInvalidValue not HTTP. An HTTP status is no error here.
base::Result<HttpHead> http_send(const HttpOptions& options, const HttpRequest& request,
                                 const BodySink& sink);

}  // namespace merlon::client
