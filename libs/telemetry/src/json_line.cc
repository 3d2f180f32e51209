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
  key(name);
  append_json_string(value, out_);
}

void JsonLine::time(std::string_view name, base::Nanos value) {
  std::array<char, 31> stamp;
  base::format_timestamp_to(value, stamp.data());
  word(name, {stamp.data(), stamp.size()});
}

void JsonLine::address(std::string_view name, const base::IpAddress& value) {
  if (!value.is_v4()) return word(name, value.to_string());
  std::array<char, 15> dotted;
  char* p = dotted.data();
  for (unsigned i = 12; i < 16; ++i) {
    if (i != 12) *p++ = '.';
    p = put_decimal(value.bytes[i], p);
  }
  word(name, {dotted.data(), static_cast<std::size_t>(p - dotted.data())});
}

void JsonLine::hex_byte(std::string_view name, std::uint8_t value) {
  const std::array<char, 2> digits{kHex[value >> 4], kHex[value & 15]};
  word(name, {digits.data(), 2});
}

}  // namespace merlon::telemetry
