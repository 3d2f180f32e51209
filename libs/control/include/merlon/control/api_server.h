// SPDX-License-Identifier: Apache-2.0
#pragma once
// The API's HTTP/1.1 server on a Unix socket. control-only: start() and stop() from one thread; one
// thread of its own serves every connection, a second runs the slow routes one after the other.
// Bounded: connections, head, body, time for each read and write; long lists are pulled as the
// reader takes them.
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "merlon/base/result.h"
#include "merlon/control/api_router.h"

namespace merlon::control {

struct ApiServerOptions {
  std::string socket_path;           // at most 107 bytes (sun_path)
  unsigned mode = 0660;              // of the socket file
  std::size_t max_connections = 64;  // further ones get 503
  std::size_t max_head_bytes = 16 * 1024;
  std::size_t max_body_bytes = 1024 * 1024;
  std::size_t max_slow_body_bytes = 64 * 1024 * 1024;  // configurations
  std::size_t max_slow_requests = 4;                   // waiting or running; further ones get 503
  std::chrono::milliseconds idle_timeout{60'000};      // between requests
  std::chrono::milliseconds read_timeout{10'000};      // for one request
  std::chrono::milliseconds write_timeout{30'000};     // for one piece of an answer
  std::function<void()> on_slow_thread{};  // first thing on the thread of the slow routes
};

class ApiServer {
 public:
  // `router` must outlive the server.
  ApiServer(ApiServerOptions options, const ApiRouter& router);
  ~ApiServer();  // stops
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Binds and serves. A socket file that nobody answers on is replaced; kConflict when another
  // daemon answers, kIo when the path can't be used, kRefused when it is something else than a
  // socket.
  base::Result<void> start();
  // Ends every connection, joins the threads, removes the socket file. Waits for a slow request
  // that runs.
  void stop();
  [[nodiscard]] std::size_t connection_count() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace merlon::control
