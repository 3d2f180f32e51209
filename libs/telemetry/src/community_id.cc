// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "merlon/telemetry/eve.h"
#include "sha1.h"

namespace merlon::telemetry {
namespace {

constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmp6 = 58, kSctp = 132;

// The type that answers an ICMP type, and the other way round; nothing for one-way messages.
std::optional<std::uint8_t> icmp_counterpart(std::uint8_t type) noexcept {
  switch (type) {
    case 0:
      return 8;
    case 8:
      return 0;
    case 9:
      return 10;
    case 10:
      return 9;
    case 13:
      return 14;
    case 14:
      return 13;
    case 15:
      return 16;
    case 16:
      return 15;
    case 17:
      return 18;
    case 18:
      return 17;
    default:
      return std::nullopt;
  }
}
std::optional<std::uint8_t> icmp6_counterpart(std::uint8_t type) noexcept {
  switch (type) {
    case 128:
      return 129;
    case 129:
      return 128;
    case 130:
      return 131;
    case 131:
      return 130;
    case 133:
      return 134;
    case 134:
      return 133;
    case 135:
      return 136;
    case 136:
      return 135;
    case 139:
      return 140;
    case 140:
      return 139;
    case 144:
      return 145;
    case 145:
      return 144;
    default:
      return std::nullopt;
  }
}

void append_base64(const std::array<base::Byte, 20>& bytes, std::string& out) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) -> unsigned { return k < bytes.size() ? bytes[k] : 0U; };
    const unsigned group = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    out.push_back(kAlphabet[group >> 18]);
    out.push_back(kAlphabet[group >> 12 & 63]);
    out.push_back(i + 1 < bytes.size() ? kAlphabet[group >> 6 & 63] : '=');
    out.push_back(i + 2 < bytes.size() ? kAlphabet[group & 63] : '=');
  }
}

}  // namespace

std::string community_id(const base::EventRecord& r, std::uint16_t seed) {
  std::uint16_t from = r.source_port, to = r.destination_port;
  bool has_ports = r.protocol == kTcp || r.protocol == kUdp || r.protocol == kSctp;
  bool is_one_way = false;
  if (r.protocol == kIcmp || r.protocol == kIcmp6) {
    const auto other =
        r.protocol == kIcmp ? icmp_counterpart(r.icmp_type) : icmp6_counterpart(r.icmp_type);
    from = r.icmp_type;
    to = other.value_or(r.icmp_code);
    is_one_way = !other.has_value();
    has_ports = true;
  }
  const base::IpAddress* first = &r.source;
  const base::IpAddress* second = &r.destination;
  if (!is_one_way && std::pair(*second, to) < std::pair(*first, from)) {
    std::swap(first, second);
    std::swap(from, to);
  }

  std::array<base::Byte, 40> message{};
  base::Byte* p = message.data();
  const auto put16 = [&p](std::uint16_t v) {
    base::store_be(p, v);
    p += 2;
  };
  const auto put_address = [&p](const base::IpAddress& a) {
    const std::size_t size = a.is_v4() ? 4 : 16;
    std::memcpy(p, a.bytes.data() + 16 - size, size);
    p += size;
  };
  put16(seed);
  put_address(*first);
  put_address(*second);
  *p++ = r.protocol;
  *p++ = 0;
  if (has_ports) {
    put16(from);
    put16(to);
  }
  std::string id = "1:";
  append_base64(sha1({message.data(), p}), id);
  return id;
}

}  // namespace merlon::telemetry
