// SPDX-License-Identifier: Apache-2.0
// The client's side of a connection: segments, timers, responses, and how it ends.
#include <algorithm>
#include <cstring>

#include "merlon/lab_tcp/client.h"

namespace merlon::lab::tcp {
namespace {

using base::Nanos;

constexpr std::uint16_t kOkStatus = 200;
// Port and protocol unreachable, and what filters say (RFC 1122 section 3.2.2.1, RFC 1812
// section 5.2.7.1).
constexpr std::uint32_t kHardCodes = 1U << 2 | 1U << 3 | 1U << 9 | 1U << 10 | 1U << 13;

// What it is called when a stage's answer stays away.
Outcome timeout_outcome(Stage stage) noexcept {
  switch (stage) {
    case Stage::kConnecting:
      return Outcome::kConnectTimeout;
    case Stage::kSecuring:
      return Outcome::kTlsTimeout;
    case Stage::kClosing:
      return Outcome::kCloseTimeout;
    default:
      return Outcome::kTransactionTimeout;
  }
}

}  // namespace

void Client::on_segment(const Segment& s, Nanos now) noexcept {
  Connection* c = find(s.destination_ip, s.destination_port, s.source_ip, s.source_port);
  if (c == nullptr) {
    ++counters_.strays;
    stack_.answer_stray(s);
    return;
  }
  const Input in = stack_.receive(*c, s, now);
  if (in.is_refused) return fail_transaction(*c, Outcome::kRefused, now);
  if (in.is_reset) return fail_transaction(*c, Outcome::kReset, now);
  if (in.has_connected) on_connected(*c, now);
  if (in.is_acceptable) {
    if (!in.payload.empty())
      on_payload(*c, in, now);
    else
      stack_.take(*c, in, 0, now);
    if (c->is(Connection::kPeerClosed)) on_peer_closed(*c, now);
  }
  settle(*c, now);
}

// Sends what is due; ends what is over.
void Client::settle(Connection& c, Nanos now) noexcept {
  stack_.output(c, now);
  if (Stack::is_over(c)) return end(c, static_cast<Outcome>(c.outcome), now);
  arm(c);
}

void Client::on_icmp(const IcmpError& e, Nanos now) noexcept {
  Connection* c = find(e.source_ip, e.source_port, e.destination_ip, e.destination_port);
  if (c == nullptr || c->state != State::kSynSent || e.sequence != c->snd_una) return;
  if (e.code < 32 && (kHardCodes >> e.code & 1) != 0)
    fail_transaction(*c, Outcome::kUnreachable, now);
}

void Client::on_timer(Connection& c, Nanos now) noexcept {
  if (c.state == State::kClosed) return;
  if (c.application_at != 0 && c.application_at <= now) {
    c.application_at = 0;
    if (c.stage == Stage::kThinking)
      request(c, now, now);
    else
      return fail_transaction(c, timeout_outcome(c.stage), now);
  }
  if (!stack_.on_timer(c, now)) {
    return fail_transaction(c, timeout_outcome(c.stage), now);
  }
  settle(c, now);
}

void Client::on_connected(Connection& c, Nanos now) noexcept {
  ++tally_.all.established;
  count(now, &Second::established, std::uint64_t{1});
  if (c.is(Connection::kIsSustained)) {
    ++tally_.sustain.established;
    tally_.connect.record(now - c.intended);
    tally_.connect_actual.record(now - c.opened);
  }
  // The handshake's ACK leaves by itself, as it does from a client that has yet to be woken to
  // write.
  stack_.output(c, now);
  if (tls_ != nullptr) return begin_handshake(c, now);
  begin_exchange(c, now);
}

void Client::begin_exchange(Connection& c, Nanos now) noexcept {
  if (c.transactions_left > 0) {
    request(c, c.intended, now);
  } else if (spec_.concurrent != 0 && !c.is(Connection::kIsEnding)) {
    c.stage = Stage::kHolding;
  } else {
    begin_close(c, now);
  }
}

void Client::request(Connection& c, Nanos intended, Nanos now) noexcept {
  const auto object = next_object_;
  next_object_ = next_object_ + 1 == spec_.object_kib.size() ? 0 : next_object_ + 1;
  c.stage = Stage::kHead;
  c.head = {};
  c.requested = now;
  c.request_intended = intended;
  c.clear(Connection::kTakesHoles);
  c.clear(Connection::kHasFirstByte);
  c.clear(Connection::kEndsAtClose);
  c.clear(Connection::kIsRequestSustained);
  c.application_at = now + timeout_;
  ++tally_.all.transactions_attempted;
  if (is_sustain(intended)) {
    c.set(Connection::kIsRequestSustained);
    ++tally_.sustain.transactions_attempted;
  }
  const std::uint8_t message = book_.request(object, !spec_.is_kept_alive);
  if (c.tls != nullptr) return say_secured(c, message);
  stack_.say(c, message);
}

void Client::note_first_byte(Connection& c, Nanos now) noexcept {
  if (c.is(Connection::kHasFirstByte)) return;
  c.set(Connection::kHasFirstByte);
  if (c.is(Connection::kIsRequestSustained)) tally_.first_byte.record(now - c.request_intended);
}

void Client::on_payload(Connection& c, const Input& in, Nanos now) noexcept {
  if (tls_ != nullptr) return on_ciphertext(c, in, now);
  if (c.stage != Stage::kHead && c.stage != Stage::kBody) {
    // Bytes that nobody asked for; taken, so that the connection can still close in good order.
    stack_.take(c, in, in.is_in_order ? static_cast<std::uint32_t>(in.payload.size()) : 0, now);
    return;
  }
  note_first_byte(c, now);
  std::uint32_t head_size = 0;
  const auto size = static_cast<std::uint32_t>(in.payload.size());
  if (c.stage == Stage::kHead) {
    if (!in.is_in_order) return stack_.take(c, in, 0, now);
    const int used = read_head(c, in.payload);
    if (used < 0) c.outcome = static_cast<std::uint8_t>(Outcome::kBadResponse);
    if (used < 0 || c.stage == Stage::kHead) {
      stack_.take(c, in, size, now);
      if (used < 0) end_transaction(c, false, now);
      return;
    }
    head_size = static_cast<std::uint32_t>(used);
    c.body_start = in.sequence + head_size;
  }
  if (!is_body(c, in.sequence + head_size, in.payload.subspan(head_size)))
    c.outcome = static_cast<std::uint8_t>(Outcome::kBadResponse);
  const std::uint32_t before = c.rcv_nxt;
  stack_.take(c, in, size, now);
  if (c.outcome == static_cast<std::uint8_t>(Outcome::kBadResponse))
    return end_transaction(c, false, now);
  const std::uint32_t fin = c.is(Connection::kPeerClosed) ? 1 : 0;
  if (c.rcv_nxt != before)
    count(now, &Second::bytes, std::uint64_t{c.rcv_nxt - before - head_size - fin});
  if (!c.is(Connection::kEndsAtClose) && !is_before(c.rcv_nxt - fin, c.body_start + c.body_length))
    end_transaction(c, true, now);
}

int Client::read_head(Connection& c, base::ByteSpan bytes) noexcept {
  std::size_t used = 0;
  // Our own servers say what the book has.
  const std::uint8_t answer = book_.answer(c.message);
  const base::ByteSpan expected = book_.head(answer);
  if (c.head.size == 0 && bytes.size() >= expected.size() &&
      std::memcmp(bytes.data(), expected.data(), expected.size()) == 0) {
    c.body_length = book_.body(answer);
    used = expected.size();
  } else if (!spec_.is_http) {
    const int n = read_binary_head(c, bytes);
    if (n <= 0) return n;
    used = static_cast<std::size_t>(n);
  } else {
    const HeadResult result = read_response(c.head, bytes, used);
    if (result == HeadResult::kMore) return 0;
    const std::uint8_t flags = c.head.flags;
    if (result == HeadResult::kBad || c.head.status != kOkStatus ||
        (flags & HeadState::kIsChunked) != 0)
      return -1;
    c.body_length = c.head.number;
    if ((flags & HeadState::kHasLength) == 0) {
      c.set(Connection::kEndsAtClose);
      c.body_length = kMaxObjectSize;
    }
  }
  c.stage = Stage::kBody;
  c.set(Connection::kTakesHoles);
  return static_cast<int>(used);
}

// Eight bytes that may come in pieces: they are gathered in the head's place.
int Client::read_binary_head(Connection& c, base::ByteSpan bytes) noexcept {
  static_assert(sizeof(HeadState) >= kBinaryHeadSize + sizeof(std::uint32_t));
  std::size_t used = 0;
  while (used < bytes.size() && c.head.size < kBinaryHeadSize) {
    const base::Byte b = bytes[used++];
    static constexpr base::Byte kMark[3] = {'M', 'L', 'S'};
    if (c.head.size < 3 && b != kMark[c.head.size]) return -1;
    if (c.head.size >= 4) c.head.number = c.head.number << 8 | b;
    ++c.head.size;
  }
  if (c.head.size < kBinaryHeadSize) return 0;
  if (c.head.number > kMaxObjectSize) return -1;
  c.body_length = c.head.number;
  c.stage = Stage::kBody;
  return static_cast<int>(used);
}

// Are these bytes of the object, wherever in it they are?
bool Client::is_body(const Connection& c, std::uint32_t sequence,
                     base::ByteSpan bytes) const noexcept {
  if (bytes.empty()) return true;
  const std::uint32_t offset = sequence - c.body_start;
  if (offset > c.body_length || bytes.size() > c.body_length - offset) return false;
  return !spec_.is_content_verified || book_.is_body(offset, bytes);
}

// By FIN, or by the close_notify of TLS, without which a FIN may be anybody's (RFC 8446
// section 6.1).
void Client::on_peer_closed(Connection& c, Nanos now) noexcept {
  const bool is_truncated = c.tls != nullptr && !c.tls->is_peer_closed();
  const Outcome why = is_truncated ? Outcome::kTlsTruncated : Outcome::kClosedEarly;
  if (c.stage == Stage::kSecuring) {
    c.outcome = static_cast<std::uint8_t>(why);
    return begin_close(c, now);
  }
  if (c.stage == Stage::kBody && c.is(Connection::kEndsAtClose) && !is_truncated)
    return end_transaction(c, true, now);
  if (c.stage == Stage::kHead || c.stage == Stage::kBody) {
    c.outcome = static_cast<std::uint8_t>(why);
    return end_transaction(c, false, now);
  }
  if (c.stage == Stage::kClosing) return;
  // Between transactions: what was still to be asked can't be any more.
  if (c.transactions_left > 0 && c.transactions_left != TcpLoadSpec::kUnlimited)
    c.outcome = static_cast<std::uint8_t>(Outcome::kClosedEarly);
  begin_close(c, now);
}

void Client::end_transaction(Connection& c, bool is_good, Nanos now) noexcept {
  c.application_at = 0;
  if (!is_good) {
    ++tally_.all.transactions_failed;
    if (c.is(Connection::kIsRequestSustained)) ++tally_.sustain.transactions_failed;
    count(now, &Second::transactions_failed, std::uint64_t{1});
    return begin_close(c, now);
  }
  ++tally_.all.transactions_done;
  count(now, &Second::transactions, std::uint64_t{1});
  if (c.is(Connection::kIsRequestSustained)) {
    ++tally_.sustain.transactions_done;
    tally_.last_byte.record(now - c.request_intended);
    tally_.last_byte_actual.record(now - c.requested);
  }
  if (c.transactions_left != TcpLoadSpec::kUnlimited) --c.transactions_left;
  const bool is_last =
      c.transactions_left == 0 || c.is(Connection::kIsEnding) || !spec_.is_kept_alive;
  if (is_last || c.is(Connection::kPeerClosed)) return begin_close(c, now);
  if (think_ == 0) return request(c, now, now);
  c.stage = Stage::kThinking;
  c.application_at = now + think_;
}

// The end without both FINs: what was asked for and not answered has failed with it.
void Client::fail_transaction(Connection& c, Outcome outcome, Nanos now) noexcept {
  if (c.stage == Stage::kHead || c.stage == Stage::kBody) {
    ++tally_.all.transactions_failed;
    if (c.is(Connection::kIsRequestSustained)) ++tally_.sustain.transactions_failed;
    count(now, &Second::transactions_failed, std::uint64_t{1});
  }
  // What went wrong first is what it is called.
  const auto first = static_cast<Outcome>(c.outcome);
  end(c, first != Outcome::kCompleted ? first : outcome, now);
}

void Client::begin_close(Connection& c, Nanos now) noexcept {
  c.stage = Stage::kClosing;
  c.application_at = now + timeout_;
  if (c.tls != nullptr) {
    c.tls->shut_down();
    Stack::extend(c);
  }
  stack_.close(c);
}

void Client::end(Connection& c, Outcome outcome, Nanos now) noexcept {
  ++tally_.all.outcomes[static_cast<std::size_t>(outcome)];
  if (c.is(Connection::kIsSustained)) ++tally_.sustain.outcomes[static_cast<std::size_t>(outcome)];
  count(now, outcome == Outcome::kCompleted ? &Second::completed : &Second::failed,
        std::uint64_t{1});
  if (outcome == Outcome::kReset) count(now, &Second::resets, std::uint64_t{1});
  if (c.is(Connection::kIsEnding)) --ending_count_;
  --open_count_;
  if (c.tls == nullptr || !c.tls->is_established()) ++unsecured_ends_;
  close_tls(c);
  // Its entry in the wheel stays until it is due; a connection opened in this place meanwhile finds
  // it there.
  c.state = State::kClosed;
}

}  // namespace merlon::lab::tcp
