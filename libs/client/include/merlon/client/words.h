// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small text helpers shared by the API and its client: did-you-mean, durations, percent encoding.
// Pure functions, any thread; each bounded by the length of its input.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::client {

// The candidate within a third of the word's length in edits (insert, delete, change, swap of
// neighbours), or one that the word begins; empty when there is none.
std::string closest(std::string_view word, std::span<const std::string> candidates);
// `did you mean "x"?` or an empty text.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// "10s", "5m", "2h", "1d", "250ms", "2h4m"; milliseconds. No bare numbers, no negative values, at
// most 10 years.
base::Result<std::uint64_t> parse_duration_ms(std::string_view text);
// 0 to 4294967295 without sign, space or leading zero.
base::Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t last);

// Percent encoding of everything but the unreserved characters of RFC 3986 section 2.3.
std::string percent_encode(std::string_view text);
// Undoes it, "+" meaning a space; kInvalidValue when a "%" has no two hex digits.
base::Result<std::string> percent_decode(std::string_view text);

using QueryWords = std::map<std::string, std::string, std::less<>>;
// "a=1&b=2"; a key twice is kDuplicate; at most 32 keys.
base::Result<QueryWords> parse_query(std::string_view text);

// Bytes that could move a terminal's cursor become \xNN; UTF-8 letters stay.
std::string printable(std::string_view text);

// IP protocol by name or number: tcp udp icmp icmpv6 sctp gre esp ah ipip, 0-255.
base::Result<std::uint8_t> parse_protocol(std::string_view text);
std::string protocol_name(std::uint8_t protocol);
bool has_ports(std::uint8_t protocol) noexcept;

}  // namespace merlon::client
