// SPDX-License-Identifier: Apache-2.0
#include "daemon_words.h"

#include <memory>

#include "merlon/packet/parse.h"

namespace merlon::control {

std::uint16_t fill_endpoints(DroppedPacket& packet, const engine::EngineConfig& config) {
  const auto burst = std::make_unique<packet::Burst>();
  packet::Burst& b = *burst;
  const std::uint16_t domain = 0;
  b.count = 1;
  b.data[0] = packet.bytes.data();
  b.captured[0] = static_cast<std::uint32_t>(packet.bytes.size());
  b.length[0] = packet.length;
  b.in_port[0] = 0;
  packet::parse(b, config.parse, &domain);
  const packet::FlowKey& k = b.key[0];
  const bool swapped = b.headers[0].direction != 0;
  packet.protocol = k.protocol;
  packet.source = swapped ? k.b : k.a;
  packet.destination = swapped ? k.a : k.b;
  if (b.headers[0].kind == packet::Kind::kTcp || b.headers[0].kind == packet::Kind::kUdp ||
      b.headers[0].kind == packet::Kind::kSctp) {
    packet.source_port = swapped ? k.port_b : k.port_a;
    packet.destination_port = swapped ? k.port_a : k.port_b;
  }
  return k.vlan_outer;
}

}  // namespace merlon::control
