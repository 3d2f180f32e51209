// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/server.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace merlon::lab::tcp {
namespace {

using base::Nanos;

constexpr Nanos kSilence = base::kNanosPerSecond;

std::uint64_t hash_tuple(std::uint32_t local_ip, std::uint32_t remote_ip, std::uint16_t local_port,
                         std::uint16_t remote_port, base::HashSeed seed) noexcept {
  const std::uint64_t addresses = std::uint64_t{local_ip} << 32 | remote_ip;
  const std::uint64_t ports = std::uint64_t{local_port} << 16 | remote_port;
  return base::fold_multiply(addresses ^ seed.a, ports ^ seed.b);
}

}  // namespace

Server::Server(io::Port& port, const base::MacAddress& mac, const TcpLoadSpec& spec,
               const MessageBook& book, base::Region table, std::uint32_t table_size,
               bool are_checksums_verified)
    : Role(port, mac, spec, spec.servers, book, std::move(table), table_size,
           are_checksums_verified),
      server_port_(spec.server_port),
      idle_(static_cast<Nanos>(spec.server_idle_s * 1e9)),
      seed_{base::fold_multiply(spec.seed + 1, 0x9e3779b97f4a7c15ULL), base::HashSeed{}.b},
      chains_(std::bit_ceil(table_size), kNone) {
  for (std::uint32_t i = size_; i-- > 0;) {
    table_[i].link = free_list_;
    free_list_ = i;
  }
}

void Server::start(Nanos now) { make_wheel(now); }

bool Server::turn(Nanos now) noexcept {
  if (wheel_ == nullptr) return false;
  bool is_busy = receive(
      now, [&](const Segment& s) { on_segment(s, now); }, [](const IcmpError&) {});
  wheel_->advance(now, kTimersPerTurn, [&](std::uint32_t i) {
    is_busy = true;
    on_timer(table_[i], now);
  });
  out_.flush();
  return is_busy;
}

std::uint32_t& Server::chain_of(const Segment& s) noexcept {
  const std::uint64_t h =
      hash_tuple(s.destination_ip, s.source_ip, s.destination_port, s.source_port, seed_);
  return chains_[h & (chains_.size() - 1)];
}

std::uint32_t& Server::chain_of(const Connection& c) noexcept {
  return chains_[hash_tuple(c.local_ip, c.remote_ip, c.local_port, c.remote_port, seed_) &
                 (chains_.size() - 1)];
}

Connection* Server::find(const Segment& s) noexcept {
  for (std::uint32_t i = chain_of(s); i != kNone; i = table_[i].link) {
    Connection& c = table_[i];
    if (c.remote_ip == s.source_ip && c.remote_port == s.source_port &&
        c.local_ip == s.destination_ip && c.local_port == s.destination_port)
      return &c;
  }
  return nullptr;
}

void Server::on_segment(const Segment& s, Nanos now) noexcept {
  Connection* c = find(s);
  if (c != nullptr && is_given_up(*c, s, now)) {
    ++server_counters_.replaced;
    free(*c);
    c = nullptr;
  }
  if (c == nullptr) return accept(s, now);
  c->application_at = now + idle_;
  const Input in = stack_.receive(*c, s, now);
  if (in.is_reset) {
    ++server_counters_.resets;
    return free(*c);
  }
  if (in.has_connected) {
    ++server_counters_.established;
    c->stage = Stage::kHead;
    c->head = {};
    if (tls_ != nullptr) begin_handshake(*c);
  }
  if (in.is_acceptable) {
    if (!in.payload.empty())
      on_payload(*c, in, now);
    else
      stack_.take(*c, in, 0, now);
    if (c->is(Connection::kPeerClosed)) on_peer_closed(*c);
  }
  // What was acknowledged makes room for more.
  if (c->tls != nullptr && c->tls->is_writing()) serve(*c);
  settle(*c, now);
}

void Server::on_peer_closed(Connection& c) noexcept {
  if (c.tls == nullptr) return stack_.close(c);
  // What is being written comes first; serve() closes behind it.
  if (c.stage == Stage::kClosing || c.tls->is_writing()) return;
  if (!c.tls->is_peer_closed()) ++server_counters_.tls_truncated;
  close_secured(c);
}

// A challenge ACK would have to be answered by RST, which our clients never send; so a SYN is
// believed when nothing else has come for a while.
bool Server::is_given_up(const Connection& c, const Segment& s, Nanos now) const noexcept {
  if ((s.flags & (kSyn | kAck | kRst | kFin)) != kSyn || c.state != State::kOpen) return false;
  return now - (c.application_at - idle_) >= kSilence;
}

