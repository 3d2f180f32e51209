// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "build_work.h"
#include "describe.h"
#include "merlon/packet/checksum.h"
#include "merlon/packet/text.h"
#include "parse_work.h"

namespace merlon::packet::detail {
namespace {

// The right transport checksum of `rest` when its field at `at` is taken as 0.
std::uint16_t expected_checksum(const Describer& d, std::uint8_t protocol, std::size_t at,
                                bool has_pseudo = true) {
  Bytes copy(d.rest.begin(), d.rest.end());
  copy[at] = copy[at + 1] = 0;
  return has_pseudo ? transport_checksum(d.source, d.destination, protocol, copy)
                    : internet_checksum(copy);
}

std::string tcp_option_words(base::ByteSpan options) {
  std::string out;
  const auto add = [&out](std::string_view word) {
    out.append(out.empty() ? "" : ",").append(word);
  };
  while (!options.empty()) {
    const base::Byte kind = options[0];
    const std::size_t size = kind < 2 ? 1 : options.size() >= 2 ? options[1] : 0;
    if (size == 0 || size > options.size() || (kind >= 2 && size < 2)) {
      add(fmt::format("hex:{}", hex_of(options)));
      break;
    }
    const auto value = [&options](std::size_t at) {
      return base::load_be<std::uint32_t>(&options[at]);
    };
    if (kind == 0)
      add("eol");
    else if (kind == 1)
      add("nop");
    else if (kind == 2 && size == 4)
      add(fmt::format("mss:{}", base::load_be<std::uint16_t>(&options[2])));
    else if (kind == 3 && size == 3)
      add(fmt::format("ws:{}", options[2]));
    else if (kind == 4 && size == 2)
      add("sackok");
    else if (kind == 8 && size == 10)
      add(fmt::format("ts:{}:{}", value(2), value(6)));
    else
      add(fmt::format("hex:{}", hex_of(options.first(size))));
    options = options.subspan(size);
  }
  return out;
}

void describe_tcp(Describer& d) {
  static constexpr std::string_view kLetters = "FSRPAUEC";
  const std::size_t header = (d.u8(12) >> 4U) * 4U;
  std::string flags;
  for (unsigned bit = 0; bit < 8; ++bit)
    if ((unsigned{d.u8(13)} >> bit & 1U) != 0) flags += kLetters[bit];
  d.layer("tcp");
  d.word(" sport={} dport={} flags={} seq={} ack={} win={}", d.u16(0), d.u16(2),
         flags.empty() ? "none" : flags, d.u32(4), d.u32(8), d.u16(14));
  if (d.u16(18) != 0) d.word(" urg={}", d.u16(18));
  const bool is_sound = header >= 20 && header <= d.rest.size();
  if (is_sound && header > 20) d.word(" opt={}", tcp_option_words(d.rest.subspan(20, header - 20)));
  if (!is_sound) d.word(" off={}", d.u8(12) >> 4U);
  d.checksum(d.u16(16), expected_checksum(d, kProtoTcp, 16));
  d.take(is_sound ? header : 20);
  describe_payload(d);
}

void describe_udp(Describer& d, bool is_lite) {
  const std::uint16_t sport = d.u16(0), dport = d.u16(2), length = d.u16(4), found = d.u16(6);
  const std::uint16_t sum = expected_checksum(d, is_lite ? kProtoUdpLite : kProtoUdp, 6);
  d.layer(is_lite ? "udplite" : "udp");
  d.word(" sport={} dport={}", sport, dport);
  if (is_lite && length != 0) d.word(" cov={}", length);
  if (!is_lite && length != d.rest.size()) d.word(" len={}", length);
  found == 0 ? d.word(" chk=none") : d.checksum(found, sum == 0 ? std::uint16_t{0xffff} : sum);
  d.take(8);
  if (!is_lite && dport == 4789 && d.rest.size() >= 22 && (d.u8(0) & 8U) != 0) {
    d.layer("vxlan");
    d.word(" vni={}", d.u32(4) >> 8);
    if (d.u8(0) != 8) d.word(" flags={}", d.u8(0));
    d.take(8);
    return describe_ethernet(d);
  }
  if (!is_lite && dport == 2152 && d.rest.size() >= 9 && d.u8(0) == 0x30 && d.u8(1) == 255) {
    d.layer("gtpu");
    d.word(" teid={}", d.u32(4));
    if (d.u16(2) != d.rest.size() - 8) d.word(" len={}", d.u16(2));
    d.take(8);
    return describe_type(d, d.rest[0] >> 4 == 4 ? kEtherIpv4 : kEtherIpv6);
  }
  describe_payload(d);
}

bool is_error(std::uint8_t type, bool is_v6) {
  return is_v6 ? type >= 1 && type <= 4
               : type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

// The quoted packet in words when these give its bytes back.
bool describe_quote(Describer& d) {
  if (d.rest.empty() || d.is_quote) return false;
  Describer inner{d.rest};
  inner.is_quote = true;
  describe_type(inner, d.rest[0] >> 4 == 4 ? kEtherIpv4 : kEtherIpv6);
  const auto again = packet_from_text(fmt::format("raw / quote({})", inner.out), {});
  if (!again || !std::equal(again->begin(), again->end(), d.rest.begin(), d.rest.end()))
    return false;
  d.layer("quote(");
  d.out += inner.out + ")";
  d.rest = {};
  return true;
}

void describe_icmp(Describer& d, bool is_v6) {
  const std::uint8_t type = d.u8(0);
  const bool is_query = (is_v6 ? icmp6_request(type) : icmp4_request(type)) != 0;
  d.layer(is_v6 ? "icmpv6" : "icmp");
  d.word(" type={} code={}", type, d.u8(1));
  if (is_query) d.word(" id={} seq={}", d.u16(4), d.u16(6));
  if (!is_query && d.u32(4) != 0) d.word(" rest=0x{:08x}", d.u32(4));
  d.checksum(d.u16(2), expected_checksum(d, kProtoIcmpv6, 2, is_v6));
  d.take(8);
  if (is_error(type, is_v6) && describe_quote(d)) return;
  describe_payload(d);
}

void describe_sctp(Describer& d) {
  Bytes copy(d.rest.begin(), d.rest.end());
  std::fill_n(copy.begin() + 8, 4, base::Byte{0});
  const bool has_chunk = d.rest.size() >= 16;
  d.layer("sctp");
  d.word(" sport={} dport={} tag={}", d.u16(0), d.u16(2), d.u32(4));
  if (base::byteswap(crc32c(copy)) != d.u32(8)) d.word(" chk=0x{:08x}", d.u32(8));
  if (!has_chunk) d.word(" chunk=none");
  if (has_chunk) d.word(" chunk={}", d.u8(12));
  if (has_chunk && d.u8(13) != 0) d.word(" chunkflags={}", d.u8(13));
  if (has_chunk && d.u16(14) != d.rest.size() - 12) d.word(" chunklen={}", d.u16(14));
  d.take(has_chunk ? 16 : 12);
  describe_payload(d);
}

bool describe_gre(Describer& d) {
  const std::uint16_t flags = d.u16(0), type = d.u16(2);
  const std::size_t size =
      4U + ((flags & 0x2000U) != 0 ? 4U : 0U) + ((flags & 0x1000U) != 0 ? 4U : 0U);
  if ((flags & ~0x3000U) != 0 || size > d.rest.size()) return false;
  d.layer("gre");
  std::size_t at = 4;
  if ((flags & 0x2000U) != 0) {
    d.word(" key={}", d.u32(at));
    at += 4;
  }
  if ((flags & 0x1000U) != 0) d.word(" seq={}", d.u32(at));
  d.take(size);
  if (ethertype_for(layer_for_type(type, d.rest)) != type) d.word(" type=0x{:04x}", type);
  describe_type(d, type);
  return true;
}

// An extension header that fits: options, routing, fragment, AH.
void describe_extension(Describer& d, std::uint8_t protocol, std::string_view name) {
  const std::uint8_t next = d.u8(0);
  const std::size_t size = name == "frag" ? 8
                           : name == "ah" ? (d.u8(1) + 2U) * 4U
                                          : (d.u8(1) + 1U) * 8U;
  bool is_opaque = false;
  d.layer(name);
  if (name == "frag") {
    const std::uint16_t field = d.u16(2);
    is_opaque = (field & 0xfff8U) != 0;
    d.word(" id={} offset={}", d.u32(4), field & 0xfff8U);
    if ((field & 1U) != 0) d.word(" mf");
    if (d.u8(1) != 0) d.word(" reserved={}", d.u8(1));
  } else if (name == "ah") {
    d.word(" spi={} seq={} icv=0x{}", d.u32(4), d.u32(8), hex_of(d.rest.subspan(12, size - 12)));
    if (d.u16(2) != 0) d.word(" reserved={}", d.u16(2));
  } else if (name == "routing") {
    d.word(" type={} left={} data=0x{}", d.u8(2), d.u8(3), hex_of(d.rest.subspan(4, size - 4)));
  } else {
    d.word(" opts=0x{}", hex_of(d.rest.subspan(2, size - 2)));
  }
  d.take(size);
  const bool is_v6 = protocol != kProtoAh || !d.source.is_v4();
  if (is_opaque || protocol_for(layer_for_protocol(next, is_v6, d.rest), true) != next)
    d.word(" next={}", next);
  is_opaque ? describe_payload(d) : describe_protocol(d, next, is_v6);
}

std::size_t extension_bytes(std::string_view name, base::ByteSpan rest) {
  if (rest.size() < 8) return 0;
  const std::size_t size = name == "frag" ? 8
                           : name == "ah" ? (rest[1] + 2U) * 4U
                                          : (rest[1] + 1U) * 8U;
  return size >= (name == "ah" ? 12U : 8U) && size <= rest.size() ? size : 0;
}

}  // namespace

std::string_view layer_for_protocol(std::uint8_t protocol, bool is_v6, base::ByteSpan rest) {
  const auto if_holds = [&rest](std::size_t n, std::string_view name) {
    return rest.size() >= n ? name : "";
  };
  const auto if_extension = [&](std::string_view name) {
    return extension_bytes(name, rest) != 0 ? name : "";
  };
  switch (protocol) {
    case kProtoTcp:
      return if_holds(20, "tcp");
    case kProtoUdp:
      return if_holds(8, "udp");
    case kProtoUdpLite:
      return if_holds(8, "udplite");
    case kProtoIcmp:
      return is_v6 ? "" : if_holds(8, "icmp");
    case kProtoIcmpv6:
      return is_v6 ? if_holds(8, "icmpv6") : "";
    case kProtoSctp:
      return if_holds(12, "sctp");
    case kProtoGre:
      return rest.size() >= 12 && (rest[0] & ~0x30U) == 0 && rest[1] == 0 ? "gre" : "";
    case kProtoEsp:
      return if_holds(8, "esp");
    case kProtoIpv4:
      return layer_for_type(kEtherIpv4, rest);
    case kProtoIpv6:
      return layer_for_type(kEtherIpv6, rest);
    case kProtoAh:
      return if_extension("ah");
    case kExtHopByHop:
      return is_v6 ? if_extension("hopopts") : "";
    case kExtDestination:
      return is_v6 ? if_extension("dstopts") : "";
    case kExtRouting:
      return is_v6 ? if_extension("routing") : "";
    case kExtFragment:
      return is_v6 ? if_extension("frag") : "";
    default:
      return "";
  }
}

void describe_protocol(Describer& d, std::uint8_t protocol, bool is_v6) {
  const std::string_view name = d.layers < kMaxDescribedLayers
                                    ? layer_for_protocol(protocol, is_v6, d.rest)
                                    : std::string_view();
  if (name == "tcp") return describe_tcp(d);
  if (name == "udp" || name == "udplite") return describe_udp(d, name == "udplite");
  if (name == "icmp" || name == "icmpv6") return describe_icmp(d, is_v6);
  if (name == "sctp") return describe_sctp(d);
  if (name == "gre" && describe_gre(d)) return;
  if (name == "ipv4" || name == "ipv6")
    return describe_type(d, name == "ipv4" ? kEtherIpv4 : kEtherIpv6);
  if (name == "esp") {
    d.layer(name);
    d.word(" spi={} seq={}", d.u32(0), d.u32(4));
    d.take(8);
    return describe_payload(d);
  }
  if (!name.empty() && name != "gre") return describe_extension(d, protocol, name);
  describe_payload(d);
}

}  // namespace merlon::packet::detail
