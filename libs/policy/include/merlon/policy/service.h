// SPDX-License-Identifier: Apache-2.0
#pragma once
// Services as text. Pure functions, control-only.
//
// Grammar (no spaces inside; letters in lower case):
//   any
//   PROTO                    tcp udp sctp icmp icmpv6 gre esp ah ipip ipv6 ospf igmp vrrp pim l2tp
//   proto/N                  N = 0..255
//   PORTED/PORTS             PORTED = tcp udp sctp; PORTS = any | RANGE{,RANGE}; RANGE = N | N-N
//   PORTED/PORTS:PORTS       source ports : destination ports, for example udp/any:53,
//   tcp/1024-65535:443 icmp/TYPE[/CODE]         TYPE is a number or a word such as echo-request;
//   the same for icmpv6 NAME                     a built-in service: ssh http https dns ntp ping
//   ...
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/policy/model.h"

namespace merlon::policy {

using ServiceTerms = std::vector<ServiceTerm>;

inline constexpr std::uint8_t kProtoIcmp = 1, kProtoTcp = 6, kProtoUdp = 17, kProtoIcmpv6 = 58,
                              kProtoSctp = 132;

// Protocols whose packets carry the two port numbers that rules may name.
constexpr bool has_ports(std::uint8_t protocol) noexcept {
  return protocol == kProtoTcp || protocol == kProtoUdp || protocol == kProtoSctp;
}

struct BuiltinService {
  std::string_view name, text, about;
};
// Every built-in name with its text form. A user object of the same name wins; compile() remarks on
// it (FindingCode::kNameShadows).
std::span<const BuiltinService> builtin_services() noexcept;

// A literal or a built-in name; never a user object. One text may give several terms (dns: tcp and
// udp). Errors: kInvalidValue (bad literal, port or type out of range), kNotFound (a word that is
// neither), the latter with the nearest built-in name as hint.
base::Result<ServiceTerms> parse_service(std::string_view text, const base::SourcePos& where = {});

// True when the text has the form of a literal ("tcp/...", "gre", "any"), so that it can't name an
// object.
bool is_service_literal(std::string_view text) noexcept;

// Canonical text, accepted by parse_service().
std::string format_service(const ServiceTerm& term);

}  // namespace merlon::policy
