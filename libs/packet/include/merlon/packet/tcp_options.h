// SPDX-License-Identifier: Apache-2.0
#pragma once
// The TCP options that a session tracker needs, read from a SYN. Pure function, any thread. Cost:
// one pass over at most 40 bytes; not called for other segments.
#include <cstdint>

#include "merlon/base/bytes.h"

namespace merlon::packet {

struct TcpSynOptions {
  static constexpr std::uint8_t kNoScale = 0xff;

  std::uint16_t mss = 0;                 // 0: not given
  std::uint8_t window_scale = kNoScale;  // 0-14, larger values count as 14 (RFC 7323 section 2.3)
  bool sack_permitted = false;
  bool has_timestamps = false;
  bool is_malformed = false;  // a length ran out of the header; what came before it is kept
  std::uint32_t timestamp = 0, timestamp_echo = 0;
};

// `options` are the bytes between the fixed TCP header and the payload. Options of a wrong length
// are skipped, an option that ends beyond the header stops the reading.
TcpSynOptions read_tcp_options(base::ByteSpan options) noexcept;

}  // namespace merlon::packet
