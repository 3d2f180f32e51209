// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a rejecting firewall says to the sender: a TCP reset or an ICMP destination unreachable,
// made from the received frame in the name of its destination (a transparent firewall has no
// address of its own). The link header is mirrored: MAC addresses exchanged, VLAN tags kept. Pure
// functions, worker-safe, no allocation. Cost: one pass over what is quoted; the caller limits the
// rate.
//
// Both return the frame's length in `out`, 0 when there must be no answer: to fragments, ICMP
// errors and resets, to anything sent to or from more than one host or nobody (RFC 1122
// section 3.2.2, RFC 4443 section 2.4), to packets inside tunnels or MPLS, or when `out` is too
// small.
#include <span>

#include "merlon/packet/burst.h"

namespace merlon::packet {

inline constexpr unsigned kMaxReplySize = 1318;  // Ethernet, six VLAN tags, minimum IPv6 MTU

// Packet `i` must be judged TCP. Sequence rules: RFC 9293 section 3.10.7.1.
unsigned make_reset(const Burst& burst, unsigned i, std::span<base::Byte> out) noexcept;

// UDP is told "port unreachable" (IPv4 3/3, IPv6 1/4), everything else "administratively
// prohibited" (IPv4 3/13, IPv6 1/1). Quotes up to 548 bytes (RFC 1812 section 4.3.2.3) or 1232
// bytes (RFC 4443 section 3.1).
unsigned make_unreachable(const Burst& burst, unsigned i, std::span<base::Byte> out) noexcept;

}  // namespace merlon::packet
