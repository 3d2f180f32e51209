// SPDX-License-Identifier: Apache-2.0
#pragma once
// A packet or a session told in words, as `merlon explain` takes it:
//
//   packet IN SRC[:PORT] DST[:PORT] PROTO [syn|ack|fin|rst|psh|urg]... [vlan=N] [type=N] [code=N]
//   [length=N] session ID | SRC:PORT DST:PORT PROTO
//
// IN is a zone or a port. IPv6 with a port is [2001:db8::1]:443. A TCP packet without flags is a
// SYN, an ICMP packet without a type an echo request. Values; any thread.
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "merlon/base/address.h"
#include "merlon/base/result.h"

namespace merlon::client {

struct PacketWords {
  std::string in{};  // zone or port
  base::IpAddress source{}, destination{};
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint8_t protocol = 0;
  std::uint8_t tcp_flags = 0;  // as on the wire: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32
  std::uint8_t icmp_type = 0, icmp_code = 0;
  std::uint16_t vlan = 0;    // 0: untagged
  std::uint16_t length = 0;  // of the IP packet; 0: the shortest that holds the headers
};

struct SessionWords {
  std::optional<std::uint64_t> id{};  // or the tuple
  base::IpAddress source{}, destination{};
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint8_t protocol = 0;
};

base::Result<PacketWords> parse_packet_words(std::span<const std::string> words);
base::Result<SessionWords> parse_session_words(std::span<const std::string> words);

// "lan 10.0.0.5:40000 192.0.2.9:23 tcp syn": reads back to the same packet.
std::string to_string(const PacketWords& packet);
std::string endpoint(const base::IpAddress& address, std::uint16_t port, bool has_port);

// The answer of explain (see control/api_runtime.h) as lines for a person; `answer` is the API's
// JSON.
std::string explain_text(const nlohmann::json& answer);

}  // namespace merlon::client
