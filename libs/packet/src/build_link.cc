// SPDX-License-Identifier: Apache-2.0
#include "build_work.h"
#include "parse_work.h"

namespace merlon::packet::detail {
namespace {

Bytes build_eth(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  put(out, f.mac("dst", kDefaultDestinationMac).bytes);
  put(out, f.mac("src", kDefaultSourceMac).bytes);
  put16(out, f.u16("type", ethertype_for(step.next_name())));
  return out;
}

// The tag's own TPID is written by the layer in front as its type.
Bytes build_tag(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  put16(out, f.u16("id", 1, 0xfff) | f.u32("pcp", 0, 7) << 13 | f.u32("dei", 0, 1) << 12);
  put16(out, f.u16("type", ethertype_for(step.next_name())));
  return out;
}

Bytes build_mpls(const BuildStep& step) {
  Fields f(step);
  const bool is_last = step.next_name() != "mpls";
  Bytes out;
  put32(out, f.u32("label", 16, 0xfffff) << 12 | f.u32("tc", 0, 7) << 9 |
                 f.u32("s", is_last ? 1 : 0, 1) << 8 | f.u8("ttl", 64));
  return out;
}

Bytes build_arp(const BuildStep& step) {
  Fields f(step);
  const std::string_view op = f.word("op");
  Bytes out;
  put16(out, f.u16("htype", 1));
  put16(out, f.u16("ptype", kEtherIpv4));
  put8(out, f.u8("hlen", 6));
  put8(out, f.u8("plen", 4));
  put16(out, op.empty() || op == "request" ? 1U : op == "reply" ? 2U : f.u16("op", 1));
  put(out, f.mac("sha", kDefaultSourceMac).bytes);
  put(out, base::ByteSpan(f.address("spa", kDefaultSource4, false).bytes).subspan(12));
  put(out, f.mac("tha", "00:00:00:00:00:00").bytes);
  put(out, base::ByteSpan(f.address("tpa", kDefaultDestination4, false).bytes).subspan(12));
  return out;
}

}  // namespace

std::uint16_t ethertype_for(std::string_view layer) {
  if (layer == "ipv4") return kEtherIpv4;
  if (layer == "ipv6") return kEtherIpv6;
  if (layer == "arp") return kEtherArp;
  if (layer == "vlan") return kEtherVlan;
  if (layer == "qinq") return kEtherQinq;
  if (layer == "mpls") return kEtherMpls;
  if (layer == "eth") return kEtherBridged;
  return 0x88b5;  // IEEE 802 local experimental
}

Bytes build_link_layer(const BuildStep& step) {
  const std::string& name = step.layer().name;
  if (name == "eth") return build_eth(step);
  if (name == "mpls") return build_mpls(step);
  if (name == "arp") return build_arp(step);
  return build_tag(step);
}

}  // namespace merlon::packet::detail
