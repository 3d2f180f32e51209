// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/link_type.h"

#include <fmt/format.h>

#include <iterator>

namespace merlon::io {
namespace {

struct Name {
  std::uint32_t type;
  const char* text;
};

// Those we judge and those that people bring most often.
constexpr Name kNames[] = {{0, "BSD loopback"},
                           {1, "Ethernet"},
                           {6, "token ring"},
                           {7, "ARCNET"},
                           {8, "SLIP"},
                           {9, "PPP"},
                           {10, "FDDI"},
                           {12, "raw IP"},
                           {14, "raw IP"},
                           {50, "PPP in HDLC framing"},
                           {51, "PPPoE session"},
                           {101, "raw IP"},
                           {104, "Cisco HDLC"},
                           {105, "IEEE 802.11"},
                           {107, "frame relay"},
                           {108, "OpenBSD loopback"},
                           {113, "Linux cooked v1"},
                           {119, "Prism header and IEEE 802.11"},
                           {127, "radiotap and IEEE 802.11"},
                           {143, "DOCSIS"},
                           {147, "private use 0"},
                           {187, "Bluetooth HCI H4"},
                           {189, "USB (Linux)"},
                           {192, "per-packet information"},
                           {195, "IEEE 802.15.4"},
                           {201, "Bluetooth HCI H4 with direction"},
                           {220, "USB (Linux, padded)"},
                           {227, "CAN (SocketCAN)"},
                           {228, "raw IPv4"},
                           {229, "raw IPv6"},
                           {239, "NFLOG"},
                           {249, "USB (Windows)"},
                           {253, "netlink"},
                           {276, "Linux cooked v2"}};

}  // namespace

std::optional<packet::ParseOptions::LinkLayer> link_layer_of(LinkType type) noexcept {
  using LinkLayer = packet::ParseOptions::LinkLayer;
  switch (type) {
    case LinkType::kEthernet:
      return LinkLayer::kEthernet;
    case LinkType::kRaw:
    case LinkType::kRawBsd:
    case LinkType::kRawOpenBsd:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      return LinkLayer::kRawIp;
    case LinkType::kLinuxCooked1:
      return LinkLayer::kLinuxCooked1;
    case LinkType::kLinuxCooked2:
      return LinkLayer::kLinuxCooked2;
    case LinkType::kNull:
    case LinkType::kLoop:
      return LinkLayer::kNull;
    case LinkType::kPpp:
    case LinkType::kPppHdlc:
      return LinkLayer::kPpp;
  }
  return std::nullopt;
}

std::string link_type_name(LinkType type) {
  for (const Name& n : kNames)
    if (n.type == static_cast<std::uint32_t>(type)) return n.text;
  return fmt::format("link type {}", static_cast<std::uint32_t>(type));
}

}  // namespace merlon::io
