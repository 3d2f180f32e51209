// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/checksum.h"
#include "parse_work.h"

namespace merlon::packet::detail {

DropReason verify_checksums(const Work& w) noexcept {
  const auto bad = DropReason::kBadChecksum;
  if (!w.is_v6) {
    const std::uint32_t header = (w.p[w.l3] & 15U) * 4U;
    if (internet_checksum({w.p + w.l3, header}) != 0) return bad;
  }
  if (w.is_fragment || w.end > w.captured) return DropReason::kNone;
  base::ByteSpan message(w.p + w.l4, w.end - w.l4);
  if (w.protocol == kProtoIcmp && !w.is_v6)
    return internet_checksum(message) == 0 ? DropReason::kNone : bad;
  const bool is_udp = w.protocol == kProtoUdp;
  if (is_udp) {
    // Zero means "none" over IPv4 (RFC 768); over IPv6 only tunnels may do so (RFC 6935), which we
    // can't tell apart.
    if (be16(w, w.l4 + 6) == 0) return DropReason::kNone;
    message = message.first(be16(w, w.l4 + 4));
  }
  if (w.protocol != kProtoTcp && !is_udp && !(w.protocol == kProtoIcmpv6 && w.is_v6))
    return DropReason::kNone;
  // A type 2-4 routing header still to be walked changes the address in the pseudo header; such
  // packets are left to their receiver.
  if (w.is_v6 && w.h.is(Headers::kHasIpOptions)) return DropReason::kNone;
  return transport_checksum(w.source, w.destination, w.protocol, message) == 0 ? DropReason::kNone
                                                                               : bad;
}

}  // namespace merlon::packet::detail
