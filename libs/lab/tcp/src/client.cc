// SPDX-License-Identifier: Apache-2.0
// The client's offer: which connections open and close when, and which tuple each gets.
#include "merlon/lab_tcp/client.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace merlon::lab::tcp {
namespace {

using base::Nanos;

// Connections held for long stand side by side; this many are stepped over at once.
constexpr std::uint32_t kTuplesTried = 1024;
constexpr Nanos kSampleEvery = 10'000'000;
// A schedule's end is not stretched: what could not be opened so long after it never is.
constexpr Nanos kScheduleGrace = 50'000'000;
// Handshakes under way while a number is held: more than an end can sign would only age and be sent
// again.
constexpr std::uint64_t kMostSecuring = 256;

Nanos to_nanos(double seconds) noexcept { return static_cast<Nanos>(seconds * 1e9); }

std::size_t series_length(const TcpLoadSpec& s) {
  return static_cast<std::size_t>(
             std::ceil(s.ramp_up_s + s.sustain_s + s.ramp_down_s + s.drain_s)) +
         2;
}

std::uint64_t tuples_of(const TcpLoadSpec& s) noexcept {
  const std::uint64_t n = std::uint64_t{s.clients.count} * s.client_ports * s.servers.count;
  return std::min<std::uint64_t>(n, kNone - 1);
}

}  // namespace

std::uint32_t Client::table_size(std::uint32_t max_concurrent) noexcept {
  return std::bit_ceil(std::max<std::uint32_t>(max_concurrent + max_concurrent / 2, 64));
}

Client::Client(io::Port& port, const TcpLoadSpec& spec, const ClientSettings& settings,
               const MessageBook& book, base::Region table)
    : Role(port, settings.mac, spec, spec.clients, book, std::move(table),
           table_size(settings.max_concurrent), settings.are_checksums_verified),
      spec_(spec),
      settings_(settings),
      think_(to_nanos(spec.think_s)),
      timeout_(to_nanos(spec.transaction_timeout_s)),
      mask_(size_ - 1),
      tuple_count_(tuples_of(spec)),
      tally_(series_length(spec)) {
  next_hop_ip_ = settings.next_hop_ip;
  next_hop_mac_ = settings.next_hop_mac;
  has_next_hop_ = settings.next_hop_ip == 0;
  next_tuple_ = spec.seed % tuple_count_;
}

void Client::solicit() noexcept {
  send_arp(ArpMessage::kRequest, ours_.first, {}, next_hop_ip_);
  out_.flush();
}

void Client::start(Nanos start) {
  start_ = credit_at_ = sample_at_ = start;
  sustain_start_ = start + to_nanos(spec_.ramp_up_s);
  sustain_end_ = sustain_start_ + to_nanos(spec_.sustain_s);
  end_ = sustain_end_ + to_nanos(spec_.ramp_down_s);
  give_up_ = end_ + to_nanos(spec_.drain_s);
  make_wheel(start);
  if (spec_.concurrent == 0)
    schedule_ =
        Schedule(spec_.connections_per_s, spec_.ramp_up_s, spec_.sustain_s, spec_.ramp_down_s);
  next_start_ = start + schedule_.start_of(0);
}

bool Client::turn(Nanos now) noexcept {
  bool is_busy = receive(
      now, [&](const Segment& s) { on_segment(s, now); },
      [&](const IcmpError& e) { on_icmp(e, now); });
  if (wheel_ == nullptr) {
    out_.flush();
    return is_busy;
  }
  wheel_->advance(now, kTimersPerTurn, [&](std::uint32_t i) {
    is_busy = true;
    on_timer(table_[i], now);
  });
  const std::uint64_t opened = tally_.all.attempted;
  if (spec_.concurrent == 0) {
    open_due(now);
  } else {
    open_held(now);
    close_held(now);
  }
  is_busy |= opened != tally_.all.attempted;
  out_.flush();
  if (now >= sample_at_) sample_concurrent(now);
  return is_busy;
}

bool Client::is_done(Nanos now) const noexcept {
  if (now >= give_up_) return true;
  if (now < end_ || open_count_ != 0) return false;
  return spec_.concurrent != 0 || opened_ == schedule_.total() || now >= end_ + kScheduleGrace;
}

void Client::finish(Nanos now) noexcept {
  if (wheel_ == nullptr) return;
  for (Connection& c : table_) {
    if (c.state != State::kClosed) fail_transaction(c, Outcome::kUnfinished, now);
  }
  // What a stop cut off was never due.
  if (now >= end_) not_opened_ = schedule_.total() - opened_;
}

void Client::open_due(Nanos now) noexcept {
  for (unsigned n = 0; n < kOpeningsPerTurn && opened_ < schedule_.total() && next_start_ <= now;
       ++n) {
    if (now >= end_ + kScheduleGrace) return;
    open(next_start_, now);
    next_start_ = start_ + schedule_.start_of(++opened_);
  }
}

// Opens up to the number to be held, at the opening rate; what is saved up of it is bounded, so
// that many ends at once are not answered by one burst.
void Client::open_held(Nanos now) noexcept {
  if (now < start_ || now >= sustain_end_) return;
  const double rate = spec_.connections_per_s > 0
                          ? spec_.connections_per_s
                          : spec_.concurrent / std::max(spec_.ramp_up_s, 0.001);
  const double most = std::max(rate * 0.01, 16.0);
  credit_ = std::min(credit_ + static_cast<double>(now - credit_at_) * 1e-9 * rate, most);
  credit_at_ = now;
  for (unsigned n = 0;
       n < kOpeningsPerTurn && credit_ >= 1 && open_count_ < spec_.concurrent && may_secure_more();
       ++n) {
    credit_ -= 1;
    if (!open(now, now)) return;
  }
}

