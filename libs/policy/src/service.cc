// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "suggest.h"

namespace merlon::policy {

namespace {

using base::Errc;
using base::Error;
using base::Result;

struct Word {
  std::string_view name;
  std::uint8_t number;
};

// IANA protocol numbers.
constexpr std::array<Word, 16> kProtocols{{{"tcp", 6},
                                           {"udp", 17},
                                           {"icmp", 1},
                                           {"icmpv6", 58},
                                           {"sctp", 132},
                                           {"gre", 47},
                                           {"esp", 50},
                                           {"ah", 51},
                                           {"ipip", 4},
                                           {"ipv6", 41},
                                           {"ospf", 89},
                                           {"igmp", 2},
                                           {"vrrp", 112},
                                           {"pim", 103},
                                           {"l2tp", 115},
                                           {"icmp6", 58}}};

// RFC 792, 950, 1256.
constexpr std::array<Word, 11> kIcmpTypes{{{"echo-reply", 0},
                                           {"unreachable", 3},
                                           {"source-quench", 4},
                                           {"redirect", 5},
                                           {"echo-request", 8},
                                           {"echo", 8},
                                           {"router-advertisement", 9},
                                           {"router-solicitation", 10},
                                           {"time-exceeded", 11},
                                           {"parameter-problem", 12},
                                           {"timestamp-request", 13}}};

// RFC 4443, 4861, 2710.
constexpr std::array<Word, 14> kIcmpv6Types{{{"unreachable", 1},
                                             {"packet-too-big", 2},
                                             {"time-exceeded", 3},
                                             {"parameter-problem", 4},
                                             {"echo-request", 128},
                                             {"echo", 128},
                                             {"echo-reply", 129},
                                             {"mld-query", 130},
                                             {"mld-report", 131},
                                             {"router-solicitation", 133},
                                             {"router-advertisement", 134},
                                             {"neighbour-solicitation", 135},
                                             {"neighbour-advertisement", 136},
                                             {"redirect", 137}}};

constexpr std::array<BuiltinService, 34> kBuiltin{{
    {"ssh", "tcp/22", "Secure Shell"},
    {"telnet", "tcp/23", "Telnet"},
    {"ftp", "tcp/21", "FTP control connection"},
    {"tftp", "udp/69", "Trivial FTP"},
    {"smtp", "tcp/25", "mail between servers"},
    {"submission", "tcp/587", "mail from clients"},
    {"smtps", "tcp/465", "mail from clients over TLS"},
    {"dns", "udp/53 tcp/53", "Domain Name System"},
    {"dns-over-tls", "tcp/853", "DNS over TLS"},
    {"dhcp", "udp/67,68", "DHCP, both sides"},
    {"dhcpv6", "udp/546,547", "DHCPv6, both sides"},
    {"http", "tcp/80", "Web"},
    {"https", "tcp/443", "Web over TLS"},
    {"quic", "udp/443", "QUIC, HTTP/3"},
    {"pop3", "tcp/110", "mail pick-up"},
    {"pop3s", "tcp/995", "mail pick-up over TLS"},
    {"imap", "tcp/143", "mail access"},
    {"imaps", "tcp/993", "mail access over TLS"},
    {"ntp", "udp/123", "time"},
    {"snmp", "udp/161", "SNMP requests"},
    {"snmp-trap", "udp/162", "SNMP notifications"},
    {"ldap", "tcp/389", "directory"},
    {"ldaps", "tcp/636", "directory over TLS"},
    {"kerberos", "tcp/88 udp/88", "Kerberos"},
    {"smb", "tcp/445", "Windows file sharing"},
    {"rdp", "tcp/3389 udp/3389", "Remote Desktop"},
    {"syslog", "udp/514 tcp/514", "syslog"},
    {"syslog-tls", "tcp/6514", "syslog over TLS"},
    {"bgp", "tcp/179", "BGP"},
    {"mysql", "tcp/3306", "MySQL"},
    {"postgresql", "tcp/5432", "PostgreSQL"},
    {"sip", "udp/5060 tcp/5060", "SIP"},
    {"ike", "udp/500,4500", "IPsec key exchange"},
    {"ping", "icmp/8 icmpv6/128", "echo request of both families"},
}};

template <std::size_t N>
const Word* find_word(const std::array<Word, N>& words, std::string_view name) {
  const auto it = std::find_if(words.begin(), words.end(), [&](auto& w) { return w.name == name; });
  return it == words.end() ? nullptr : &*it;
}

Error bad(std::string_view text, const base::SourcePos& where, std::string what,
          std::string hint = {}) {
  return Error{Errc::kInvalidValue, fmt::format("service \"{}\": {}", text, what), where,
               std::move(hint)};
}

// Decimal without sign or leading zero; nothing when it is not a number at all.
struct Number {
  bool is_number = false;
  unsigned value = 0;
};
Number number(std::string_view text) {
  unsigned v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  const bool whole = !text.empty() && r.ptr == text.data() + text.size();
  const bool digits = whole && (text.size() == 1 || text[0] != '0');
  if (!digits || r.ec == std::errc::invalid_argument) return {};
  return {true, r.ec == std::errc::result_out_of_range ? ~0U : v};
}

struct Parser {
  std::string_view text;
  const base::SourcePos& where;