void Server::accept(const Segment& s, Nanos now) noexcept {
  if (s.destination_port != server_port_) {
    ++server_counters_.wrong_port;
    return;
  }
  if ((s.flags & (kSyn | kAck | kRst | kFin)) != kSyn) {
    ++counters_.strays;
    stack_.answer_stray(s);
    return;
  }
  if (free_list_ == kNone) {
    ++server_counters_.table_full;
    return;
  }
  Connection& c = table_[free_list_];
  free_list_ = c.link;
  c.local_ip = s.destination_ip;
  c.remote_ip = s.source_ip;
  c.local_port = s.destination_port;
  c.remote_port = s.source_port;
  c.remote_mac = s.source_mac;
  std::uint32_t& chain = chain_of(s);
  c.link = chain;
  chain = index_of(c);
  ++open_count_;
  ++server_counters_.syns;
  stack_.answer_syn(c, s, now);
  c.stage = Stage::kConnecting;
  c.application_at = now + idle_;
  arm(c);
}

void Server::on_payload(Connection& c, const Input& in, Nanos now) noexcept {
  if (tls_ != nullptr) return on_ciphertext(c, in, now);
  const auto size = static_cast<std::uint32_t>(in.payload.size());
  if (c.stage == Stage::kClosing) return stack_.take(c, in, in.is_in_order ? size : 0, now);
  // A request that comes before the last answer has arrived is left to be sent again: one message
  // at a time.
  if (!in.is_in_order || !c.is_all_acknowledged()) return stack_.take(c, in, 0, now);
  std::size_t used = 0;
  std::uint8_t response = 0;
  const HeadResult result = read_request_head(c, in.payload, used, response);
  if (result == HeadResult::kBad) {
    ++server_counters_.bad_requests;
    c.stage = Stage::kClosing;
    stack_.take(c, in, size, now);
    return stack_.close(c);
  }
  stack_.take(c, in, static_cast<std::uint32_t>(used), now);
  if (result == HeadResult::kMore) return;
  ++server_counters_.requests;
  c.head = {};
  stack_.say(c, response);
  // Odd numbers of the book are those that close.
  if ((response & 1) == 0) return;
  c.stage = Stage::kClosing;
  stack_.close(c);
}

HeadResult Server::read_request_head(Connection& c, base::ByteSpan bytes, std::size_t& used,
                                     std::uint8_t& response) noexcept {
  const base::ByteSpan expected = book_.head(last_request_);
  if (c.head.size == 0 && bytes.size() >= expected.size() &&
      std::memcmp(bytes.data(), expected.data(), expected.size()) == 0) {
    used = expected.size();
    response = book_.answer(last_request_);
    return HeadResult::kDone;
  }
  if (!book_.is_http()) return read_binary_head(c, bytes, used, response);
  const HeadResult result = read_request(c.head, bytes, used);
  if (result != HeadResult::kDone) return result;
  const std::uint8_t flags = c.head.flags;
  const bool closes =
      (flags & HeadState::kCloses) != 0 ||
      ((flags & HeadState::kIsOldVersion) != 0 && (flags & HeadState::kKeepsAlive) == 0);
  response = book_.response((flags & HeadState::kHasNumber) != 0 ? c.head.number : kNone, closes);
  last_request_ = book_.request_of(response);
  return result;
}

HeadResult Server::read_binary_head(Connection& c, base::ByteSpan bytes, std::size_t& used,
                                    std::uint8_t& response) noexcept {
  static constexpr base::Byte kMark[3] = {'M', 'L', 'Q'};
  for (used = 0; used < bytes.size() && c.head.size < kBinaryHeadSize; ++c.head.size) {
    const base::Byte b = bytes[used++];
    if (c.head.size < 3 && b != kMark[c.head.size]) return HeadResult::kBad;
    if (c.head.size == 3) c.head.flags = (b & 1) != 0 ? HeadState::kCloses : 0;
    if (c.head.size >= 4) c.head.number = c.head.number << 8 | b;
  }
  if (c.head.size < kBinaryHeadSize) return HeadResult::kMore;
  response = book_.response(c.head.number, (c.head.flags & HeadState::kCloses) != 0);
  last_request_ = book_.request_of(response);
  return HeadResult::kDone;
}

void Server::on_timer(Connection& c, Nanos now) noexcept {
  if (c.state == State::kClosed) return;
  if ((c.application_at != 0 && c.application_at <= now) || !stack_.on_timer(c, now)) {
    ++server_counters_.timed_out;
    return free(c);
  }
  settle(c, now);
}

void Server::settle(Connection& c, Nanos now) noexcept {
  stack_.output(c, now);
  if (Stack::is_over(c)) {
    ++server_counters_.completed;
    return free(c);
  }
  arm(c);
}

void Server::free(Connection& c) noexcept {
  const std::uint32_t index = index_of(c);
  std::uint32_t* link = &chain_of(c);
  while (*link != index) link = &table_[*link].link;
  *link = c.link;
  close_tls(c);
  c.state = State::kClosed;
  c.link = free_list_;
  free_list_ = index;
  --open_count_;
}

}  // namespace merlon::lab::tcp
