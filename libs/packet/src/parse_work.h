// SPDX-License-Identifier: Apache-2.0
#pragma once
// One packet in the general parser: what is known so far. Lives on the worker's stack,
// worker-owned. Every step returns the reason to drop, kNone to go on.
#include <cstdint>

#include "merlon/packet/parse.h"

namespace merlon::packet::detail {

using base::Byte;
using base::DropReason;

inline constexpr std::uint8_t kProtoIcmp = 1, kProtoIgmp = 2, kProtoIpv4 = 4, kProtoTcp = 6,
                              kProtoUdp = 17, kProtoIpv6 = 41, kProtoGre = 47, kProtoEsp = 50,
                              kProtoAh = 51, kProtoIcmpv6 = 58, kProtoNone = 59, kProtoSctp = 132,
                              kProtoUdpLite = 136;
inline constexpr std::uint8_t kExtHopByHop = 0, kExtRouting = 43, kExtFragment = 44,
                              kExtDestination = 60, kExtMobility = 135, kExtHip = 139,
                              kExtShim6 = 140;
inline constexpr std::uint16_t kEtherIpv4 = 0x0800, kEtherArp = 0x0806, kEtherVlan = 0x8100,
                               kEtherQinq = 0x88a8, kEtherQinqOld = 0x9100, kEtherIpv6 = 0x86dd,
                               kEtherMpls = 0x8847, kEtherMplsMulticast = 0x8848,
                               kEtherBridged = 0x6558;

// Bit n is set when n = the low six TCP flags is a combination some conversation has (RFC 9293
// section 3.10.7; FIN, PSH and URG mean something only beside ACK, an RST may carry anything but a
// SYN or a bare FIN).
constexpr std::uint64_t valid_tcp_flags() {
  std::uint64_t valid = 0;
  for (unsigned f = 0; f < 64; ++f) {
    const bool fin = f & kTcpFin, syn = f & kTcpSyn, rst = f & kTcpRst, ack = f & kTcpAck;
    const bool ok = syn ? !fin && !rst : ack || (rst && !fin);
    if (ok) valid |= std::uint64_t{1} << f;
  }
  return valid;
}
inline constexpr std::uint64_t kValidTcpFlags = valid_tcp_flags();

// Writes the ports in canonical order; on equal addresses the ports decide the direction.
inline void put_ports(FlowKey& k, std::uint16_t source, std::uint16_t destination,
                      bool& is_reversed) noexcept {
  if (k.a == k.b) is_reversed = source > destination;
  k.port_a = is_reversed ? destination : source;
  k.port_b = is_reversed ? source : destination;
}

struct Work {
  const Byte* p;           // the frame
  std::uint32_t captured;  // readable
  std::uint32_t wire;      // bytes it had on the wire, >= captured
  const ParseOptions* options;
  Headers h{};
  FlowKey key{};
  std::uint32_t l3 = 0, l4 = 0;
  std::uint32_t end = 0;  // where the IP datagram ends by its own length; <= wire
  base::IpAddress source{}, destination{};
  std::uint8_t protocol = 0;
  bool is_v6 = false;
  bool is_reversed = false;  // key.a is the destination
  bool is_fragment = false;  // any fragment, the first one too
  bool is_part_of_tunnel = false;
  std::uint8_t tunnels = 0;  // tunnels entered

  // Set by the transport step when the payload is a packet that may be judged in place of this one.
  std::uint16_t inner_type = 0;  // ethertype, kEtherBridged for a frame, 0 for nothing
  std::uint32_t inner_offset = 0;
};

// `n` bytes at `offset`: there, cut by the capture, or never there.
inline DropReason need(const Work& w, std::uint32_t offset, std::uint32_t n,
                       DropReason lying) noexcept {
  if (std::uint64_t{offset} + n <= w.captured) return DropReason::kNone;
  return std::uint64_t{offset} + n <= w.wire ? DropReason::kCaptureTruncated : lying;
}
// The same, for a header that must also lie inside the IP datagram.
inline DropReason need_in_ip(const Work& w, std::uint32_t offset, std::uint32_t n,
                             DropReason lying) noexcept {
  if (std::uint64_t{offset} + n > w.end)
    return w.h.is(Headers::kFirstFragment) ? DropReason::kFragmentTiny : lying;
  return need(w, offset, n, lying);
}

inline std::uint16_t be16(const Work& w, std::uint32_t offset) noexcept {
  return base::load_be<std::uint16_t>(w.p + offset);
}
inline std::uint32_t be32(const Work& w, std::uint32_t offset) noexcept {
  return base::load_be<std::uint32_t>(w.p + offset);
}

// parse_general.cc
void parse_general(Burst& burst, unsigned i, const ParseOptions& options,
                   std::uint16_t domain) noexcept;
void set_addresses(FlowKey& key, const base::IpAddress& source, const base::IpAddress& destination,
                   bool& is_reversed) noexcept;

// parse_network.cc: IPv4 and IPv6 down to the transport header, which they call.
DropReason parse_ipv4(Work& w, std::uint32_t offset) noexcept;
DropReason parse_ipv6(Work& w, std::uint32_t offset) noexcept;

// parse_transport.cc
DropReason parse_transport(Work& w) noexcept;
// GRE and the tunnels over UDP
DropReason parse_gre(Work& w) noexcept;
DropReason find_vxlan(Work& w) noexcept;
DropReason find_gtpu(Work& w) noexcept;

// parse_icmp.cc
DropReason parse_icmp4(Work& w) noexcept;
DropReason parse_icmp6(Work& w) noexcept;
// The request's type of an ICMP query, 0 when `type` is no query.
std::uint8_t icmp4_request(std::uint8_t type) noexcept;
std::uint8_t icmp6_request(std::uint8_t type) noexcept;

// parse_verify.cc: bad_checksum or kNone; looks only at whole, unfragmented, fully captured
// packets.
DropReason verify_checksums(const Work& w) noexcept;

}  // namespace merlon::packet::detail
