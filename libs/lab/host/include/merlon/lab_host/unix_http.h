// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests to a daemon's HTTP API on a Unix socket: one request a connection, blocking, bounded.
// The laboratory speaks to the device it measures as any client would; it shares no code with it.
// control-only, any thread.
#include <chrono>
#include <string>
#include <string_view>

#include "merlon/base/result.h"

namespace merlon::lab {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

inline constexpr std::size_t kMaxHttpAnswer = std::size_t{64} * 1024 * 1024;

// `body` empty: none is sent. Errors: kNotFound nothing listens, kTimeout, kCapacity the answer is
// larger than kMaxHttpAnswer, kInvalidValue it is not HTTP/1.1, kIo. A status is no error.
base::Result<HttpAnswer> http_request(const std::string& socket_path, std::string_view method,
                                      std::string_view target, std::string_view body = {},
                                      std::chrono::milliseconds timeout = std::chrono::seconds(60));

// The whole answer of a connection that the server closed: status line, headers, body by length, in
// chunks (RFC 9112 section 7.1) or to the end.
base::Result<HttpAnswer> parse_http_answer(std::string_view bytes);

}  // namespace merlon::lab
