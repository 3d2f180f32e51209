// SPDX-License-Identifier: Apache-2.0
#include "merlon/flow/tcp.h"

#include <algorithm>

#include "merlon/flow/session_table.h"
#include "merlon/packet/tcp_options.h"

namespace merlon::flow {

namespace {

using base::DropReason;
using packet::Headers;
using packet::kTcpAck;
using packet::kTcpFin;
using packet::kTcpRst;
using packet::kTcpSyn;

// tcp_aux: what each side has closed, and what tcp_pending means.
enum Aux : std::uint8_t {
  kFinSeen = 1,   // << side
  kFinAcked = 4,  // << side
  kPendKind = 0x30,
  kPendSyn = 0x10,        // sequence of a SYN forwarded inside the session, of side 0
  kPendRst = 0x20,        // sequence of a refused RST
  kPendChallenge = 0x30,  // kSynSent: acknowledgment that side 1 answered the SYN with
  kPendSide = 0x40,       // of the RST
  kPendProved = 0x80,     // the peer has acknowledged exactly the RST's sequence
};
// In kSynSent tcp[1].end is the initiator's ISN + 1; in kSynReceived tcp_pending is the responder's
// ISN + 1.

constexpr std::uint8_t kUnknownShift =
    14;  // mid-stream: the scale was not seen, so the widest is assumed
constexpr unsigned kLearnSegments = 3;  // mid-stream: of each side, before windows are enforced
constexpr std::uint32_t kSlack = 65535;

std::uint8_t fin_seen(unsigned side) noexcept {
  return static_cast<std::uint8_t>(kFinSeen << side);
}
std::uint8_t fin_acked(unsigned side) noexcept {
  return static_cast<std::uint8_t>(kFinAcked << side);
}

bool is_later(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>(a - b) > 0;
}
// first <= x <= last in serial order, for last - first < 2^31.
bool is_between(std::uint32_t first, std::uint32_t x, std::uint32_t last) noexcept {
  return x - first <= last - first;
}

void set_pending(Session& s, Aux kind, unsigned side, std::uint32_t sequence) noexcept {
  s.tcp_aux = static_cast<std::uint8_t>((s.tcp_aux & ~(kPendKind | kPendSide | kPendProved)) |
                                        kind | (side != 0 ? kPendSide : 0));
  s.tcp_pending = sequence;
}
void clear_pending(Session& s) noexcept {
  s.tcp_aux &= static_cast<std::uint8_t>(~(kPendKind | kPendSide | kPendProved));
}
bool is_pending(const Session& s, Aux kind, unsigned side) noexcept {
  return (s.tcp_aux & kPendKind) == kind && ((s.tcp_aux & kPendSide) != 0) == (side != 0);
}

std::uint32_t scaled_window(const Session& s, const Headers& h, unsigned side) noexcept {
  return (h.tcp_flags & kTcpSyn) != 0
             ? h.tcp_window
             : static_cast<std::uint32_t>(h.tcp_window) << (s.window_scale[side] & 15);
}

// The four inequalities of the header.
bool fits_window(const Session& s, const Headers& h, unsigned side, std::uint32_t end) noexcept {
  const TcpDirection& from = s.tcp[side];
  const TcpDirection& to = s.tcp[side ^ 1];
  const std::uint32_t low = from.end - to.max_window;
  return is_between(low, end, from.max_end + 1) &&
         to.end - h.tcp_acknowledgment <= std::max(from.max_window, kSlack);
}

void learn(Session& s, const Headers& h, unsigned side, std::uint32_t end) noexcept {
  TcpDirection& from = s.tcp[side];
  TcpDirection& to = s.tcp[side ^ 1];
  const std::uint32_t window = scaled_window(s, h, side);
  raise_edge(from.end, end);
  if ((h.tcp_flags & kTcpAck) != 0) raise_edge(to.max_end, h.tcp_acknowledgment + window);
  from.max_window = std::max({from.max_window, window, std::uint32_t{1}});
}

// Where the window is not enforced a segment beyond it moves it, so that both ends stay comparable.
void learn_loosely(Session& s, const Headers& h, unsigned side, std::uint32_t end) noexcept {
  learn(s, h, side, end);
  raise_edge(s.tcp[side].max_end, s.tcp[side].end);
  if ((h.tcp_flags & kTcpAck) != 0) {
    raise_edge(s.tcp[side ^ 1].end, h.tcp_acknowledgment);
    raise_edge(s.tcp[side ^ 1].max_end, s.tcp[side ^ 1].end);
  }
}

// RFC 7323 section 2.2: scaling is in effect only when both SYNs carried it.
void settle_scale(Session& s) noexcept {
  if (s.window_scale[0] != kNoScale && s.window_scale[1] != kNoScale) return;
  s.window_scale[0] = s.window_scale[1] = 0;
}

// Side 1's SYN or SYN-ACK: both windows are known from here on.
void answer(Session& s, const Headers& h, base::ByteSpan options) noexcept {
  TcpDirection& first = s.tcp[0];
  TcpDirection& second = s.tcp[1];
  const std::uint32_t isn_next = h.tcp_sequence + 1;
  second.end = h.tcp_sequence + tcp_segment_length(h);
  second.max_window = std::max<std::uint32_t>(h.tcp_window, 1);
  second.max_end = isn_next + first.max_window;
  raise_edge(second.max_end, second.end);
  first.max_end =
      ((h.tcp_flags & kTcpAck) != 0 ? h.tcp_acknowledgment : first.end) + second.max_window;
  raise_edge(first.max_end, first.end);
  s.window_scale[1] = packet::read_tcp_options(options).window_scale;
  settle_scale(s);
  clear_pending(s);
  s.tcp_pending = isn_next;
  s.state = SessionState::kSynReceived;
}

// After a FIN or an acknowledgment of one.
void settle_closing(Session& s) noexcept {
  const unsigned seen = s.tcp_aux & (fin_seen(0) | fin_seen(1));
  const unsigned acked = s.tcp_aux & (fin_acked(0) | fin_acked(1));
  if (seen == 0 || s.state == SessionState::kSynReceived || s.state == SessionState::kReset) return;
  if (acked == unsigned{fin_acked(0)} + fin_acked(1))
    s.state = SessionState::kTimeWait;
  else if (seen == unsigned{fin_seen(0)} + fin_seen(1))
    s.state = SessionState::kClosing;
  else
    s.state = SessionState::kFinWait;
}

// What an accepted segment says about FINs, pending proofs and the handshake.
void advance(Session& s, const Headers& h, unsigned side, std::uint32_t end) noexcept {
  const unsigned peer = side ^ 1;
  if ((h.tcp_flags & kTcpFin) != 0 && end == s.tcp[side].end) s.tcp_aux |= fin_seen(side);
  if ((s.tcp_aux & fin_seen(peer)) != 0 && h.tcp_acknowledgment == s.tcp[peer].end)
    s.tcp_aux |= fin_acked(peer);
  if (s.state == SessionState::kSynReceived) {
    const unsigned acks = (h.tcp_flags | s.tcp_flags_seen[side]) & s.tcp_flags_seen[peer] & kTcpAck;
    if (acks != 0) {
      s.state = SessionState::kEstablished;
      s.tcp_pending = 0;
    }
  } else if (is_pending(s, kPendRst, peer) && h.tcp_acknowledgment == s.tcp_pending) {
    s.tcp_aux |= kPendProved;
  } else if (is_pending(s, kPendRst, side) || is_pending(s, kPendSyn, side)) {
    clear_pending(s);  // the host that seemed gone is there
  }
  settle_closing(s);
}

TrackVerdict on_midstream(Session& s, const Headers& h, unsigned side, std::uint32_t end,
                          const TcpOptions& tcp) noexcept {
  TcpDirection& from = s.tcp[side];
  const bool is_near = is_between(from.end - (1U << 30), end, from.end + (1U << 30));
  if (!is_near && tcp.window == WindowCheck::kStrict)
    return TrackVerdict::drop(DropReason::kTcpWindow);
  learn_loosely(s, h, side, end);
  const std::uint64_t own = s.packets[side] + 1;  // this one is counted later
  if (own >= kLearnSegments && s.packets[side ^ 1] >= kLearnSegments)
    s.state = SessionState::kEstablished;
  advance(s, h, side, end);
  return TrackVerdict::forward();
}

// Neither SYN nor RST before the responder's SYN.
TrackVerdict on_syn_sent(Session& s, const Headers& h, unsigned side, std::uint32_t end,
                         const TcpOptions& tcp) noexcept {
  if (side == 1 && (h.tcp_flags & kTcpAck) != 0 && end == h.tcp_sequence) {
    // The peer still has an older connection (RFC 9293 section 3.5.1). Its ACK makes the initiator
    // reset that one.
    set_pending(s, kPendChallenge, 0, h.tcp_acknowledgment);
    return TrackVerdict::pass();
  }
  if (side == 1 || tcp.window == WindowCheck::kStrict)
    return TrackVerdict::drop(DropReason::kTcpState);
  // The answer took another path.
  clear_pending(s);
  s.tcp[1] = {h.tcp_acknowledgment, h.tcp_acknowledgment, 0};
  s.window_scale[0] = s.window_scale[1] = kUnknownShift;
  s.state = SessionState::kMidstream;
  return on_midstream(s, h, side, end, tcp);
}

// Anything but SYN and RST.
TrackVerdict on_segment(Session& s, const Headers& h, unsigned side, const TcpOptions& tcp,
                        TableCounters& counters) noexcept {
  const std::uint32_t end = h.tcp_sequence + tcp_segment_length(h);
  if (s.state == SessionState::kSynSent) return on_syn_sent(s, h, side, end, tcp);
  if ((h.tcp_flags & kTcpAck) == 0) return TrackVerdict::drop(DropReason::kTcpState);
  if (s.state == SessionState::kMidstream) return on_midstream(s, h, side, end, tcp);
  bool fits = fits_window(s, h, side, end);
  // The handshake's ACK has to name the responder's sequence exactly: a blind sender must not
  // complete it.
  if (s.state == SessionState::kSynReceived && side == 0)
    fits = fits && is_between(s.tcp_pending, h.tcp_acknowledgment, s.tcp[1].end);
  if (!fits && tcp.window == WindowCheck::kStrict)
    return TrackVerdict::drop(DropReason::kTcpWindow);
  if (s.state == SessionState::kReset)
    return TrackVerdict::pass();  // makes a peer that missed the RST hear it again
  if (!fits) {
    if (tcp.window == WindowCheck::kLoose) ++counters.window_passed;
    learn_loosely(s, h, side, end);
  } else {
    if ((s.tcp_aux & fin_seen(side)) != 0 && is_later(end, s.tcp[side].end) &&
        tcp.window == WindowCheck::kStrict)
      return TrackVerdict::drop(DropReason::kTcpState);  // octets after a FIN
    learn(s, h, side, end);
  }
  advance(s, h, side, end);
  return TrackVerdict::forward();
}

// SYN or SYN-ACK in a session whose handshake is not complete.
TrackVerdict on_syn_opening(Session& s, const Headers& h, unsigned side,
                            base::ByteSpan options) noexcept {
  const std::uint32_t isn_next = h.tcp_sequence + 1;
  const bool is_ack = (h.tcp_flags & kTcpAck) != 0;
  if (s.state == SessionState::kSynSent) {
    if (side == 0) {
      if (is_ack) return TrackVerdict::drop(DropReason::kTcpState);
      if (isn_next == s.tcp[1].end)
        raise_edge(s.tcp[0].end,
                   h.tcp_sequence + tcp_segment_length(h));  // Fast Open falls back to no data
      else
        tcp_start(s, h, options);
      return TrackVerdict::forward();
    }
    if (is_ack && !is_between(s.tcp[1].end, h.tcp_acknowledgment, s.tcp[0].end))
      return TrackVerdict::drop(DropReason::kTcpWindow);
    answer(s, h, options);
    return TrackVerdict::forward();
  }
  // kSynReceived
  const std::uint32_t own_next = side == 1 ? s.tcp_pending : s.tcp[0].end;
  const bool is_same = side == 1 ? isn_next == own_next : own_next - isn_next <= kSlack;
  if (!is_ack) {
    if (is_same) return TrackVerdict::forward();
    return side == 0 ? TrackVerdict::pass() : TrackVerdict::drop(DropReason::kTcpSynInSession);
  }
  const TcpDirection& peer = s.tcp[side ^ 1];
  if (is_same && peer.end - h.tcp_acknowledgment <= kSlack) {
    // A retransmission, or the second half of a simultaneous open (RFC 9293 section 3.5, figure 8).
    const std::uint32_t end = h.tcp_sequence + tcp_segment_length(h);
    if (side == 0 && h.tcp_acknowledgment != peer.end)
      return TrackVerdict::drop(DropReason::kTcpWindow);
    learn(s, h, side, end);
    advance(s, h, side, end);
    return TrackVerdict::forward();
  }
  if (side == 1 && h.tcp_acknowledgment == peer.end && (s.tcp_flags_seen[0] & kTcpAck) == 0) {
    answer(s, h, options);  // the first SYN-ACK never arrived and the responder chose again
    return TrackVerdict::forward();
  }
  return TrackVerdict::drop(DropReason::kTcpSynInSession);
}

// SYN or SYN-ACK in any other session.
TrackVerdict on_syn(Session& s, const Headers& h, unsigned side, TableCounters& counters) noexcept {
  const std::uint32_t isn_next = h.tcp_sequence + 1;
  if ((h.tcp_flags & kTcpAck) != 0) {
    if (side == 1 && is_pending(s, kPendSyn, 0) && h.tcp_acknowledgment == s.tcp_pending + 1)
      return TrackVerdict::replace();
    const TcpDirection& from = s.tcp[side];
    const TcpDirection& to = s.tcp[side ^ 1];
    const bool is_old = from.end - isn_next <= std::max(to.max_window, kSlack) &&
                        to.end - h.tcp_acknowledgment <= std::max(from.max_window, kSlack);
    return is_old ? TrackVerdict::pass() : TrackVerdict::drop(DropReason::kTcpSynInSession);
  }
  if (s.state == SessionState::kReset) return TrackVerdict::replace();
  // RFC 9293 section 3.6.1: TIME-WAIT may give way to a SYN whose number is beyond the old
  // connection's.
  if (s.state == SessionState::kTimeWait && is_later(isn_next, s.tcp[side].end))
    return TrackVerdict::replace();
  if (side == 1) return TrackVerdict::drop(DropReason::kTcpSynInSession);
  set_pending(s, kPendSyn, 0, h.tcp_sequence);
  ++counters.syn_passed;
  return TrackVerdict::pass();
}

TrackVerdict reset(Session& s) noexcept {
  s.state = SessionState::kReset;
  settle_scale(s);
  clear_pending(s);
  return TrackVerdict::forward();
}

TrackVerdict on_rst_opening(Session& s, const Headers& h, unsigned side) noexcept {
  const bool is_ack = (h.tcp_flags & kTcpAck) != 0;
  const TcpDirection& first = s.tcp[0];
  if (s.state == SessionState::kSynSent) {
    const std::uint32_t isn_next = s.tcp[1].end;
    if (side == 1) {
      const bool answers = is_ack && is_between(isn_next, h.tcp_acknowledgment, first.end);
      return answers ? reset(s) : TrackVerdict::drop(DropReason::kTcpRstWindow);
    }
    if (is_pending(s, kPendChallenge, 0) && h.tcp_sequence == s.tcp_pending)
      return TrackVerdict::pass();
    return is_between(isn_next, h.tcp_sequence, first.end)
               ? reset(s)
               : TrackVerdict::drop(DropReason::kTcpRstWindow);
  }
  // kSynReceived: by its own number, or, from a responder that has forgotten the SYN, by the SYN's.
  if (h.tcp_sequence == s.tcp[side].end) return reset(s);
  if (side == 1 && is_ack && h.tcp_acknowledgment == first.end &&
      (s.tcp_flags_seen[0] & kTcpAck) == 0)
    return reset(s);
  return TrackVerdict::drop(DropReason::kTcpRstWindow);
}

TrackVerdict on_rst(Session& s, const Headers& h, unsigned side, const TcpOptions& tcp,
                    TableCounters& counters) noexcept {
  if (tcp.window == WindowCheck::kOff) return reset(s);
  if (s.state == SessionState::kSynSent || s.state == SessionState::kSynReceived)
    return on_rst_opening(s, h, side);
  const TcpDirection& from = s.tcp[side];
  const std::uint32_t reach = std::max(s.tcp[side ^ 1].max_window, std::uint32_t{1});
  const bool is_exact = h.tcp_sequence == from.end ||
                        ((s.tcp_aux & (fin_seen(side) | fin_acked(side))) == fin_seen(side) &&
                         h.tcp_sequence == from.end - 1) ||
                        (is_pending(s, kPendRst, side) && (s.tcp_aux & kPendProved) != 0 &&
                         h.tcp_sequence == s.tcp_pending);
  const bool is_inside = is_between(from.end - reach, h.tcp_sequence, from.max_end);
  // RFC 1337: an RST does not shorten TIME-WAIT; after an RST more of them may follow.
  if (s.state == SessionState::kTimeWait || s.state == SessionState::kReset)
    return is_exact || is_inside ? TrackVerdict::pass()
                                 : TrackVerdict::drop(DropReason::kTcpRstWindow);
  if (is_exact) return reset(s);
  if (tcp.window == WindowCheck::kLoose) {
    if (is_inside) return reset(s);
    ++counters.window_passed;
    return TrackVerdict::pass();
  }
  // A SYN forwarded into the session was refused: the initiator has to hear it, the session stays
  // as it is.
  if (side == 1 && is_pending(s, kPendSyn, 0) && (h.tcp_flags & kTcpAck) != 0 &&
      h.tcp_acknowledgment == s.tcp_pending + 1)
    return TrackVerdict::pass();
  if (is_inside && !(is_pending(s, kPendRst, side) && h.tcp_sequence == s.tcp_pending))
    set_pending(s, kPendRst, side, h.tcp_sequence);
  return TrackVerdict::drop(DropReason::kTcpRstWindow);
}

}  // namespace

TcpOpening tcp_may_open(const Headers& h, const TcpOptions& options) noexcept {
  const unsigned flags = h.tcp_flags & (kTcpFin | kTcpSyn | kTcpRst | kTcpAck);
  if (flags == kTcpSyn) return {SessionState::kSynSent, DropReason::kNone};
  if (options.allow_midstream && (flags & ~unsigned{kTcpFin}) == kTcpAck)
    return {SessionState::kMidstream, DropReason::kNone};
  return {SessionState::kFree, DropReason::kTcpNotSyn};
}

void tcp_start(Session& s, const Headers& h, base::ByteSpan options) noexcept {
  const std::uint32_t end = h.tcp_sequence + tcp_segment_length(h);
  s.tcp_aux = 0;
  if ((h.tcp_flags & kTcpSyn) != 0) {
    s.tcp[0] = {end, end, std::max<std::uint32_t>(h.tcp_window, 1)};
    s.tcp[1] = {h.tcp_sequence + 1, 0, 0};
    s.window_scale[0] = packet::read_tcp_options(options).window_scale;
    s.window_scale[1] = kNoScale;
    s.state = SessionState::kSynSent;
    return;
  }
  s.window_scale[0] = s.window_scale[1] = kUnknownShift;
  s.tcp[0] = {end, end, 0};
  s.tcp[1] = {h.tcp_acknowledgment, h.tcp_acknowledgment, 0};
  s.state = SessionState::kMidstream;
  learn_loosely(s, h, 0, end);
  advance(s, h, 0, end);
}

TrackVerdict track_tcp_slow(Session& s, const Headers& h, unsigned side, base::ByteSpan options,
                            const TcpOptions& tcp, TableCounters& counters) noexcept {
  TrackVerdict v;
  if ((h.tcp_flags & kTcpRst) != 0)
    v = on_rst(s, h, side, tcp, counters);
  else if ((h.tcp_flags & kTcpSyn) == 0)
    v = on_segment(s, h, side, tcp, counters);
  else if (s.state == SessionState::kSynSent || s.state == SessionState::kSynReceived)
    v = on_syn_opening(s, h, side, options);
  else
    v = on_syn(s, h, side, counters);
  if (v.what == TrackVerdict::What::kForward) s.tcp_flags_seen[side] |= h.tcp_flags;
  return v;
}

bool tcp_quote_fits(const Session& s, unsigned side, std::uint32_t sequence) noexcept {
  return s.tcp[side].end - sequence <= std::max(s.tcp[side ^ 1].max_window, kSlack);
}

void tcp_fragment(Session& s, unsigned side, std::uint32_t payload_length) noexcept {
  TcpDirection& from = s.tcp[side];
  const std::uint32_t room = from.max_end - from.end;
  if (room <= 1U << 30) from.end += std::min(payload_length, room);
}

}  // namespace merlon::flow
