// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "json_line.h"
#include "merlon/base/drop_reason.h"
#include "merlon/telemetry/eve.h"
#include "merlon/telemetry/reference.h"
#include "merlon/telemetry/worker_counters.h"

namespace merlon::telemetry {
namespace {

constexpr std::string_view kTypes = "flow policy drop stats config";
constexpr std::string_view kTraffic = "flow policy drop";

// In the order in which the reference page shows them. An object comes before its members.
constexpr auto kHandWritten = std::to_array<EveField>({
    {"timestamp", "string", "*", true,
     "Time of the packet, of the end of the flow, or of the report; UTC, microseconds, "
     "2026-08-22T10:11:12.123456+0000.",
     ""},
    {"event_type", "string", "*", true,
     "What happened; the part for this type stands under a key of the same name.", kTypes},
    {"host", "string", "*", false, "Name of the sensor, where one is configured.", ""},
    {"flow_id", "integer", kTraffic, false,
     "Number of the session, 53 bits; the same in every event of one session. Absent without a "
     "session.",
     ""},
    {"pcap_cnt", "integer", kTraffic, false,
     "Replay only: 1-based number of the packet in the capture.", ""},
    {"in_iface", "string", kTraffic, false,
     "Port where the packet, or the first packet of the session, came in.", ""},
    {"vlan", "array", kTraffic, false, "VLAN identifiers, outer first.", ""},
    {"vlan[]", "integer", kTraffic, false, "A VLAN identifier.", ""},
    {"src_ip", "string", kTraffic, false,
     "Source address: of the initiator (flow, policy) or of the packet (drop). Absent when the "
     "frame has no readable IP header.",
     ""},
    {"src_port", "integer", kTraffic, false, "Source port; TCP, UDP and SCTP only.", ""},
    {"dest_ip", "string", kTraffic, false, "Destination address, as src_ip.", ""},
    {"dest_port", "integer", kTraffic, false, "Destination port; TCP, UDP and SCTP only.", ""},
    {"proto", "string", kTraffic, false,
     "IP protocol: TCP, UDP, ICMP, IPv6-ICMP, SCTP, ...; three digits for one without a name.", ""},
    {"icmp_type", "integer", kTraffic, false, "ICMP and ICMPv6 type, in place of ports.", ""},
    {"icmp_code", "integer", kTraffic, false, "ICMP and ICMPv6 code.", ""},
    {"community_id", "string", kTraffic, false,
     "Community ID version 1, when switched on: joins with other sensors' records.", ""},

    {"flow", "object", "flow policy", true,
     "The session, counted from its initiator (\"toserver\").", ""},
    {"flow.pkts_toserver", "integer", "flow", true, "Packets from the initiator.", ""},
    {"flow.pkts_toclient", "integer", "flow", true, "Packets to the initiator.", ""},
    {"flow.bytes_toserver", "integer", "flow", true, "Bytes on the wire from the initiator.", ""},
    {"flow.bytes_toclient", "integer", "flow", true, "Bytes on the wire to the initiator.", ""},
    {"flow.start", "string", "flow policy", true, "Time of the first packet.", ""},
    {"flow.end", "string", "flow", true, "Time of the end.", ""},
    {"flow.age", "integer", "flow", true, "Whole seconds from start to end.", ""},
    {"flow.state", "string", "flow", true, "How far it came.", "new established closed"},
    {"flow.reason", "string", "flow", true, "Why it ended.", "@ends"},
    {"flow.alerted", "boolean", "flow", true, "Whether a signature alerted in it.", ""},

    {"tcp", "object", "flow drop", false,
     "TCP flags of the session (flow: all packets) or the packet (drop).", ""},
    {"tcp.tcp_flags", "string", "flow drop", true, "Union of the flags, two hexadecimal digits.",
     ""},
    {"tcp.tcp_flags_ts", "string", "flow", true, "The same, from the initiator only.", ""},
    {"tcp.tcp_flags_tc", "string", "flow", true, "The same, to the initiator only.", ""},
    {"tcp.syn", "boolean", "flow drop", false, "Present and true when the flag was seen.", ""},
    {"tcp.fin", "boolean", "flow drop", false, "As syn.", ""},
    {"tcp.rst", "boolean", "flow drop", false, "As syn.", ""},
    {"tcp.psh", "boolean", "flow drop", false, "As syn.", ""},
    {"tcp.ack", "boolean", "flow drop", false, "As syn.", ""},
    {"tcp.urg", "boolean", "flow drop", false, "As syn.", ""},
    {"tcp.ecn", "boolean", "flow drop", false, "As syn; the ECE flag.", ""},
    {"tcp.cwr", "boolean", "flow drop", false, "As syn.", ""},
    {"tcp.state", "string", "flow", false,
     "State of the connection at its end, for example time_wait.", ""},

    {"policy", "object", "flow policy", true, "The verdict and what it came from.", ""},
    {"policy.rule", "string", "flow policy", false, "Id of the rule that decided.", ""},
    {"policy.action", "string", "flow policy", true, "What the rule says.", "permit drop reject"},
    {"policy.revision", "integer", "flow policy", true, "Number of the configuration that decided.",
     ""},
    {"policy.zone_src", "string", "flow policy", false, "Zone of the initiator.", ""},
    {"policy.zone_dst", "string", "flow policy", false, "Zone of the other side.", ""},
    {"policy.out_iface", "string", "flow policy", false,
     "Port where the initiator's packets leave.", ""},
    {"policy.reason", "string", "flow policy", false, "Text that the operator gave to the rule.",
     ""},
    {"policy.drop_reason", "string", "flow policy", false,
     "Why packets of the session are dropped.", "@drops"},
    {"policy.would_drop", "boolean", "flow policy", false,
     "Present and true on a tap port: the packets were not in our hands.", ""},

    {"drop", "object", "drop", true, "A packet that did not leave.", ""},
    {"drop.len", "integer", "drop", true, "Bytes on the wire.", ""},
    {"drop.reason", "string", "drop", true, "Name of the drop reason, see drops.md.", "@drops"},
    {"drop.rule", "string", "drop", false, "Id of the rule behind it, if one is.", ""},
    {"drop.would_drop", "boolean", "drop", false, "Present and true on a tap port.", ""},

    {"stats", "object", "stats", true,
     "State of the whole; counters run from the start of the process.", ""},
    {"stats.event_schema", "integer", "stats", true,
     "Number of this schema; rises when a field changes its meaning or goes away.", ""},
    {"stats.version", "string", "stats", true, "Version of the program.", ""},
    {"stats.uptime", "integer", "stats", true, "Seconds since the start.", ""},
    {"stats.revision", "integer", "stats", true, "Configuration in force.", ""},
    {"stats.workers", "integer", "stats", true, "Worker threads.", ""},
    {"stats.sessions", "object", "stats", true, "The session tables of all workers.", ""},
    {"stats.sessions.active", "integer", "stats", true, "Sessions now.", ""},
    {"stats.sessions.limit", "integer", "stats", true, "Sessions that fit.", ""},
    {"stats.sessions.created", "integer", "stats", true, "Sessions opened.", ""},
    {"stats.sessions.ended", "object", "stats", true, "Sessions ended, by cause.", ""},
    {"stats.sessions.ended.*", "integer", "stats", true, "Sessions ended for this cause.",
     "@ended"},
    {"stats.counters", "object", "stats", true, "The workers' counters, summed.", ""},
    {"stats.counters.*", "integer", "stats", true, "", "@counters"},
    {"stats.drops", "object", "stats", true, "Packets dropped, by reason.", ""},
    {"stats.drops.*", "integer", "stats", true, "", "@dropped"},
    {"stats.sinks", "array", "stats", true, "Where events go.", ""},
    {"stats.sinks[]", "object", "stats", false, "One sink.", ""},
    {"stats.sinks[].name", "string", "stats", true, "Its configured name.", ""},
    {"stats.sinks[].kind", "string", "stats", true, "Its kind.", "file syslog"},
    {"stats.sinks[].written", "integer", "stats", true, "Events delivered.", ""},
    {"stats.sinks[].lost", "integer", "stats", true, "Events that it could not take.", ""},
    {"stats.sinks[].bytes", "integer", "stats", true, "Bytes delivered.", ""},
    {"stats.sinks[].failing", "boolean", "stats", true, "Whether the last attempt failed.", ""},

    {"config", "object", "config", true, "One step in the life of the configuration.", ""},
    {"config.result", "string", "config", true, "What became of it.",
     "committed confirmed rolled_back refused"},
    {"config.revision", "integer", "config", true, "In force after the step.", ""},
    {"config.previous_revision", "integer", "config", true, "In force before it.", ""},
    {"config.author", "string", "config", false, "Who ordered it.", ""},
    {"config.comment", "string", "config", false, "The author's comment.", ""},
    {"config.cause", "string", "config", false, "Why it was refused or rolled back.", ""},
    {"config.rules", "integer", "config", true, "Rules in force after the step.", ""},
    {"config.sessions_ended", "integer", "config", true,
     "Sessions that the change ends, each with its next packet.", ""},
    {"config.blocked_ns", "integer", "config", true,
     "Longest time that one worker did not forward, in nanoseconds.", ""},
});

const std::string& drop_names() {
  static const std::string kNames = [] {
    std::string s;
    for (unsigned i = 1; i < base::kDropReasonCount; ++i)
      s.append(i == 1 ? "" : " ").append(base::drop_reason_name(static_cast<base::DropReason>(i)));
    return s;
  }();
  return kNames;
}

const std::string& end_names() {
  static const std::string kNames = [] {
    std::string s;
    for (unsigned i = 0; i < kSessionEndCount; ++i)
      s.append(i == 0 ? "" : " ").append(session_end_name(static_cast<base::SessionEnd>(i)));
    return s;
  }();
  return kNames;
}

struct Member {
  std::string_view name, help;
};
// The members that a "*" path stands for.
std::vector<Member> members_of(std::string_view source) {
  std::vector<Member> all;
  if (source == "@ended") {
    for (unsigned i = 1; i < kSessionEndCount; ++i)
      all.push_back(
          {session_end_name(static_cast<base::SessionEnd>(i)), "Sessions ended for this cause."});
  } else if (source == "@dropped") {
    for (unsigned i = 1; i < base::kDropReasonCount; ++i)
      all.push_back({base::drop_reason_name(static_cast<base::DropReason>(i)),
                     base::drop_reason_sentence(static_cast<base::DropReason>(i))});
  } else {
#define MERLON_X(field, help) all.push_back({#field, help});
    MERLON_WORKER_COUNTERS(MERLON_X)
#undef MERLON_X
  }
  return all;
}

// The table with "*" paths and "@" lists filled in; the strings live as long as the program.
std::vector<EveField> expand() {
  static std::vector<std::unique_ptr<std::string>> paths;
  std::vector<EveField> fields;
  for (EveField f : kHandWritten) {
    if (f.values == "@ends") f.values = end_names();
    if (f.values == "@drops") f.values = drop_names();
    if (!f.path.ends_with(".*")) {
      fields.push_back(f);
      continue;
    }
    const std::string_view parent = f.path.substr(0, f.path.size() - 1);
    for (const Member& m : members_of(f.values)) {
      paths.push_back(std::make_unique<std::string>(std::string(parent) + std::string(m.name)));
      fields.push_back({*paths.back(), f.type, f.events, f.is_required, m.help, ""});
    }
  }
  return fields;
}

std::vector<std::string_view> words(std::string_view list) {
  std::vector<std::string_view> all;
  while (!list.empty()) {
    const auto end = std::min(list.find(' '), list.size());
    all.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return all;
}

bool carries(const EveField& f, std::string_view event) {
  if (f.events == "*") return true;
  for (const auto w : words(f.events))
    if (w == event) return true;
  return false;
}

std::string_view parent_of(std::string_view path) {
  if (path.ends_with("[]")) return path.substr(0, path.size() - 2);
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}
std::string_view last_of(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

class SchemaWriter {
 public:
  explicit SchemaWriter(std::string& out) : json_(out) {}

  void write() {
    json_.open();
    json_.word("$schema", "https://json-schema.org/draft/2020-12/schema");
    json_.text("title", "Merlon events");
    json_.text("description", "One line of eve.json. Made by merlon-docgen; do not edit.");
    json_.word("type", "object");
    json_.boolean("additionalProperties", false);
    write_properties({});
    json_.open_array("required");
    for (const EveField& f : eve_fields())
      if (f.is_required && f.events == "*") json_.word({}, f.path);
    json_.close_array();
    json_.open_array("allOf");
    for (const auto event : words(kTypes)) write_condition(event);
    json_.close_array();
    json_.close();
    json_.finish();
  }

 private:
  void write_properties(std::string_view parent) {
    json_.open("properties");
    for (const EveField& f : eve_fields())
      if (parent_of(f.path) == parent && !f.path.ends_with("[]")) write_field(f, last_of(f.path));
    json_.close();
  }

  void write_field(const EveField& f, std::string_view name) {
    json_.open(name);
    json_.word("type", f.type);
    json_.text("description", f.help);
    if (f.type == "integer") json_.number("minimum", 0);
    if (!f.values.empty()) {
      json_.open_array("enum");
      for (const auto v : words(f.values)) json_.word({}, v);
      json_.close_array();
    }
    if (f.type == "array") {
      const std::string items = std::string(f.path) + "[]";
      for (const EveField& item : eve_fields())
        if (item.path == items) write_field(item, "items");
    }
    if (f.type == "object") {
      json_.boolean("additionalProperties", false);
      write_properties(f.path);
      write_required(f.path, "*");
    }
    json_.close();
  }

  // Members that every event with this object has ("*"), or that `event` has.
  void write_required(std::string_view parent, std::string_view event) {
    std::string_view carriers;
    for (const EveField& f : eve_fields())
      if (f.path == parent) carriers = f.events;
    json_.open_array("required");
    for (const EveField& f : eve_fields()) {
      if (!f.is_required || parent_of(f.path) != parent || f.path.ends_with("[]")) continue;
      if (event == "*" ? f.events == carriers : carries(f, event)) json_.word({}, last_of(f.path));
    }
    json_.close_array();
  }

  void write_condition(std::string_view event) {
    json_.open();
    json_.open("if");
    json_.open("properties");
    json_.open("event_type");
    json_.word("const", event);
    json_.close();
    json_.close();
    json_.close();
    json_.open("then");
    write_required({}, event);
    json_.open("properties");
    for (const EveField& f : eve_fields()) {
      const bool is_top = parent_of(f.path).empty();
      if (!is_top) continue;
      if (!carries(f, event)) {
        json_.boolean(f.path, false);  // this key does not belong to the type
      } else if (f.type == "object") {
        json_.open(f.path);
        write_required(f.path, event);
        json_.close();
      }
    }
    json_.close();
    json_.close();
    json_.close();
  }

  JsonLine json_;
};

// One member per line, two spaces per level. `compact` is our own output, so brackets and quotes
// are regular.
std::string indent(std::string_view compact) {
  std::string out;
  std::size_t depth = 0;
  bool is_string = false;
  const auto line = [&] { out.append("\n").append(2 * depth, ' '); };
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    if (is_string) {
      out.push_back(c);
      if (c == '\\') out.push_back(compact[++i]);
      if (c == '"') is_string = false;
      continue;
    }
    switch (c) {
      case '"':
        is_string = true;
        out.push_back(c);
        break;
      case '{':
      case '[':
        out.push_back(c);
        if (i + 1 < compact.size() && (compact[i + 1] == '}' || compact[i + 1] == ']')) {
          out.push_back(compact[++i]);
          break;
        }
        ++depth;
        line();
        break;
      case '}':
      case ']':
        --depth;
        line();
        out.push_back(c);
        break;
      case ',':
        out.push_back(c);
        line();
        break;
      case ':':
        out.append(": ");
        break;
      default:
        out.push_back(c);
    }
  }
  out.push_back('\n');
  return out;
}

}  // namespace

std::span<const EveField> eve_fields() noexcept {
  static const std::vector<EveField> kFields = expand();
  return kFields;
}

std::string eve_schema() {
  std::string compact;
  SchemaWriter(compact).write();
  return indent(compact);
}

}  // namespace merlon::telemetry
