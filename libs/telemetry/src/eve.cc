// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/eve.h"

#include <array>

#include "json_line.h"

namespace merlon::telemetry {
namespace {

using base::EventKind;
using base::EventRecord;

constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmp6 = 58, kSctp = 132;

std::string_view event_type(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::kPolicy:
      return "policy";
    case EventKind::kFlow:
      return "flow";
    case EventKind::kDrop:
      return "drop";
  }
  return "drop";
}

std::string_view flow_state_name(FlowState state) noexcept {
  switch (state) {
    case FlowState::kNew:
      return "new";
    case FlowState::kEstablished:
      return "established";
    case FlowState::kClosed:
      return "closed";
  }
  return "closed";
}

// A record of a frame that is not IP, or whose IP header could not be read, has neither address.
bool has_addresses(const EventRecord& r) noexcept {
  return r.source != base::IpAddress{} || r.destination != base::IpAddress{};
}

void append_vlans(const EventRecord& r, JsonLine& json) {
  if (r.vlan_outer == 0) return;
  json.open_array("vlan");
  json.number({}, r.vlan_outer);
  if (r.vlan_inner != 0) json.number({}, r.vlan_inner);
  json.close_array();
}

void append_endpoints(const EventRecord& r, JsonLine& json) {
  if (!has_addresses(r)) return;
  const bool has_ports = r.protocol == kTcp || r.protocol == kUdp || r.protocol == kSctp;
  json.address("src_ip", r.source);
  if (has_ports) json.number("src_port", r.source_port);
  json.address("dest_ip", r.destination);
  if (has_ports) json.number("dest_port", r.destination_port);
  json.word("proto", protocol_name(r.protocol));
  if (r.protocol == kIcmp || r.protocol == kIcmp6) {
    json.number("icmp_type", r.icmp_type);
    json.number("icmp_code", r.icmp_code);
  }
}

void append_flow(const EventRecord& r, const Names& names, JsonLine& json) {
  json.open("flow");
  json.number("pkts_toserver", r.packets[0]);
  json.number("pkts_toclient", r.packets[1]);
  json.number("bytes_toserver", r.bytes[0]);
  json.number("bytes_toclient", r.bytes[1]);
  json.time("start", r.start);
  json.time("end", r.time);
  json.number("age", r.time > r.start
                         ? static_cast<std::uint64_t>((r.time - r.start) / base::kNanosPerSecond)
                         : 0);
  json.word("state", flow_state_name(names.flow_state(r.state)));
  json.word("reason", session_end_name(r.end));
  json.boolean("alerted", false);
  json.close();
}

void append_tcp(const EventRecord& r, std::string_view state, JsonLine& json) {
  struct Flag {
    std::uint8_t bit;
    std::string_view name;
  };
  constexpr std::array<Flag, 8> kFlags{{{2, "syn"},
                                        {1, "fin"},
                                        {4, "rst"},
                                        {8, "psh"},
                                        {16, "ack"},
                                        {32, "urg"},
                                        {64, "ecn"},
                                        {128, "cwr"}}};
  const auto all = static_cast<std::uint8_t>(r.tcp_flags[0] | r.tcp_flags[1]);
  json.open("tcp");
  json.hex_byte("tcp_flags", all);
  if (r.kind == EventKind::kFlow) {
    json.hex_byte("tcp_flags_ts", r.tcp_flags[0]);
    json.hex_byte("tcp_flags_tc", r.tcp_flags[1]);
  }
  for (const Flag& flag : kFlags)
    if ((all & flag.bit) != 0) json.boolean(flag.name, true);
  if (!state.empty()) json.word("state", state);
  json.close();
}

void append_rule(std::uint32_t slot, const Names& names, JsonLine& json) {
  if (slot == base::kNoRule) return;
  const std::string_view id = names.rule(slot);
  if (!id.empty()) return json.text("rule", id);
  std::string number(1, '#');
  number.append(std::to_string(slot));
  json.text("rule", number);
}

void append_policy(const EventRecord& r, const Names& names, JsonLine& json) {
  json.open("policy");
  append_rule(r.rule, names, json);
  json.word("action", action_name(r.action));
  json.number("revision", r.generation);
  if (r.zone_source != base::kNoZone)
    if (const auto zone = names.zone(r.zone_source, r.generation); !zone.empty())
      json.text("zone_src", zone);
  if (r.zone_destination != base::kNoZone)
    if (const auto zone = names.zone(r.zone_destination, r.generation); !zone.empty())
      json.text("zone_dst", zone);
  if (r.out_port != base::kNoPort)
    if (const auto port = names.port(r.out_port); !port.empty()) json.text("out_iface", port);
  if (r.rule != base::kNoRule)
    if (const auto why = names.rule_reason(r.rule); !why.empty()) json.text("reason", why);
  // A verdict can fall for another cause than the rule, a session limit for example.
  if (r.reason != base::DropReason::kNone)
    json.word("drop_reason", base::drop_reason_name(r.reason));
  if (r.is_would_drop) json.boolean("would_drop", true);
  json.close();
}

void append_drop(const EventRecord& r, const Names& names, JsonLine& json) {
  json.open("drop");
  json.number("len", r.length);
  json.word("reason", base::drop_reason_name(r.reason));
  append_rule(r.rule, names, json);
  if (r.is_would_drop) json.boolean("would_drop", true);
  json.close();
}

}  // namespace

std::string_view action_name(base::Action action) noexcept {
  switch (action) {
    case base::Action::kPermit:
      return "permit";
    case base::Action::kDrop:
      return "drop";
    case base::Action::kReject:
      return "reject";
  }
  return "drop";
}

std::string_view session_end_name(base::SessionEnd end) noexcept {
  constexpr std::array<std::string_view, kSessionEndCount> kNames{"none",    "timeout", "tcp_fin",
                                                                  "tcp_rst", "evicted", "replaced",
                                                                  "policy",  "cleared", "shutdown"};
  const auto i = static_cast<std::size_t>(end);
  return i < kNames.size() ? kNames[i] : kNames[0];
}

EveFormatter::EveFormatter(const Names& names, const EveOptions& options)
    : names_(names), options_(options) {
  if (options_.host.empty()) return;
  host_json_ = "\"host\":";
  append_json_string(options_.host, host_json_);
}

void EveFormatter::append(const EventRecord& r, std::string& out) const {
  JsonLine json(out);
  json.open();
  json.time("timestamp", r.time);
  if (r.flow_id != 0) json.number("flow_id", r.flow_id);
  if (r.packet_number != 0) json.number("pcap_cnt", r.packet_number);
  if (r.in_port != base::kNoPort)
    if (const auto port = names_.port(r.in_port); !port.empty()) json.text("in_iface", port);
  json.word("event_type", event_type(r.kind));
  append_vlans(r, json);
  append_endpoints(r, json);
  if (options_.community_id && has_addresses(r))
    json.word("community_id", community_id(r, options_.community_seed));
  json.members(host_json_);
  switch (r.kind) {
    case EventKind::kFlow:
      append_flow(r, names_, json);
      if (r.protocol == kTcp) append_tcp(r, names_.session_state(r.state), json);
      append_policy(r, names_, json);
      break;
    case EventKind::kPolicy:
      json.open("flow");
      json.time("start", r.start);
      json.close();
      append_policy(r, names_, json);
      break;
    case EventKind::kDrop:
      if (r.protocol == kTcp && r.tcp_flags[0] != 0) append_tcp(r, {}, json);
      append_drop(r, names_, json);
      break;
  }
  json.close();
  json.finish();
}

}  // namespace merlon::telemetry
