// SPDX-License-Identifier: Apache-2.0
#pragma once
// The burst: up to 64 packets as a struct of arrays, filled from left to right by the rooms on the
// way of a packet: io fills the frame columns, parse() the header columns, flow the session, policy
// and the stages verdict and reason. worker-owned, one per worker, reused for ever; nothing in it
// owns memory.
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <array>
#include <cstdint>

#include "merlon/base/bytes.h"
#include "merlon/base/drop_reason.h"
#include "merlon/base/event.h"
#include "merlon/base/time.h"
#include "merlon/packet/flow_key.h"

namespace merlon::packet {

// What the judged header is; decides which rooms look at the packet.
enum class Kind : std::uint8_t {
  kNonIp,      // neither IP nor ARP; forwarded or dropped as configured, never a session
  kArp,        // ARP, checked for length only
  kNeighbour,  // ICMPv6 neighbour discovery and MLD (RFC 4890 section 4.4): link control, never a
               // session
  kTcp,
  kUdp,
  kIcmpQuery,  // echo, timestamp, information, address mask: request or reply
  kIcmpError,  // key is the canonical key of the *quoted* packet, direction the opposite of the
               // quoted one's
  kIcmpOther,  // remaining ICMP: judged like other IP, keyed by type and code
  kSctp,
  kOtherIp,   // GRE, ESP, IP-in-IP and all the rest
  kFragment,  // a fragment that is not the first: ports unknown until the datagram's first one is
              // seen
};

enum class Verdict : std::uint8_t {
  kUndecided,
  kForward,
  kDrop,
  kHold,     // kept by the fragment table; the handle is not in our hands any more
  kHandOver  // goes to another worker's ring
};

// What the parser found, 32 bytes. Offsets are from the start of the frame and lie inside captured
// bytes.
struct Headers {
  enum Flag : std::uint8_t {
    kIsV6 = 1,
    kHasIpOptions = 2,       // IPv4 options or IPv6 extension headers other than a fragment header
    kFirstFragment = 4,      // offset 0 with more to come
    kIsReply = 8,            // ICMP query: this is the reply
    kQuoteUnknown = 16,      // ICMP error whose quoted packet can't be keyed
    kInTunnel = 32,          // the judged header is inside a tunnel
    kQuoteHasSequence = 64,  // ICMP error quoting TCP with its sequence number (in tcp_sequence)
  };
  std::uint16_t l3_offset = 0;
  std::uint16_t l4_offset = 0;
  std::uint16_t payload_offset = 0;
  std::uint16_t fragment_offset = 0;  // bytes; kFragment and kFirstFragment
  std::uint32_t payload_length = 0;   // by the IP header, not by the capture
  Kind kind = Kind::kNonIp;
  std::uint8_t direction = 0;  // 0: from key.a to key.b
  std::uint8_t tcp_flags = 0;  // FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128
  std::uint8_t flags = 0;      // Flag
  std::uint8_t icmp_type = 0,
               icmp_code = 0;  // SCTP: icmp_type is the first chunk's type, icmp_code its flags
  std::uint8_t ttl = 0;
  std::uint8_t more_fragments = 0;
  // kFragment: tcp_sequence is the identification. SCTP: tcp_sequence is the verification tag.
  std::uint32_t tcp_sequence = 0, tcp_acknowledgment = 0;
  std::uint16_t tcp_window = 0;  // unscaled
  std::uint16_t ethertype = 0;   // of the judged payload after tags: 0x0800, 0x86dd, 0x0806, ...

  [[nodiscard]] bool is(Flag f) const noexcept { return (flags & f) != 0; }
};
static_assert(sizeof(Headers) == 32);

inline constexpr std::uint8_t kTcpFin = 1, kTcpSyn = 2, kTcpRst = 4, kTcpPsh = 8, kTcpAck = 16,
                              kTcpUrg = 32;

inline constexpr std::uint32_t kNoSession = 0xffffffff;

struct Burst {
  static constexpr unsigned kCapacity = 64;

  unsigned count = 0;
  base::Nanos now = 0;  // read once per burst
  base::Ticks now_ticks = 0;

  // io: the frame. `captured` bytes at `data` are readable; `length` was on the wire.
  alignas(64) std::array<void*, kCapacity> handle;
  alignas(64) std::array<base::Byte*, kCapacity> data;
  alignas(64) std::array<std::uint32_t, kCapacity> captured;
  alignas(64) std::array<std::uint32_t, kCapacity> length;
  alignas(64) std::array<std::uint16_t, kCapacity> in_port;
  alignas(
      64) std::array<std::uint16_t, kCapacity> out_port;  // set by the mode before policy is asked
  alignas(64)
      std::array<base::Nanos, kCapacity> time;  // per packet in a replay; not filled in a live run
  alignas(64) std::array<std::uint64_t,
                         kCapacity> number;  // capture's packet number; not filled in a live run

  // packet
  alignas(64) std::array<FlowKey, kCapacity> key;
  alignas(64) std::array<std::uint64_t, kCapacity> hash;
  alignas(64) std::array<Headers, kCapacity> headers;

  // flow, policy, stages
  alignas(64) std::array<std::uint32_t, kCapacity> session;
  alignas(64) std::array<std::uint32_t, kCapacity> rule;
  alignas(64) std::array<Verdict, kCapacity> verdict;
  alignas(64) std::array<base::DropReason, kCapacity> reason;

  // Bit i is set when packet i has this verdict. A few instructions for the whole burst.
  [[nodiscard]] std::uint64_t verdict_mask(Verdict v) const noexcept {
    static_assert(sizeof(Verdict) == 1 && kCapacity == 64);
    std::uint64_t mask = 0;
#if defined(__AVX2__)
    const __m256i want = _mm256_set1_epi8(static_cast<char>(v));
    const auto half = [&](unsigned at) {
      const auto* p = reinterpret_cast<const __m256i*>(verdict.data() + at);
      return static_cast<std::uint32_t>(
          _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_load_si256(p), want)));
    };
    mask = half(0) | std::uint64_t{half(32)} << 32;
#else
    for (unsigned i = 0; i < count; ++i) mask |= std::uint64_t{verdict[i] == v} << i;
#endif
    return mask & used_mask();
  }
  // Bits of the packets that are there.
  [[nodiscard]] std::uint64_t used_mask() const noexcept {
    return count == kCapacity ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }

  void drop(unsigned i, base::DropReason why) noexcept {
    verdict[i] = Verdict::kDrop;
    reason[i] = why;
  }
};

}  // namespace merlon::packet
