// SPDX-License-Identifier: Apache-2.0
#pragma once
// The key of a session: canonical, so that both directions of a conversation meet in one entry. 44
// bytes compared as two overlapping 32-byte loads. Endpoint `a` is the smaller address (bytes
// compared as one big-endian number; on equal addresses the smaller port); direction 0 means "from
// a to b".
#include <array>
#include <cstdint>
#include <cstring>

#include "merlon/base/address.h"
#include "merlon/base/hash.h"

namespace merlon::packet {

struct FlowKey {
  base::IpAddress a, b;  // v4-mapped for IPv4
  // TCP, UDP, SCTP: ports in host order. ICMP queries: port_a = identifier, port_b = type of the
  // request (8, 13, 128, ...), not swapped by direction. GRE with a key or PPTP call: port_a/port_b
  // carry 32 bits of it. Other ICMP: port_a = type, port_b = code, not swapped. Everything else: 0.
  std::uint16_t port_a = 0, port_b = 0;
  std::uint16_t vlan_outer = 0, vlan_inner = 0;  // 12-bit ids, 0 where there is none
  // Separates port pairs; from the input port's configuration, see domain_in_direction().
  std::uint16_t domain = 0;
  std::uint8_t protocol = 0;  // IP protocol number of the judged header
  std::uint8_t reserved = 0;

  friend bool operator==(const FlowKey& x, const FlowKey& y) noexcept {
    return std::memcmp(&x, &y, sizeof(FlowKey)) == 0;
  }
};
static_assert(sizeof(FlowKey) == 44);

// What a port gives to the keys of its packets: a number below kTellsSides, the same for both ports
// of a wire, and where the port is one side of the wire for certain, kTellsSides and the side.
inline constexpr std::uint16_t kTellsSides = 0x4000, kSideBit = 0x8000;

// The domain in the key of a packet that goes in canonical direction `is_reversed`. Where sides are
// told, kSideBit in a key says by which side packets from endpoint `a` come in, so that a packet
// with a session's addresses that comes in by the wrong side has another key.
constexpr std::uint16_t domain_in_direction(std::uint32_t domain, bool is_reversed) noexcept {
  return static_cast<std::uint16_t>(
      domain ^ ((domain & kTellsSides) << static_cast<unsigned>(is_reversed) & kSideBit));
}

// The two ends of hash_flow_key(), for code that has the key's words in registers. `addresses` is
// a's IPv4 address as it lies in the key, with b's above it; `ports` are bytes 32-39 of the key,
// `tail` the last four.
inline std::uint64_t hash_tail(std::uint64_t h, std::uint32_t tail, base::HashSeed seed) noexcept {
  return base::fold_multiply(h ^ tail, seed.a ^ 0xa0761d6478bd642fULL);
}
inline std::uint64_t hash_v4_words(std::uint64_t addresses, std::uint64_t ports, std::uint32_t tail,
                                   base::HashSeed seed) noexcept {
  return hash_tail(base::fold_multiply(addresses ^ seed.a, ports ^ seed.b), tail, seed);
}

inline std::uint64_t hash_v6_words(const std::array<std::uint64_t, 4>& addresses,
                                   std::uint64_t ports, std::uint32_t tail,
                                   base::HashSeed seed) noexcept {
  // Two independent products, so that the second does not wait for the first.
  const std::uint64_t a = base::fold_multiply(addresses[0] ^ seed.a, addresses[1] ^ seed.b);
  const std::uint64_t b = base::fold_multiply(addresses[2] ^ seed.b, addresses[3] ^ seed.a);
  return hash_tail(base::fold_multiply(a ^ ports, (b ^ 0x8bb84b93962eacc9ULL) + seed.a), tail,
                   seed);
}

// 64 well-mixed bits. Bits 0-31 choose a bucket, 32-47 a worker, 48-63 are the table's tag.
inline std::uint64_t hash_flow_key(const FlowKey& k, base::HashSeed seed) noexcept {
  std::uint64_t w[5];
  std::uint32_t tail;
  std::memcpy(w, &k, 40);
  std::memcpy(&tail, reinterpret_cast<const unsigned char*>(&k) + 40, 4);
  if (k.a.is_v4() && k.b.is_v4()) {
    return hash_v4_words((w[1] >> 32) | (w[3] & 0xffffffff00000000ULL), w[4], tail, seed);
  }
  return hash_v6_words({w[0], w[1], w[2], w[3]}, w[4], tail, seed);
}

// The worker that owns a key when there are `workers` of them and software spreads.
inline unsigned owner_of(std::uint64_t hash, unsigned workers) noexcept {
  return static_cast<unsigned>(((hash >> 32 & 0xffff) * workers) >> 16);
}

}  // namespace merlon::packet
