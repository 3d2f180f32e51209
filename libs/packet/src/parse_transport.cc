// SPDX-License-Identifier: Apache-2.0
// Transport headers and tunnel headers.
#include "parse_work.h"

namespace merlon::packet::detail {
namespace {

void set_payload(Work& w, std::uint32_t header) noexcept {
  w.h.payload_offset = static_cast<std::uint16_t>(w.l4 + header);
  w.h.payload_length = w.end - w.l4 - header;
}

void set_ports(Work& w) noexcept {
  put_ports(w.key, be16(w, w.l4), be16(w, w.l4 + 2), w.is_reversed);
  w.h.direction = w.is_reversed ? 1 : 0;
}

DropReason parse_tcp(Work& w) noexcept {
  const auto bad = DropReason::kMalformedTcp;
  if (auto r = need_in_ip(w, w.l4, 20, bad); r != DropReason::kNone) return r;
  const std::uint32_t header = (w.p[w.l4 + 12] >> 4U) * 4U;
  if (header < 20) return bad;
  if (auto r = need_in_ip(w, w.l4, header, bad); r != DropReason::kNone) return r;
  w.h.kind = Kind::kTcp;
  w.h.tcp_flags = w.p[w.l4 + 13];
  w.h.tcp_sequence = be32(w, w.l4 + 4);
  w.h.tcp_acknowledgment = be32(w, w.l4 + 8);
  w.h.tcp_window = be16(w, w.l4 + 14);
  set_ports(w);
  set_payload(w, header);
  return (kValidTcpFlags >> (w.h.tcp_flags & 63U) & 1U) != 0 ? DropReason::kNone
                                                             : DropReason::kTcpFlags;
}

DropReason parse_udp(Work& w) noexcept {
  const auto bad = DropReason::kMalformedUdp;
  if (auto r = need_in_ip(w, w.l4, 8, bad); r != DropReason::kNone) return r;
  const std::uint32_t size = be16(w, w.l4 + 4);
  // A first fragment holds less than the datagram's length, nothing else may.
  if (size < 8 || (size > w.end - w.l4 && !w.is_fragment)) return bad;
  w.h.kind = Kind::kUdp;
  set_ports(w);
  set_payload(w, 8);
  if (!w.options->judge_inner) return DropReason::kNone;
  const std::uint16_t port = be16(w, w.l4 + 2);
  if (port == w.options->vxlan_port) return find_vxlan(w);
  if (port == w.options->gtpu_port) return find_gtpu(w);
  return DropReason::kNone;
}

// RFC 3828: keyed by ports like UDP, judged like other IP.
DropReason parse_udp_lite(Work& w) noexcept {
  const auto bad = DropReason::kMalformedUdp;
  if (auto r = need_in_ip(w, w.l4, 8, bad); r != DropReason::kNone) return r;
  const std::uint32_t coverage = be16(w, w.l4 + 4);
  if ((coverage != 0 && coverage < 8) || (coverage > w.end - w.l4 && !w.is_fragment)) return bad;
  w.h.kind = Kind::kOtherIp;
  set_ports(w);
  set_payload(w, 8);
  return DropReason::kNone;
}

DropReason parse_sctp(Work& w) noexcept {
  const auto bad = DropReason::kMalformedSctp;
  if (auto r = need_in_ip(w, w.l4, 16, bad); r != DropReason::kNone) return r;
  const std::uint32_t chunk = be16(w, w.l4 + 14);
  if (chunk < 4 || (chunk > w.end - w.l4 - 12 && !w.is_fragment)) return bad;
  w.h.kind = Kind::kSctp;
  w.h.icmp_type = w.p[w.l4 + 12];
  w.h.icmp_code = w.p[w.l4 + 13];
  w.h.tcp_sequence = be32(w, w.l4 + 4);
  set_ports(w);
  set_payload(w, 12);
  return DropReason::kNone;
}

DropReason parse_ip_in_ip(Work& w) noexcept {
  const bool is_v4 = w.protocol == kProtoIpv4;
  w.h.kind = Kind::kOtherIp;
  w.inner_type = is_v4 ? kEtherIpv4 : kEtherIpv6;
  w.inner_offset = w.l4;
  return need_in_ip(w, w.l4, is_v4 ? 20 : 40, DropReason::kMalformedTunnel);
}

}  // namespace

DropReason parse_gre(Work& w) noexcept {
  const auto bad = DropReason::kMalformedTunnel;
  if (auto r = need_in_ip(w, w.l4, 4, bad); r != DropReason::kNone) return r;
  const std::uint32_t flags = be16(w, w.l4);
  const bool has_checksum = (flags & 0x8000U) != 0, has_routing = (flags & 0x4000U) != 0;
  const bool has_key = (flags & 0x2000U) != 0, has_sequence = (flags & 0x1000U) != 0;
  const std::uint32_t version = flags & 7U;
  // Source routes died with RFC 2784; PPTP (RFC 2637 section 4.1) always has a key and never a
  // checksum.
  if (has_routing || version > 1 || (version == 1 && (!has_key || has_checksum))) return bad;
  std::uint32_t size =
      4 + (has_checksum ? 4U : 0U) + (has_key ? 4U : 0U) + (has_sequence ? 4U : 0U);
  if (version == 1 && (flags & 0x80U) != 0) size += 4;  // acknowledgment
  if (auto r = need_in_ip(w, w.l4, size, bad); r != DropReason::kNone) return r;
  w.h.kind = Kind::kOtherIp;
  if (has_key) {
    const std::uint32_t key = be32(w, w.l4 + (has_checksum ? 8 : 4));
    w.key.port_a = static_cast<std::uint16_t>(version == 1 ? key : key >> 16);
    w.key.port_b = static_cast<std::uint16_t>(version == 1 ? 0 : key);
  }
  set_payload(w, size);
  const std::uint16_t type = be16(w, w.l4 + 2);
  if (version == 0 && (type == kEtherIpv4 || type == kEtherIpv6 || type == kEtherBridged)) {
    w.inner_type = type;
    w.inner_offset = w.l4 + size;
  }
  return DropReason::kNone;
}

DropReason find_vxlan(Work& w) noexcept {
  const std::uint32_t offset = w.h.payload_offset;
  if (w.is_fragment) return DropReason::kNone;
  if (auto r = need_in_ip(w, offset, 8, DropReason::kMalformedTunnel); r != DropReason::kNone)
    return r;
  if ((w.p[offset] & 0x08U) == 0)
    return DropReason::kNone;  // no network identifier: not VXLAN (RFC 7348)
  w.inner_type = kEtherBridged;
  w.inner_offset = offset + 8;
  return DropReason::kNone;
}

// 3GPP TS 29.281 section 5.1; only G-PDU (255) carries a packet.
DropReason find_gtpu(Work& w) noexcept {
  const auto bad = DropReason::kMalformedTunnel;
  std::uint32_t offset = w.h.payload_offset;
  if (w.is_fragment) return DropReason::kNone;
  if (auto r = need_in_ip(w, offset, 8, bad); r != DropReason::kNone) return r;
  const Byte flags = w.p[offset];
  if (flags >> 5 != 1 || (flags & 0x10U) == 0 || w.p[offset + 1] != 255) return DropReason::kNone;
  offset += 8;
  if ((flags & 7U) != 0) {
    if (auto r = need_in_ip(w, offset, 4, bad); r != DropReason::kNone) return r;
    Byte next = (flags & 4U) != 0 ? w.p[offset + 3] : Byte{0};
    offset += 4;
    for (unsigned headers = 0; next != 0; ++headers) {
      if (headers == w.options->max_extension_headers) return bad;
      if (auto r = need_in_ip(w, offset, 4, bad); r != DropReason::kNone) return r;
      const std::uint32_t size = w.p[offset] * 4U;
      if (size == 0) return bad;
      if (auto r = need_in_ip(w, offset, size, bad); r != DropReason::kNone) return r;
      offset += size;
      next = w.p[offset - 1];
    }
  }
  if (auto r = need_in_ip(w, offset, 1, bad); r != DropReason::kNone) return r;
  const unsigned version = w.p[offset] >> 4;
  if (version != 4 && version != 6) return DropReason::kNone;
  w.inner_type = version == 4 ? kEtherIpv4 : kEtherIpv6;
  w.inner_offset = offset;
  return DropReason::kNone;
}

DropReason parse_transport(Work& w) noexcept {
  switch (w.protocol) {
    case kProtoTcp:
      return parse_tcp(w);
    case kProtoUdp:
      return parse_udp(w);
    case kProtoIcmp:
      if (!w.is_v6) return parse_icmp4(w);
      break;
    case kProtoIcmpv6:
      if (w.is_v6) return parse_icmp6(w);
      break;
    case kProtoSctp:
      return parse_sctp(w);
    case kProtoUdpLite:
      return parse_udp_lite(w);
    case kProtoGre:
      return parse_gre(w);
    case kProtoIpv4:
    case kProtoIpv6:
      return parse_ip_in_ip(w);
    default:
      break;
  }
  w.h.kind = Kind::kOtherIp;
  // ESP and AH: the fixed header must be there (RFC 4303 section 2, RFC 4302 section 2); the rest
  // is opaque.
  const std::uint32_t fixed = w.protocol == kProtoEsp ? 8 : w.protocol == kProtoAh ? 12 : 0;
  return need_in_ip(w, w.l4, fixed,
                    w.is_v6 ? DropReason::kMalformedIpv6 : DropReason::kMalformedIpv4);
}

}  // namespace merlon::packet::detail
