// SPDX-License-Identifier: Apache-2.0
#pragma once
// The internet checksum (RFC 1071): ones' complement sums over bytes, pseudo headers, incremental
// update. Pure functions, no state; any thread. Cost: about 8 bytes per cycle.
#include <cstdint>

#include "merlon/base/address.h"
#include "merlon/base/bytes.h"

namespace merlon::packet {

// A sum not yet folded; adding more spans continues it. Every span but the last has an even size.
using ChecksumSum = std::uint64_t;

ChecksumSum checksum_add(ChecksumSum sum, base::ByteSpan bytes) noexcept;

// Folds to 16 bits and complements: the value to store big-endian. Over data with a right checksum
// it is 0.
std::uint16_t checksum_finish(ChecksumSum sum) noexcept;

inline std::uint16_t internet_checksum(base::ByteSpan bytes) noexcept {
  return checksum_finish(checksum_add(0, bytes));
}

// Pseudo header (RFC 9293 section 3.1 for IPv4, RFC 8200 section 8.1 for IPv6); the family is that
// of `source`.
ChecksumSum pseudo_header_sum(const base::IpAddress& source, const base::IpAddress& destination,
                              std::uint8_t protocol, std::uint32_t length) noexcept;

// Checksum of a whole transport message whose checksum field is 0 (or right, then the result is 0).
inline std::uint16_t transport_checksum(const base::IpAddress& source,
                                        const base::IpAddress& destination, std::uint8_t protocol,
                                        base::ByteSpan message) noexcept {
  return checksum_finish(checksum_add(
      pseudo_header_sum(source, destination, protocol, static_cast<std::uint32_t>(message.size())),
      message));
}

// The checksum after a 16- or 32-bit field, on an even offset, went from `before` to `after` (RFC
// 1624 equation 3).
constexpr std::uint16_t checksum_update16(std::uint16_t checksum, std::uint16_t before,
                                          std::uint16_t after) noexcept {
  std::uint32_t sum = static_cast<std::uint16_t>(~checksum);
  sum += static_cast<std::uint16_t>(~before);
  sum += after;
  sum = (sum & 0xffffU) + (sum >> 16);
  sum = (sum & 0xffffU) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}
constexpr std::uint16_t checksum_update32(std::uint16_t checksum, std::uint32_t before,
                                          std::uint32_t after) noexcept {
  checksum = checksum_update16(checksum, static_cast<std::uint16_t>(before >> 16),
                               static_cast<std::uint16_t>(after >> 16));
  return checksum_update16(checksum, static_cast<std::uint16_t>(before),
                           static_cast<std::uint16_t>(after));
}

// CRC-32C (Castagnoli) as SCTP carries it (RFC 9260 appendix A), over a message whose checksum
// field is 0; the value to store little-endian.
std::uint32_t crc32c(base::ByteSpan bytes) noexcept;

}  // namespace merlon::packet
