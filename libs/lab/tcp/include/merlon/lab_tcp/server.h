// SPDX-License-Identifier: Apache-2.0
#pragma once
// The servers: accept on one port of all their addresses, answer "GET /o/<bytes>" (or the form
// without HTTP) with objects of the book. Connections are found by a seeded hash of the tuple,
// since a device may have rewritten it. worker-owned once made.
#include <vector>

#include "merlon/base/hash.h"
#include "merlon/lab_tcp/role.h"

namespace merlon::lab::tcp {

struct ServerCounters {
  std::uint64_t syns = 0;  // of new connections
  std::uint64_t established = 0, completed = 0, resets = 0;
  std::uint64_t timed_out = 0;  // retries exhausted or idle too long
  std::uint64_t replaced = 0;   // given up by a client that opens anew from the same port
  std::uint64_t requests = 0, bad_requests = 0;
  std::uint64_t handshakes = 0, resumptions = 0;  // of TLS
  // TLS that the client ended by a fatal alert, that brought what may not be, or whose FIN came
  // without close_notify.
  std::uint64_t tls_alerts = 0, tls_bad_records = 0, tls_truncated = 0;
  std::uint64_t table_full = 0;
  std::uint64_t wrong_port = 0;
};

class Server final : public Role {
 public:
  static std::uint32_t table_size(std::uint32_t max_concurrent) noexcept {
    return max_concurrent + max_concurrent / 2 + 64;
  }

  Server(io::Port& port, const base::MacAddress& mac, const TcpLoadSpec& spec,
         const MessageBook& book, base::Region table, std::uint32_t table_size,
         bool are_checksums_verified);

  void start(base::Nanos now);
  bool turn(base::Nanos now) noexcept;

  [[nodiscard]] const ServerCounters& counters() const noexcept { return server_counters_; }
  [[nodiscard]] const base::MacAddress& mac() const noexcept { return mac_; }

 private:
  [[nodiscard]] std::uint32_t& chain_of(const Segment& s) noexcept;
  [[nodiscard]] std::uint32_t& chain_of(const Connection& c) noexcept;
  [[nodiscard]] Connection* find(const Segment& s) noexcept;
  void accept(const Segment& s, base::Nanos now) noexcept;
  [[nodiscard]] bool is_given_up(const Connection& c, const Segment& s,
                                 base::Nanos now) const noexcept;
  void on_segment(const Segment& s, base::Nanos now) noexcept;
  void on_timer(Connection& c, base::Nanos now) noexcept;
  void on_payload(Connection& c, const Input& in, base::Nanos now) noexcept;
  void on_peer_closed(Connection& c) noexcept;
  // server_tls.cc
  void begin_handshake(Connection& c) noexcept;
  void on_ciphertext(Connection& c, const Input& in, base::Nanos now) noexcept;
  void serve(Connection& c) noexcept;
  bool serve_once(Connection& c) noexcept;
  bool on_request(Connection& c, base::ByteSpan plain) noexcept;
  void on_tls_failed(Connection& c) noexcept;
  void close_secured(Connection& c) noexcept;
  // Bytes that belong to the request; sets `response` when it is complete.
  HeadResult read_request_head(Connection& c, base::ByteSpan bytes, std::size_t& used,
                               std::uint8_t& response) noexcept;
  HeadResult read_binary_head(Connection& c, base::ByteSpan bytes, std::size_t& used,
                              std::uint8_t& response) noexcept;
  void settle(Connection& c, base::Nanos now) noexcept;
  void free(Connection& c) noexcept;

  const std::uint16_t server_port_;
  const base::Nanos idle_;
  const base::HashSeed seed_;
  std::vector<std::uint32_t> chains_;  // first connection by hash
  std::uint32_t free_list_ = kNone;    // linked like the chains
  std::uint8_t last_request_ = 0;      // in the book: the next one is probably the same
  ServerCounters server_counters_;
};

}  // namespace merlon::lab::tcp
