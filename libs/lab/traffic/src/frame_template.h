// SPDX-License-Identifier: Apache-2.0
#pragma once
// A frame with every constant byte in place and the sums of its checksums, so that sending one is a
// copy and a few words. Made on the control thread, immutable after.
#include <cstdint>
#include <vector>

#include "merlon/base/bytes.h"
#include "merlon/lab_traffic/frames.h"

namespace merlon::lab {

inline constexpr std::uint8_t kProtocolIcmp = 1, kProtocolTcp = 6, kProtocolUdp = 17;
inline constexpr std::uint8_t kProtocolIcmp6 = 58;
// What IPv6's header is longer than IPv4's.
inline constexpr std::uint32_t kIpv6More = 20;

// First MAC addresses: "MLC" and "MLS" behind a locally administered, unicast first byte.
inline constexpr std::uint64_t kClientMac = 0x02'4d4c'4300'01, kServerMac = 0x02'4d4c'5300'01;

void store_mac(base::Byte* out, std::uint64_t mac) noexcept;

// What differs from frame to frame, in host order.
struct FrameFields {
  std::uint64_t source_mac = 0, destination_mac = 0;  // 48 bits
  std::uint16_t vlan = 0;
  // IPv4 addresses; of IPv6 ones the last 32 bits, the template has the first 64.
  std::uint32_t source_ip = 0, destination_ip = 0;
  std::uint16_t source_port = 0, destination_port = 0;  // ICMP: identifier and sequence
  std::uint32_t tcp_sequence = 0, tcp_acknowledgment = 0;
};

struct TemplateSpec {
  std::uint8_t protocol = kProtocolUdp;  // IPv4's number of ICMP stands for ICMPv6 too
  bool is_ipv6 = false;
  std::uint64_t source_network = 0, destination_network = 0;  // IPv6: the first 64 bits
  std::uint32_t size = 64;                                    // with FCS
  bool has_vlan = false;
  bool has_tag = true;
  std::uint8_t tcp_flags = 0x10;
  std::vector<base::Byte> payload{};  // first bytes of the payload; the rest is a pattern
};

class FrameTemplate {
 public:
  explicit FrameTemplate(const TemplateSpec& spec);

  // Least size with FCS that holds the headers and, for measured frames, the tag.
  static std::uint32_t least_size(std::uint8_t protocol, bool is_ipv6, bool has_vlan,
                                  bool has_tag) noexcept;

  // Writes the frame. Without tag it is complete; else finish_frame() completes it.
  void write(const FrameFields& fields, base::Byte* out, BuiltFrame& built) const noexcept;

 private:
  void lay_out(const TemplateSpec& spec);
  void lay_out_ip(const TemplateSpec& spec);

  std::vector<base::Byte> bytes_;  // variable fields and checksums are 0
  std::uint16_t ip_at_ = 14, transport_at_ = 34, checksum_at_ = 0, tag_at_ = 0;
  std::uint8_t protocol_;
  bool is_ipv6_;
  std::uint64_t ip_sum_ = 0, transport_sum_ = 0;
};

}  // namespace merlon::lab
