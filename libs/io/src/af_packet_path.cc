// SPDX-License-Identifier: Apache-2.0
#include "af_packet_path.h"

namespace merlon::io {
namespace {

constexpr std::uint16_t kUdpChecksumOffset = 6;
constexpr std::uint16_t kSctpChecksumOffset = 8;

}  // namespace

AfPacketFrame read_slot(const tpacket2_hdr* header, std::uint32_t status) noexcept {
  AfPacketFrame f;
  f.header = header;
  f.status = status;
  f.bytes = reinterpret_cast<const base::Byte*>(header) + header->tp_mac;
  f.has_tag = (status & TP_STATUS_VLAN_VALID) != 0;
  const std::uint32_t tag = f.has_tag ? kTagSize : 0;
  f.length = header->tp_len + tag;
  f.captured = header->tp_snaplen + tag;
  std::memcpy(&f.offload, f.bytes - kVnetSize, kVnetSize);
  f.offload.flags &= FrameOffload::kNeedsChecksum;
  if (f.offload.is_none()) return f;
  // The kernel counted without the tag.
  f.offload.checksum_start = static_cast<std::uint16_t>(f.offload.checksum_start + tag);
  if (f.offload.gso_type != 0)
    f.offload.header_length = static_cast<std::uint16_t>(f.offload.header_length + tag);
  return f;
}

void write_tag(const AfPacketFrame& frame, base::Byte* data) noexcept {
  const bool is_told = (frame.status & TP_STATUS_VLAN_TPID_VALID) != 0;
  const std::uint16_t type = is_told ? frame.header->tp_vlan_tpid : std::uint16_t{ETH_P_8021Q};
  base::store_be<std::uint16_t>(data + kMacsSize, type);
  base::store_be<std::uint16_t>(data + kMacsSize + 2, frame.header->tp_vlan_tci);
}

std::uint32_t fetch_large(int fd, const AfPacketFrame& frame, const iovec* pieces,
                          unsigned count) noexcept {
  constexpr unsigned kMaxPieces = 64;
  base::Byte note[kVnetSize];
  iovec parts[kMaxPieces + 3];
  unsigned n = 0;
  parts[n++] = {note, sizeof note};
  const std::uint32_t tag = frame.has_tag ? kTagSize : 0;
  for (unsigned i = 0; i < std::min(count, kMaxPieces); ++i) {
    if (i > 0 || tag == 0) {
      parts[n++] = pieces[i];
      continue;
    }
    auto* data = static_cast<base::Byte*>(pieces[0].iov_base);
    parts[n++] = {data, kMacsSize};
    parts[n++] = {data + kMacsSize + kTagSize, pieces[0].iov_len - kMacsSize - kTagSize};
  }
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = n;
  const ssize_t got = ::recvmsg(fd, &message, MSG_DONTWAIT);
  if (got <= static_cast<ssize_t>(kVnetSize)) return 0;
  return static_cast<std::uint32_t>(got) - kVnetSize + tag;
}

bool complete_checksum(const iovec* pieces, unsigned count, const FrameOffload& note) noexcept {
  auto* data = static_cast<base::Byte*>(pieces[0].iov_base);
  const auto size = static_cast<std::uint32_t>(pieces[0].iov_len);
  const std::uint32_t start = note.checksum_start, field = start + note.checksum_offset;
  const bool is_sctp = note.checksum_offset == kSctpChecksumOffset;
  if (field + (is_sctp ? 4 : 2) > size) return false;
  if (is_sctp) {
    if (count > 1) return false;
    base::store_raw<std::uint32_t>(data + field, 0);
    const std::uint32_t crc = packet::crc32c({data + start, size - start});
    for (unsigned i = 0; i < 4; ++i) data[field + i] = static_cast<base::Byte>(crc >> (8 * i));
    return true;
  }
  // Sums continue over pieces only from even places.
  if (count > 1 && (size - start) % 2 != 0) return false;
  packet::ChecksumSum sum = packet::checksum_add(0, {data + start, size - start});
  for (unsigned i = 1; i < count; ++i)
    sum = packet::checksum_add(
        sum, {static_cast<const base::Byte*>(pieces[i].iov_base), pieces[i].iov_len});
  std::uint16_t checksum = packet::checksum_finish(sum);
  if (checksum == 0 && note.checksum_offset == kUdpChecksumOffset) checksum = 0xffff;
  base::store_be<std::uint16_t>(data + field, checksum);
  return true;
}

}  // namespace merlon::io
