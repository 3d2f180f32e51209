// SPDX-License-Identifier: Apache-2.0
// Sender's side fragmentation for tests: RFC 791 section 3.2, RFC 8200 section 4.5.
#include <algorithm>

#include "build_work.h"
#include "merlon/packet/checksum.h"
#include "parse_work.h"

namespace merlon::packet {
namespace {

using base::ByteSpan;
using base::load_be;
using detail::Bytes;

base::Error refuse(const char* message) {
  return {
      base::Errc::kInvalidValue, message, {}, "give an Ethernet frame with one whole IP packet"};
}

// Offset of the IP header behind Ethernet and VLAN tags; 0 when there is none.
std::size_t find_ip(ByteSpan frame, bool& is_v6) {
  for (std::size_t offset = 12; offset + 2 < frame.size(); offset += 4) {
    const auto type = load_be<std::uint16_t>(&frame[offset]);
    is_v6 = type == detail::kEtherIpv6;
    if (type == detail::kEtherIpv4 || is_v6) return offset + 2;
    if (type != detail::kEtherVlan && type != detail::kEtherQinq && type != detail::kEtherQinqOld)
      return 0;
  }
  return 0;
}

// Headers that every IPv6 fragment repeats: up to a routing header, or the hop-by-hop options (RFC
// 8200 section 4.5). `next_at` is where the next header number stands that becomes "fragment".
std::size_t unfragmentable_size(ByteSpan ip, std::size_t& next_at) {
  std::size_t size = 40, offset = 40, at = 6;
  next_at = 6;
  for (base::Byte next = ip[6]; next == detail::kExtHopByHop || next == detail::kExtRouting ||
                                next == detail::kExtDestination;) {
    if (offset + 8 > ip.size()) break;
    const std::size_t end = offset + (ip[offset + 1] + std::size_t{1}) * 8;
    if (end > ip.size()) break;
    at = offset;
    if (next != detail::kExtDestination) {
      size = end;
      next_at = at;
    }
    next = ip[offset];
    offset = end;
  }
  return size;
}

Bytes fragment_v4(ByteSpan link, ByteSpan ip, std::size_t header, std::size_t at, std::size_t size,
                  bool more) {
  Bytes out(link.begin(), link.end());
  detail::put(out, ip.first(header));
  base::Byte* h = &out[link.size()];
  const std::uint32_t field = load_be<std::uint16_t>(&ip[6]);
  const auto offset = static_cast<std::uint32_t>((field & 0x1fffU) + at / 8);
  base::store_be<std::uint16_t>(h + 2, static_cast<std::uint16_t>(header + size));
  base::store_be<std::uint16_t>(
      h + 6, static_cast<std::uint16_t>(offset | (field & 0x8000U) |
                                        (more || (field & 0x2000U) != 0 ? 0x2000U : 0U)));
  base::store_be<std::uint16_t>(h + 10, 0);
  base::store_be<std::uint16_t>(h + 10, internet_checksum({h, header}));
  detail::put(out, ip.subspan(header + at, size));
  return out;
}

struct V6Split {
  std::size_t header, next_at;
  std::uint32_t identification;
};

Bytes fragment_v6(ByteSpan link, ByteSpan ip, const V6Split& s, std::size_t at, std::size_t size,
                  bool more) {
  Bytes out(link.begin(), link.end());
  detail::put(out, ip.first(s.header));
  base::Byte* h = &out[link.size()];
  const base::Byte next = h[s.next_at];
  h[s.next_at] = detail::kExtFragment;
  base::store_be<std::uint16_t>(h + 4, static_cast<std::uint16_t>(s.header - 40 + 8 + size));
  detail::put8(out, next);
  detail::put8(out, 0);
  detail::put16(out, static_cast<unsigned>(at) | (more ? 1U : 0U));
  detail::put32(out, s.identification);
  detail::put(out, ip.subspan(s.header + at, size));
  return out;
}

}  // namespace

base::Result<std::vector<Bytes>> fragment_packet(ByteSpan frame, unsigned mtu,
                                                 std::uint32_t identification) {
  bool is_v6 = false;
  const std::size_t l3 = find_ip(frame, is_v6);
  if (l3 == 0 || frame.size() < l3 + (is_v6 ? 40 : 20))
    return refuse("the frame carries no IP packet");
  const ByteSpan link = frame.first(l3);
  const std::size_t total =
      is_v6 ? 40U + load_be<std::uint16_t>(&frame[l3 + 4]) : load_be<std::uint16_t>(&frame[l3 + 2]);
  if (l3 + total > frame.size()) return refuse("the IP packet is longer than the frame");
  const ByteSpan ip = frame.subspan(l3, total);
  V6Split split{0, 6, identification};
  const std::size_t header = is_v6 ? unfragmentable_size(ip, split.next_at) : (ip[0] & 15U) * 4U;
  split.header = header;
  if (header < 20 || header > total) return refuse("the IP header is broken");
  if (total <= mtu) return std::vector<Bytes>{Bytes(frame.begin(), frame.end())};
  const std::size_t overhead = header + (is_v6 ? 8 : 0);
  const std::size_t step = mtu > overhead ? (mtu - overhead) / 8 * 8 : 0;
  if (step == 0) return refuse("the MTU has no room for 8 bytes of data");
  std::vector<Bytes> out;
  for (std::size_t at = 0; header + at < total; at += step) {
    const std::size_t size = std::min(step, total - header - at);
    const bool more = header + at + size < total;
    out.push_back(is_v6 ? fragment_v6(link, ip, split, at, size, more)
                        : fragment_v4(link, ip, header, at, size, more));
  }
  return out;
}

}  // namespace merlon::packet
