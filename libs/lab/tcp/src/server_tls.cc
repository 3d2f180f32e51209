// SPDX-License-Identifier: Apache-2.0
// The servers' side of TLS: between the stack's bytes and requests and answers.
#include <algorithm>

#include "merlon/lab_tcp/server.h"

namespace merlon::lab::tcp {

void Server::begin_handshake(Connection& c) noexcept {
  c.stage = Stage::kSecuring;
  if (open_tls(c)) return;
  ++server_counters_.table_full;
  c.stage = Stage::kClosing;
  stack_.close(c);
}

// A request that comes while an answer is being written waits in the channel; more than a record of
// it is left to be sent again.
void Server::on_ciphertext(Connection& c, const Input& in, base::Nanos now) noexcept {
  const bool is_over = c.tls == nullptr || c.stage == Stage::kClosing;
  if (!in.is_in_order || (!is_over && c.tls->unread() > kTlsReadAhead))
    return stack_.take(c, in, 0, now);
  stack_.take(c, in, static_cast<std::uint32_t>(in.payload.size()), now);
  if (is_over) return;
  c.tls->put(in.payload);
  if (c.stage == Stage::kSecuring) {
    const TlsStep step = c.tls->handshake();
    if (step == TlsStep::kFailed) return on_tls_failed(c);
    Stack::extend(c);
    if (step != TlsStep::kDone) return;
    ++server_counters_.handshakes;
    if (c.tls->is_resumed()) ++server_counters_.resumptions;
    c.stage = Stage::kHead;
  }
  serve(c);
}

void Server::serve(Connection& c) noexcept {
  while (c.stage != Stage::kClosing && serve_once(c)) {
  }
  Stack::extend(c);
}

// One step of reading or writing; false: the client has to move first.
bool Server::serve_once(Connection& c) noexcept {
  TlsChannel& tls = *c.tls;
  if (tls.is_writing()) {
    if (tls.write(book_) == TlsStep::kFailed) {
      on_tls_failed(c);
      return false;
    }
    if (tls.is_writing()) return false;
    // Odd numbers of the book are those that close.
    if ((tls.message() & 1) != 0 || c.is(Connection::kPeerClosed)) close_secured(c);
    return true;
  }
  base::ByteSpan plain;
  switch (tls.peek(plain)) {
    case TlsStep::kDone:
      return on_request(c, plain);
    case TlsStep::kClosed:
      close_secured(c);
      return false;
    case TlsStep::kFailed:
      on_tls_failed(c);
      return false;
    default:
      return false;
  }
}

// Takes what belongs to the request; the rest of the record stays for the next one.
bool Server::on_request(Connection& c, base::ByteSpan plain) noexcept {
  std::size_t used = 0;
  std::uint8_t response = 0;
  const HeadResult result = read_request_head(c, plain, used, response);
  if (result == HeadResult::kBad) {
    ++server_counters_.bad_requests;
    close_secured(c);
    return false;
  }
  c.tls->skip(static_cast<std::uint32_t>(used));
  if (result == HeadResult::kMore) return true;
  ++server_counters_.requests;
  c.head = {};
  c.tls->begin(response);
  return true;
}

void Server::on_tls_failed(Connection& c) noexcept {
  ++(c.tls->failure() == TlsFailure::kAlert ? server_counters_.tls_alerts
                                            : server_counters_.tls_bad_records);
  close_secured(c);
}

void Server::close_secured(Connection& c) noexcept {
  c.stage = Stage::kClosing;
  c.tls->shut_down();
  Stack::extend(c);
  stack_.close(c);
}

}  // namespace merlon::lab::tcp
