// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one-pass bounded parser. Fills key, hash, headers, and for packets that can't be judged
// verdict kDrop with its reason; every other packet is left kUndecided. No allocation, no throw;
// every read is inside `captured`. worker-owned. Cost: TCP and UDP over IPv4 or IPv6 without
// options and fragments, with at most one VLAN tag, take an inlined path of about 26 (IPv4) or 40
// (IPv6) cycles; all else goes to one general routine of about 100.
#include <cstdint>

#include "merlon/packet/burst.h"

namespace merlon::packet {

// immutable while workers run; part of the snapshot.
struct ParseOptions {
  enum class LinkLayer : std::uint8_t {
    kEthernet,
    kRawIp,
    kLinuxCooked1,
    kLinuxCooked2,
    kNull,
    kPpp
  };

  LinkLayer link_layer = LinkLayer::kEthernet;
  bool drop_ipv4_options = false;  // RFC 7126 advises dropping; default passes and flags
  bool verify_checksums = false;   // IPv4 header, TCP, UDP, ICMP, ICMPv6
  bool judge_inner =
      false;  // key and policy by the innermost packet of GRE, IP-in-IP, VXLAN, GTP-U
  std::uint8_t max_vlan_tags = 2;
  std::uint8_t max_mpls_labels = 8;
  std::uint8_t max_extension_headers = 8;
  std::uint8_t max_tunnels = 2;
  std::uint16_t vxlan_port = 4789;
  std::uint16_t gtpu_port = 2152;
  base::HashSeed seed{};
};

// `domain` per input port number goes into the keys by domain_in_direction():
// domains[burst.in_port[i]]. Sets verdict and
// reason of every packet it looks at; true when all of them are whole TCP and UDP packets that
// nothing was wrong with. Packets before index `first` are left alone: released fragments that
// FragmentTable::take_ready() put in front have been parsed already.
bool parse(Burst& burst, const ParseOptions& options, const std::uint16_t* domains,
           unsigned first = 0) noexcept;

}  // namespace merlon::packet
