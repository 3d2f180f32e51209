// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/address.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <charconv>

namespace merlon::base {
namespace {

Error invalid(std::string message, std::string hint = {}) {
  return Error{.code = Errc::kInvalidValue, .message = std::move(message), .hint = std::move(hint)};
}

// Sets all bits after the first `length` of the 128; clears them when `ones` is false.
IpAddress fill_host_bits(IpAddress a, unsigned length, bool ones) {
  for (unsigned bit = length; bit < 128; ++bit) {
    const auto mask = static_cast<Byte>(0x80U >> (bit % 8));
    Byte& b = a.bytes[bit / 8];
    b = ones ? static_cast<Byte>(b | mask) : static_cast<Byte>(b & ~mask);
  }
  return a;
}

// Length in the 128-bit form when the range is exactly one prefix.
std::optional<unsigned> prefix_length(const AddressRange& r) {
  for (unsigned length = 0; length <= 128; ++length)
    if (fill_host_bits(r.first, length, false) == r.first &&
        fill_host_bits(r.first, length, true) == r.last)
      return length;
  return std::nullopt;
}

}  // namespace

std::string IpAddress::to_string() const {
  char text[INET6_ADDRSTRLEN];
  if (is_v4()) {
    inet_ntop(AF_INET, bytes.data() + 12, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
  }
  return text;
}

Result<IpAddress> parse_address(std::string_view text) {
  const std::string s(text);
  IpAddress a;
  if (s.find(':') == std::string::npos) {
    a = IpAddress::v4(0);
    if (inet_pton(AF_INET, s.c_str(), a.bytes.data() + 12) == 1) return a;
  } else if (inet_pton(AF_INET6, s.c_str(), a.bytes.data()) == 1) {
    return a;
  }
  return invalid(fmt::format("\"{}\" is not an IP address", s),
                 "write it like 192.0.2.1 or 2001:db8::1");
}

std::string AddressRange::to_string() const {
  if (first == last) return first.to_string();
  const bool v4 = first.is_v4();
  if (const auto length = prefix_length(*this); length && (!v4 || *length >= 96))
    return fmt::format("{}/{}", first.to_string(), v4 ? *length - 96 : *length);
  return first.to_string() + "-" + last.to_string();
}

Result<AddressRange> parse_address_range(std::string_view text) {
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    auto a = parse_address(text.substr(0, slash));
    if (!a) return a.error();
    const unsigned most = a->is_v4() ? 32 : 128;
    const std::string_view digits = text.substr(slash + 1);
    unsigned length = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (ec != std::errc() || end != digits.data() + digits.size() || length > most ||
        (digits.size() > 1 && digits[0] == '0'))
      return invalid(fmt::format("\"{}\" is not a prefix length (0 to {})", digits, most));
    const unsigned full = length + 128 - most;
    const AddressRange r{fill_host_bits(*a, full, false), fill_host_bits(*a, full, true)};
    if (r.first != *a)
      return invalid(fmt::format("\"{}\" has bits set after the first {}", text, length),
                     fmt::format("write {}/{}, or {} for the one address", r.first.to_string(),
                                 length, a->to_string()));
    return r;
  }
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    auto first = parse_address(text.substr(0, dash));
    if (!first) return first.error();
    auto last = parse_address(text.substr(dash + 1));
    if (!last) return last.error();
    if (first->is_v4() != last->is_v4())
      return invalid(fmt::format("\"{}\" mixes IPv4 and IPv6", text));
    if (*last < *first)
      return invalid(fmt::format("\"{}\" ends before it starts", text),
                     "write the smaller address first");
    return AddressRange{*first, *last};
  }
  auto a = parse_address(text);
  if (!a) return a.error();
  return AddressRange{*a, *a};
}

std::string MacAddress::to_string() const {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", bytes[0], bytes[1], bytes[2],
                     bytes[3], bytes[4], bytes[5]);
}

Result<MacAddress> parse_mac(std::string_view text) {
  MacAddress m;
  const auto bad = [&] {
    return invalid(fmt::format("\"{}\" is not a MAC address", text),
                   "write it like 02:00:00:00:00:01");
  };
  if (text.size() != 17) return bad();
  for (std::size_t i = 0; i < 6; ++i) {
    const char* p = text.data() + 3 * i;
    const auto [end, ec] = std::from_chars(p, p + 2, m.bytes[i], 16);
    if (ec != std::errc() || end != p + 2 || (i < 5 && *end != ':')) return bad();
  }
  return m;
}

}  // namespace merlon::base
