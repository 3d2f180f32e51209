// SPDX-License-Identifier: Apache-2.0
#pragma once
// One TCP connection of one role: RFC 9293's control block, the application's place in its
// exchange, and the links of the timing wheel. Plain memory in a table fixed at start; zeroed it is
// closed. worker-owned.
#include <array>
#include <cstdint>

#include "merlon/base/address.h"
#include "merlon/base/time.h"
#include "merlon/lab_tcp/message.h"

namespace merlon::lab::tcp {

class TlsChannel;

inline constexpr std::uint32_t kNone = 0xffffffff;

// Open stands for ESTABLISHED and every closing state of RFC 9293 section 3.3.2: which of them it
// is follows from the flags kFinQueued, kFinAcknowledged and kPeerClosed. TIME_WAIT keeps no
// connection, see Stack::answer_stray().
enum class State : std::uint8_t { kClosed, kSynSent, kSynReceived, kOpen };

// Where the application is.
enum class Stage : std::uint8_t {
  kConnecting,
  kSecuring,  // TLS shakes hands
  kHead,      // client: awaits the response's head; server: a request
  kBody,      // client: awaits the rest of the object
  kThinking,
  kHolding,  // open without transactions until told to close
  kClosing,
};

struct Connection {
  enum Flag : std::uint16_t {
    kFinQueued = 1,  // our FIN follows the last byte of the message
    kFinAcknowledged = 2,
    kPeerClosed = 4,     // the peer's FIN has been taken
    kAckNow = 8,         // an ACK must leave with this turn
    kInRecovery = 16,    // fast recovery (RFC 6582)
    kIsTimed = 32,       // timed_sequence measures the round trip
    kTakesHoles = 64,    // bytes beyond a hole can be judged without those before them
    kIsEnding = 128,     // no further transaction
    kIsSustained = 256,  // its intended start lies in sustain
    kIsRequestSustained = 512,
    kHasFirstByte = 1024,
    kIsProbing = 2048,    // the peer's window is shut; the timer probes it
    kEndsAtClose = 4096,  // the object has no length of its own
  };

  // Wheel: doubly linked by table index; tick kNone: not in it.
  std::uint32_t wheel_next, wheel_previous, wheel_tick;
  std::uint32_t
      link;  // client: index of the tuple; server: next in the hash chain or the free list
  std::uint32_t local_ip, remote_ip;
  std::uint16_t local_port, remote_port;
  State state;
  std::uint8_t retries;
  std::uint8_t duplicate_acks;
  std::uint8_t unacked_segments;  // received in order, not yet acknowledged
  std::uint16_t flags;
  std::uint16_t mss;
  base::MacAddress remote_mac;
  std::uint8_t message;  // in the book: what we send
  std::uint8_t held_count;
  Stage stage;
  std::uint8_t outcome;  // of the client: what it will have been when both FINs are done

  std::uint32_t snd_una, snd_nxt, snd_max, snd_wnd, snd_wl1, snd_wl2;
  std::uint32_t rcv_nxt;
  std::uint32_t message_start, message_length;  // sequence number of the first byte, bytes
  std::uint32_t cwnd, ssthresh, recover;
  std::uint32_t srtt_us, rttvar_us, rto_us;
  std::uint32_t timed_sequence;
  base::Nanos timed_at;

  // 0: not set.
  base::Nanos retransmit_at, ack_at, application_at;

  struct Range {
    std::uint32_t first, end;
  };
  std::array<Range, 3> held;  // received beyond a hole, ascending, apart

  HeadState head;
  std::uint32_t body_start, body_length;  // sequence number and size of the object being received
  std::uint32_t transactions_left;
  base::Nanos intended, opened;  // client: SYN by the schedule and in fact
  base::Nanos requested, request_intended;

  TlsChannel* tls;  // null: what is sent are messages of the book as they stand

  [[nodiscard]] bool is(Flag f) const noexcept { return (flags & f) != 0; }
  void set(Flag f) noexcept { flags = static_cast<std::uint16_t>(flags | f); }
  void clear(Flag f) noexcept { flags = static_cast<std::uint16_t>(flags & ~f); }
  [[nodiscard]] std::uint32_t message_end() const noexcept {
    return message_start + message_length;
  }
  // Nothing of ours is under way and nothing waits.
  [[nodiscard]] bool is_all_acknowledged() const noexcept {
    return snd_una == message_end() || is(kFinAcknowledged);
  }
};

static_assert(sizeof(Connection) == 232);

}  // namespace merlon::lab::tcp
