// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/segment.h"

#include <algorithm>
#include <cstring>

#include "merlon/packet/checksum.h"
#include "merlon/packet/tcp_options.h"

namespace merlon::lab::tcp {
namespace {

using base::Byte;
using base::ByteSpan;
using base::load_be;
using base::store_be;

constexpr std::size_t kEthernetSize = 14, kIpSize = 20, kTcpSize = 20, kArpSize = 28;
constexpr std::uint16_t kIpv4Type = 0x0800, kArpType = 0x0806;
constexpr std::uint8_t kTcpProtocol = 6, kIcmpProtocol = 1;
constexpr std::uint8_t kUnreachable = 3;

// The pseudo header's part of a TCP checksum (RFC 9293 section 3.1), from addresses as they stand
// in the header.
packet::ChecksumSum pseudo_sum(const Byte* addresses, std::size_t length) noexcept {
  Byte tail[4] = {0, kTcpProtocol, 0, 0};
  store_be<std::uint16_t>(tail + 2, static_cast<std::uint16_t>(length));
  return packet::checksum_add(packet::checksum_add(0, {addresses, 8}), {tail, 4});
}

FrameKind read_arp(ByteSpan bytes, ArpMessage& arp) noexcept {
  if (bytes.size() < kArpSize) return FrameKind::kMalformed;
  const Byte* p = bytes.data();
  // Ethernet and IPv4, six and four bytes long (RFC 826).
  if (load_be<std::uint64_t>(p) >> 16 != 0x0001'0800'0604) return FrameKind::kOther;
  arp.operation = load_be<std::uint16_t>(p + 6);
  std::memcpy(arp.sender_mac.bytes.data(), p + 8, 6);
  arp.sender_ip = load_be<std::uint32_t>(p + 14);
  arp.target_ip = load_be<std::uint32_t>(p + 24);
  return FrameKind::kArp;
}

FrameKind read_icmp(ByteSpan message, IcmpError& icmp) noexcept {
  // Type, code, checksum, four unused bytes, then the quoted header and at least 8 bytes of what
  // followed it.
  if (message.size() < 8 + kIpSize + 8 || message[0] != kUnreachable) return FrameKind::kOther;
  if (packet::internet_checksum(message) != 0) return FrameKind::kMalformed;
  const ByteSpan quoted = message.subspan(8);
  const std::size_t header = (quoted[0] & 0xfU) * 4U;
  if (quoted[0] >> 4 != 4 || header < kIpSize || quoted.size() < header + 8)
    return FrameKind::kMalformed;
  if (quoted[9] != kTcpProtocol || (load_be<std::uint16_t>(quoted.data() + 6) & 0x1fff) != 0)
    return FrameKind::kOther;
  const Byte* p = quoted.data();
  icmp.code = message[1];
  icmp.source_ip = load_be<std::uint32_t>(p + 12);
  icmp.destination_ip = load_be<std::uint32_t>(p + 16);
  icmp.source_port = load_be<std::uint16_t>(p + header);
  icmp.destination_port = load_be<std::uint16_t>(p + header + 2);
  icmp.sequence = load_be<std::uint32_t>(p + header + 4);
  return FrameKind::kIcmpError;
}

FrameKind read_tcp(const Byte* ip, ByteSpan message, bool is_verified, Segment& s) noexcept {
  if (message.size() < kTcpSize) return FrameKind::kMalformed;
  const Byte* p = message.data();
  const std::size_t header = (p[12] >> 4) * 4U;
  if (header < kTcpSize || header > message.size()) return FrameKind::kMalformed;
  if (is_verified && packet::checksum_finish(
                         packet::checksum_add(pseudo_sum(ip + 12, message.size()), message)) != 0)
    return FrameKind::kMalformed;
  s.source_ip = load_be<std::uint32_t>(ip + 12);
  s.destination_ip = load_be<std::uint32_t>(ip + 16);
  s.source_port = load_be<std::uint16_t>(p);
  s.destination_port = load_be<std::uint16_t>(p + 2);
  s.sequence = load_be<std::uint32_t>(p + 4);
  s.acknowledgment = load_be<std::uint32_t>(p + 8);
  s.flags = p[13] & 0x3f;
  s.window = load_be<std::uint16_t>(p + 14);
  s.mss = 0;
  if ((s.flags & kSyn) != 0)
    s.mss = packet::read_tcp_options(message.subspan(kTcpSize, header - kTcpSize)).mss;
  s.payload = message.subspan(header);
  return FrameKind::kTcp;
}

}  // namespace

FrameKind read_frame(ByteSpan bytes, bool is_verified, Frame& frame) noexcept {
  frame.source_ip = 0;
  if (bytes.size() < kEthernetSize) return FrameKind::kMalformed;
  const std::uint16_t type = load_be<std::uint16_t>(bytes.data() + 12);
  const ByteSpan packet = bytes.subspan(kEthernetSize);
  if (type == kArpType) return read_arp(packet, frame.arp);
  if (type != kIpv4Type) return FrameKind::kOther;
  if (packet.size() < kIpSize) return FrameKind::kMalformed;
  const Byte* ip = packet.data();
  const std::size_t header = (ip[0] & 0xfU) * 4U;
  const std::size_t total = load_be<std::uint16_t>(ip + 2);
  if (ip[0] >> 4 != 4 || header < kIpSize || total < header || total > packet.size())
    return FrameKind::kMalformed;
  if (packet::internet_checksum(packet.first(header)) != 0) return FrameKind::kMalformed;
  frame.source_ip = load_be<std::uint32_t>(ip + 12);
  // More fragments to come, or not the first: nothing we send is fragmented, so nobody's answer is.
  if ((load_be<std::uint16_t>(ip + 6) & 0x3fff) != 0) return FrameKind::kOther;
  const ByteSpan message = packet.subspan(header, total - header);
  if (ip[9] == kTcpProtocol) {
    std::memcpy(frame.segment.source_mac.bytes.data(), bytes.data() + 6, 6);
    return read_tcp(ip, message, is_verified, frame.segment);
  }
  return ip[9] == kIcmpProtocol ? read_icmp(message, frame.icmp) : FrameKind::kOther;
}

std::uint32_t write_segment(Byte* frame, const SegmentHeader& h,
                            std::uint32_t payload_size) noexcept {
  const std::uint32_t options = h.mss != 0 ? 4 : 0;
  const std::uint32_t tcp_length = static_cast<std::uint32_t>(kTcpSize) + options + payload_size;
  std::memcpy(frame, h.destination_mac.bytes.data(), 6);
  std::memcpy(frame + 6, h.source_mac.bytes.data(), 6);
  store_be<std::uint16_t>(frame + 12, kIpv4Type);
  Byte* ip = frame + kEthernetSize;
  store_be<std::uint32_t>(ip, 0x4500'0000U + static_cast<std::uint32_t>(kIpSize) + tcp_length);
  store_be<std::uint32_t>(ip + 4,
                          0x0000'4000U);  // identification 0 with "don't fragment" (RFC 6864)
  store_be<std::uint32_t>(ip + 8, 0x4006'0000U);  // TTL 64, TCP
  store_be<std::uint32_t>(ip + 12, h.source_ip);
  store_be<std::uint32_t>(ip + 16, h.destination_ip);
  store_be<std::uint16_t>(ip + 10, packet::internet_checksum({ip, kIpSize}));
  Byte* tcp = ip + kIpSize;
  store_be<std::uint16_t>(tcp, h.source_port);
  store_be<std::uint16_t>(tcp + 2, h.destination_port);
  store_be<std::uint32_t>(tcp + 4, h.sequence);
  store_be<std::uint32_t>(tcp + 8, h.acknowledgment);
  tcp[12] = static_cast<Byte>((kTcpSize + options) / 4 << 4);
  tcp[13] = h.flags;
  store_be<std::uint16_t>(tcp + 14, h.window);
  store_be<std::uint32_t>(tcp + 16, 0);
  if (options != 0) store_be<std::uint32_t>(tcp + kTcpSize, 0x0204'0000U | h.mss);
  store_be<std::uint16_t>(tcp + 16, packet::checksum_finish(packet::checksum_add(
                                        pseudo_sum(ip + 12, tcp_length), {tcp, tcp_length})));
  const std::uint32_t length = static_cast<std::uint32_t>(kEthernetSize + kIpSize) + tcp_length;
  if (length >= kMinimumFrame) return length;
  std::memset(frame + length, 0, kMinimumFrame - length);
  return kMinimumFrame;
}

std::uint32_t write_arp(Byte* frame, std::uint16_t operation, const base::MacAddress& our_mac,
                        std::uint32_t our_ip, const base::MacAddress& target_mac,
                        std::uint32_t target_ip) noexcept {
  std::memset(frame, 0, kMinimumFrame);
  if (operation == ArpMessage::kRequest)
    std::memset(frame, 0xff, 6);
  else
    std::memcpy(frame, target_mac.bytes.data(), 6);
  std::memcpy(frame + 6, our_mac.bytes.data(), 6);
  store_be<std::uint16_t>(frame + 12, kArpType);
  Byte* p = frame + kEthernetSize;
  store_be<std::uint32_t>(p, 0x0001'0800);
  store_be<std::uint16_t>(p + 4, 0x0604);
  store_be<std::uint16_t>(p + 6, operation);
  std::memcpy(p + 8, our_mac.bytes.data(), 6);
  store_be<std::uint32_t>(p + 14, our_ip);
  if (operation == ArpMessage::kReply) std::memcpy(p + 18, target_mac.bytes.data(), 6);
  store_be<std::uint32_t>(p + 24, target_ip);
  return kMinimumFrame;
}

}  // namespace merlon::lab::tcp
