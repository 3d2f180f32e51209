// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/checksum.h"

#include <array>

namespace merlon::packet {

using base::Byte;
using base::ByteSpan;

// Sums 32-bit words in network order of bytes as they lie in memory; the fold at the end swaps
// once.
ChecksumSum checksum_add(ChecksumSum sum, ByteSpan bytes) noexcept {
  const Byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    const auto w = base::load_be<std::uint64_t>(p);
    sum += (w >> 32) + (w & 0xffff'ffffU);
  }
  for (; left >= 2; left -= 2, p += 2) sum += base::load_be<std::uint16_t>(p);
  if (left == 1) sum += std::uint32_t{*p} << 8;
  return sum;
}

std::uint16_t checksum_finish(ChecksumSum sum) noexcept {
  sum = (sum & 0xffff'ffffU) + (sum >> 32);
  sum = (sum & 0xffff'ffffU) + (sum >> 32);
  sum = (sum & 0xffffU) + (sum >> 16);
  sum = (sum & 0xffffU) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

ChecksumSum pseudo_header_sum(const base::IpAddress& source, const base::IpAddress& destination,
                              std::uint8_t protocol, std::uint32_t length) noexcept {
  const bool is_v4 = source.is_v4();
  const std::size_t from = is_v4 ? 12 : 0;
  ChecksumSum sum = protocol;
  sum += length;
  sum = checksum_add(sum, ByteSpan(source.bytes).subspan(from));
  return checksum_add(sum, ByteSpan(destination.bytes).subspan(from));
}

namespace {
constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1U) != 0 ? c >> 1 ^ 0x82f6'3b78U : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr auto kCrcTable = crc_table();
}  // namespace

std::uint32_t crc32c(ByteSpan bytes) noexcept {
  std::uint32_t c = 0xffff'ffffU;
  for (const Byte b : bytes) c = kCrcTable[(c ^ b) & 0xffU] ^ c >> 8;
  return ~c;
}

}  // namespace merlon::packet