  Result<std::uint16_t> port(std::string_view t) const {
    const Number n = number(t);
    if (!n.is_number)
      return bad(text, where, fmt::format("\"{}\" is not a port", t),
                 "write 443, 1000-2000 or 80,443");
    if (n.value > 65535)
      return bad(text, where, fmt::format("port {} is out of range (0 to 65535)", t));
    return static_cast<std::uint16_t>(n.value);
  }

  Result<std::vector<PortRange>> ports(std::string_view t) const {
    std::vector<PortRange> out;
    if (t == "any") return out;
    while (true) {
      const std::size_t comma = t.find(',');
      const std::string_view one = t.substr(0, comma);
      const std::size_t dash = one.find('-');
      const auto first = port(one.substr(0, dash));
      if (!first) return first.error();
      const auto last = dash == std::string_view::npos ? first : port(one.substr(dash + 1));
      if (!last) return last.error();
      if (*last < *first)
        return bad(text, where, fmt::format("port range {} ends before it begins", one),
                   fmt::format("write {}-{}", *last, *first));
      out.push_back({*first, *last});
      if (comma == std::string_view::npos) return out;
      t.remove_prefix(comma + 1);
    }
  }

  Result<ServiceTerms> ported(std::uint8_t protocol, std::string_view rest) const {
    ServiceTerm term;
    term.protocol = protocol;
    const std::size_t colon = rest.find(':');
    if (colon != std::string_view::npos) {
      auto source = ports(rest.substr(0, colon));
      if (!source) return source.error();
      term.source_ports = *std::move(source);
      rest.remove_prefix(colon + 1);
    }
    auto destination = ports(rest);
    if (!destination) return destination.error();
    term.destination_ports = *std::move(destination);
    return ServiceTerms{term};
  }

  Result<std::uint8_t> small(std::string_view t, std::string_view what) const {
    const Number n = number(t);
    if (!n.is_number) return bad(text, where, fmt::format("\"{}\" is not an {}", t, what));
    if (n.value > 255)
      return bad(text, where, fmt::format("{} {} is out of range (0 to 255)", what, t));
    return static_cast<std::uint8_t>(n.value);
  }

  Result<ServiceTerms> icmp(std::uint8_t protocol, std::string_view rest) const {
    ServiceTerm term;
    term.protocol = protocol;
    const std::size_t slash = rest.find('/');
    const std::string_view type = rest.substr(0, slash);
    const Word* word =
        protocol == kProtoIcmp ? find_word(kIcmpTypes, type) : find_word(kIcmpv6Types, type);
    if (word != nullptr) {
      term.icmp_type = word->number;
    } else {
      const auto n = small(type, "ICMP type");
      if (!n) {
        Error e = n.error();
        std::vector<std::string_view> names;
        for (const Word& w : kIcmpTypes) names.push_back(w.name);
        for (const Word& w : kIcmpv6Types) names.push_back(w.name);
        e.hint = did_you_mean(type, names);
        return e;
      }
      term.icmp_type = *n;
    }
    if (slash != std::string_view::npos) {
      const auto code = small(rest.substr(slash + 1), "ICMP code");
      if (!code) return code.error();
      term.icmp_code = *code;
    }
    return ServiceTerms{term};
  }

