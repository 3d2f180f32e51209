// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include <algorithm>
#include <array>
#include <memory>

#include "merlon/base/bytes.h"
#include "merlon/base/hash.h"
#include "merlon/packet/parse.h"

namespace merlon::perf {
namespace {

using Kind = TrafficSettings::Kind;
using packet::Burst;

constexpr std::size_t kIp = 14, kL4 = 34;
constexpr std::uint16_t kAllowedPort = 53, kRefusedPort = 7;

constexpr std::array<base::Byte, kL4> kHead = {2, 0, 0,    0, 0, 1,  2, 0, 0,    0, 0,  2,
                                               8, 0, 0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17,
                                               0, 0, 0,    0, 0, 0,  0, 0, 0,    0};

template <class T>
void put(base::Byte* frame, std::size_t offset, T value) noexcept {
  base::store_be<T>(frame + offset, value);
}

// Conversation n of a client network: 16,384 clients with changing ports, then changing servers. A
// bijection of the low 32 bits, so that successive numbers lie far apart.
struct Ends {
  std::uint32_t client, server;
  std::uint16_t client_port;
};
Ends ends_of(std::uint64_t n) noexcept {
  const auto m = static_cast<std::uint32_t>(n * 0x9e3779b1U);
  return {.client = 0x0a000000U + (m & 0x3fff),
          .server = 0xac100000U + (m >> 29) + (static_cast<std::uint32_t>(n >> 32) << 3),
          .client_port = static_cast<std::uint16_t>(1024 + ((m >> 14) & 0x7fff))};
}

// The segments of a connection: who sends, flags, and what has been sent before it on either side.
struct Segment {
  std::uint8_t port, flags;
  std::uint8_t sequence, acknowledgment;
  std::uint8_t length;
};
constexpr std::uint8_t kSyn = packet::kTcpSyn, kAck = packet::kTcpAck, kPsh = packet::kTcpPsh,
                       kFin = packet::kTcpFin;
constexpr std::array<Segment, 8> kScript = {{{0, kSyn, 0, 0, 0},
                                             {1, kSyn | kAck, 0, 1, 0},
                                             {0, kAck, 1, 1, 0},
                                             {0, kPsh | kAck, 1, 1, 6},
                                             {1, kPsh | kAck, 1, 7, 6},
                                             {0, kFin | kAck, 7, 7, 0},
                                             {1, kFin | kAck, 7, 8, 0},
                                             {0, kAck, 8, 8, 0}}};

void make_segment(base::Byte* f, std::uint64_t connection, const Segment& s) noexcept {
  const Ends e = ends_of(connection);
  const bool is_client = s.port == 0;
  const auto client_start = static_cast<std::uint32_t>(connection * 0x85ebca6bU),
             server_start = ~client_start;
  f[kIp + 9] = 6;
  put<std::uint16_t>(f, kIp + 2, static_cast<std::uint16_t>(40 + s.length));
  put<std::uint32_t>(f, kIp + 12, is_client ? e.client : e.server);
  put<std::uint32_t>(f, kIp + 16, is_client ? e.server : e.client);
  put<std::uint16_t>(f, kL4, is_client ? e.client_port : 443);
  put<std::uint16_t>(f, kL4 + 2, is_client ? 443 : e.client_port);
  put<std::uint32_t>(f, kL4 + 4, (is_client ? client_start : server_start) + s.sequence);
  put<std::uint32_t>(
      f, kL4 + 8,
      (s.flags & kAck) == 0 ? 0 : (is_client ? server_start : client_start) + s.acknowledgment);
  f[kL4 + 12] = 0x50;
  f[kL4 + 13] = s.flags;
  put<std::uint16_t>(f, kL4 + 14, 0xffff);
}

}  // namespace

Traffic::Traffic(const TrafficSettings& settings)
    : kind_(settings.kind), slots_(kSlots), known_count_(settings.flows) {
  for (Slot& s : slots_) {
    std::fill(std::begin(s.frame), std::end(s.frame), base::Byte{0});
    std::copy(kHead.begin(), kHead.end(), s.frame);
  }
  if (settings.queues > 1) deal_out(settings);
}

// Asks the parser for the hash of each conversation, as the worker will.
void Traffic::deal_out(const TrafficSettings& settings) {
  const auto burst = std::make_unique<Burst>();
  const packet::ParseOptions options{.seed = settings.seed};
  const std::uint16_t domain = packet::kTellsSides;  // of a wire's first port
  for (std::uint64_t n = 0; n < settings.flows; ++n) {
    burst->count = 0;
    make_udp(next_slot(*burst, 0), n, kAllowedPort);
    packet::parse(*burst, options, &domain);
    if (packet::owner_of(burst->hash[0], settings.queues) == settings.queue)
      own_.push_back(static_cast<std::uint32_t>(n));
  }
  known_count_ = own_.size();
  sent_ = 0;
}

Traffic::Slot& Traffic::next_slot(Burst& burst, unsigned port) noexcept {
  Slot& slot = slots_[sent_ % kSlots];
  slot.number = sent_++;
  const unsigned i = burst.count++;
  burst.handle[i] = &slot;
  burst.data[i] = slot.frame;
  burst.captured[i] = burst.length[i] = kFrameSize;
  burst.in_port[i] = static_cast<std::uint16_t>(port);
  return slot;
}

void Traffic::make_udp(Slot& slot, std::uint64_t flow, std::uint16_t destination_port) noexcept {
  const Ends e = ends_of(flow);
  base::Byte* f = slot.frame;
  f[kIp + 9] = 17;
  put<std::uint16_t>(f, kIp + 2, 46);
  put<std::uint32_t>(f, kIp + 12, e.client);
  put<std::uint32_t>(f, kIp + 16, e.server);
  put<std::uint16_t>(f, kL4, e.client_port);
  put<std::uint16_t>(f, kL4 + 2, destination_port);
  put<std::uint32_t>(f, kL4 + 4, 26U << 16);
}

void Traffic::known(Burst& burst, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t n = known_sent_;
    if (known_sent_ < known_count_) {
      ++known_sent_;
    } else {
      random_ += 0x9e3779b97f4a7c15ULL;
      // The high half of a product with the count is below the count.
      n = ((base::fold_multiply(random_, 0xd1b54a32d192ed03ULL) >> 32) * known_count_) >> 32;
    }
    make_udp(next_slot(burst, 0), own_.empty() ? n : own_[n], kAllowedPort);
  }
}

