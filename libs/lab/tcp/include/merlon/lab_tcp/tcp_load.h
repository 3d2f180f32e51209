// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stateful load: clients and servers that speak TCP and, on top, HTTP, through two endpoints with
// the device between them. Open loop: connections start by the clock, whether earlier ones have
// ended or not, so a slow device meets the same offer as a fast one and its delay is seen from the
// intended start. control-only; run() starts and joins its own measuring threads. Memory is taken
// in run() before the first frame: 232 bytes for each place of both tables, 700 to 1,000 for each
// connection open at once.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "merlon/base/address.h"
#include "merlon/base/time.h"
#include "merlon/lab_tcp/rfc9411.h"
#include "merlon/lab_tcp/tls_spec.h"
#include "merlon/lab_traffic/tester.h"

namespace merlon::lab {

// `count` IPv4 addresses from `first` (host order) on.
struct AddressPool {
  std::uint32_t first = 0;
  std::uint32_t count = 1;

  [[nodiscard]] bool contains(std::uint32_t address) const noexcept {
    return address - first < count;
  }
};

struct TcpLoadSpec {
  static constexpr std::uint32_t kUnlimited = 0xffffffff;

  // With `concurrent` 0: new connections per second during sustain, ramps linear from and to 0.
  // With `concurrent`: the rate at which they are opened, 0 meaning concurrent / ramp_up_s.
  double connections_per_s = 1000;
  // Hold so many connections open: opened during ramp-up, replaced at once when one ends, closed
  // evenly over ramp-down. A closed loop by its nature.
  std::uint32_t concurrent = 0;
  // Requests on each connection, one after the other. 0: SYN to FIN without payload. kUnlimited:
  // until the end of sustain (with `concurrent` only).
  std::uint32_t transactions_per_connection = 1;
  std::vector<std::uint32_t> object_kib = {1};  // taken in turn; 1 to 1024 each, at most 16
  bool is_http = true;                          // else a request of 8 bytes and the bare object
  // True: the client ends the connection. False: one transaction with "Connection: close", the
  // server ends it.
  bool is_kept_alive = true;
  // Of both roles. Requests and objects are then its payload; goodput, first and last byte are
  // those of the payload.
  TlsSpec tls;
  double think_s = 0;  // from the end of a transaction to the next request

  AddressPool clients{0x0a090001, 250};  // 10.9.0.1
  AddressPool servers{0x0a0a0001, 4};    // 10.10.0.1
  std::uint16_t server_port = kDestinationPort;
  std::uint16_t client_port = kSourcePort;  // the first
  std::uint32_t client_ports = 64'512;      // up to 65535

  double ramp_up_s = 2, sustain_s = 10, ramp_down_s = 2;
  double drain_s = 5;  // at most, for what is still open after ramp-down

  std::uint16_t mss = 1460;
  std::uint16_t window =
      65'535;                    // bytes that each side may have under way to the other; not scaled
  unsigned initial_window = 10;  // segments (RFC 6928)
  unsigned retries = 3;          // of a segment before the connection counts as timed out
  double initial_timeout_s = 1;  // of the first SYN (RFC 6298)
  double minimum_timeout_s = 0.2;     // RFC 6298 asks for 1 s; every stack of today takes less
  double ack_delay_s = 0.04;          // RFC 1122 section 4.2.3.2: below 0.5 s
  double transaction_timeout_s = 10;  // without the whole response, or the peer's FIN after ours
  double server_idle_s = 30;  // a server's connection without a segment for so long is given up
  // Compare every byte of an object with what the server sends; false with a server of another
  // make.
  bool is_content_verified = true;

  // Beside the connections, from the client's endpoint to the servers' port; sources
  // from 10.128.0.0/9, which our servers count and don't answer.
  AttackKind attack = AttackKind::kNone;
  double attack_pps = 0;
  std::uint32_t attack_sources = 1;

  std::uint64_t seed = 1;
  std::string id, row;  // go into TrialResult::spec
};

// Nanoseconds of any epoch, never going back. now() is called once per turn of a measuring thread.
class LoadClock {
 public:
  virtual ~LoadClock() = default;
  virtual base::Nanos now() noexcept = 0;
};

struct TcpLoadSettings {
  int client_core = -1, server_core = -1;  // -1: not pinned; the second only with two threads
  bool has_two_threads = false;            // false: one thread turns both roles
  std::uint32_t max_concurrent = 0;  // connections a table holds, up to 1,048,576; 0: from the spec
  bool are_checksums_verified =
      true;  // false where a kernel leaves them to hardware that isn't there
  // Where clients send to: a router's address (or the only server's), asked by ARP before the
  // start; 0: straight to `server_mac`, or to our own servers.
  std::uint32_t client_next_hop = 0;
  std::optional<base::MacAddress> server_mac;
  // Given: everything runs on the caller's thread in this clock's time (tests).
  LoadClock* clock = nullptr;
};

class TcpLoad {
 public:
  // Either endpoint may be null: the other side is then somebody else's stack.
  static base::Result<std::unique_ptr<TcpLoad>> create(std::unique_ptr<Endpoint> client,
                                                       std::unique_ptr<Endpoint> server,
                                                       const TcpLoadSettings& settings);
  virtual ~TcpLoad() = default;

  // Runs all phases, or until `stop` (what is known by then is returned). Without a client it
  // serves until `stop` or the sum of the phases. Fills kpis and series (names in NOTES.md), frames
  // (segments of both roles), latency_actual and latency_intended (last byte, from the request and
  // from its intended time), lateness (SYN against its schedule) and the stamp. kInvalidValue for a
  // spec that can't be run, kTimeout when the next hop does not answer ARP, kCapacity without
  // memory.
  virtual base::Result<TrialResult> run(const TcpLoadSpec& spec, const std::atomic<bool>& stop,
                                        const ProgressFn& progress = {}) = 0;
};

// kInvalidValue with the field, its value and its limits.
base::Result<void> check_tcp_load(const TcpLoadSpec& spec, const TcpLoadSettings& settings);

}  // namespace merlon::lab
