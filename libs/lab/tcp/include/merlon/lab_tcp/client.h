// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clients: open connections by the schedule (or keep a number of them open), ask for objects,
// judge every byte of them, close by FIN. A connection's tuple follows from its index by arithmetic
// and back, so a segment finds its connection without a search; tuples come round as late as the
// pools allow. worker-owned once made.
#include "merlon/lab_tcp/role.h"
#include "merlon/lab_tcp/schedule.h"
#include "merlon/lab_tcp/tally.h"

namespace merlon::lab::tcp {

struct ClientSettings {
  base::MacAddress mac;  // ours
  std::uint32_t max_concurrent = 0;
  std::uint32_t next_hop_ip = 0;  // 0: next_hop_mac is known
  base::MacAddress next_hop_mac;
  bool are_checksums_verified = true;
};

class Client final : public Role {
 public:
  // The table's size for so many connections open at once: twice as many, so that a free place is
  // near.
  static std::uint32_t table_size(std::uint32_t max_concurrent) noexcept;

  Client(io::Port& port, const TcpLoadSpec& spec, const ClientSettings& settings,
         const MessageBook& book, base::Region table);

  // Asks for the next hop; has_next_hop() once it has answered, which takes turns.
  void solicit() noexcept;
  [[nodiscard]] bool has_next_hop() const noexcept { return has_next_hop_; }

  // Ramp-up begins at `start`.
  void start(base::Nanos start);
  // True when there was something to do.
  bool turn(base::Nanos now) noexcept;
  // All phases are over and nothing is open, or the drain's time is up.
  [[nodiscard]] bool is_done(base::Nanos now) const noexcept;
  // Counts what is still open as unfinished. Nothing may be called afterwards but readers.
  void finish(base::Nanos now) noexcept;

  [[nodiscard]] bool is_in_sustain(base::Nanos now) const noexcept { return is_sustain(now); }
  [[nodiscard]] const Tally& tally() const noexcept { return tally_; }
  // Connections of the schedule whose time had come and that were never opened.
  [[nodiscard]] std::uint64_t not_opened() const noexcept { return not_opened_; }
  [[nodiscard]] std::uint64_t tuple_count() const noexcept { return tuple_count_; }

 private:
  void open_due(base::Nanos now) noexcept;
  void open_held(base::Nanos now) noexcept;
  bool open(base::Nanos intended, base::Nanos now) noexcept;
  void close_held(base::Nanos now) noexcept;
  [[nodiscard]] bool may_secure_more() const noexcept;
  Connection* find(std::uint32_t local_ip, std::uint16_t local_port, std::uint32_t remote_ip,
                   std::uint16_t remote_port) noexcept;
  void address(Connection& c, std::uint32_t tuple) noexcept;

  void on_segment(const Segment& s, base::Nanos now) noexcept;
  void on_icmp(const IcmpError& e, base::Nanos now) noexcept;
  void on_timer(Connection& c, base::Nanos now) noexcept;
  void on_connected(Connection& c, base::Nanos now) noexcept;
  void begin_exchange(Connection& c, base::Nanos now) noexcept;
  void on_payload(Connection& c, const Input& in, base::Nanos now) noexcept;
  void note_first_byte(Connection& c, base::Nanos now) noexcept;
  // Bytes of the payload that belong to the response's head, complete when the stage is kBody; -1:
  // it is none.
  int read_head(Connection& c, base::ByteSpan bytes) noexcept;
  int read_binary_head(Connection& c, base::ByteSpan bytes) noexcept;
  [[nodiscard]] bool is_body(const Connection& c, std::uint32_t sequence,
                             base::ByteSpan bytes) const noexcept;
  void on_peer_closed(Connection& c, base::Nanos now) noexcept;

  // client_tls.cc
  void begin_handshake(Connection& c, base::Nanos now) noexcept;
  void on_ciphertext(Connection& c, const Input& in, base::Nanos now) noexcept;
  void advance_tls(Connection& c, base::Nanos now) noexcept;
  void on_secured(Connection& c, base::Nanos now) noexcept;
  void on_plaintext(Connection& c, base::ByteSpan bytes, base::Nanos now) noexcept;
  void on_tls_failed(Connection& c, base::Nanos now) noexcept;
  void say_secured(Connection& c, std::uint8_t message) noexcept;

  void request(Connection& c, base::Nanos intended, base::Nanos now) noexcept;
  void end_transaction(Connection& c, bool is_good, base::Nanos now) noexcept;
  void fail_transaction(Connection& c, Outcome outcome, base::Nanos now) noexcept;
  void begin_close(Connection& c, base::Nanos now) noexcept;
  void end(Connection& c, Outcome outcome, base::Nanos now) noexcept;
  void settle(Connection& c, base::Nanos now) noexcept;
  void sample_concurrent(base::Nanos now) noexcept;

  [[nodiscard]] bool is_sustain(base::Nanos t) const noexcept {
    return t >= sustain_start_ && t < sustain_end_;
  }
  Second& second(base::Nanos now) noexcept;
  template <class Count>
  void count(base::Nanos now, Count Second::*field, Count n) noexcept {
    second(now).*field += n;
    if (is_sustain(now)) tally_.during_sustain.*field += n;
  }

  const TcpLoadSpec spec_;
  const ClientSettings settings_;
  const base::Nanos think_, timeout_;
  const std::uint32_t mask_;
  const std::uint64_t tuple_count_;
  std::uint64_t next_tuple_ = 0;
  std::uint32_t next_object_ = 0;

  Schedule schedule_;
  std::uint64_t opened_ = 0;  // of the schedule, whether a place was found or not
  base::Nanos next_start_ = 0;
  double credit_ = 0;  // connections that may be opened now, holding a number
  base::Nanos credit_at_ = 0;
  std::uint32_t ending_count_ = 0, close_cursor_ = 0;
  std::uint64_t not_opened_ = 0;
  std::uint64_t unsecured_ends_ = 0;  // connections that ended before TLS was established

  base::Nanos start_ = 0, sustain_start_ = 0, sustain_end_ = 0, end_ = 0, give_up_ = 0;
  base::Nanos sample_at_ = 0;
  Tally tally_;
};

}  // namespace merlon::lab::tcp
