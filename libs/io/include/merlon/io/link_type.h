// SPDX-License-Identifier: Apache-2.0
#pragma once
// Link types of captures by their registered numbers (tcpdump.org's list), and which of them we can
// judge. immutable; look-ups are short linear scans.
#include <cstdint>
#include <optional>
#include <string>

#include "merlon/packet/parse.h"

namespace merlon::io {

// The number in the file. Values without an enumerator occur; they are counted, not judged.
enum class LinkType : std::uint32_t {
  kNull = 0,
  kEthernet = 1,
  kPpp = 9,
  kRawBsd = 12,
  kRawOpenBsd = 14,
  kPppHdlc = 50,
  kRaw = 101,
  kLoop = 108,
  kLinuxCooked1 = 113,
  kIpv4 = 228,
  kIpv6 = 229,
  kLinuxCooked2 = 276,
};

// How packet::parse() has to read frames of this type; nothing when we can't judge them.
std::optional<packet::ParseOptions::LinkLayer> link_layer_of(LinkType type) noexcept;

// "Ethernet", "IEEE 802.11", "link type 4711"; for messages.
std::string link_type_name(LinkType type);

}  // namespace merlon::io
