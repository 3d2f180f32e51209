// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frames as the load's stack sees them: reading untrusted bytes, writing our segments. IPv4 over
// untagged Ethernet. Pure functions, any thread. Cost: one pass; with verification also one over
// the payload.
#include <cstdint>

#include "merlon/base/address.h"
#include "merlon/base/bytes.h"

namespace merlon::lab::tcp {

inline constexpr std::uint8_t kFin = 1, kSyn = 2, kRst = 4, kPsh = 8, kAck = 16;

// Serial number arithmetic on sequence numbers (RFC 9293 section 3.4).
constexpr bool is_before(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>(a - b) < 0;
}

enum class FrameKind : std::uint8_t {
  kTcp,
  kArp,
  kIcmpError,  // destination unreachable that quotes a TCP segment
  kOther,      // neither; includes fragments, IPv6, tags
  kMalformed,  // a length that lies or a wrong checksum
};

struct Segment {
  std::uint32_t source_ip = 0, destination_ip = 0;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint32_t sequence = 0, acknowledgment = 0;
  std::uint8_t flags = 0;
  std::uint16_t window = 0;
  std::uint16_t mss = 0;  // of a SYN; 0: none
  base::ByteSpan payload;
  base::MacAddress source_mac;

  // Sequence numbers it takes.
  [[nodiscard]] std::uint32_t length() const noexcept {
    return static_cast<std::uint32_t>(payload.size()) + ((flags & kSyn) != 0 ? 1U : 0U) +
           ((flags & kFin) != 0 ? 1U : 0U);
  }
};

struct ArpMessage {
  static constexpr std::uint16_t kRequest = 1, kReply = 2;
  std::uint16_t operation = 0;
  base::MacAddress sender_mac;
  std::uint32_t sender_ip = 0, target_ip = 0;
};

// The quoted segment was ours: source is our side.
struct IcmpError {
  std::uint8_t code = 0;
  std::uint32_t source_ip = 0, destination_ip = 0;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint32_t sequence = 0;
};

// What kind says is filled in; the rest keeps its last value.
struct Frame {
  std::uint32_t source_ip = 0;  // of every IPv4 packet with a whole header; 0 else
  Segment segment;
  ArpMessage arp;
  IcmpError icmp;
};

FrameKind read_frame(base::ByteSpan bytes, bool is_verified, Frame& frame) noexcept;

inline constexpr std::uint32_t kHeaderSize = 54;    // Ethernet, IPv4 and TCP without options
inline constexpr std::uint32_t kSynSize = 58;       // with the MSS option
inline constexpr std::uint32_t kMinimumFrame = 60;  // without FCS

struct SegmentHeader {
  base::MacAddress source_mac, destination_mac;
  std::uint32_t source_ip = 0, destination_ip = 0;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint32_t sequence = 0, acknowledgment = 0;
  std::uint8_t flags = 0;
  std::uint16_t window = 0;
  std::uint16_t mss = 0;  // with SYN only
};

// Writes the headers before `payload_size` bytes that stand at frame + kHeaderSize already (none
// with an MSS), both checksums and the padding. Returns the frame's length; `frame` has room for 60
// bytes at least.
std::uint32_t write_segment(base::Byte* frame, const SegmentHeader& header,
                            std::uint32_t payload_size) noexcept;
// 60 bytes. A request goes to everybody, a reply to `target_mac`.
std::uint32_t write_arp(base::Byte* frame, std::uint16_t operation, const base::MacAddress& our_mac,
                        std::uint32_t our_ip, const base::MacAddress& target_mac,
                        std::uint32_t target_ip) noexcept;

}  // namespace merlon::lab::tcp
