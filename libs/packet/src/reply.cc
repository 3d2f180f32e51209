// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/reply.h"

#include <algorithm>
#include <cstring>

#include "merlon/packet/checksum.h"
#include "parse_work.h"

namespace merlon::packet {
namespace {

using base::Byte;
using base::load_be;
using base::store_be;

constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint32_t kMaxQuoteV4 = 548, kMaxQuoteV6 = 1232;

// The received packet as the answer needs it.
struct Original {
  const Byte* frame;
  const Byte* ip;
  const Headers& h;
  std::uint32_t available;  // bytes of the IP datagram that were captured
  bool is_v6;
  base::IpAddress source, destination;
};

bool is_one_host(const base::IpAddress& a) noexcept {
  if (a.is_v4()) return a.bytes[12] != 0 && a.bytes[12] != 127 && a.bytes[12] < 224;
  return a.bytes[0] != 0xff && a != base::IpAddress{};
}

// Ethernet with nothing but VLAN tags before the IP header, or no link header at all.
bool can_mirror(const Byte* p, const Headers& h) noexcept {
  if (h.l3_offset == 0) return true;
  if (h.l3_offset < 14 || (p[0] & 1U) != 0) return false;
  std::uint32_t offset = 12;
  for (; offset + 2 < h.l3_offset; offset += 4) {
    const auto type = load_be<std::uint16_t>(p + offset);
    if (type != detail::kEtherVlan && type != detail::kEtherQinq && type != detail::kEtherQinqOld)
      return false;
  }
  return offset + 2 == h.l3_offset && load_be<std::uint16_t>(p + offset) == h.ethertype;
}

bool may_answer(const Burst& b, unsigned i) noexcept {
  const Headers& h = b.headers[i];
  if (h.ethertype != detail::kEtherIpv4 && h.ethertype != detail::kEtherIpv6) return false;
  if (h.is(Headers::kFirstFragment) || h.is(Headers::kInTunnel) || !can_mirror(b.data[i], h))
    return false;
  return h.kind == Kind::kTcp || h.kind == Kind::kUdp || h.kind == Kind::kSctp ||
         h.kind == Kind::kOtherIp || (h.kind == Kind::kIcmpQuery && !h.is(Headers::kIsReply));
}

// Undefined unless may_answer(): then the parser has checked the IP header.
Original original(const Burst& b, unsigned i) noexcept {
  const Headers& h = b.headers[i];
  const Byte* ip = b.data[i] + h.l3_offset;
  const bool is_v6 = h.is(Headers::kIsV6);
  const std::uint32_t total =
      is_v6 ? 40U + load_be<std::uint16_t>(ip + 4) : load_be<std::uint16_t>(ip + 2);
  const std::uint32_t captured = b.captured[i] - h.l3_offset;
  if (is_v6) {
    return {b.data[i],
            ip,
            h,
            std::min(total, captured),
            true,
            base::IpAddress::v6(ip + 8),
            base::IpAddress::v6(ip + 24)};
  }
  return {b.data[i],
          ip,
          h,
          std::min(total, captured),
          false,
          base::IpAddress::v4(load_be<std::uint32_t>(ip + 12)),
          base::IpAddress::v4(load_be<std::uint32_t>(ip + 16))};
}

// Link and IP header of an answer with `payload` bytes; returns where these begin.
Byte* write_headers(const Original& o, std::uint8_t protocol, std::uint32_t payload,
                    Byte* out) noexcept {
  const std::uint32_t link = o.h.l3_offset;
  std::memcpy(out, o.frame, link);
  if (link != 0) {
    std::memcpy(out, o.frame + 6, 6);
    std::memcpy(out + 6, o.frame, 6);
  }
  Byte* ip = out + link;
  if (o.is_v6) {
    store_be<std::uint32_t>(ip, 0x6000'0000);
    store_be<std::uint16_t>(ip + 4, static_cast<std::uint16_t>(payload));
    ip[6] = protocol;
    ip[7] = kHopLimit;
    std::memcpy(ip + 8, o.ip + 24, 16);
    std::memcpy(ip + 24, o.ip + 8, 16);
    return ip + 40;
  }
  std::memset(ip, 0, 12);
  ip[0] = 0x45;
  store_be<std::uint16_t>(ip + 2, static_cast<std::uint16_t>(20 + payload));
  ip[6] = 0x40;  // don't fragment: the identification may stay 0 (RFC 6864)
  ip[8] = kHopLimit;
  ip[9] = protocol;
  std::memcpy(ip + 12, o.ip + 16, 4);
  std::memcpy(ip + 16, o.ip + 12, 4);
  store_be<std::uint16_t>(ip + 10, internet_checksum({ip, 20}));
  return ip + 20;
}

// Bytes before the payload of an answer.
std::uint32_t overhead(const Original& o) noexcept { return o.h.l3_offset + (o.is_v6 ? 40U : 20U); }

}  // namespace

unsigned make_reset(const Burst& burst, unsigned i, std::span<Byte> out) noexcept {
  const Headers& h = burst.headers[i];
  if (h.kind != Kind::kTcp || (h.tcp_flags & kTcpRst) != 0 || !may_answer(burst, i)) return 0;
  const Original o = original(burst, i);
  const std::uint32_t length = overhead(o) + 20;
  if (!is_one_host(o.source) || !is_one_host(o.destination) || out.size() < length) return 0;
  Byte* tcp = write_headers(o, detail::kProtoTcp, 20, out.data());
  const Byte* segment = o.frame + h.l4_offset;
  std::memset(tcp, 0, 20);
  std::memcpy(tcp, segment + 2, 2);
  std::memcpy(tcp + 2, segment, 2);
  tcp[12] = 0x50;
  if ((h.tcp_flags & kTcpAck) != 0) {
    store_be(tcp + 4, h.tcp_acknowledgment);
    tcp[13] = kTcpRst;
  } else {
    const std::uint32_t controls =
        ((h.tcp_flags & kTcpSyn) != 0 ? 1U : 0U) + ((h.tcp_flags & kTcpFin) != 0 ? 1U : 0U);
    store_be(tcp + 8, h.tcp_sequence + h.payload_length + controls);
    tcp[13] = kTcpRst | kTcpAck;
  }
  store_be(tcp + 16, transport_checksum(o.destination, o.source, detail::kProtoTcp, {tcp, 20}));
  return length;
}

unsigned make_unreachable(const Burst& burst, unsigned i, std::span<Byte> out) noexcept {
  const Headers& h = burst.headers[i];
  if ((h.kind == Kind::kTcp && (h.tcp_flags & kTcpRst) != 0) || !may_answer(burst, i)) return 0;
  const Original o = original(burst, i);
  if (!is_one_host(o.source) || !is_one_host(o.destination)) return 0;
  const std::uint32_t before = overhead(o) + 8;
  // RFC 792 asks for the header and 8 bytes more; less can't be matched by the receiver.
  const std::uint32_t least = std::min<std::uint32_t>(o.available, h.l4_offset - h.l3_offset + 8U);
  if (out.size() < before + least) return 0;
  const std::uint32_t quote = std::min({o.available, o.is_v6 ? kMaxQuoteV6 : kMaxQuoteV4,
                                        static_cast<std::uint32_t>(out.size()) - before});
  if (quote < least) return 0;
  Byte* icmp =
      write_headers(o, o.is_v6 ? detail::kProtoIcmpv6 : detail::kProtoIcmp, 8 + quote, out.data());
  std::memset(icmp, 0, 8);
  const bool is_udp = h.kind == Kind::kUdp;
  icmp[0] = o.is_v6 ? 1 : 3;
  icmp[1] = o.is_v6 ? (is_udp ? 4 : 1) : (is_udp ? 3 : 13);
  std::memcpy(icmp + 8, o.ip, quote);
  const base::ByteSpan message(icmp, 8 + quote);
  store_be(icmp + 2,
           o.is_v6 ? transport_checksum(o.destination, o.source, detail::kProtoIcmpv6, message)
                   : internet_checksum(message));
  return before + quote;
}

}  // namespace merlon::packet
