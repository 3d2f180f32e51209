// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/steering.h"

namespace merlon::io {

std::uint32_t toeplitz_hash(base::ByteSpan key, base::ByteSpan input) noexcept {
  const auto key_byte = [&](std::size_t i) -> std::uint32_t { return i < key.size() ? key[i] : 0; };
  // The 32 key bits that stand over the current input bit.
  std::uint32_t window = key_byte(0) << 24 | key_byte(1) << 16 | key_byte(2) << 8 | key_byte(3);
  std::uint32_t hash = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::uint32_t incoming = key_byte(i + 4);
    for (unsigned bit = 8; bit-- > 0;) {
      if ((input[i] >> bit & 1) != 0) hash ^= window;
      window = window << 1 | (incoming >> bit & 1);
    }
  }
  return hash;
}

// The hash is linear and the key repeats every 16 bits, so each 16-bit word of the input
// contributes as if it stood first: the words can be folded into one before hashing. Holds as long
// as the input is at most 36 bytes of a 40-byte key, which is the longest that NICs hash.
std::uint32_t symmetric_rss_hash(const packet::FlowKey& key, bool with_ports) noexcept {
  const auto fold = [](const base::IpAddress& a) noexcept {
    const std::size_t first = a.is_v4() ? 12 : 0;
    std::uint16_t words = 0;
    for (std::size_t i = first; i < 16; i += 2)
      words = static_cast<std::uint16_t>(words ^ base::load_be<std::uint16_t>(a.bytes.data() + i));
    return words;
  };
  auto word = static_cast<std::uint16_t>(fold(key.a) ^ fold(key.b));
  const bool has_ports = key.protocol == 6 || key.protocol == 17 || key.protocol == 132;
  if (with_ports && has_ports) word = static_cast<std::uint16_t>(word ^ key.port_a ^ key.port_b);
  const base::Byte folded[2] = {static_cast<base::Byte>(word >> 8), static_cast<base::Byte>(word)};
  return toeplitz_hash(kSymmetricRssKey, folded);
}

}  // namespace merlon::io
