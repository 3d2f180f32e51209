// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes to packet language, layer by layer. control-only.
//
// A describer takes what it understands from the front of `rest` and appends its words; what is
// left becomes payload. It need not be right about everything: packet_to_text() builds its answer
// again and compares.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "merlon/base/address.h"
#include "merlon/base/bytes.h"

namespace merlon::packet::detail {

struct Describer {
  base::ByteSpan rest;
  base::ByteSpan trailer{};  // behind the IP packet
  std::string out{};
  base::IpAddress source{}, destination{};  // of the innermost IP header
  unsigned layers = 0;
  bool is_quote = false;

  template <class... Args>
  void word(fmt::format_string<Args...> format, Args&&... args) {
    out += fmt::format(format, std::forward<Args>(args)...);
  }
  void layer(std::string_view name) {
    if (!out.empty()) out += " / ";
    out += name;
    ++layers;
  }
  void take(std::size_t n) { rest = rest.subspan(n); }
  [[nodiscard]] std::uint8_t u8(std::size_t at) const { return rest[at]; }
  [[nodiscard]] std::uint16_t u16(std::size_t at) const {
    return base::load_be<std::uint16_t>(&rest[at]);
  }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const {
    return base::load_be<std::uint32_t>(&rest[at]);
  }
  // A checksum field that holds something else than it should.
  void checksum(std::uint16_t found, std::uint16_t computed) {
    if (found != computed) word(" chk=0x{:04x}", found);
  }
};

inline constexpr unsigned kMaxDescribedLayers = 32;

std::string hex_of(base::ByteSpan bytes);
void describe_ethernet(Describer& d);                       // describe_network.cc
void describe_type(Describer& d, std::uint16_t ethertype);  // the layer that `ethertype` announces
void describe_protocol(Describer& d, std::uint8_t protocol, bool is_v6);  // describe_transport.cc
void describe_payload(Describer& d);
// The type field of a layer whose next is `ethertype`, when it is not the one that the builder
// would write.
std::string_view layer_for_type(std::uint16_t ethertype, base::ByteSpan rest);
std::string_view layer_for_protocol(std::uint8_t protocol, bool is_v6, base::ByteSpan rest);

}  // namespace merlon::packet::detail
