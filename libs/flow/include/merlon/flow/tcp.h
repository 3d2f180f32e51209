// SPDX-License-Identifier: Apache-2.0
#pragma once
// TCP tracking: state, windows and the checks of RFC 5961 seen from the middle of the path.
// Functions on one session, no memory of their own. worker-owned. An ACK inside the window of an
// established session takes the inline path of a few compares; all else goes to track_tcp_slow().
//
// Windows follow van Rooij, "Real Stateful TCP Packet Filtering in IP Filter" (2000), with scaling
// (RFC 7323). A segment of side S, its peer R, passes when
//   end <= S.max_end + 1                    R allowed it; one octet more is a zero-window probe
//   (RFC 9293 3.8.6.1) end >= S.end - R.max_window             it is not older than a
//   retransmission can be; keep-alives fit ack <= R.end                            it acknowledges
//   what was sent ack >= R.end - max(S.max_window, 65535) not older than a reordered acknowledgment
//   can be (RFC 5961 section 5)
// Nothing relies on seeing every acknowledgment: ends and edges only grow.
//
// RST (RFC 5961 section 3): believed when its sequence is exactly the sender's end (or the octet
// before, when that is a FIN not yet acknowledged). A host that has lost its state resets with the
// number its peer acknowledged, which may be lower when segments were lost behind us: such an RST
// is dropped, its number kept, and believed when it comes again after the peer has acknowledged
// exactly that number. A blind sender has to hit one number of 2^32, as at the end points.
//
// SYN in a session (RFC 5961 section 4): a bare SYN is forwarded without touching state, so that
// the challenge ACK and the exact RST that answers it can clear a connection whose client has
// rebooted. A SYN-ACK that answers this SYN proves that the server has no connection either: the
// session ends as replaced, the SYN's retransmission opens a new one.
#include <cstdint>

#include "merlon/base/bytes.h"
#include "merlon/flow/options.h"
#include "merlon/flow/session.h"
#include "merlon/packet/burst.h"

namespace merlon::flow {

struct TableCounters;

struct TrackVerdict {
  enum class What : std::uint8_t {
    kForward,
    kDrop,     // with `reason`; the session is as before
    kReplace,  // the session is over; the packet may open a new one
    kExpire    // the session's time was over before this packet
  };
  What what = What::kForward;
  base::DropReason reason = base::DropReason::kNone;
  bool is_refreshing = true;  // forwarded packets that prove nothing don't keep a session alive

  static constexpr TrackVerdict forward() noexcept { return {}; }
  static constexpr TrackVerdict pass() noexcept {
    return {What::kForward, base::DropReason::kNone, false};
  }
  static constexpr TrackVerdict drop(base::DropReason why) noexcept {
    return {What::kDrop, why, false};
  }
  static constexpr TrackVerdict replace() noexcept {
    return {What::kReplace, base::DropReason::kNone, false};
  }
};

// Sequence space a segment takes: payload, SYN and FIN.
inline std::uint32_t tcp_segment_length(const packet::Headers& h) noexcept {
  return h.payload_length + (h.tcp_flags & packet::kTcpFin) +
         ((h.tcp_flags & packet::kTcpSyn) >> 1);
}

// Raises `edge` to `value` when that is later in serial order.
inline void raise_edge(std::uint32_t& edge, std::uint32_t value) noexcept {
  if (static_cast<std::int32_t>(value - edge) > 0) edge = value;
}

// True, and the windows moved, when the segment is an ACK inside the window of an established
// session with nothing pending. False says nothing: ask track_tcp_slow().
inline bool track_tcp_fast(Session& s, const packet::Headers& h, unsigned side) noexcept {
  constexpr std::uint8_t kMask =
      packet::kTcpFin | packet::kTcpSyn | packet::kTcpRst | packet::kTcpAck;
  TcpDirection& from = s.tcp[side];
  TcpDirection& to = s.tcp[side ^ 1];
  const std::uint32_t end = h.tcp_sequence + h.payload_length;
  const std::uint32_t low = from.end - to.max_window;
  const std::uint32_t slack = from.max_window > 65535 ? from.max_window : 65535;
  // Added up instead of && chained: one branch, which is nearly always right.
  const unsigned against = unsigned{s.state != SessionState::kEstablished} +
                           unsigned{s.tcp_aux != 0} + unsigned{s.is(Session::kDropAll)} +
                           unsigned{(h.tcp_flags & kMask) != packet::kTcpAck} +
                           unsigned{end - low > from.max_end + 1 - low} +
                           unsigned{to.end - h.tcp_acknowledgment > slack} +
                           unsigned{h.is(packet::Headers::kFirstFragment)};
  if (against != 0) [[unlikely]]
    return false;
  const std::uint32_t window = static_cast<std::uint32_t>(h.tcp_window)
                               << (s.window_scale[side] & 15);
  s.tcp_flags_seen[side] |= h.tcp_flags;
  raise_edge(from.end, end);
  raise_edge(to.max_end, h.tcp_acknowledgment + window);
  if (window > from.max_window) from.max_window = window;
  return true;
}

// Whether the segment may open a session, and in which state; otherwise the reason.
struct TcpOpening {
  SessionState state = SessionState::kFree;
  base::DropReason reason = base::DropReason::kNone;
};
TcpOpening tcp_may_open(const packet::Headers& h, const TcpOptions& options) noexcept;

// Learns from the segment that opened the session (side 0). `options` are the TCP header's option
// bytes.
void tcp_start(Session& s, const packet::Headers& h, base::ByteSpan options) noexcept;

// Any segment. `options` is read for SYNs only. Changes state, windows and tcp_aux; the caller
// moves last_seen, the counts and the table's view of the state (SessionTable::state_changed).
TrackVerdict track_tcp_slow(Session& s, const packet::Headers& h, unsigned side,
                            base::ByteSpan options, const TcpOptions& tcp,
                            TableCounters& counters) noexcept;

// Whether a sequence number quoted by an ICMP error can be of a segment that side `side` sent and
// its peer has perhaps not acknowledged (RFC 5927 section 4.1).
bool tcp_quote_fits(const Session& s, unsigned side, std::uint32_t sequence) noexcept;

// A later fragment of a segment: its octets follow those that the first one announced.
void tcp_fragment(Session& s, unsigned side, std::uint32_t payload_length) noexcept;

}  // namespace merlon::flow
