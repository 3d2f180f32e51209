// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/recognise.h"

#include "merlon/packet/checksum.h"

namespace merlon::lab {
namespace {

using base::Byte;
using base::ByteSpan;

constexpr unsigned kMaxTags = 4;
constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmp6 = 58;
constexpr std::size_t kIpv6Header = 40;

bool is_ours(std::uint32_t address) noexcept {
  const std::uint32_t network = address & 0xffff'0000U;
  return network == kClientNetwork || network == kServerNetwork;
}
bool is_ours6(std::uint64_t network) noexcept {
  return network == kClientNetwork6 || network == kServerNetwork6;
}

// What the IP header says, once its own checks have passed.
struct Packet {
  std::size_t at = 0;  // of the IP header; 0: there is none
  bool is_ipv6 = false;
  // What the frame is without a transport message that can be ours: damaged when addressed so.
  FrameKind damaged = FrameKind::kForeign, untagged = FrameKind::kForeign;
  std::uint8_t protocol = 0;
  ByteSpan addresses{};  // as the pseudo header has them
  ByteSpan message{};    // empty: no whole one, `untagged` is the answer
};

// Offset of the IP header and its family.
Packet find_ip(ByteSpan frame) noexcept {
  Packet p;
  std::size_t at = 12;
  for (unsigned tags = 0; tags <= kMaxTags; ++tags) {
    if (frame.size() < at + 2) return p;
    const auto type = base::load_be<std::uint16_t>(frame.data() + at);
    if (type == 0x0800 || type == 0x86dd) {
      p.at = at + 2;
      p.is_ipv6 = type == 0x86dd;
      return p;
    }
    if (type != 0x8100 && type != 0x88a8) return p;
    at += 4;
  }
  return p;
}

// False: the frame is `damaged`.
bool read_ipv4(ByteSpan frame, Packet& p) noexcept {
  if (frame.size() < p.at + 20) return false;
  const Byte* ip = frame.data() + p.at;
  const std::size_t header = static_cast<std::size_t>(ip[0] & 0x0fU) * 4;
  const std::size_t total = base::load_be<std::uint16_t>(ip + 2);
  const auto source = base::load_be<std::uint32_t>(ip + 12);
  if (is_ours(source) || is_ours(base::load_be<std::uint32_t>(ip + 16)))
    p.damaged = FrameKind::kCorrupted;
  if (ip[0] >> 4 != 4 || header < 20 || total < header || frame.size() < p.at + total ||
      packet::internet_checksum(ByteSpan(ip, header)) != 0)
    return false;
  // A replayed capture may hold such addresses too: a tag counts more.
  if ((source & 0xff80'0000U) == kAttackNetwork) p.untagged = FrameKind::kAttack;
  if ((base::load_be<std::uint16_t>(ip + 6) & 0x3fffU) != 0) return true;
  p.protocol = ip[9];
  p.addresses = ByteSpan(ip + 12, 8);
  p.message = ByteSpan(ip + header, total - header);
  return true;
}

// IPv6 has no checksum of its own: a header that names no protocol of ours between our addresses is
// damage. Extension headers are no part of our frames.
bool read_ipv6(ByteSpan frame, Packet& p) noexcept {
  if (frame.size() < p.at + kIpv6Header) return false;
  const Byte* ip = frame.data() + p.at;
  const std::size_t length = base::load_be<std::uint16_t>(ip + 4);
  const auto source = base::load_be<std::uint64_t>(ip + 8);
  if (is_ours6(source) || is_ours6(base::load_be<std::uint64_t>(ip + 24)))
    p.damaged = FrameKind::kCorrupted;
  p.protocol = ip[6];
  if (ip[0] >> 4 != 6 || frame.size() < p.at + kIpv6Header + length ||
      (p.protocol != kUdp && p.protocol != kTcp && p.protocol != kIcmp6))
    return false;
  if (source == kAttackNetwork6) p.untagged = FrameKind::kAttack;
  p.addresses = ByteSpan(ip + 8, 32);
  p.message = ByteSpan(ip + kIpv6Header, length);
  return true;
}

// Bytes of the transport header before the payload; 0 when it is none of ours or does not fit.
std::size_t transport_header_size(const Packet& p) noexcept {
  if (p.protocol == kUdp || p.protocol == (p.is_ipv6 ? kIcmp6 : kIcmp))
    return p.message.size() >= 8 ? 8 : 0;
  if (p.protocol != kTcp || p.message.size() < 20) return 0;
  const std::size_t size = static_cast<std::size_t>(p.message[12] >> 4) * 4;
  return size >= 20 && size <= p.message.size() ? size : 0;
}

bool is_transport_intact(const Packet& p) noexcept {
  // No checksum, which IPv6 does not allow (RFC 8200 section 8.1).
  if (p.protocol == kUdp && base::load_be<std::uint16_t>(p.message.data() + 6) == 0)
    return !p.is_ipv6;
  packet::ChecksumSum sum = packet::checksum_add(0, p.addresses);
  sum = p.protocol == kIcmp ? 0 : sum + p.protocol + p.message.size();
  return packet::checksum_finish(packet::checksum_add(sum, p.message)) == 0;
}

}  // namespace

FrameKind recognise(ByteSpan frame, std::uint16_t trial, FrameTag& tag) noexcept {
  Packet p = find_ip(frame);
  if (p.at == 0) return FrameKind::kForeign;
  if (!(p.is_ipv6 ? read_ipv6(frame, p) : read_ipv4(frame, p))) return p.damaged;
  const std::size_t before = transport_header_size(p);
  if (before == 0) return p.is_ipv6 && p.untagged == FrameKind::kForeign ? p.damaged : p.untagged;
  const bool is_intact = is_transport_intact(p);
  const bool has_room = p.message.size() >= before + FrameTag::kSize;
  const TagState state =
      has_room ? read_tag(&p.message[p.message.size() - FrameTag::kSize], tag) : TagState::kNone;
  if (state == TagState::kNone) return is_intact ? p.untagged : p.damaged;
  if (state == TagState::kBroken || !is_intact) return FrameKind::kCorrupted;
  return tag.trial == trial ? FrameKind::kMeasured : FrameKind::kStale;
}

}  // namespace merlon::lab
