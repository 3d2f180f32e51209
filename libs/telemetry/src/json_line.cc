// SPDX-License-Identifier: Apache-2.0
#include "json_line.h"

#include "merlon/telemetry/eve.h"

namespace merlon::telemetry {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

// Length of the well-formed UTF-8 sequence at the start of `s`, 0 if there is none (Unicode 15,
// table 3-7).
std::size_t utf8_length(std::string_view s) noexcept {
  const auto at = [&](std::size_t i) -> unsigned {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U;
  };
  const auto is_tail = [&](std::size_t i) { return (at(i) & 0xc0) == 0x80; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return is_tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;
    return at(1) >= low && at(1) <= high && is_tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    return at(1) >= low && at(1) <= high && is_tail(2) && is_tail(3) ? 4 : 0;
  }
  return 0;
}

void append_escaped(unsigned char c, std::string& out) {
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      out.append("\\u00");
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
  }
}

char* put_decimal(unsigned value, char* p) noexcept {
  if (value >= 100) *p++ = static_cast<char>('0' + value / 100);
  if (value >= 10) *p++ = static_cast<char>('0' + value / 10 % 10);
  *p++ = static_cast<char>('0' + value % 10);
  return p;
}

char* put_v4(const base::IpAddress& a, char* p) noexcept {
  for (unsigned i = 12; i < 16; ++i) {
    if (i != 12) *p++ = '.';
    p = put_decimal(a.bytes[i], p);
  }
  return p;
}

// Four digits at most, no leading zeros.
char* put_group(unsigned value, char* p) noexcept {
  for (int shift = 12; shift >= 0; shift -= 4)
    if (shift == 0 || value >> shift != 0) *p++ = kHex[value >> shift & 15];
  return p;
}

// RFC 5952: the first longest run of two or more zero groups becomes "::". At most 39 characters.
char* put_v6(const base::IpAddress& a, char* p) noexcept {
  std::array<unsigned, 8> group;
  for (unsigned i = 0; i < 8; ++i) group[i] = base::load_be<std::uint16_t>(a.bytes.data() + 2 * i);
  unsigned best = 8, best_length = 1;
  for (unsigned i = 0; i < 8; ++i) {
    unsigned end = i;
    while (end < 8 && group[end] == 0) ++end;
    if (end - i > best_length) {
      best = i;
      best_length = end - i;
    }
    if (end > i) i = end;
  }
  for (unsigned i = 0; i < 8; ++i) {
    if (i == best) {
      *p++ = ':';
      i += best_length - 1;
      if (i == 7) *p++ = ':';
      continue;
    }
    if (i != 0) *p++ = ':';
    p = put_group(group[i], p);
  }
  return p;
}

}  // namespace

void append_json_string(std::string_view text, std::string& out) {
  out.push_back('"');
  std::size_t plain = 0;  // start of the run that needs no change
  std::size_t i = 0;
  while (i < text.size()) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = c < 0x80 ? 1 : utf8_length(text.substr(i));
    const bool is_plain = length != 0 && c >= 0x20 && c != 0x7f && c != '"' && c != '\\';
    if (is_plain) {
      i += length;
      continue;
    }
    out.append(text, plain, i - plain);
    if (length == 0) {
      out.append("\xef\xbf\xbd");
    } else {
      append_escaped(c, out);
    }
    plain = ++i;
  }
  out.append(text, plain, i - plain);
  out.push_back('"');
}

void JsonLine::text(std::string_view name, std::string_view value) {
  for (const char c : value) {
    const auto u = static_cast<unsigned char>(c);
    if (u >= 0x20 && u < 0x7f && c != '"' && c != '\\') continue;
    key(name);
    finish();
    append_json_string(value, out_);
    return;
  }
  word(name, value);
}

void JsonLine::time(std::string_view name, base::Nanos value) {
  key(name);
  char* const p = room(33);
  p[0] = p[32] = '"';
  base::format_timestamp_to(value, p + 1);
  used_ += 33;
}

void JsonLine::address(std::string_view name, const base::IpAddress& value) {
  // ::/64 outside of the mapped range is rare and has forms of its own (::1, ::192.0.2.1).
  if (!value.is_v4() && base::load_be<std::uint64_t>(value.bytes.data()) == 0)
    return word(name, value.to_string());
  key(name);
  char* const start = room(48);
  char* p = start;
  *p++ = '"';
  p = value.is_v4() ? put_v4(value, p) : put_v6(value, p);
  *p++ = '"';
  used_ += static_cast<std::size_t>(p - start);
}

void JsonLine::hex_byte(std::string_view name, std::uint8_t value) {
  const std::array<char, 2> digits{kHex[value >> 4], kHex[value & 15]};
  word(name, {digits.data(), 2});
}

}  // namespace merlon::telemetry