  Result<ServiceTerms> literal(const Word& protocol, std::string_view rest) const {
    if (has_ports(protocol.number)) return ported(protocol.number, rest);
    if (protocol.number == kProtoIcmp || protocol.number == kProtoIcmpv6)
      return icmp(protocol.number, rest);
    return bad(text, where, fmt::format("protocol {} has no ports", protocol.name),
               fmt::format("write {}", protocol.name));
  }

  Result<ServiceTerms> unknown() const {
    std::vector<std::string_view> names;
    for (const auto& b : kBuiltin) names.push_back(b.name);
    for (const auto& p : kProtocols) names.push_back(p.name);
    return Error{Errc::kNotFound, fmt::format("service \"{}\" is not known", text), where,
                 did_you_mean(text, names)};
  }
};

Result<ServiceTerms> parse_one(std::string_view text, const base::SourcePos& where) {
  const Parser p{text, where};
  if (text == "any") return ServiceTerms{ServiceTerm{}};
  const std::size_t slash = text.find('/');
  const std::string_view head = text.substr(0, slash);
  const Word* protocol = find_word(kProtocols, head);
  if (slash == std::string_view::npos) {
    if (protocol == nullptr) return p.unknown();
    ServiceTerm term;
    term.protocol = protocol->number;
    return ServiceTerms{term};
  }
  const std::string_view rest = text.substr(slash + 1);
  if (head == "proto") {
    const auto n = p.small(rest, "IP protocol number");
    if (!n) return n.error();
    ServiceTerm term;
    term.protocol = *n;
    return ServiceTerms{term};
  }
  if (protocol != nullptr) return p.literal(*protocol, rest);
  std::vector<std::string_view> names{"proto"};
  for (const auto& w : kProtocols) names.push_back(w.name);
  return bad(text, where, fmt::format("\"{}\" is not a protocol", head), did_you_mean(head, names));
}

std::string format_ports(const std::vector<PortRange>& ports) {
  if (ports.empty()) return "any";
  std::string out;
  for (const PortRange& r : ports) {
    if (!out.empty()) out += ',';
    out += r.first == r.last ? fmt::format("{}", r.first) : fmt::format("{}-{}", r.first, r.last);
  }
  return out;
}

}  // namespace

std::span<const BuiltinService> builtin_services() noexcept { return kBuiltin; }

bool is_service_literal(std::string_view text) noexcept {
  return text == "any" || text.find('/') != std::string_view::npos ||
         find_word(kProtocols, text) != nullptr;
}

Result<ServiceTerms> parse_service(std::string_view text, const base::SourcePos& where) {
  const auto it =
      std::find_if(kBuiltin.begin(), kBuiltin.end(), [&](auto& b) { return b.name == text; });
  if (it == kBuiltin.end()) return parse_one(text, where);
  ServiceTerms all;
  std::string_view rest = it->text;
  while (!rest.empty()) {
    const std::size_t space = rest.find(' ');
    const auto one = parse_one(rest.substr(0, space), where);
    if (!one) return one.error();
    all.insert(all.end(), one->begin(), one->end());
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  }
  return all;
}

std::string format_service(const ServiceTerm& term) {
  if (!term.protocol) return "any";
  const std::uint8_t p = *term.protocol;
  const auto word =
      std::find_if(kProtocols.begin(), kProtocols.end(), [&](auto& w) { return w.number == p; });
  if (word == kProtocols.end()) return fmt::format("proto/{}", p);
  std::string out(word->name);
  if (term.icmp_type) out += fmt::format("/{}", *term.icmp_type);
  if (term.icmp_code) out += fmt::format("/{}", *term.icmp_code);
  if (term.source_ports.empty() && term.destination_ports.empty()) return out;
  out += '/';
  if (!term.source_ports.empty()) out += format_ports(term.source_ports) + ':';
  return out + format_ports(term.destination_ports);
}

}  // namespace merlon::policy
