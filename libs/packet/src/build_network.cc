// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "build_work.h"
#include "merlon/packet/checksum.h"
#include "parse_work.h"

namespace merlon::packet::detail {
namespace {

// Next header of an IPv6 extension header. Behind an ipv4 layer the same numbers hold.
std::uint8_t next_header(const BuildStep& step, Fields& f, bool is_v6 = true) {
  const std::string_view key = f.has("next") ? "next" : "proto";
  std::string_view following = step.next_name();
  // `ipip` has no bytes: the packet behind it says which protocol it is.
  if (following == "ipip" && step.index + 2 < step.layers.size())
    following = step.layers[step.index + 2].name;
  return f.u8(key, protocol_for(following, is_v6));
}

Bytes build_ipv4(const BuildStep& step) {
  Fields f(step);
  Bytes options = f.bytes("opts");
  while (options.size() % 4 != 0) options.push_back(0);
  if (options.size() > 40)
    f.fail(f.find("opts"), "opts are longer than 40 bytes", "an IPv4 header has 60 bytes at most");
  const auto header = static_cast<std::uint32_t>(20 + options.size());
  const std::uint32_t offset = f.u32("frag", 0, 0xfff8);
  if (offset % 8 != 0)
    f.fail(f.find("frag"), "frag is not a multiple of 8", "offsets count bytes, in steps of 8");
  const auto total = static_cast<std::uint16_t>(header + step.rest.size());
  Bytes out;
  put8(out, f.u32("version", 4, 15) << 4 | f.u32("ihl", header / 4, 15));
  put8(out, f.u8("tos", 0));
  put16(out, f.u16("len", total));
  put16(out, f.u16("id", 0));
  put16(out, offset / 8 | (f.has("mf") ? 0x2000U : 0U) | (f.has("df") ? 0x4000U : 0U) |
                 (f.has("rf") ? 0x8000U : 0U));
  put8(out, f.u8("ttl", 64));
  put8(out, next_header(step, f, false));
  put16(out, 0);
  put(out, base::ByteSpan(f.address("src", kDefaultSource4, false).bytes).subspan(12));
  put(out, base::ByteSpan(f.address("dst", kDefaultDestination4, false).bytes).subspan(12));
  put(out, options);
  base::store_be(&out[10], f.checksum(internet_checksum(out)));
  return out;
}

Bytes build_ipv6(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  put32(out,
        f.u32("version", 6, 15) << 28 | f.u32("tc", 0, 0xff) << 20 | f.u32("flow", 0, 0xfffff));
  put16(out, f.u16("len", static_cast<std::uint16_t>(step.rest.size())));
  put8(out, next_header(step, f));
  put8(out, f.u8(f.has("hop") ? "hop" : "ttl", 64));
  put(out, f.address("src", kDefaultSource6, true).bytes);
  put(out, f.address("dst", kDefaultDestination6, true).bytes);
  return out;
}

// Fills up to a multiple of 8 by Pad1 or PadN (RFC 8200 section 4.2).
void pad_options(Bytes& out) {
  const std::size_t missing = (8 - out.size() % 8) % 8;
  if (missing == 1) put8(out, 0);
  if (missing < 2) return;
  put8(out, 1);
  put8(out, static_cast<unsigned>(missing - 2));
  out.resize(out.size() + missing - 2);
}

Bytes build_options(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  put8(out, next_header(step, f));
  put8(out, 0);
  put(out, f.bytes("opts"));
  pad_options(out);
  out[1] = f.u8("len", static_cast<std::uint8_t>(out.size() / 8 - 1));
  return out;
}

Bytes build_routing(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  put8(out, next_header(step, f));
  put8(out, 0);
  put8(out, f.u8("type", 4));
  put8(out, f.u8("left", 0));
  put(out, f.bytes("data"));
  out.resize((out.size() + 7) / 8 * 8);
  out[1] = f.u8("len", static_cast<std::uint8_t>(out.size() / 8 - 1));
  return out;
}

Bytes build_frag(const BuildStep& step) {
  Fields f(step);
  const std::uint32_t offset = f.u32("offset", 0, 0xfff8);
  if (offset % 8 != 0)
    f.fail(f.find("offset"), "offset is not a multiple of 8", "offsets count bytes, in steps of 8");
  Bytes out;
  put8(out, next_header(step, f));
  put8(out, f.u8("reserved", 0));
  put16(out, offset | (f.has("mf") ? 1U : 0U));
  put32(out, f.u32("id", 1));
  return out;
}

Bytes build_ah(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  put8(out, next_header(step, f));
  put8(out, 0);
  put16(out, f.u16("reserved", 0));
  put32(out, f.u32("spi", 256));
  put32(out, f.u32("seq", 1));
  put(out, f.has("icv") ? f.bytes("icv") : Bytes(12));
  out.resize((out.size() + 3) / 4 * 4);
  out[1] = f.u8("len", static_cast<std::uint8_t>(out.size() / 4 - 2));
  return out;
}

}  // namespace

std::uint8_t protocol_for(std::string_view layer, bool is_v6) {
  struct Name {
    std::string_view layer;
    std::uint8_t protocol;
  };
  static constexpr Name kNames[] = {
      {"icmp", kProtoIcmp},     {"ipv4", kProtoIpv4},       {"tcp", kProtoTcp},
      {"udp", kProtoUdp},       {"ipv6", kProtoIpv6},       {"gre", kProtoGre},
      {"esp", kProtoEsp},       {"ah", kProtoAh},           {"icmpv6", kProtoIcmpv6},
      {"sctp", kProtoSctp},     {"udplite", kProtoUdpLite}, {"hopopts", kExtHopByHop},
      {"routing", kExtRouting}, {"frag", kExtFragment},     {"dstopts", kExtDestination},
      {"ipip", kProtoIpv4},
  };
  for (const Name& n : kNames)
    if (n.layer == layer) return n.protocol;
  return is_v6 ? kProtoNone : std::uint8_t{253};  // 253: experiments, RFC 3692
}

Bytes build_network_layer(const BuildStep& step) {
  const std::string& name = step.layer().name;
  if (name == "ipv4") return build_ipv4(step);
  if (name == "ipv6") return build_ipv6(step);
  if (name == "routing") return build_routing(step);
  if (name == "frag") return build_frag(step);
  if (name == "ah") return build_ah(step);
  return build_options(step);
}

}  // namespace merlon::packet::detail