void Traffic::fresh(Burst& burst, unsigned count, std::uint16_t destination_port) noexcept {
  // Beyond every known conversation.
  constexpr std::uint64_t kBeyond = std::uint64_t{1} << 33;
  for (unsigned i = 0; i < count; ++i)
    make_udp(next_slot(burst, 0), kBeyond + fresh_++, destination_port);
}

void Traffic::connections(unsigned port, Burst& burst, unsigned limit) noexcept {
  const Segment& segment = kScript[step_];
  if (segment.port != port) return;
  const std::uint64_t first = first_connection_ + batch_ * Burst::kCapacity;
  for (unsigned i = 0; i < limit; ++i)
    make_segment(next_slot(burst, port).frame, first + i, segment);
  if (++batch_ < kBatches) return;
  batch_ = 0;
  if (++step_ < kScript.size()) return;
  step_ = 0;
  first_connection_ += kBatches * Burst::kCapacity;
}

void Traffic::fill(unsigned port, Burst& burst, unsigned limit) noexcept {
  if (kind_ == Kind::kConnections) return connections(port, burst, limit);
  const bool is_connection_turn = kind_ == Kind::kMixed && turn_ % 8 == 7;
  if (is_connection_turn) {
    const unsigned before = burst.count;
    connections(port, burst, limit);
    if (burst.count != before) ++turn_;
    return;
  }
  if (port != 0) return;
  const unsigned turn = turn_++ % 8;
  if (kind_ == Kind::kNew) return fresh(burst, limit, kAllowedPort);
  if (kind_ == Kind::kKnown || turn < 4) return known(burst, limit);
  fresh(burst, limit, turn == 6 ? kRefusedPort : kAllowedPort);
}

}  // namespace merlon::perf
