// SPDX-License-Identifier: Apache-2.0
// The client's side of TLS: between the stack's bytes and the exchange.
#include "merlon/lab_tcp/client.h"

namespace merlon::lab::tcp {
namespace {

using base::Nanos;

Outcome outcome_of(TlsFailure failure) noexcept {
  switch (failure) {
    case TlsFailure::kAlert:
      return Outcome::kTlsAlert;
    case TlsFailure::kVerify:
      return Outcome::kTlsVerify;
    default:
      return Outcome::kTlsBadRecord;
  }
}

}  // namespace

void Client::begin_handshake(Connection& c, Nanos now) noexcept {
  if (!open_tls(c)) {
    // OpenSSL has no memory: the tester's, not the device's fault.
    c.outcome = static_cast<std::uint8_t>(Outcome::kTableFull);
    return begin_close(c, now);
  }
  c.stage = Stage::kSecuring;
  c.requested = now;
  c.application_at = now + timeout_;
  advance_tls(c, now);
}

// Of bytes beyond a hole TLS could judge nothing; they are sent again.
void Client::on_ciphertext(Connection& c, const Input& in, Nanos now) noexcept {
  if (!in.is_in_order) return stack_.take(c, in, 0, now);
  stack_.take(c, in, static_cast<std::uint32_t>(in.payload.size()), now);
  if (c.stage == Stage::kClosing || c.tls == nullptr) return;
  c.tls->put(in.payload);
  advance_tls(c, now);
}

// Goes on with what has come, until the peer has to speak.
void Client::advance_tls(Connection& c, Nanos now) noexcept {
  if (c.stage == Stage::kSecuring) {
    const TlsStep step = c.tls->handshake();
    now = later(now);
    if (step == TlsStep::kFailed) return on_tls_failed(c, now);
    Stack::extend(c);
    if (step != TlsStep::kDone) return;
    on_secured(c, now);
  }
  while (c.stage != Stage::kClosing) {
    base::ByteSpan plain;
    const TlsStep step = c.tls->read(plain);
    now = later(now);
    if (step == TlsStep::kFailed) return on_tls_failed(c, now);
    if (step == TlsStep::kClosed) return on_peer_closed(c, now);
    if (step == TlsStep::kMore) break;
    on_plaintext(c, plain, now);
  }
  Stack::extend(c);
}

void Client::on_secured(Connection& c, Nanos now) noexcept {
  const std::uint64_t resumed = c.tls->is_resumed() ? 1 : 0;
  ++tally_.all.handshakes;
  tally_.all.resumptions += resumed;
  count(now, &Second::handshakes, std::uint64_t{1});
  if (c.is(Connection::kIsSustained)) {
    ++tally_.sustain.handshakes;
    tally_.sustain.resumptions += resumed;
    tally_.secured.record(now - c.intended);
    tally_.handshake.record(now - c.requested);
  }
  c.application_at = 0;
  begin_exchange(c, now);
}

void Client::say_secured(Connection& c, std::uint8_t message) noexcept {
  c.message = message;  // read_head() knows by it what the answer should be
  c.tls->begin(message);
  c.tls->write(book_);
  Stack::extend(c);
}

// As on_payload(), with places in the stream of plaintext instead of sequence numbers.
void Client::on_plaintext(Connection& c, base::ByteSpan bytes, Nanos now) noexcept {
  if (c.stage != Stage::kHead && c.stage != Stage::kBody) return;
  note_first_byte(c, now);
  const auto fail = [&] {
    c.outcome = static_cast<std::uint8_t>(Outcome::kBadResponse);
    end_transaction(c, false, now);
  };
  const std::uint32_t end = c.tls->received();
  const std::uint32_t first = end - static_cast<std::uint32_t>(bytes.size());
  std::uint32_t head_size = 0;
  if (c.stage == Stage::kHead) {
    const int used = read_head(c, bytes);
    if (used < 0) return fail();
    if (c.stage == Stage::kHead) return;
    head_size = static_cast<std::uint32_t>(used);
    c.body_start = first + head_size;
  }
  if (!is_body(c, first + head_size, bytes.subspan(head_size))) return fail();
  count(now, &Second::bytes, std::uint64_t{bytes.size() - head_size});
  if (!c.is(Connection::kEndsAtClose) && !is_before(end, c.body_start + c.body_length))
    end_transaction(c, true, now);
}

// Our alert, if there is one, goes out before the FIN.
void Client::on_tls_failed(Connection& c, Nanos now) noexcept {
  c.outcome = static_cast<std::uint8_t>(outcome_of(c.tls->failure()));
  if (c.stage == Stage::kHead || c.stage == Stage::kBody) return end_transaction(c, false, now);
  begin_close(c, now);
}

}  // namespace merlon::lab::tcp
