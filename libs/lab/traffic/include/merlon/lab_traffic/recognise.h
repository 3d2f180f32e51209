// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tells what a received frame is. It reads bytes from the wire and trusts none of them: every
// offset is checked against what was captured. Pure; any thread. Cost: one pass over the frame for
// the transport checksum, some 10 ns for 64 bytes.
#include <cstdint>

#include "merlon/base/bytes.h"
#include "merlon/lab_traffic/frame_tag.h"

namespace merlon::lab {

enum class FrameKind : std::uint8_t {
  kMeasured,   // of this trial, intact: the tag may be believed
  kCorrupted,  // ours by its magic or its addresses, but a checksum or the tag's check is wrong
  kStale,      // intact, of an earlier trial
  kAttack,     // from kAttackNetwork: sent beside the measured frames, carries no tag
  kForeign,    // ARP, LLDP, a device's own reset or ICMP error, ...
};

// `frame` is what was captured, without FCS. `tag` is filled for kMeasured and kStale.
FrameKind recognise(base::ByteSpan frame, std::uint16_t trial, FrameTag& tag) noexcept;

// Networks of the laboratory's frames, host order (see TrafficSpec).
inline constexpr std::uint32_t kClientNetwork = 0x0a09'0000;  // 10.9.0.0/16
inline constexpr std::uint32_t kServerNetwork = 0x0a0a'0000;  // 10.10.0.0/16
inline constexpr std::uint32_t kAttackNetwork = 0x0a80'0000;  // 10.128.0.0/9
// The first 64 bits of the IPv6 ones; the last 32 bits count hosts, as in IPv4.
inline constexpr std::uint64_t kClientNetwork6 = 0x2001'0002'0000'0009;  // 2001:2:0:9::/64
inline constexpr std::uint64_t kServerNetwork6 = 0x2001'0002'0000'000a;  // 2001:2:0:a::/64
inline constexpr std::uint64_t kAttackNetwork6 = 0x2001'0002'0000'0080;  // 2001:2:0:80::/64

}  // namespace merlon::lab
