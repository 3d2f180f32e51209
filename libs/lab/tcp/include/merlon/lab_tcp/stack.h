// SPDX-License-Identifier: Apache-2.0
#pragma once
// The TCP of the load: RFC 9293 with slow start, congestion avoidance, fast retransmit and recovery
// (RFC 5681, 6582), retransmission timing (RFC 6298), delayed acknowledgments (RFC 1122) and the
// careful treatment of RST and SYN of RFC 5961. Left out: options other than MSS, urgent data,
// simultaneous open. It never sends RST. Nothing is buffered: a message can be written again from
// the book (of TLS, from its channel), and what arrives is consumed at once; of bytes beyond a hole
// only their ranges are kept. worker-owned, no allocation.
#include <cstdint>

#include "merlon/lab_tcp/connection.h"
#include "merlon/lab_tcp/segment.h"
#include "merlon/lab_tcp/transmitter.h"

namespace merlon::lab::tcp {

inline constexpr std::uint16_t kDefaultMss =
    536;  // of a peer that names none (RFC 9293 section 3.7.1)
inline constexpr std::uint32_t kMaxTimeoutUs = 60'000'000;  // RFC 6298 section 2.5

struct StackSettings {
  base::MacAddress mac;
  std::uint16_t mss = 1460;
  std::uint16_t window = 65'535;
  unsigned initial_window = 10;
  unsigned retries = 3;
  std::uint32_t initial_timeout_us = 1'000'000, minimum_timeout_us = 200'000;
  base::Nanos ack_delay = 40'000'000;
  std::uint64_t secret = 0;  // of initial sequence numbers (RFC 6528)
};

struct StackCounters {
  std::uint64_t retransmissions = 0, syn_retransmissions = 0, timeouts = 0,
                fast_retransmissions = 0;
  std::uint64_t out_of_window = 0;   // answered by an ACK
  std::uint64_t resets_ignored = 0;  // in the window but not at its edge, or of a wrong ACK
  std::uint64_t bad_acks = 0;        // of what was never sent
  std::uint64_t holes = 0;           // segments that came before their turn
  std::uint64_t duplicates = 0;      // segments without a new byte
};

// What a segment brought; the application reads `payload` and says how much it took by take().
struct Input {
  bool has_connected = false;  // the handshake has just been completed
  bool is_refused = false;     // RST instead of SYN-ACK
  bool is_reset = false;
  bool is_acceptable = false;  // payload, in_order and has_fin mean something
  bool is_in_order = false;
  bool has_fin = false;
  std::uint32_t sequence = 0;  // of the first byte of payload
  base::ByteSpan payload;      // trimmed to what is new and inside the window
};

class Stack {
 public:
  Stack(const StackSettings& settings, const MessageBook& book, Transmitter& out) noexcept
      : settings_(settings), book_(book), out_(out) {}

  // Both send at once. The connection has its addresses, ports and remote MAC; all else is set
  // here.
  void connect(Connection& c, base::Nanos now) noexcept;
  void answer_syn(Connection& c, const Segment& syn, base::Nanos now) noexcept;

  Input receive(Connection& c, const Segment& segment, base::Nanos now) noexcept;
  // The application has judged in.payload and takes `size` bytes of it (all of what is beyond a
  // hole, or none). Sets kPeerClosed when the FIN's turn has come.
  void take(Connection& c, const Input& in, std::uint32_t size, base::Nanos now) noexcept;

  // Queues a message of the book after all sent before it, which must be acknowledged.
  void say(Connection& c, std::uint8_t message) noexcept;
  // The channel of a connection with TLS has written more. After close() it is too late.
  static void extend(Connection& c) noexcept;
  void close(Connection& c) noexcept { c.set(Connection::kFinQueued); }
  // Sends what windows allow, and an ACK when one is due and nothing carried it.
  void output(Connection& c, base::Nanos now) noexcept;

  // Due timers of acknowledgment and retransmission. False: the peer has not answered in all
  // retries.
  bool on_timer(Connection& c, base::Nanos now) noexcept;
  // The earliest time the connection must be looked at, application_at included; 0: none.
  [[nodiscard]] static base::Nanos next_deadline(const Connection& c) noexcept;
  // Both FINs are done with.
  [[nodiscard]] static bool is_over(const Connection& c) noexcept {
    return c.is(Connection::kFinAcknowledged) && c.is(Connection::kPeerClosed);
  }

  // TIME_WAIT without a connection: a FIN of one that we have closed already is acknowledged from
  // its own numbers, which are those that a kept connection would use. False: not a FIN.
  bool answer_stray(const Segment& segment) noexcept;

  [[nodiscard]] const StackCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] StackCounters& counters() noexcept { return counters_; }

 private:
  Input receive_in_syn_sent(Connection& c, const Segment& s, base::Nanos now) noexcept;
  [[nodiscard]] bool is_in_window(const Connection& c, const Segment& s) const noexcept;
  bool take_acknowledgment(Connection& c, const Segment& s, base::Nanos now) noexcept;
  void take_new_acknowledgment(Connection& c, std::uint32_t acknowledgment,
                               base::Nanos now) noexcept;
  static void release_acknowledged(Connection& c) noexcept;
  void take_duplicate_acknowledgment(Connection& c, base::Nanos now) noexcept;
  void measure_round_trip(Connection& c, base::Nanos now) const noexcept;
  void trim(Connection& c, const Segment& s, Input& in) noexcept;
  bool hold(Connection& c, std::uint32_t first, std::uint32_t end) noexcept;
  void absorb_held(Connection& c) noexcept;

  void start(Connection& c, base::Nanos now) noexcept;
  void send_syn(Connection& c, bool is_retransmission, base::Nanos now) noexcept;
  void send_data(Connection& c, std::uint32_t sequence, std::uint32_t size,
                 base::Nanos now) noexcept;
  void send(Connection& c, std::uint32_t sequence, std::uint8_t flags, std::uint32_t from,
            std::uint32_t size) noexcept;
  void retransmit_first(Connection& c, base::Nanos now) noexcept;
  void note_sent(Connection& c, std::uint32_t sequence, std::uint32_t end,
                 base::Nanos now) noexcept;
  void probe(Connection& c, base::Nanos now) noexcept;

  const StackSettings settings_;
  const MessageBook& book_;
  Transmitter& out_;
  StackCounters counters_;
};

}  // namespace merlon::lab::tcp
