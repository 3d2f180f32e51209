// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which sessions a listing or a clear means. The grammar is words of the form key=value, all of
// which must hold:
//
//   src=10.0.0.0/8  dst=192.0.2.1  addr=10.0.0.5 (either side)  sport=  dport=  port=443 (either
//   side) proto=tcp|17  state=established  rule=web-out  zone=lan (either side)  from=lan  to=wan
//   in=PORT vlan=10  older=10s (age)  idle=5m  id=123
//
// A value, no owner, any thread. parse is linear in its text and takes at most 4096 bytes and 32
// words.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "merlon/base/address.h"
#include "merlon/base/result.h"

namespace merlon::client {

struct SessionFilter {
  std::optional<base::AddressRange> source{}, destination{}, address{};
  std::optional<std::uint16_t> source_port{}, destination_port{}, port{}, vlan{};
  std::optional<std::uint8_t> protocol{};
  std::optional<std::uint64_t> id{}, older_ms{}, idle_ms{};
  std::string state{}, rule{}, zone{}, from_zone{}, to_zone{}, in_port{};  // empty: any

  [[nodiscard]] bool is_empty() const noexcept;
};

// Words separated by blanks. Each error names the word and its column; unknown and repeated keys
// are errors.
base::Result<SessionFilter> parse_session_filter(std::string_view text);

// The filter as text that parse_session_filter() reads back to the same filter.
std::string to_string(const SessionFilter& filter);

}  // namespace merlon::client
