// SPDX-License-Identifier: Apache-2.0
#include "merlon/engine/mailbox.h"
#include "merlon/engine/snapshot.h"

#include <algorithm>

#include "stages.h"

namespace merlon::engine {
namespace {

constexpr std::uint8_t kTcp = 6, kUdp = 17, kSctp = 132, kIcmp = 1, kIcmpV6 = 58, kUdpLite = 136;

bool has_ports(std::uint8_t protocol) noexcept {
  return protocol == kTcp || protocol == kUdp || protocol == kSctp || protocol == kUdpLite;
}

bool tells_sides(const EngineConfig& config, const WireConfig& wire) noexcept {
  const auto reads_capture = [&config](std::uint16_t port) {
    return config.ports[port].type == PortConfig::Type::kPcap;
  };
  return config.tells_sides && !reads_capture(wire.port_a) && !reads_capture(wire.port_b);
}

}  // namespace

policy::Query query_of(const flow::Session& s, const flow::SessionCold& cold) noexcept {
  const packet::FlowKey& k = s.key;
  const bool swapped = s.is(flow::Session::kInitiatorIsB);
  policy::Query q;
  q.source = swapped ? k.b : k.a;
  q.destination = swapped ? k.a : k.b;
  q.protocol = k.protocol;
  if (has_ports(k.protocol)) {
    q.source_port = swapped ? k.port_b : k.port_a;
    q.destination_port = swapped ? k.port_a : k.port_b;
  } else if (k.protocol == kIcmp || k.protocol == kIcmpV6) {
    // A query's key holds its identifier and the type of the request; any other message's, type and
    // code.
    const bool is_query = s.state == flow::SessionState::kIcmpQuery;
    q.icmp_type = static_cast<std::uint8_t>(is_query ? k.port_b : k.port_a);
    q.icmp_code = is_query ? std::uint8_t{0} : static_cast<std::uint8_t>(k.port_b);
  }
  q.in_port = cold.in_port;
  q.out_port = cold.out_port;
  q.zone_source = cold.zone_source;
  q.zone_destination = cold.zone_destination;
  return q;
}

void choose_zones(policy::Query& q, std::uint16_t vlan, const policy::Snapshot& policy) noexcept {
  const policy::ZoneTable& zones = policy.zones();
  const bool is_tap = q.out_port == base::kNoPort;
  q.zone_source = zones.zone(q.in_port, vlan, q.source);
  q.zone_destination = zones.zone(is_tap ? q.in_port : q.out_port, vlan, q.destination);
}

policy::Query query_of(const flow::Session& s, const flow::SessionCold& cold,
                       const policy::Snapshot& policy) noexcept {
  policy::Query q = query_of(s, cold);
  choose_zones(q, s.key.vlan_outer, policy);
  return q;
}

EngineSnapshot make_snapshot(const EngineConfig& config, const policy::PolicyModel& model,
                             std::shared_ptr<const policy::Snapshot> policy) {
  EngineSnapshot s;
  s.revision = policy->generation();
  s.parse = config.parse;
  s.timeouts = config.timeouts;
  s.tcp = config.tcp;
  s.limits = config.limits;
  s.non_ip = config.non_ip;
  s.table_full = config.table_full;
  s.judges_zones = policy->zones().count() != 0;
  s.counts_sources = config.limits.max_per_source != 0 ||
                     std::ranges::any_of(model.rules, [](const policy::Rule& r) {
                       return r.max_sessions_per_source != 0;
                     });
  s.has_midstream_rules = std::ranges::any_of(
      model.rules, [](const policy::Rule& r) { return r.allow_midstream.has_value(); });
  // Ports of one wire share a domain, so that both directions of a session meet; every tap is its
  // own.
  s.domains.resize(config.ports.size());
  for (std::size_t p = 0; p < s.domains.size(); ++p) s.domains[p] = static_cast<std::uint16_t>(p);
  s.fails_open.resize(config.ports.size());
  for (const WireConfig& w : config.wires)
    s.fails_open[w.port_a] = s.fails_open[w.port_b] = w.fail_open ? 1 : 0;
  for (const WireConfig& w : config.wires) {
    s.domains[w.port_a] = s.domains[w.port_b] = std::min(w.port_a, w.port_b);
    if (!tells_sides(config, w)) continue;
    s.domains[w.port_a] |= packet::kTellsSides;
    s.domains[w.port_b] |= packet::kTellsSides | packet::kSideBit;
  }
  s.policy = std::move(policy);
  return s;
}

}  // namespace merlon::engine
