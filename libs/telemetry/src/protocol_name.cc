// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "merlon/telemetry/eve.h"

namespace merlon::telemetry {
namespace {

// Names by IANA number in EVE's spelling; what a firewall meets. The rest prints as three digits.
struct Table {
  std::array<std::string_view, 256> names{};
  std::array<std::array<char, 3>, 256> digits{};

  constexpr Table() {
    names[0] = "HOPOPT";
    names[1] = "ICMP";
    names[2] = "IGMP";
    names[4] = "IPv4";
    names[6] = "TCP";
    names[17] = "UDP";
    names[33] = "DCCP";
    names[41] = "IPv6";
    names[43] = "IPv6-ROUTE";
    names[44] = "IPv6-FRAG";
    names[46] = "RSVP";
    names[47] = "GRE";
    names[50] = "ESP";
    names[51] = "AH";
    names[58] = "IPv6-ICMP";
    names[59] = "IPv6-NONXT";
    names[60] = "IPv6-OPTS";
    names[88] = "EIGRP";
    names[89] = "OSPF";
    names[94] = "IPIP";
    names[97] = "ETHERIP";
    names[103] = "PIM";
    names[108] = "IPCOMP";
    names[112] = "VRRP";
    names[115] = "L2TP";
    names[132] = "SCTP";
    names[136] = "UDPLITE";
    names[137] = "MPLS-IN-IP";
    names[139] = "HIP";
  }
};

struct Digits {
  std::array<std::array<char, 3>, 256> text{};

  constexpr Digits() {
    for (unsigned i = 0; i < 256; ++i)
      text[i] = {static_cast<char>('0' + i / 100), static_cast<char>('0' + i / 10 % 10),
                 static_cast<char>('0' + i % 10)};
  }
};

constexpr Table kTable;
constexpr Digits kDigits;

}  // namespace

std::string_view protocol_name(std::uint8_t protocol) noexcept {
  const std::string_view name = kTable.names[protocol];
  if (!name.empty()) return name;
  return {kDigits.text[protocol].data(), 3};
}

}  // namespace merlon::telemetry
