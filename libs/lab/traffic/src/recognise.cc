// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/recognise.h"

#include "merlon/packet/checksum.h"

namespace merlon::lab {
namespace {

using base::Byte;
using base::ByteSpan;

constexpr unsigned kMaxTags = 4;
constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17;

bool is_ours(std::uint32_t address) noexcept {
  const std::uint32_t network = address & 0xffff'0000U;
  return network == kClientNetwork || network == kServerNetwork;
}

// Offset of the IPv4 header, 0 when there is none.
std::size_t find_ipv4(ByteSpan frame) noexcept {
  std::size_t at = 12;
  for (unsigned tags = 0; tags <= kMaxTags; ++tags) {
    if (frame.size() < at + 2) return 0;
    const auto type = base::load_be<std::uint16_t>(frame.data() + at);
    if (type == 0x0800) return at + 2;
    if (type != 0x8100 && type != 0x88a8) return 0;
    at += 4;
  }
  return 0;
}

// Bytes of the transport header before the payload; 0 when it is none of ours or does not fit.
std::size_t transport_header_size(std::uint8_t protocol, ByteSpan message) noexcept {
  switch (protocol) {
    case kUdp:
    case kIcmp:
      return message.size() >= 8 ? 8 : 0;
    case kTcp: {
      if (message.size() < 20) return 0;
      const std::size_t size = static_cast<std::size_t>(message[12] >> 4) * 4;
      return size >= 20 && size <= message.size() ? size : 0;
    }
    default:
      return 0;
  }
}

bool is_transport_intact(const Byte* ip, std::uint8_t protocol, ByteSpan message) noexcept {
  if (protocol == kUdp && base::load_be<std::uint16_t>(message.data() + 6) == 0) return true;
  packet::ChecksumSum sum = packet::checksum_add(0, message);
  if (protocol != kIcmp) {
    sum = packet::checksum_add(sum, ByteSpan(ip + 12, 8));
    sum += protocol + message.size();
  }
  return packet::checksum_finish(sum) == 0;
}

}  // namespace

FrameKind recognise(ByteSpan frame, std::uint16_t trial, FrameTag& tag) noexcept {
  const std::size_t at = find_ipv4(frame);
  if (at == 0 || frame.size() < at + 20) return FrameKind::kForeign;
  const Byte* ip = frame.data() + at;
  const std::size_t header = static_cast<std::size_t>(ip[0] & 0x0fU) * 4;
  const std::size_t total = base::load_be<std::uint16_t>(ip + 2);
  const auto source = base::load_be<std::uint32_t>(ip + 12);
  const bool is_addressed = is_ours(source) || is_ours(base::load_be<std::uint32_t>(ip + 16));
  const FrameKind damaged = is_addressed ? FrameKind::kCorrupted : FrameKind::kForeign;
  if (ip[0] >> 4 != 4 || header < 20 || total < header || frame.size() < at + total ||
      packet::internet_checksum(ByteSpan(ip, header)) != 0)
    return damaged;
  // A replayed capture may hold such addresses too: a tag counts more.
  const FrameKind untagged =
      (source & 0xff80'0000U) == kAttackNetwork ? FrameKind::kAttack : FrameKind::kForeign;
  if ((base::load_be<std::uint16_t>(ip + 6) & 0x3fffU) != 0) return untagged;

  const std::uint8_t protocol = ip[9];
  const ByteSpan message(ip + header, total - header);
  const std::size_t before = transport_header_size(protocol, message);
  if (before == 0) return untagged;
  const bool is_intact = is_transport_intact(ip, protocol, message);
  const bool has_room = message.size() >= before + FrameTag::kSize;
  const TagState state =
      has_room ? read_tag(message.data() + message.size() - FrameTag::kSize, tag) : TagState::kNone;
  if (state == TagState::kNone) return is_intact ? untagged : damaged;
  if (state == TagState::kBroken || !is_intact) return FrameKind::kCorrupted;
  return tag.trial == trial ? FrameKind::kMeasured : FrameKind::kStale;
}

}  // namespace merlon::lab
