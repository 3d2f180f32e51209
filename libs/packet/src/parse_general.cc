// SPDX-License-Identifier: Apache-2.0
// The general parser: link layers, tags and labels, and the descent into tunnels.
#include <algorithm>
#include <cstring>

#include "parse_work.h"

namespace merlon::packet::detail {
namespace {

using LinkLayer = ParseOptions::LinkLayer;

// Ethertype for a bare IP header by its version nibble; 0 when it is neither.
std::uint16_t type_by_version(Byte first) noexcept {
  switch (first >> 4) {
    case 4:
      return kEtherIpv4;
    case 6:
      return kEtherIpv6;
    default:
      return 0;
  }
}

DropReason link_ppp(Work& w, std::uint32_t& offset, std::uint16_t& type) noexcept {
  if (auto r = need(w, 0, 4, DropReason::kMalformedEthernet); r != DropReason::kNone) return r;
  if (w.p[0] == 0xff && w.p[1] == 0x03) offset = 2;  // RFC 1662 section 3.1
  std::uint32_t protocol = w.p[offset];
  // An odd first byte is a compressed protocol field (RFC 1661 section 2).
  if ((protocol & 1) != 0) {
    offset += 1;
  } else {
    protocol = be16(w, offset);
    offset += 2;
  }
  switch (protocol) {
    case 0x0021:
      type = kEtherIpv4;
      break;
    case 0x0057:
      type = kEtherIpv6;
      break;
    case 0x0281:
      type = kEtherMpls;
      break;
    case 0x0283:
      type = kEtherMplsMulticast;
      break;
    default:
      type = 0;
  }
  return DropReason::kNone;
}

DropReason link_null(Work& w, std::uint32_t& offset, std::uint16_t& type) noexcept {
  if (auto r = need(w, 0, 4, DropReason::kMalformedEthernet); r != DropReason::kNone) return r;
  // The family is in the byte order of the machine that captured; families are small, so take the
  // end that has one.
  const std::uint32_t family = w.p[0] != 0 ? base::load_le<std::uint32_t>(w.p) : be32(w, 0);
  offset = 4;
  if (family == 2) type = kEtherIpv4;
  if (family == 10 || family == 24 || family == 28 || family == 30) type = kEtherIpv6;
  return DropReason::kNone;
}

DropReason link_header(Work& w, std::uint32_t& offset, std::uint16_t& type) noexcept {
  const auto short_header = DropReason::kMalformedEthernet;
  switch (w.options->link_layer) {
    case LinkLayer::kEthernet:
      if (auto r = need(w, 0, 14, short_header); r != DropReason::kNone) return r;
      offset = 14;
      type = be16(w, 12);
      return DropReason::kNone;
    case LinkLayer::kRawIp:
      if (auto r = need(w, 0, 1, short_header); r != DropReason::kNone) return r;
      type = type_by_version(w.p[0]);
      return DropReason::kNone;
    case LinkLayer::kLinuxCooked1:
      if (auto r = need(w, 0, 16, short_header); r != DropReason::kNone) return r;
      offset = 16;
      type = be16(w, 14);
      return DropReason::kNone;
    case LinkLayer::kLinuxCooked2:
      if (auto r = need(w, 0, 20, short_header); r != DropReason::kNone) return r;
      offset = 20;
      type = be16(w, 0);
      return DropReason::kNone;
    case LinkLayer::kNull:
      return link_null(w, offset, type);
    case LinkLayer::kPpp:
      return link_ppp(w, offset, type);
  }
  return DropReason::kLinkTypeUnsupported;
}

// The outermost two ids go into the key, and only those of the outer frame: zones belong to what
// the wire carries.
DropReason vlan_tags(Work& w, std::uint32_t& offset, std::uint16_t& type) noexcept {
  for (unsigned tags = 0; type == kEtherVlan || type == kEtherQinq || type == kEtherQinqOld;
       ++tags) {
    if (tags == w.options->max_vlan_tags) return DropReason::kMalformedEthernet;
    if (auto r = need(w, offset, 4, DropReason::kMalformedEthernet); r != DropReason::kNone)
      return r;
    const auto id = static_cast<std::uint16_t>(be16(w, offset) & 0xfffU);
    if (w.tunnels == 0 && tags == 0) w.key.vlan_outer = id;
    if (w.tunnels == 0 && tags == 1) w.key.vlan_inner = id;
    type = be16(w, offset + 2);
    offset += 4;
  }
  return DropReason::kNone;
}

DropReason mpls_labels(Work& w, std::uint32_t& offset, std::uint16_t& type) noexcept {
  if (type != kEtherMpls && type != kEtherMplsMulticast) return DropReason::kNone;
  for (unsigned labels = 0; labels < w.options->max_mpls_labels; ++labels) {
    if (auto r = need(w, offset, 4, DropReason::kMalformedMpls); r != DropReason::kNone) return r;
    const bool is_bottom = (w.p[offset + 2] & 1U) != 0;
    offset += 4;
    if (!is_bottom) continue;
    // Nothing names the payload behind the stack; all but IP is left unjudged (RFC 4928 section 3).
    const std::uint16_t found =
        offset < w.captured ? type_by_version(w.p[offset]) : std::uint16_t{0};
    if (found != 0) type = found;
    return DropReason::kNone;
  }
  return DropReason::kMalformedMpls;
}

DropReason arp(Work& w, std::uint32_t offset) noexcept {
  const auto bad = DropReason::kMalformedArp;
  if (auto r = need(w, offset, 8, bad); r != DropReason::kNone) return r;
  const std::uint32_t hardware = w.p[offset + 4], protocol = w.p[offset + 5];
  const bool is_ethernet = be16(w, offset) == 1, is_ipv4 = be16(w, offset + 2) == kEtherIpv4;
  if ((is_ethernet && hardware != 6) || (is_ipv4 && protocol != 4)) return bad;
  w.h.kind = Kind::kArp;
  w.h.l4_offset = w.h.payload_offset = static_cast<std::uint16_t>(offset);
  return need(w, offset, 8 + 2 * (hardware + protocol), bad);
}

DropReason network(Work& w, std::uint32_t offset, std::uint16_t type) noexcept {
  if (auto r = vlan_tags(w, offset, type); r != DropReason::kNone) return r;
  if (auto r = mpls_labels(w, offset, type); r != DropReason::kNone) return r;
  w.h.ethertype = type;
  w.h.l3_offset = w.h.l4_offset = w.h.payload_offset = static_cast<std::uint16_t>(offset);
  switch (type) {
    case kEtherIpv4:
      return parse_ipv4(w, offset);
    case kEtherIpv6:
      return parse_ipv6(w, offset);
    case kEtherArp:
      return arp(w, offset);
    default:
      w.h.kind = Kind::kNonIp;
      return DropReason::kNone;
  }
}

// The next packet inside; `next` starts with the tags and the domain of the outer frame.
DropReason enter_tunnel(const Work& w, Work& next) noexcept {
  next = Work{w.p, w.captured, w.wire, w.options};
  next.key.vlan_outer = w.key.vlan_outer;
  next.key.vlan_inner = w.key.vlan_inner;
  next.key.domain = w.key.domain;
  next.wire = w.end;  // the inner packet can't be longer than the outer one says
  next.captured = std::min(w.captured, w.end);
  next.tunnels = static_cast<std::uint8_t>(w.tunnels + 1);
  next.h.flags = Headers::kInTunnel;
  std::uint32_t offset = w.inner_offset;
  std::uint16_t type = w.inner_type;
  if (type == kEtherBridged) {
    if (auto r = need(next, offset, 14, DropReason::kMalformedTunnel); r != DropReason::kNone)
      return r;
    type = be16(next, offset + 12);
    offset += 14;
  }
  return network(next, offset, type);
}

DropReason descend(Work& w) noexcept {
  for (;;) {
    if (w.inner_type == 0 || w.is_fragment) return DropReason::kNone;
    if (w.tunnels >= w.options->max_tunnels) return DropReason::kTunnelDepth;
    Work next{};
    if (auto r = enter_tunnel(w, next); r != DropReason::kNone) return r;
    // What is inside is not IP: the tunnel itself is judged.
    if (next.h.kind == Kind::kNonIp || next.h.kind == Kind::kArp) return DropReason::kNone;
    w = next;
  }
}

}  // namespace

void set_addresses(FlowKey& key, const base::IpAddress& source, const base::IpAddress& destination,
                   bool& is_reversed) noexcept {
  is_reversed = std::memcmp(source.bytes.data(), destination.bytes.data(), 16) > 0;
  key.a = is_reversed ? destination : source;
  key.b = is_reversed ? source : destination;
}

void parse_general(Burst& burst, unsigned i, const ParseOptions& options,
                   std::uint16_t domain) noexcept {
  Work w{burst.data[i], burst.captured[i], std::max(burst.captured[i], burst.length[i]), &options};
  w.key.domain = domain;
  std::uint32_t offset = 0;
  std::uint16_t type = 0;
  DropReason reason = link_header(w, offset, type);
  if (reason == DropReason::kNone) reason = network(w, offset, type);
  if (reason == DropReason::kNone && options.judge_inner) reason = descend(w);
  w.key.domain = domain_in_direction(domain, w.h.direction != 0);
  burst.key[i] = w.key;
  burst.hash[i] = hash_flow_key(w.key, options.seed);
  burst.headers[i] = w.h;
  burst.verdict[i] = reason == DropReason::kNone ? Verdict::kUndecided : Verdict::kDrop;
  burst.reason[i] = reason;
}

}  // namespace merlon::packet::detail
