// SPDX-License-Identifier: Apache-2.0
#pragma once
// What client and server have in common: port, table, wheel, stack, and ARP for the addresses they
// stand for. worker-owned once made. Cost: one receive() of the port a turn.
#include <algorithm>
#include <memory>
#include <span>

#include "merlon/base/arena.h"
#include "merlon/io/port.h"
#include "merlon/lab_tcp/attacker.h"
#include "merlon/lab_tcp/stack.h"
#include "merlon/lab_tcp/tcp_load.h"
#include "merlon/lab_tcp/timing_wheel.h"
#include "merlon/lab_tcp/tls_channel.h"

namespace merlon::lab::tcp {

// Bounds of one turn's work, so that receiving is never kept waiting.
inline constexpr unsigned kBurstsPerTurn = 16, kTimersPerTurn = 128, kOpeningsPerTurn = 64;
// With TLS a segment may cost a signature: few at once, and the clock says when a turn is long
// enough.
inline constexpr unsigned kTlsBurst = 8;
inline constexpr base::Nanos kTlsTurnTime = 1'000'000;

StackSettings stack_settings(const TcpLoadSpec& spec, const base::MacAddress& mac);

struct RoleCounters {
  std::uint64_t received = 0;   // frames
  std::uint64_t malformed = 0;  // lying lengths, wrong checksums
  std::uint64_t other = 0;      // neither TCP, ARP nor ICMP errors
  std::uint64_t attack = 0;     // from the attack's network
  std::uint64_t strays = 0;     // segments of no connection
};

class Role {
 public:
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;

  // Makes bridges and neighbours learn where our addresses are (RFC 5227 section 3).
  void announce() noexcept;
  // Read between the bursts of a turn, so that no latency is told shorter than it was by more than
  // one burst's work. Without it a turn has one time.
  void use_clock(LoadClock* clock) noexcept { clock_ = clock; }
  // Before the start: every connection speaks TLS.
  void use_tls(std::unique_ptr<TlsContext> context);
  // Null without TLS.
  [[nodiscard]] const TlsContext* tls() const noexcept { return tls_.get(); }
  [[nodiscard]] const StackCounters& stack_counters() const noexcept { return stack_.counters(); }
  [[nodiscard]] const RoleCounters& role_counters() const noexcept { return counters_; }
  [[nodiscard]] const Transmitter& transmitter() const noexcept { return out_; }
  [[nodiscard]] std::uint32_t open_count() const noexcept { return open_count_; }
  [[nodiscard]] const base::MacAddress& next_hop_mac() const noexcept { return next_hop_mac_; }

 protected:
  Role(io::Port& port, const base::MacAddress& mac, const TcpLoadSpec& spec,
       const AddressPool& ours, const MessageBook& book, base::Region table,
       std::uint32_t table_size, bool are_checksums_verified);
  ~Role() = default;

  // Looks at the time again after every full burst: `now` moves on. Calls
  // on_segment(const Segment&) and on_icmp(const IcmpError&) for what is ours; true when a
  // frame came.
  template <class OnSegment, class OnIcmp>
  bool receive(base::Nanos& now, OnSegment&& on_segment, OnIcmp&& on_icmp) noexcept;
  void answer_arp(const ArpMessage& arp) noexcept;
  void send_arp(std::uint16_t operation, std::uint32_t our_ip, const base::MacAddress& to,
                std::uint32_t target_ip) noexcept;

  void make_wheel(base::Nanos now) {
    wheel_ = std::make_unique<TimingWheel>(table_.data(), size_, now);
  }
  void arm(Connection& c) noexcept {
    const base::Nanos at = Stack::next_deadline(c);
    if (at != 0) wheel_->arm(index_of(c), at);
  }
  // The time after work that took some, where there is a clock to ask.
  [[nodiscard]] base::Nanos later(base::Nanos now) const noexcept {
    return clock_ == nullptr ? now : std::max(now, clock_->now());
  }
  // False: no memory.
  bool open_tls(Connection& c) noexcept;
  static void close_tls(Connection& c) noexcept;

  [[nodiscard]] std::uint32_t index_of(const Connection& c) const noexcept {
    return static_cast<std::uint32_t>(&c - table_.data());
  }

  io::Port& port_;
  const MessageBook& book_;
  const AddressPool ours_;
  const base::MacAddress mac_;
  const bool are_checksums_verified_;
  base::Region memory_;
  std::span<Connection> table_;
  std::uint32_t size_;
  Transmitter out_;
  Stack stack_;
  std::unique_ptr<TimingWheel> wheel_;
  std::unique_ptr<packet::Burst> burst_;
  Frame frame_;
  RoleCounters counters_;
  LoadClock* clock_ = nullptr;
  std::unique_ptr<TlsContext> tls_;
  std::unique_ptr<TlsChannel[]> channels_;  // by place in the table
  unsigned burst_limit_ = packet::Burst::kCapacity;
  std::uint32_t open_count_ = 0;
  std::uint32_t next_hop_ip_ = 0;  // asked for by ARP; 0: none
  base::MacAddress next_hop_mac_{};
  bool has_next_hop_ = false;
};

template <class OnSegment, class OnIcmp>
bool Role::receive(base::Nanos& now, OnSegment&& on_segment, OnIcmp&& on_icmp) noexcept {
  bool has_received = false;
  const base::Nanos begin = now;
  for (unsigned turn = 0; turn < kBurstsPerTurn; ++turn) {
    if (turn > 0) now = later(now);
    if (tls_ != nullptr && now - begin > kTlsTurnTime) break;
    packet::Burst& b = *burst_;
    b.count = 0;
    port_.receive(0, b, burst_limit_);
    if (b.count == 0) break;
    has_received = true;
    counters_.received += b.count;
    for (unsigned i = 0; i < b.count; ++i) {
      switch (read_frame({b.data[i], b.captured[i]}, are_checksums_verified_, frame_)) {
        case FrameKind::kTcp:
          if (is_attacker(frame_.source_ip))
            ++counters_.attack;
          else if (ours_.contains(frame_.segment.destination_ip))
            on_segment(frame_.segment);
          else
            ++counters_.other;
          break;
        case FrameKind::kArp:
          answer_arp(frame_.arp);
          break;
        case FrameKind::kIcmpError:
          on_icmp(frame_.icmp);
          break;
        case FrameKind::kOther:
          ++(is_attacker(frame_.source_ip) ? counters_.attack : counters_.other);
          break;
        case FrameKind::kMalformed:
          ++counters_.malformed;
          break;
      }
    }
    port_.release(0, b.handle.data(), b.count);
    if (b.count < burst_limit_) break;
  }
  return has_received;
}

}  // namespace merlon::lab::tcp
