// SPDX-License-Identifier: Apache-2.0
// ICMP and ICMPv6: queries, errors with the packet they quote, link control, the rest.
#include <algorithm>

#include "parse_work.h"

namespace merlon::packet::detail {
namespace {

// The quoted packet: only part of it is here, so its own lengths are not held against it.
struct Quote {
  const Byte* p;
  std::uint32_t size;
  std::uint32_t l4 = 0;
  std::uint8_t protocol = 0;
  bool is_v6 = false;
  base::IpAddress source{}, destination{};

  [[nodiscard]] bool has(std::uint32_t offset, std::uint32_t n) const noexcept {
    return offset + n <= size;
  }
  [[nodiscard]] std::uint16_t be16(std::uint32_t offset) const noexcept {
    return base::load_be<std::uint16_t>(p + offset);
  }
};

bool quote_ipv4(Quote& q) noexcept {
  if (!q.has(0, 20) || q.p[0] >> 4 != 4) return false;
  q.l4 = (q.p[0] & 15U) * 4U;
  if (q.l4 < 20 || (q.be16(6) & 0x1fffU) != 0) return false;
  q.protocol = q.p[9];
  q.source = base::IpAddress::v4(base::load_be<std::uint32_t>(q.p + 12));
  q.destination = base::IpAddress::v4(base::load_be<std::uint32_t>(q.p + 16));
  return true;
}

bool quote_ipv6(Quote& q, unsigned max_headers) noexcept {
  if (!q.has(0, 40) || q.p[0] >> 4 != 6) return false;
  q.is_v6 = true;
  q.source = base::IpAddress::v6(q.p + 8);
  q.destination = base::IpAddress::v6(q.p + 24);
  if (q.source.is_v4() || q.destination.is_v4()) return false;
  q.l4 = 40;
  q.protocol = q.p[6];
  for (unsigned headers = 0;; ++headers) {
    const std::uint8_t next = q.protocol;
    const bool is_extension = next == kExtHopByHop || next == kExtRouting || next == kExtFragment ||
                              next == kExtDestination || next == kProtoAh || next == kExtMobility ||
                              next == kExtHip || next == kExtShim6;
    if (!is_extension) return true;
    if (headers == max_headers || !q.has(q.l4, 8)) return false;
    if (next == kExtFragment && (q.be16(q.l4 + 2) & 0xfff8U) != 0) return false;
    const std::uint32_t units = q.p[q.l4 + 1];
    const bool is_message = next == kExtMobility || next == kExtHip || next == kExtShim6;
    if (is_message && q.p[q.l4] == kProtoNone) return true;
    q.protocol = q.p[q.l4];
    q.l4 += next == kExtFragment ? 8 : next == kProtoAh ? (units + 2) * 4 : (units + 1) * 8;
  }
}

bool quote_icmp(const Quote& q, FlowKey& key, std::uint8_t request) noexcept {
  if (request == 0 || !q.has(q.l4, 6)) return false;
  key.port_a = q.be16(q.l4 + 4);
  key.port_b = request;
  return true;
}

bool quote_gre(const Quote& q, FlowKey& key) noexcept {
  if (!q.has(q.l4, 4)) return false;
  const std::uint32_t flags = q.be16(q.l4), version = flags & 7U;
  if ((flags & 0x4000U) != 0 || version > 1) return false;
  if ((flags & 0x2000U) == 0) return version == 0;
  const std::uint32_t at = q.l4 + ((flags & 0x8000U) != 0 ? 8 : 4);
  if (!q.has(at, 4)) return false;
  const auto bits = base::load_be<std::uint32_t>(q.p + at);
  key.port_a = static_cast<std::uint16_t>(version == 1 ? bits : bits >> 16);
  key.port_b = static_cast<std::uint16_t>(version == 1 ? 0 : bits);
  return true;
}

// The key the quoted packet had when it passed us; false when too little of it is quoted.
bool quote_ports(const Quote& q, FlowKey& key, bool& is_reversed) noexcept {
  switch (q.protocol) {
    case kProtoTcp:
    case kProtoUdp:
    case kProtoSctp:
    case kProtoUdpLite:
      if (!q.has(q.l4, 4)) return false;
      put_ports(key, q.be16(q.l4), q.be16(q.l4 + 2), is_reversed);
      return true;
    case kProtoIcmp:
      return !q.is_v6 && q.has(q.l4, 1) && quote_icmp(q, key, icmp4_request(q.p[q.l4]));
    case kProtoIcmpv6:
      return q.is_v6 && q.has(q.l4, 1) && quote_icmp(q, key, icmp6_request(q.p[q.l4]));
    case kProtoGre:
      return quote_gre(q, key);
    default:
      return true;
  }
}

void set_unknown(Work& w) noexcept { w.h.flags |= Headers::kQuoteUnknown; }

// Replaces the key by the quoted packet's. Stays with the outer addresses when there is no such
// key, and when the quoted packet was not sent by the host that gets the error: nobody honest
// reports to a third party.
void parse_quote(Work& w) noexcept {
  const std::uint32_t start = w.l4 + 8, limit = std::min(w.end, w.captured);
  Quote q{w.p + start, limit > start ? limit - start : 0};
  const bool is_header = w.is_v6 ? quote_ipv6(q, w.options->max_extension_headers) : quote_ipv4(q);
  if (!is_header || q.source != w.destination) return set_unknown(w);
  FlowKey key = w.key;
  bool is_reversed = false;
  set_addresses(key, q.source, q.destination, is_reversed);
  key.protocol = q.protocol;
  key.port_a = key.port_b = 0;
  if (!quote_ports(q, key, is_reversed)) return set_unknown(w);
  w.key = key;
  w.h.direction = is_reversed ? 0 : 1;
  if (q.protocol == kProtoTcp && q.has(q.l4, 8)) {
    w.h.tcp_sequence = base::load_be<std::uint32_t>(q.p + q.l4 + 4);
    w.h.flags |= Headers::kQuoteHasSequence;
  }
}

DropReason begin(Work& w, std::uint32_t least) noexcept {
  if (auto r = need_in_ip(w, w.l4, least, DropReason::kMalformedIcmp); r != DropReason::kNone)
    return r;
  w.h.icmp_type = w.p[w.l4];
  w.h.icmp_code = w.p[w.l4 + 1];
  w.h.payload_offset = static_cast<std::uint16_t>(w.l4 + least);
  w.h.payload_length = w.end - w.l4 - least;
  return DropReason::kNone;
}

void set_query(Work& w, std::uint8_t request) noexcept {
  w.h.kind = Kind::kIcmpQuery;
  w.key.port_a = be16(w, w.l4 + 4);
  w.key.port_b = request;
  if (w.h.icmp_type != request) w.h.flags |= Headers::kIsReply;
}

void set_other(Work& w) noexcept {
  w.h.kind = Kind::kIcmpOther;
  w.key.port_a = w.h.icmp_type;
  w.key.port_b = w.h.icmp_code;
}

// Link control passes unjudged, so only what can't have come through a router counts: ND has hop
// limit 255 (RFC 4861 section 6.1), multicast listener and router messages 1 (RFC 3810 section 5,
// RFC 4286 section 3).
bool is_link_control(const Work& w) noexcept {
  if ((w.h.flags & Headers::kInTunnel) != 0) return false;
  switch (w.h.icmp_type) {
    case 133:
    case 134:
    case 135:
    case 136:
    case 137:  // neighbour discovery
    case 141:
    case 142:
    case 148:
    case 149:  // inverse and secure neighbour discovery
      return w.h.ttl == 255;
    case 130:
    case 131:
    case 132:
    case 143:  // multicast listeners
    case 151:
    case 152:
    case 153:  // multicast router discovery
      return w.h.ttl == 1;
    default:
      return false;
  }
}

}  // namespace

std::uint8_t icmp4_request(std::uint8_t type) noexcept {
  switch (type) {
    case 0:
      return 8;
    case 14:
      return 13;
    case 16:
      return 15;
    case 18:
      return 17;
    case 43:
      return 42;  // extended echo, RFC 8335
    case 8:
    case 13:
    case 15:
    case 17:
    case 42:
      return type;
    default:
      return 0;
  }
}

std::uint8_t icmp6_request(std::uint8_t type) noexcept {
  switch (type) {
    case 129:
      return 128;
    case 161:
      return 160;  // extended echo, RFC 8335
    case 128:
    case 160:
      return type;
    default:
      return 0;
  }
}

DropReason parse_icmp4(Work& w) noexcept {
  if (auto r = begin(w, 8); r != DropReason::kNone) return r;
  switch (w.h.icmp_type) {
    case 3:
    case 4:
    case 5:
    case 11:
    case 12:
      w.h.kind = Kind::kIcmpError;
      parse_quote(w);
      return DropReason::kNone;
    default:
      break;
  }
  const std::uint8_t request = icmp4_request(w.h.icmp_type);
  request != 0 ? set_query(w, request) : set_other(w);
  return DropReason::kNone;
}

DropReason parse_icmp6(Work& w) noexcept {
  if (auto r = begin(w, 8); r != DropReason::kNone) return r;
  if (w.h.icmp_type >= 1 && w.h.icmp_type <= 4) {
    w.h.kind = Kind::kIcmpError;
    parse_quote(w);
    return DropReason::kNone;
  }
  const std::uint8_t request = icmp6_request(w.h.icmp_type);
  if (request != 0) {
    set_query(w, request);
  } else if (is_link_control(w)) {
    w.h.kind = Kind::kNeighbour;
  } else {
    set_other(w);
  }
  return DropReason::kNone;
}

}  // namespace merlon::packet::detail
