// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "build_work.h"
#include "describe.h"
#include "merlon/packet/checksum.h"
#include "parse_work.h"

namespace merlon::packet::detail {
namespace {

void describe_tag(Describer& d, std::string_view name) {
  const std::uint16_t tag = d.u16(0), type = d.u16(2);
  d.layer(name);
  d.word(" {}", tag & 0xfffU);
  if (tag >> 13 != 0) d.word(" pcp={}", tag >> 13);
  if ((tag & 0x1000U) != 0) d.word(" dei=1");
  d.take(4);
  if (ethertype_for(layer_for_type(type, d.rest)) != type) d.word(" type=0x{:04x}", type);
  describe_type(d, type);
}

void describe_mpls(Describer& d) {
  const std::uint32_t entry = d.u32(0);
  const bool is_bottom = (entry & 0x100U) != 0;
  d.layer("mpls");
  d.word(" {} ttl={}", entry >> 12, entry & 0xffU);
  if ((entry >> 9 & 7U) != 0) d.word(" tc={}", entry >> 9 & 7U);
  d.take(4);
  if (!is_bottom && d.rest.size() >= 4 && d.layers < kMaxDescribedLayers) return describe_mpls(d);
  if (!is_bottom) d.word(" s=0");
  const unsigned version = d.rest.empty() ? 0U : d.rest[0] >> 4U;
  describe_type(d, version == 4 ? kEtherIpv4 : version == 6 ? kEtherIpv6 : std::uint16_t{0});
}

void describe_arp(Describer& d) {
  const std::uint16_t op = d.u16(6);
  const auto mac = [&d](std::size_t at) {
    base::MacAddress m;
    std::copy_n(&d.rest[at], 6, m.bytes.begin());
    return m.to_string();
  };
  const auto address = [&d](std::size_t at) { return base::IpAddress::v4(d.u32(at)).to_string(); };
  d.layer("arp");
  op == 1 ? d.word(" op=request") : op == 2 ? d.word(" op=reply") : d.word(" op={}", op);
  if (d.u16(0) != 1) d.word(" htype={}", d.u16(0));
  if (d.u16(2) != kEtherIpv4) d.word(" ptype=0x{:04x}", d.u16(2));
  if (d.u8(4) != 6) d.word(" hlen={}", d.u8(4));
  if (d.u8(5) != 4) d.word(" plen={}", d.u8(5));
  d.word(" sha={} spa={} tha={} tpa={}", mac(8), address(14), mac(18), address(24));
  d.take(28);
  if (!d.is_quote && !d.rest.empty()) {
    d.trailer = d.rest;
    d.rest = {};
  }
}

// Cuts `rest` to the packet's own length. Bytes behind it are the frame's trailer; where there
// can't be one, or when the packet claims more than is there, the length is named.
void cut_to_length(Describer& d, std::size_t header, std::size_t claimed) {
  const std::size_t here = d.rest.size();
  if (claimed >= header && claimed < here && !d.is_quote && d.trailer.empty()) {
    d.trailer = d.rest.subspan(claimed);
    d.rest = d.rest.first(claimed);
  } else if (claimed != here) {
    d.word(" len={}", claimed - (d.rest[0] >> 4 == 6 ? 40 : 0));
  }
}

void describe_ipv4(Describer& d) {
  const std::size_t header = (d.u8(0) & 15U) * 4U;
  const std::uint16_t field = d.u16(6);
  const std::uint8_t protocol = d.u8(9);
  d.source = base::IpAddress::v4(d.u32(12));
  d.destination = base::IpAddress::v4(d.u32(16));
  d.layer("ipv4");
  d.word(" src={} dst={} ttl={}", d.source.to_string(), d.destination.to_string(), d.u8(8));
  if (d.u8(1) != 0) d.word(" tos=0x{:02x}", d.u8(1));
  if (d.u16(4) != 0) d.word(" id={}", d.u16(4));
  if ((field & 0x8000U) != 0) d.word(" rf");
  if ((field & 0x4000U) != 0) d.word(" df");
  if ((field & 0x2000U) != 0) d.word(" mf");
  if ((field & 0x1fffU) != 0) d.word(" frag={}", (field & 0x1fffU) * 8);
  if (header > 20) d.word(" opts=0x{}", hex_of(d.rest.subspan(20, header - 20)));
  cut_to_length(d, header, d.u16(2));
  Bytes copy(d.rest.begin(), d.rest.begin() + static_cast<std::ptrdiff_t>(header));
  copy[10] = copy[11] = 0;
  const std::uint16_t found = d.u16(10);
  d.checksum(found, internet_checksum(copy));
  d.take(header);
  const bool is_opaque = (field & 0x1fffU) != 0;
  if (is_opaque || protocol_for(layer_for_protocol(protocol, false, d.rest), false) != protocol)
    d.word(" proto={}", protocol);
  is_opaque ? describe_payload(d) : describe_protocol(d, protocol, false);
}

void describe_ipv6(Describer& d) {
  const std::uint32_t first = d.u32(0);
  const std::uint8_t next = d.u8(6);
  d.source = base::IpAddress::v6(&d.rest[8]);
  d.destination = base::IpAddress::v6(&d.rest[24]);
  d.layer("ipv6");
  d.word(" src={} dst={} hop={}", d.source.to_string(), d.destination.to_string(), d.u8(7));
  if ((first >> 20 & 0xffU) != 0) d.word(" tc={}", first >> 20 & 0xffU);
  if ((first & 0xfffffU) != 0) d.word(" flow=0x{:05x}", first & 0xfffffU);
  cut_to_length(d, 40, 40U + d.u16(4));
  d.take(40);
  if (protocol_for(layer_for_protocol(next, true, d.rest), true) != next) d.word(" next={}", next);
  describe_protocol(d, next, true);
}

bool is_ipv4(base::ByteSpan b) {
  const std::size_t header = b.empty() ? 0 : (b[0] & 15U) * 4U;
  return b.size() >= 20 && b[0] >> 4 == 4 && header >= 20 && header <= b.size();
}
bool is_ipv6(base::ByteSpan b) { return b.size() >= 40 && b[0] >> 4 == 6; }

}  // namespace

std::string_view layer_for_type(std::uint16_t type, base::ByteSpan rest) {
  switch (type) {
    case kEtherIpv4:
      return is_ipv4(rest) ? "ipv4" : "";
    case kEtherIpv6:
      return is_ipv6(rest) ? "ipv6" : "";
    case kEtherArp:
      return rest.size() >= 28 ? "arp" : "";
    case kEtherVlan:
      return rest.size() >= 4 ? "vlan" : "";
    case kEtherQinq:
      return rest.size() >= 4 ? "qinq" : "";
    case kEtherMpls:
      return rest.size() >= 4 ? "mpls" : "";
    case kEtherBridged:
      return rest.size() >= 14 ? "eth" : "";
    default:
      return "";
  }
}

void describe_type(Describer& d, std::uint16_t type) {
  const std::string_view name = d.layers < kMaxDescribedLayers ? layer_for_type(type, d.rest) : "";
  if (name == "ipv4") return describe_ipv4(d);
  if (name == "ipv6") return describe_ipv6(d);
  if (name == "arp") return describe_arp(d), describe_payload(d);
  if (name == "mpls") return describe_mpls(d);
  if (name == "eth") return describe_ethernet(d);
  if (!name.empty()) return describe_tag(d, name);
  describe_payload(d);
}

void describe_ethernet(Describer& d) {
  if (d.rest.size() < 14) return describe_payload(d);
  base::MacAddress destination, source;
  std::copy_n(d.rest.data(), 6, destination.bytes.begin());
  std::copy_n(d.rest.data() + 6, 6, source.bytes.begin());
  const std::uint16_t type = d.u16(12);
  d.layer("eth");
  d.word(" src={} dst={}", source.to_string(), destination.to_string());
  d.take(14);
  if (ethertype_for(layer_for_type(type, d.rest)) != type) d.word(" type=0x{:04x}", type);
  describe_type(d, type);
}

}  // namespace merlon::packet::detail
