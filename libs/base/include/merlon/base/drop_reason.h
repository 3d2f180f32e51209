// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one table of drop reasons: symbol, JSON name, sentence. Counters, events, CLI, metrics and
// the reference page are made from it, so a packet that does not leave has the same name
// everywhere. Append only: the number is stored in counters rows.
#include <cstdint>
#include <optional>
#include <string_view>

namespace merlon::base {

// X(Symbol, "json_name", "sentence")
#define MERLON_DROP_REASONS(X)                                                                     \
  X(None, "none", "not dropped")                                                                   \
  X(MalformedEthernet, "malformed_ethernet", "the Ethernet header or a VLAN tag is cut short")     \
  X(MalformedMpls, "malformed_mpls", "the MPLS label stack is cut short or too deep")              \
  X(MalformedArp, "malformed_arp", "the ARP message is cut short or has wrong lengths")            \
  X(MalformedIpv4, "malformed_ipv4",                                                               \
    "the IPv4 header is cut short or its lengths do not fit the frame")                            \
  X(Ipv4Options, "ipv4_options",                                                                   \
    "the IPv4 header carries options and the configuration refuses them")                          \
  X(MalformedIpv6, "malformed_ipv6",                                                               \
    "the IPv6 header is cut short or its length does not fit the frame")                           \
  X(Ipv6ExtensionChain, "ipv6_extension_chain",                                                    \
    "the IPv6 extension header chain is cut short, too long or out of order")                      \
  X(Ipv6RoutingHeader, "ipv6_routing_header",                                                      \
    "the IPv6 packet carries a deprecated type 0 routing header")                                  \
  X(MalformedTcp, "malformed_tcp",                                                                 \
    "the TCP header is cut short or its offset does not fit the packet")                           \
  X(TcpFlags, "tcp_flags", "the TCP flags are a combination that no conversation has")             \
  X(MalformedUdp, "malformed_udp",                                                                 \
    "the UDP header is cut short or its length does not fit the packet")                           \
  X(MalformedIcmp, "malformed_icmp", "the ICMP message is cut short")                              \
  X(MalformedSctp, "malformed_sctp", "the SCTP header or its first chunk is cut short")            \
  X(MalformedTunnel, "malformed_tunnel",                                                           \
    "a tunnel header (GRE, IP-in-IP, VXLAN, GTP-U) is cut short")                                  \
  X(TunnelDepth, "tunnel_depth", "more tunnels inside one another than the configuration allows")  \
  X(BadChecksum, "bad_checksum",                                                                   \
    "the IPv4 header or transport checksum is wrong and the configuration checks it")              \
  X(LandAttack, "land_attack", "source and destination are the same address and port")             \
  X(SourceAddress, "source_address",                                                               \
    "the source address can't be a sender (multicast, broadcast, unspecified)")                    \
  X(FragmentTiny, "fragment_tiny",                                                                 \
    "the first fragment does not hold the whole transport header (RFC 3128, RFC 7112)")            \
  X(FragmentOverlap, "fragment_overlap",                                                           \
    "the fragment overlaps another of its datagram (RFC 5722)")                                    \
  X(FragmentInvalid, "fragment_invalid",                                                           \
    "the fragment's offset or length can't be part of a datagram")                                 \
  X(FragmentLimit, "fragment_limit",                                                               \
    "the datagram has more fragments than the configuration allows")                               \
  X(FragmentTableFull, "fragment_table_full", "the fragment table is full")                        \
  X(FragmentTimeout, "fragment_timeout",                                                           \
    "the first fragment never came; held fragments were released")                                 \
  X(FragmentDatagram, "fragment_datagram", "another fragment of this datagram was refused")        \
  X(PolicyDeny, "policy_deny", "a policy rule with action drop matched")                           \
  X(PolicyReject, "policy_reject",                                                                 \
    "a policy rule with action reject matched; the sender was told")                               \
  X(DefaultDeny, "default_deny", "no policy rule matched and the default action is not permit")    \
  X(StateInvalid, "state_invalid", "the packet does not belong to any session and can't open one") \
  X(TcpNotSyn, "tcp_not_syn", "no session and the TCP segment is not a SYN (mid-stream)")          \
  X(TcpWindow, "tcp_window", "the TCP segment is outside the window of its session (RFC 9293)")    \
  X(TcpRstWindow, "tcp_rst_window", "the RST is outside the window of its session (RFC 5961)")     \
  X(TcpSynInSession, "tcp_syn_in_session", "a SYN inside an established session (RFC 5961)")       \
  X(TcpState, "tcp_state", "the TCP segment does not fit the state of its session")                \
  X(IcmpNoSession, "icmp_no_session", "an ICMP error quotes no known session")                     \
  X(IcmpNoRequest, "icmp_no_request", "an ICMP reply without its request")                         \
  X(SctpState, "sctp_state", "the SCTP chunk does not fit the state of its association")           \
  X(SessionKilled, "session_killed", "the session was ended by an operator or by a policy change") \
  X(SessionTableFull, "session_table_full",                                                        \
    "the session table is full and nothing may be evicted")                                        \
  X(SourceLimit, "source_limit", "the source address has reached its session limit")               \
  X(RuleLimit, "rule_limit", "the policy rule has reached its session limit")                      \
  X(NonIp, "non_ip", "the frame is not IP and the configuration drops such frames")                \
  X(NoZone, "no_zone", "the port or VLAN belongs to no zone")                                      \
  X(MtuExceeded, "mtu_exceeded", "the frame is longer than the output port's MTU")                 \
  X(TransmitFull, "transmit_full", "the output queue did not take the frame in time")              \
  X(LinkDown, "link_down", "the output port has no link")                                          \
  X(HandOverFull, "hand_over_full", "the ring to another worker is full")                          \
  X(NoBuffer, "no_buffer", "no packet buffer was free")                                            \
  X(CaptureTruncated, "capture_truncated",                                                         \
    "the capture kept fewer bytes of the frame than its headers need")                             \
  X(LinkTypeUnsupported, "link_type_unsupported", "the capture's link type is not supported")      \
  X(Shutdown, "shutdown", "the engine was stopping")

enum class DropReason : std::uint8_t {
#define MERLON_X(symbol, name, sentence) k##symbol,
  MERLON_DROP_REASONS(MERLON_X)
#undef MERLON_X
};

#define MERLON_X(symbol, name, sentence) +1
inline constexpr unsigned kDropReasonCount = 0 MERLON_DROP_REASONS(MERLON_X);
#undef MERLON_X

std::string_view drop_reason_name(DropReason reason) noexcept;
std::string_view drop_reason_sentence(DropReason reason) noexcept;
std::optional<DropReason> drop_reason_from_name(std::string_view name) noexcept;

}  // namespace merlon::base
