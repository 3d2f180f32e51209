// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/tcp_options.h"

#include <algorithm>

namespace merlon::packet {
namespace {

constexpr base::Byte kEnd = 0, kNop = 1, kMss = 2, kWindowScale = 3, kSackPermitted = 4,
                     kTimestamps = 8;

void take(TcpSynOptions& out, const base::Byte* option, std::size_t size) noexcept {
  switch (option[0]) {
    case kMss:
      if (size == 4) out.mss = base::load_be<std::uint16_t>(option + 2);
      break;
    case kWindowScale:
      if (size == 3) out.window_scale = std::min<std::uint8_t>(option[2], 14);
      break;
    case kSackPermitted:
      if (size == 2) out.sack_permitted = true;
      break;
    case kTimestamps:
      if (size != 10) break;
      out.has_timestamps = true;
      out.timestamp = base::load_be<std::uint32_t>(option + 2);
      out.timestamp_echo = base::load_be<std::uint32_t>(option + 6);
      break;
    default:
      break;
  }
}

}  // namespace

TcpSynOptions read_tcp_options(base::ByteSpan options) noexcept {
  TcpSynOptions out;
  const base::Byte* p = options.data();
  std::size_t left = options.size();
  while (left > 0 && *p != kEnd) {
    if (*p == kNop) {
      ++p;
      --left;
      continue;
    }
    const std::size_t size = left >= 2 ? p[1] : 0;
    if (size < 2 || size > left) {
      out.is_malformed = true;
      break;
    }
    take(out, p, size);
    p += size;
    left -= size;
  }
  return out;
}

}  // namespace merlon::packet
