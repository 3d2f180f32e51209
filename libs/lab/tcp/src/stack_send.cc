// SPDX-License-Identifier: Apache-2.0
// What leaves: opening, data, FIN, acknowledgments, and their timers.
#include <algorithm>

#include "merlon/base/hash.h"
#include "merlon/lab_tcp/stack.h"
#include "merlon/lab_tcp/tls_channel.h"

namespace merlon::lab::tcp {
namespace {

using base::Nanos;

constexpr Nanos nanos(std::uint32_t microseconds) noexcept { return microseconds * Nanos{1000}; }

}  // namespace

// Initial sequence number: a clock of 4 us plus a keyed hash of the connection (RFC 6528 section
// 3).
void Stack::start(Connection& c, Nanos now) noexcept {
  const std::uint64_t addresses = std::uint64_t{c.local_ip} << 32 | c.remote_ip;
  const std::uint64_t ports = std::uint64_t{c.local_port} << 16 | c.remote_port;
  const std::uint64_t hash = base::fold_multiply(
      addresses ^ settings_.secret, (ports << 20) ^ 0x9e3779b97f4a7c15ULL ^ settings_.secret);
  const auto iss = static_cast<std::uint32_t>(hash) + static_cast<std::uint32_t>(now / 4000);
  c.snd_una = iss;
  c.snd_nxt = c.snd_max = iss + 1;
  c.message_start = iss + 1;
  c.message_length = 0;
  c.recover = iss;
  c.snd_wnd = c.snd_wl1 = c.snd_wl2 = c.rcv_nxt = 0;
  c.mss = settings_.mss;
  c.cwnd = c.mss;
  c.ssthresh = 0x7fffffff;
  c.srtt_us = c.rttvar_us = 0;
  c.rto_us = settings_.initial_timeout_us;
  c.retries = c.duplicate_acks = c.unacked_segments = c.held_count = 0;
  c.flags = 0;
  c.message = 0;
  c.retransmit_at = c.ack_at = c.application_at = 0;
}

void Stack::connect(Connection& c, Nanos now) noexcept {
  start(c, now);
  c.state = State::kSynSent;
  send_syn(c, false, now);
}

void Stack::answer_syn(Connection& c, const Segment& syn, Nanos now) noexcept {
  start(c, now);
  c.state = State::kSynReceived;
  c.rcv_nxt = syn.sequence + 1;
  c.snd_wnd = syn.window;
  c.mss = std::min(settings_.mss, syn.mss != 0 ? syn.mss : kDefaultMss);
  send_syn(c, false, now);
}

void Stack::send_syn(Connection& c, bool is_retransmission, Nanos now) noexcept {
  const bool is_answer = c.state == State::kSynReceived;
  if (is_retransmission) {
    ++counters_.syn_retransmissions;
    c.clear(Connection::kIsTimed);
  } else {
    c.set(Connection::kIsTimed);
    c.timed_sequence = c.snd_nxt;
    c.timed_at = now;
  }
  c.retransmit_at = now + nanos(c.rto_us);
  send(c, c.snd_una, is_answer ? kSyn | kAck : kSyn, 0, 0);
}

void Stack::say(Connection& c, std::uint8_t message) noexcept {
  c.message = message;
  c.message_start = c.snd_max;
  c.message_length = book_.length(message);
}

// From message_start on stands what the channel keeps until it is acknowledged.
void Stack::extend(Connection& c) noexcept {
  if (!c.is(Connection::kFinQueued)) c.message_length = c.tls->pending();
}

// Writes one segment; whether it is new or sent again is the caller's business. Every segment
// acknowledges.
void Stack::send(Connection& c, std::uint32_t sequence, std::uint8_t flags, std::uint32_t from,
                 std::uint32_t size) noexcept {
  SegmentHeader h;
  h.source_mac = settings_.mac;
  h.destination_mac = c.remote_mac;
  h.source_ip = c.local_ip;
  h.destination_ip = c.remote_ip;
  h.source_port = c.local_port;
  h.destination_port = c.remote_port;
  h.sequence = sequence;
  h.flags = flags;
  h.window = settings_.window;
  if ((flags & kSyn) != 0) h.mss = settings_.mss;
  if ((flags & kAck) != 0) {
    h.acknowledgment = c.rcv_nxt;
    c.ack_at = 0;
    c.unacked_segments = 0;
    c.clear(Connection::kAckNow);
  }
  base::Byte* frame = out_.begin(std::max(kHeaderSize + size, kMinimumFrame));
  if (frame == nullptr) return;
  if (size > 0 && c.tls != nullptr)
    c.tls->copy(from, size, frame + kHeaderSize);
  else if (size > 0)
    book_.write(c.message, from, size, frame + kHeaderSize);
  out_.end(write_segment(frame, h, size));
}

// Sequence numbers [sequence, end) have just left.
void Stack::note_sent(Connection& c, std::uint32_t sequence, std::uint32_t end,
                      Nanos now) noexcept {
  if (is_before(sequence, c.snd_max)) {
    ++counters_.retransmissions;
    c.clear(Connection::kIsTimed);
  } else if (!c.is(Connection::kIsTimed)) {
    c.set(Connection::kIsTimed);
    c.timed_sequence = end;
    c.timed_at = now;
  }
  if (is_before(c.snd_max, end)) c.snd_max = end;
  if (c.retransmit_at == 0) c.retransmit_at = now + nanos(c.rto_us);
}

// `size` bytes of the message from `sequence` on, with the FIN when it follows; size 0: the FIN
// alone.
void Stack::send_data(Connection& c, std::uint32_t sequence, std::uint32_t size,
                      Nanos now) noexcept {
  const std::uint32_t end = sequence + size;
  const bool is_last = end == c.message_end();
  const bool has_fin = is_last && c.is(Connection::kFinQueued);
  auto flags = static_cast<std::uint8_t>(kAck);
  if (is_last && size > 0) flags |= kPsh;
  if (has_fin) flags |= kFin;
  send(c, sequence, flags, sequence - c.message_start, size);
  const std::uint32_t next = end + (has_fin ? 1 : 0);
  note_sent(c, sequence, next, now);
  if (is_before(c.snd_nxt, next)) c.snd_nxt = next;
}

void Stack::retransmit_first(Connection& c, Nanos now) noexcept {
  const std::uint32_t left = c.message_end() - c.snd_una;
  // Of the FIN alone nothing is left of the message.
  const bool has_data = is_before(c.snd_una, c.message_end());
  send_data(c, c.snd_una, has_data ? std::min<std::uint32_t>(c.mss, left) : 0, now);
  c.retransmit_at = now + nanos(c.rto_us);
}

void Stack::output(Connection& c, Nanos now) noexcept {
  if (c.state == State::kOpen) {
    const std::uint32_t window = std::min(c.cwnd, c.snd_wnd);
    for (;;) {
      const std::uint32_t in_flight = c.snd_nxt - c.snd_una;
      const bool has_data = is_before(c.snd_nxt, c.message_end());
      if (!has_data) {
        const bool owes_fin = c.is(Connection::kFinQueued) && c.snd_nxt == c.message_end();
        if (owes_fin) send_data(c, c.snd_nxt, 0, now);
        break;
      }
      const std::uint32_t left = c.message_end() - c.snd_nxt;
      const std::uint32_t room = window > in_flight ? window - in_flight : 0;
      const std::uint32_t size = std::min({left, room, std::uint32_t{c.mss}});
      // Sender's side of silly window avoidance (RFC 9293 section 3.8.6.2.1): full segments or the
      // message's end.
      if (size == 0 || (size < c.mss && size < left && in_flight > 0)) break;
      send_data(c, c.snd_nxt, size, now);
    }
    if (c.snd_una == c.snd_nxt && is_before(c.snd_nxt, c.message_end()) && c.retransmit_at == 0) {
      c.set(Connection::kIsProbing);
      c.retransmit_at = now + nanos(c.rto_us);
    }
  }
  if (c.is(Connection::kAckNow) && c.state != State::kSynSent) send(c, c.snd_max, kAck, 0, 0);
}

// One byte beyond a shut window (RFC 9293 section 3.8.6.1).
void Stack::probe(Connection& c, Nanos now) noexcept {
  c.rto_us = std::min(c.rto_us * 2, kMaxTimeoutUs);
  send_data(c, c.snd_una, 1, now);
  c.snd_nxt = c.snd_una;
  c.retransmit_at = now + nanos(c.rto_us);
}

bool Stack::on_timer(Connection& c, Nanos now) noexcept {
  if (c.ack_at != 0 && c.ack_at <= now) c.set(Connection::kAckNow);
  if (c.retransmit_at != 0 && c.retransmit_at <= now) {
    if (c.retries >= settings_.retries) return false;
    ++c.retries;
    if (c.is(Connection::kIsProbing)) {
      probe(c, now);
      return true;
    }
    ++counters_.timeouts;
    c.rto_us = std::min(c.rto_us * 2, kMaxTimeoutUs);
    c.clear(Connection::kInRecovery);
    c.duplicate_acks = 0;
    if (c.state != State::kOpen) {
      send_syn(c, true, now);
      return true;
    }
    // RFC 5681 section 3.1: one segment, then slow start; RFC 6582 section 3.2 step 4 for
    // `recover`.
    c.ssthresh = std::max<std::uint32_t>((c.snd_max - c.snd_una) / 2, 2U * c.mss);
    c.cwnd = c.mss;
    c.recover = c.snd_max;
    c.snd_nxt = c.snd_una;
    c.retransmit_at = 0;
  }
  output(c, now);
  return true;
}

Nanos Stack::next_deadline(const Connection& c) noexcept {
  Nanos next = 0;
  for (const Nanos at : {c.retransmit_at, c.ack_at, c.application_at}) {
    if (at != 0 && (next == 0 || at < next)) next = at;
  }
  return next;
}

bool Stack::answer_stray(const Segment& s) noexcept {
  if ((s.flags & (kFin | kSyn | kRst | kAck)) != (kFin | kAck)) return false;
  SegmentHeader h;
  h.source_mac = settings_.mac;
  h.destination_mac = s.source_mac;
  h.source_ip = s.destination_ip;
  h.destination_ip = s.source_ip;
  h.source_port = s.destination_port;
  h.destination_port = s.source_port;
  h.sequence = s.acknowledgment;
  h.acknowledgment = s.sequence + s.length();
  h.flags = kAck;
  h.window = settings_.window;
  base::Byte* frame = out_.begin(kMinimumFrame);
  if (frame == nullptr) return true;
  out_.end(write_segment(frame, h, 0));
  return true;
}

}  // namespace merlon::lab::tcp
