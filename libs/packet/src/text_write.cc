// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "build_work.h"
#include "describe.h"
#include "merlon/packet/text.h"
#include "parse_work.h"

namespace merlon::packet {
namespace detail {

std::string hex_of(base::ByteSpan bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const base::Byte b : bytes) {
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

namespace {

std::string quoted(base::ByteSpan bytes) {
  std::string out = "\"";
  for (const base::Byte b : bytes) {
    switch (b) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += static_cast<char>(b);
    }
  }
  return out + "\"";
}

bool is_text(base::ByteSpan bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](base::Byte b) {
    return (b >= 0x20 && b < 0x7f) || b == '\n' || b == '\r' || b == '\t';
  });
}

}  // namespace

void describe_payload(Describer& d) {
  if (d.rest.empty()) return;
  constexpr std::size_t kLong = 16;  // from here on a pattern reads better than its bytes
  std::size_t matching = 0;
  while (matching < d.rest.size() && d.rest[matching] == pattern_byte(matching)) ++matching;
  const bool is_zero =
      std::all_of(d.rest.begin(), d.rest.end(), [](base::Byte b) { return b == 0; });
  d.layer("payload");
  if (d.rest.size() >= kLong && matching == d.rest.size()) {
    d.word(" len={}", d.rest.size());
  } else if (d.rest.size() >= kLong && is_zero) {
    d.word(" zeros={}", d.rest.size());
  } else if (is_text(d.rest)) {
    d.word(" {}", quoted(d.rest));
  } else {
    d.word(" 0x{}", hex_of(d.rest));
  }
  d.rest = {};
}

namespace {

using LinkLayer = ParseOptions::LinkLayer;

std::size_t link_size(LinkLayer link, base::ByteSpan frame) {
  switch (link) {
    case LinkLayer::kLinuxCooked1:
      return 16;
    case LinkLayer::kLinuxCooked2:
      return 20;
    case LinkLayer::kNull:
      return 4;
    case LinkLayer::kPpp:
      return frame.size() > 4 && frame[0] == 0xff ? 4 : 2;
    default:
      return 0;
  }
}

std::string describe(base::ByteSpan frame, LinkLayer link) {
  Describer d{frame};
  if (link == LinkLayer::kEthernet && frame.size() >= 14) {
    describe_ethernet(d);
  } else {
    d.layer("raw");
    const std::size_t size = link == LinkLayer::kEthernet ? frame.size() : link_size(link, frame);
    if (size != 0 && size < frame.size()) {
      d.layer("payload");
      d.word(" 0x{}", hex_of(frame.first(size)));
      d.take(size);
    }
    const unsigned version = d.rest.empty() ? 0U : d.rest[0] >> 4U;
    describe_type(d, version == 4 ? kEtherIpv4 : version == 6 ? kEtherIpv6 : std::uint16_t{0});
  }
  if (d.trailer.empty()) return d.out;
  const bool is_padding = frame.size() == 60 && std::all_of(d.trailer.begin(), d.trailer.end(),
                                                            [](base::Byte b) { return b == 0; });
  return is_padding ? d.out + " / trailer pad"
                    : fmt::format("{} / trailer 0x{}", d.out, hex_of(d.trailer));
}

}  // namespace
}  // namespace detail

std::string packet_to_text(base::ByteSpan frame, ParseOptions::LinkLayer link) {
  std::string text = detail::describe(frame, link);
  const auto again = packet_from_text(text, {});
  if (again && std::equal(again->begin(), again->end(), frame.begin(), frame.end())) return text;
  return frame.empty() ? "raw" : fmt::format("raw / payload 0x{}", detail::hex_of(frame));
}

}  // namespace merlon::packet
