// SPDX-License-Identifier: Apache-2.0
#pragma once
// IP addresses, prefixes, ranges and MAC addresses as values. Every IP address is 16 bytes in
// network order; IPv4 is held v4-mapped (::ffff:a.b.c.d, RFC 4291 section 2.5.5.2), so one
// comparison orders both families and one key format serves the session table.
#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "merlon/base/bytes.h"
#include "merlon/base/result.h"

namespace merlon::base {

struct IpAddress {
  std::array<Byte, 16> bytes{};

  static IpAddress v4(std::uint32_t host_order) noexcept {
    IpAddress a;
    a.bytes[10] = a.bytes[11] = 0xff;
    store_be<std::uint32_t>(a.bytes.data() + 12, host_order);
    return a;
  }
  static IpAddress v6(const Byte* sixteen) noexcept {
    IpAddress a;
    std::memcpy(a.bytes.data(), sixteen, 16);
    return a;
  }
  [[nodiscard]] bool is_v4() const noexcept {
    return load_be<std::uint64_t>(bytes.data()) == 0 &&
           load_be<std::uint32_t>(bytes.data() + 8) == 0xffff;
  }
  // Only meaningful when is_v4().
  [[nodiscard]] std::uint32_t v4_value() const noexcept {
    return load_be<std::uint32_t>(bytes.data() + 12);
  }
  [[nodiscard]] std::string to_string() const;

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// "192.0.2.1" or "2001:db8::1" (RFC 5952 on output). No zone index.
Result<IpAddress> parse_address(std::string_view text);

// Inclusive range; both ends of one family.
struct AddressRange {
  IpAddress first, last;

  [[nodiscard]] bool contains(const IpAddress& a) const noexcept { return first <= a && a <= last; }
  [[nodiscard]] std::string to_string() const;  // prefix form where the range is one
  friend auto operator<=>(const AddressRange&, const AddressRange&) = default;
};

// "10.0.0.0/8", "10.0.0.1", "10.0.0.1-10.0.0.9", "2001:db8::/32". A prefix with host bits set is an
// error whose hint names the prefix that was probably meant.
Result<AddressRange> parse_address_range(std::string_view text);

struct MacAddress {
  std::array<Byte, 6> bytes{};
  [[nodiscard]] std::string to_string() const;  // "02:00:00:00:00:01"
  friend auto operator<=>(const MacAddress&, const MacAddress&) = default;
};
Result<MacAddress> parse_mac(std::string_view text);

}  // namespace merlon::base
