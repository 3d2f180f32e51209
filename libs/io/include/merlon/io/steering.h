// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which queue a NIC puts a conversation on. Receive-side scaling hashes addresses and ports by
// Toeplitz and looks the low bits up in an indirection table. With a key of one repeated 16-bit
// word, exchanging source and destination changes nothing, so both directions meet on one queue.
// Pure functions, any thread. Sources: Microsoft "RSS hashing types" and its verification suite;
// Woo and Park, "Scalable TCP session monitoring with symmetric receive-side scaling", KAIST 2012.
#include <array>
#include <cstdint>

#include "merlon/base/bytes.h"
#include "merlon/packet/flow_key.h"

namespace merlon::io {

// 52 bytes serve every NIC; those with 40-byte keys use the first 40.
inline constexpr std::size_t kRssKeySize = 52;
inline constexpr std::array<base::Byte, kRssKeySize> kSymmetricRssKey = [] {
  std::array<base::Byte, kRssKeySize> key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = i % 2 == 0 ? 0x6d : 0x5a;
  return key;
}();

// The Toeplitz hash of `input` under `key`; key bytes past the end count as zero. A full hash needs
// input.size() + 4 bytes of key.
std::uint32_t toeplitz_hash(base::ByteSpan key, base::ByteSpan input) noexcept;

// What a NIC with the symmetric key computes for packets of this key, in either direction. With
// ports for TCP, UDP and SCTP when `with_ports`, addresses only otherwise and for fragments.
std::uint32_t symmetric_rss_hash(const packet::FlowKey& key, bool with_ports) noexcept;

// The queue by an indirection table of `table_size` entries (a power of two) filled 0, 1, ...
// queues - 1, 0, ...
constexpr unsigned rss_queue(std::uint32_t hash, unsigned table_size, unsigned queues) noexcept {
  return (hash & (table_size - 1)) % queues;
}

}  // namespace merlon::io
