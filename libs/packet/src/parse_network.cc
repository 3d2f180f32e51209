// SPDX-License-Identifier: Apache-2.0
// IPv4 and IPv6 headers: lengths, options and extension chains, fragments, addresses that can't be.
#include <algorithm>

#include "parse_work.h"

namespace merlon::packet::detail {
namespace {

constexpr std::uint32_t kMaxDatagram = 65'535;

// Transport step, then what needs addresses and ports together.
DropReason finish(Work& w) noexcept {
  set_addresses(w.key, w.source, w.destination, w.is_reversed);
  w.key.protocol = w.protocol;
  w.h.direction = w.is_reversed ? 1 : 0;
  w.h.l4_offset = w.h.payload_offset = static_cast<std::uint16_t>(w.l4);
  w.h.payload_length = w.end - w.l4;
  if (w.h.kind == Kind::kFragment) return DropReason::kNone;
  if (auto r = parse_transport(w); r != DropReason::kNone) return r;
  if (w.options->verify_checksums) return verify_checksums(w);
  return DropReason::kNone;
}

// `data` bytes at `w.l4` are fragment `offset` of a datagram.
DropReason set_fragment(Work& w, std::uint32_t offset, bool more,
                        std::uint32_t identification) noexcept {
  const std::uint32_t data = w.end - w.l4;
  if (offset == 0 && !more)
    return DropReason::kNone;  // whole; in IPv6 an atomic fragment (RFC 6946)
  w.is_fragment = true;
  w.h.fragment_offset = static_cast<std::uint16_t>(offset);
  w.h.more_fragments = more ? 1 : 0;
  if (offset == 0) {
    w.h.flags |= Headers::kFirstFragment;
  } else {
    w.h.kind = Kind::kFragment;
    w.h.tcp_sequence = identification;
  }
  if (data == 0 || (more && data % 8 != 0) || offset + data > kMaxDatagram)
    return DropReason::kFragmentInvalid;
  // A second fragment that could overwrite the TCP flags of the first (RFC 3128 section 2).
  if (w.protocol == kProtoTcp && offset == 8) return DropReason::kFragmentTiny;
  return DropReason::kNone;
}

// 0.0.0.0 may ask for an address and speak IGMP for a snooping switch (RFC 2131 section 4.1, RFC
// 4541 section 2.1.1).
DropReason check_source_v4(const Work& w) noexcept {
  const std::uint32_t source = be32(w, w.l3 + 12);
  if (source == 0xffff'ffff || source >> 28 == 0xe) return DropReason::kSourceAddress;
  if (source != 0 || w.h.kind == Kind::kFragment) return DropReason::kNone;
  const bool is_dhcp = w.h.kind == Kind::kUdp && be16(w, w.l4) == 68 && be16(w, w.l4 + 2) == 67;
  return is_dhcp || w.protocol == kProtoIgmp ? DropReason::kNone : DropReason::kSourceAddress;
}

// The unspecified address may send duplicate address detection and MLD only (RFC 4291
// section 2.5.2, RFC 3590). A v4-mapped one on the wire would pass for an IPv4 host in the key.
DropReason check_addresses_v6(const Work& w) noexcept {
  const auto& s = w.source.bytes;
  if (s[0] == 0xff || w.source.is_v4()) return DropReason::kSourceAddress;
  const bool is_unspecified = std::all_of(s.begin(), s.end(), [](Byte b) { return b == 0; });
  if (is_unspecified && w.h.kind != Kind::kNeighbour && w.h.kind != Kind::kFragment)
    return DropReason::kSourceAddress;
  return w.destination.is_v4() ? DropReason::kMalformedIpv6 : DropReason::kNone;
}

bool is_loopback(const base::IpAddress& a) noexcept {
  if (a.is_v4()) return a.bytes[12] == 127;
  static constexpr base::IpAddress kLoopback{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  return a == kLoopback;
}

// Judged for protocols with ports; the loopback addresses talk to themselves in captures of `lo`.
DropReason check_land(const Work& w) noexcept {
  const bool has_ports =
      w.h.kind == Kind::kTcp || w.h.kind == Kind::kUdp || w.h.kind == Kind::kSctp;
  if (!has_ports || w.source != w.destination || w.key.port_a != w.key.port_b ||
      is_loopback(w.source))
    return DropReason::kNone;
  return DropReason::kLandAttack;
}

struct Chain {
  std::uint32_t offset;  // of the header that `next` names
  std::uint8_t next;
  bool has_routing = false, has_fragment = false;
};

// 0: `next` ends the chain; else the size of the extension header at chain.offset.
DropReason extension_size(const Work& w, const Chain& c, std::uint32_t& size) noexcept {
  size = 0;
  switch (c.next) {
    case kExtHopByHop:
    case kExtRouting:
    case kExtFragment:
    case kExtDestination:
    case kProtoAh:
    case kExtMobility:
    case kExtHip:
    case kExtShim6:
      break;
    default:
      return DropReason::kNone;
  }
  const auto bad = DropReason::kIpv6ExtensionChain;
  if (auto r = need_in_ip(w, c.offset, 8, bad); r != DropReason::kNone) return r;
  const std::uint32_t units = w.p[c.offset + 1];
  size = c.next == kExtFragment ? 8 : c.next == kProtoAh ? (units + 2) * 4 : (units + 1) * 8;
  return need_in_ip(w, c.offset, size, bad);
}

// Mobility, HIP and shim6 messages usually end the chain; then they are the protocol.
bool is_message(std::uint8_t next) noexcept {
  return next == kExtMobility || next == kExtHip || next == kExtShim6;
}

DropReason step(Work& w, Chain& c, bool is_first) noexcept {
  if (c.next == kExtHopByHop && !is_first) return DropReason::kIpv6ExtensionChain;
  if (c.next == kExtRouting) {
    if (w.p[c.offset + 2] == 0) return DropReason::kIpv6RoutingHeader;  // RFC 5095
    if (c.has_routing) return DropReason::kIpv6ExtensionChain;
    c.has_routing = true;
  }
  if (c.next != kExtFragment) {
    w.h.flags |= Headers::kHasIpOptions;
    return DropReason::kNone;
  }
  if (c.has_fragment) return DropReason::kIpv6ExtensionChain;
  c.has_fragment = true;
  const std::uint16_t field = be16(w, c.offset + 2);
  w.l4 = c.offset + 8;
  w.protocol = w.p[c.offset];
  return set_fragment(w, field & 0xfff8U, (field & 1U) != 0, be32(w, c.offset + 4));
}

DropReason walk_chain(Work& w, Chain& c) noexcept {
  for (unsigned headers = 0;; ++headers) {
    std::uint32_t size = 0;
    if (auto r = extension_size(w, c, size); r != DropReason::kNone) return r;
    if (size == 0) return DropReason::kNone;
    if (headers == w.options->max_extension_headers) return DropReason::kIpv6ExtensionChain;
    if (auto r = step(w, c, headers == 0); r != DropReason::kNone) return r;
    const std::uint8_t following = w.p[c.offset];
    if (is_message(c.next) && following == kProtoNone) return DropReason::kNone;
    c.offset += size;
    c.next = following;
    if (w.h.kind == Kind::kFragment) return DropReason::kNone;
  }
}

}  // namespace

DropReason parse_ipv4(Work& w, std::uint32_t offset) noexcept {
  const auto bad = DropReason::kMalformedIpv4;
  w.l3 = offset;
  if (auto r = need(w, offset, 20, bad); r != DropReason::kNone) return r;
  const Byte* ip = w.p + offset;
  const std::uint32_t header = (ip[0] & 15U) * 4U, total = be16(w, offset + 2);
  if (ip[0] >> 4 != 4 || header < 20 || total < header || offset + total > w.wire) return bad;
  if (auto r = need(w, offset, header, bad); r != DropReason::kNone) return r;
  w.end = offset + total;
  w.l4 = offset + header;
  w.protocol = ip[9];
  w.h.ttl = ip[8];
  w.source = base::IpAddress::v4(be32(w, offset + 12));
  w.destination = base::IpAddress::v4(be32(w, offset + 16));
  if (header > 20) {
    w.h.flags |= Headers::kHasIpOptions;
    if (w.options->drop_ipv4_options) return DropReason::kIpv4Options;
  }
  const std::uint32_t field = be16(w, offset + 6);
  if (auto r = set_fragment(w, (field & 0x1fffU) * 8, (field & 0x2000U) != 0, be16(w, offset + 4));
      r != DropReason::kNone)
    return r;
  if (auto r = finish(w); r != DropReason::kNone) return r;
  if (auto r = check_source_v4(w); r != DropReason::kNone) return r;
  return check_land(w);
}

DropReason parse_ipv6(Work& w, std::uint32_t offset) noexcept {
  const auto bad = DropReason::kMalformedIpv6;
  w.l3 = offset;
  w.is_v6 = true;
  w.h.flags |= Headers::kIsV6;
  if (auto r = need(w, offset, 40, bad); r != DropReason::kNone) return r;
  const std::uint32_t payload = be16(w, offset + 4);
  // A jumbogram (RFC 2675) says 0 here and ends as a broken chain.
  if (w.p[offset] >> 4 != 6 || offset + 40 + payload > w.wire) return bad;
  w.end = offset + 40 + payload;
  w.l4 = offset + 40;
  w.h.ttl = w.p[offset + 7];
  w.source = base::IpAddress::v6(w.p + offset + 8);
  w.destination = base::IpAddress::v6(w.p + offset + 24);
  Chain chain{offset + 40, w.p[offset + 6]};
  if (auto r = walk_chain(w, chain); r != DropReason::kNone) return r;
  if (chain.offset > 0xffff) return DropReason::kIpv6ExtensionChain;  // beyond what Headers can say
  w.l4 = chain.offset;
  w.protocol = chain.next;
  if (auto r = finish(w); r != DropReason::kNone) return r;
  if (auto r = check_addresses_v6(w); r != DropReason::kNone) return r;
  return check_land(w);
}

}  // namespace merlon::packet::detail
