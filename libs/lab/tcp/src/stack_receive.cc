// SPDX-License-Identifier: Apache-2.0
// Segment arrives: RFC 9293 section 3.10.7, in its order.
#include <algorithm>

#include "merlon/lab_tcp/stack.h"
#include "merlon/lab_tcp/tls_channel.h"

namespace merlon::lab::tcp {
namespace {

using base::Nanos;

constexpr std::uint8_t kDuplicateAcks = 3;  // RFC 5681 section 3.2

}  // namespace

Input Stack::receive_in_syn_sent(Connection& c, const Segment& s, Nanos now) noexcept {
  Input in;
  const bool is_ours = (s.flags & kAck) != 0 && s.acknowledgment == c.snd_nxt;
  if ((s.flags & kRst) != 0) {
    in.is_refused = is_ours;
    if (!is_ours) ++counters_.resets_ignored;
    return in;
  }
  if (!is_ours || (s.flags & kSyn) == 0) {
    ++counters_.bad_acks;
    return in;
  }
  if (c.is(Connection::kIsTimed)) measure_round_trip(c, now);
  c.state = State::kOpen;
  c.snd_una = s.acknowledgment;
  c.rcv_nxt = s.sequence + 1;
  c.snd_wnd = s.window;
  c.snd_wl1 = s.sequence;
  c.snd_wl2 = s.acknowledgment;
  c.mss = std::min(settings_.mss, s.mss != 0 ? s.mss : kDefaultMss);
  c.cwnd = settings_.initial_window * c.mss;
  c.retries = 0;
  c.retransmit_at = 0;
  c.set(Connection::kAckNow);
  in.has_connected = true;
  return in;
}

// The four cases of RFC 9293's table 6; our window is never shut.
bool Stack::is_in_window(const Connection& c, const Segment& s) const noexcept {
  const std::uint32_t length = s.length();
  if (s.sequence - c.rcv_nxt < settings_.window) return true;
  return length > 0 && s.sequence + length - 1 - c.rcv_nxt < settings_.window;
}

Input Stack::receive(Connection& c, const Segment& s, Nanos now) noexcept {
  if (c.state == State::kSynSent) return receive_in_syn_sent(c, s, now);
  Input in;
  if (!is_in_window(c, s)) {
    if ((s.flags & kRst) != 0) return in;
    ++counters_.out_of_window;
    // The peer's SYN again: our answer was lost.
    if (c.state == State::kSynReceived && (s.flags & (kSyn | kAck)) == kSyn &&
        s.sequence + 1 == c.rcv_nxt)
      send_syn(c, true, now);
    else
      c.set(Connection::kAckNow);
    return in;
  }
  if ((s.flags & kRst) != 0) {
    in.is_reset = s.sequence == c.rcv_nxt;
    if (!in.is_reset) {
      ++counters_.resets_ignored;
      c.set(Connection::kAckNow);
    }
    return in;
  }
  if ((s.flags & kSyn) != 0) {
    c.set(Connection::kAckNow);
    return in;
  }
  if ((s.flags & kAck) == 0) return in;
  const bool was_opening = c.state == State::kSynReceived;
  if (!take_acknowledgment(c, s, now)) return in;
  in.has_connected = was_opening && c.state == State::kOpen;
  trim(c, s, in);
  return in;
}

// RFC 9293 section 3.10.7.4, "check the ACK field". False: the segment is not to be looked at
// further.
bool Stack::take_acknowledgment(Connection& c, const Segment& s, Nanos now) noexcept {
  const std::uint32_t ack = s.acknowledgment;
  if (is_before(c.snd_max, ack)) {
    ++counters_.bad_acks;
    c.set(Connection::kAckNow);
    return false;
  }
  if (c.state == State::kSynReceived) {
    if (!is_before(c.snd_una, ack)) return false;
    c.state = State::kOpen;
    c.snd_wnd = s.window;
    c.snd_wl1 = s.sequence;
    c.snd_wl2 = ack;
    c.cwnd = settings_.initial_window * c.mss;
  }
  const bool is_same_window = s.window == c.snd_wnd;
  if (is_before(c.snd_wl1, s.sequence) || (c.snd_wl1 == s.sequence && !is_before(ack, c.snd_wl2))) {
    c.snd_wnd = s.window;
    c.snd_wl1 = s.sequence;
    c.snd_wl2 = ack;
    if (c.snd_wnd != 0 && c.is(Connection::kIsProbing)) {
      c.clear(Connection::kIsProbing);
      c.retransmit_at = 0;
    }
  }
  if (is_before(c.snd_una, ack)) {
    take_new_acknowledgment(c, ack, now);
  } else if (c.is(Connection::kIsProbing)) {
    c.retries =
        0;  // a peer that answers probes may keep its window shut (RFC 1122 section 4.2.2.17)
  } else if (ack == c.snd_una && c.snd_max != c.snd_una && s.length() == 0 && is_same_window) {
    take_duplicate_acknowledgment(c, now);
  }
  return true;
}

// What the peer has need not be kept; the message begins where it goes on.
void Stack::release_acknowledged(Connection& c) noexcept {
  const std::uint32_t size = std::min(c.snd_una - c.message_start, c.message_length);
  c.tls->release(size);
  c.message_start += size;
  c.message_length -= size;
}

void Stack::take_new_acknowledgment(Connection& c, std::uint32_t ack, Nanos now) noexcept {
  if (c.is(Connection::kIsTimed) && !is_before(ack, c.timed_sequence)) measure_round_trip(c, now);
  const std::uint32_t acked = ack - c.snd_una;
  c.snd_una = ack;
  if (c.tls != nullptr) release_acknowledged(c);
  if (is_before(c.snd_nxt, ack)) c.snd_nxt = ack;
  c.retries = 0;
  c.duplicate_acks = 0;
  c.retransmit_at = ack == c.snd_max ? 0 : now + c.rto_us * Nanos{1000};
  if (c.is(Connection::kFinQueued) && ack == c.message_end() + 1)
    c.set(Connection::kFinAcknowledged);
  if (c.is(Connection::kInRecovery)) {
    if (!is_before(ack, c.recover)) {
      c.clear(Connection::kInRecovery);
      c.cwnd = c.ssthresh;
    } else {
      // A partial acknowledgment: the next hole starts here (RFC 6582 section 3.2 step 3).
      retransmit_first(c, now);
      c.cwnd = c.cwnd - std::min(c.cwnd, acked) + c.mss;
    }
    return;
  }
  if (c.cwnd < c.ssthresh)
    c.cwnd += std::min<std::uint32_t>(acked, 2U * c.mss);  // RFC 3465 with L = 2
  else
    c.cwnd += std::max<std::uint32_t>(1, std::uint32_t{c.mss} * c.mss / c.cwnd);
  c.cwnd = std::min<std::uint32_t>(c.cwnd, 1U << 20);
}

void Stack::take_duplicate_acknowledgment(Connection& c, Nanos now) noexcept {
  if (c.is(Connection::kInRecovery)) {
    c.cwnd += c.mss;
    return;
  }
  if (++c.duplicate_acks != kDuplicateAcks || !is_before(c.recover, c.snd_una)) return;
  c.ssthresh = std::max<std::uint32_t>((c.snd_max - c.snd_una) / 2, 2U * c.mss);
  c.recover = c.snd_max;
  c.cwnd = c.ssthresh + kDuplicateAcks * std::uint32_t{c.mss};
  c.set(Connection::kInRecovery);
  ++counters_.fast_retransmissions;
  retransmit_first(c, now);
}

// RFC 6298 section 2; Karn's rule is kept by clearing kIsTimed at a retransmission.
void Stack::measure_round_trip(Connection& c, Nanos now) const noexcept {
  c.clear(Connection::kIsTimed);
  const auto r =
      static_cast<std::uint32_t>(std::clamp<Nanos>((now - c.timed_at) / 1000, 1, kMaxTimeoutUs));
  if (c.srtt_us == 0) {
    c.srtt_us = r;
    c.rttvar_us = r / 2;
  } else {
    const std::uint32_t off = c.srtt_us > r ? c.srtt_us - r : r - c.srtt_us;
    c.rttvar_us = (3 * c.rttvar_us + off) / 4;
    c.srtt_us = (7 * c.srtt_us + r) / 8;
  }
  c.rto_us = std::clamp(c.srtt_us + 4 * c.rttvar_us, settings_.minimum_timeout_us, kMaxTimeoutUs);
}

// What is new of the payload, cut to the window.
void Stack::trim(Connection& c, const Segment& s, Input& in) noexcept {
  in.is_acceptable = true;
  in.payload = s.payload;
  in.sequence = s.sequence;
  in.has_fin = (s.flags & kFin) != 0;
  if (is_before(in.sequence, c.rcv_nxt)) {
    const std::size_t old = c.rcv_nxt - in.sequence;
    // Beyond the payload only the FIN is left, and it is new only when it stands just at rcv_nxt.
    if (old > in.payload.size()) in.has_fin = false;
    in.payload = in.payload.subspan(std::min(old, in.payload.size()));
    in.sequence = c.rcv_nxt;
    if (in.payload.empty() && !in.has_fin) {
      ++counters_.duplicates;
      c.set(Connection::kAckNow);
    }
  }
  const std::uint32_t room = c.rcv_nxt + settings_.window - in.sequence;
  if (in.payload.size() > room) {
    in.payload = in.payload.first(room);
    in.has_fin = false;
  }
  if (c.is(Connection::kPeerClosed)) {
    in.payload = {};
    in.has_fin = false;
  }
  in.is_in_order = in.sequence == c.rcv_nxt;
  if (in.payload.empty() && !in.has_fin) return;
  if (!in.is_in_order) {
    ++counters_.holes;
    c.set(Connection::kAckNow);
  }
}

void Stack::take(Connection& c, const Input& in, std::uint32_t size, Nanos now) noexcept {
  if (!in.is_acceptable) return;
  if (!in.is_in_order) {
    if (size > 0) hold(c, in.sequence, in.sequence + size);
    return;
  }
  if (size > 0) {
    c.rcv_nxt += size;
    if (c.held_count > 0) {
      absorb_held(c);
      c.set(Connection::kAckNow);  // RFC 5681 section 4.2
    }
    if (++c.unacked_segments >= 2)
      c.set(Connection::kAckNow);
    else if (c.ack_at == 0)
      c.ack_at = now + settings_.ack_delay;
  }
  if (in.has_fin && size == in.payload.size() && in.sequence + size == c.rcv_nxt) {
    ++c.rcv_nxt;
    c.set(Connection::kPeerClosed);
    c.set(Connection::kAckNow);
  }
}

// Adds a range to those held, joining what touches. False: no room; the bytes are sent again.
bool Stack::hold(Connection& c, std::uint32_t first, std::uint32_t end) noexcept {
  unsigned at = 0;
  while (at < c.held_count && is_before(c.held[at].end, first)) ++at;
  unsigned last = at;
  while (last < c.held_count && !is_before(end, c.held[last].first)) {
    if (is_before(c.held[last].first, first)) first = c.held[last].first;
    if (is_before(end, c.held[last].end)) end = c.held[last].end;
    ++last;
  }
  if (at == last) {
    if (c.held_count == c.held.size()) return false;
    std::move_backward(c.held.begin() + at, c.held.begin() + c.held_count,
                       c.held.begin() + c.held_count + 1);
    ++c.held_count;
  } else {
    std::move(c.held.begin() + last, c.held.begin() + c.held_count, c.held.begin() + at + 1);
    c.held_count = static_cast<std::uint8_t>(c.held_count - (last - at - 1));
  }
  c.held[at] = {first, end};
  return true;
}

void Stack::absorb_held(Connection& c) noexcept {
  unsigned n = 0;
  while (n < c.held_count && !is_before(c.rcv_nxt, c.held[n].first)) {
    if (is_before(c.rcv_nxt, c.held[n].end)) c.rcv_nxt = c.held[n].end;
    ++n;
  }
  if (n == 0) return;
  std::move(c.held.begin() + n, c.held.begin() + c.held_count, c.held.begin());
  c.held_count = static_cast<std::uint8_t>(c.held_count - n);
}

}  // namespace merlon::lab::tcp