bool Client::may_secure_more() const noexcept {
  const Cohort& all = tally_.all;
  return tls_ == nullptr || all.attempted - all.handshakes - unsecured_ends_ < kMostSecuring;
}

// From the end of sustain on the number falls in a straight line to nothing.
void Client::close_held(Nanos now) noexcept {
  if (now < sustain_end_ || open_count_ == ending_count_) return;
  const double left = end_ > sustain_end_ ? static_cast<double>(end_ - now) /
                                                static_cast<double>(end_ - sustain_end_)
                                          : 0;
  const auto wanted = static_cast<std::uint32_t>(std::max(0.0, left) * spec_.concurrent);
  unsigned looks = 4 * kTimersPerTurn;
  for (; open_count_ - ending_count_ > wanted && looks > 0; --looks) {
    Connection& c = table_[close_cursor_];
    close_cursor_ = (close_cursor_ + 1) & mask_;
    if (c.state == State::kClosed || c.is(Connection::kIsEnding)) continue;
    c.set(Connection::kIsEnding);
    ++ending_count_;
    if (c.stage != Stage::kThinking && c.stage != Stage::kHolding) continue;
    begin_close(c, now);
    settle(c, now);
  }
}

bool Client::open(Nanos intended, Nanos now) noexcept {
  Cohort& all = tally_.all;
  const bool is_sustained = is_sustain(intended);
  ++all.attempted;
  if (is_sustained) ++tally_.sustain.attempted;
  count(now, &Second::attempted, std::uint64_t{1});
  Connection* c = nullptr;
  for (unsigned i = 0; c == nullptr && i < kTuplesTried && open_count_ < settings_.max_concurrent;
       ++i) {
    const auto tuple = static_cast<std::uint32_t>(next_tuple_);
    if (++next_tuple_ == tuple_count_) next_tuple_ = 0;
    if (table_[tuple & mask_].state != State::kClosed) continue;
    c = &table_[tuple & mask_];
    address(*c, tuple);
  }
  if (c == nullptr) {
    ++all.outcomes[static_cast<std::size_t>(Outcome::kTableFull)];
    ++unsecured_ends_;
    if (is_sustained) ++tally_.sustain.outcomes[static_cast<std::size_t>(Outcome::kTableFull)];
    count(now, &Second::failed, std::uint64_t{1});
    return false;
  }
  ++open_count_;
  stack_.connect(*c, now);
  c->stage = Stage::kConnecting;
  c->outcome = static_cast<std::uint8_t>(Outcome::kCompleted);
  c->transactions_left = spec_.transactions_per_connection;
  c->intended = intended;
  c->opened = now;
  if (is_sustained) {
    c->set(Connection::kIsSustained);
    tally_.lateness.record(now - intended);
  }
  arm(*c);
  return true;
}

// Clients turn fastest, then servers, then ports.
void Client::address(Connection& c, std::uint32_t tuple) noexcept {
  c.link = tuple;
  const std::uint32_t pair = tuple / spec_.clients.count;
  c.local_ip = spec_.clients.first + tuple % spec_.clients.count;
  c.remote_ip = spec_.servers.first + pair % spec_.servers.count;
  c.local_port = static_cast<std::uint16_t>(spec_.client_port + pair / spec_.servers.count);
  c.remote_port = spec_.server_port;
  c.remote_mac = next_hop_mac_;
}

Connection* Client::find(std::uint32_t local_ip, std::uint16_t local_port, std::uint32_t remote_ip,
                         std::uint16_t remote_port) noexcept {
  const std::uint32_t client = local_ip - spec_.clients.first;
  const std::uint32_t server = remote_ip - spec_.servers.first;
  const auto port = static_cast<std::uint16_t>(local_port - spec_.client_port);
  if (client >= spec_.clients.count || server >= spec_.servers.count ||
      port >= spec_.client_ports || remote_port != spec_.server_port)
    return nullptr;
  const std::uint64_t tuple =
      (std::uint64_t{port} * spec_.servers.count + server) * spec_.clients.count + client;
  if (tuple >= tuple_count_) return nullptr;
  Connection& c = table_[tuple & mask_];
  return c.state != State::kClosed && c.link == tuple ? &c : nullptr;
}

Second& Client::second(Nanos now) noexcept {
  const auto at =
      static_cast<std::size_t>(std::max<Nanos>(now - start_, 0) / base::kNanosPerSecond);
  return tally_.series[std::min(at, tally_.series.size() - 1)];
}

void Client::sample_concurrent(Nanos now) noexcept {
  sample_at_ = now + kSampleEvery;
  Second& s = second(now);
  s.concurrent = std::max(s.concurrent, open_count_);
  tally_.concurrent_maximum = std::max(tally_.concurrent_maximum, open_count_);
  if (!is_sustain(now)) return;
  tally_.concurrent_minimum = std::min(tally_.concurrent_minimum, open_count_);
  tally_.sustained_maximum = std::max(tally_.sustained_maximum, open_count_);
  tally_.concurrent_sum += open_count_;
  ++tally_.concurrent_samples;
}

}  // namespace merlon::lab::tcp
