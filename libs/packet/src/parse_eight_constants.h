// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands of parse_eight.h.
#include <array>
#include <cstdint>

#include "parse_work.h"

namespace merlon::packet::detail {

// Bit n is set when n = ACK << 3 | RST, SYN, FIN is no combination that a conversation has; the
// other flags don't matter (valid_tcp_flags()).
constexpr std::uint32_t refused_tcp_flags() {
  std::uint32_t refused = 0;
  for (unsigned n = 0; n < 16; ++n) {
    const unsigned flags = (n & 7) | (n & 8) << 1;
    if ((kValidTcpFlags >> flags & 1) == 0) refused |= 1U << n;
  }
  return refused;
}

// A value in all eight lanes.
template <std::uint32_t kValue>
struct alignas(32) Eight {
  std::uint32_t lanes[8] = {kValue, kValue, kValue, kValue, kValue, kValue, kValue, kValue};
};

// Where the bytes of four words come from, -1 for a zero; the same in both halves.
struct alignas(32) Shuffle {
  std::int8_t from[32];
  constexpr explicit Shuffle(const std::array<std::int8_t, 4>& word) : from() {
    for (int i = 0; i < 32; ++i) {
      const int at = word[static_cast<unsigned>(i % 4)];
      from[i] = static_cast<std::int8_t>(at < 0 ? -1 : i % 16 / 4 * 4 + at);
    }
  }
};

// Operands in memory: built from immediates, as GCC 12 would, they cost more than the work they are
// for.
template <unsigned kL3>
struct EightConstants {
  // From network order: a whole word, its first and its last 16 bits, both halves each.
  Shuffle whole{{3, 2, 1, 0}};
  Shuffle first{{1, 0, -1, -1}};
  Shuffle last{{3, 2, -1, -1}};
  Shuffle halves{{1, 0, 3, 2}};
  // The v4-mapped prefix of both addresses of a key; what moves a and b to their ends.
  alignas(32) std::uint32_t prefix[8] = {0, 0, 0xffff0000, 0, 0, 0, 0xffff0000, 0};
  alignas(32) std::uint64_t to_ends[4] = {32, 32, 0, 0};
  Eight<58> readable;
  Eight<0xffff> low_half;
  Eight<0x0081> vlan_type;
  Eight<0xfff> vlan_number;
  Eight<0xffffff> type_mask;
  Eight<0x450008> type;    // 0x0800, version 4, five words of header
  Eight<0xff3f> fragment;  // offset and MF
  Eight<kL3> l3;
  Eight<kL3 + 20> l4;
  Eight<kL3 | (kL3 + 20) << 16> offsets;
  Eight<kProtoTcp> tcp;
  Eight<kProtoUdp> udp;
  Eight<1> one;
  Eight<7> seven;
  Eight<8> eight;
  Eight<12> twelve;
  Eight<20> twenty;
  Eight<0x3c> data_offset;
  Eight<0xdffffffe> last_source;  // less one
  Eight<refused_tcp_flags()> refused_flags;
  Eight<0xff0000> third_byte;
  Eight<kEtherIpv4 << 16> ethertype;
  Eight<static_cast<unsigned>(Kind::kUdp)> kind_udp;
  Eight<static_cast<unsigned>(Kind::kUdp) ^ static_cast<unsigned>(Kind::kTcp)> kind_differs;
  Eight<0x100> reversed;
};
template <unsigned kL3>
inline constexpr EightConstants<kL3> kEightConstants{};

}  // namespace merlon::packet::detail
