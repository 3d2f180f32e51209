// SPDX-License-Identifier: Apache-2.0
#include "api_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "merlon/client/packet_words.h"
#include "merlon/client/words.h"

namespace merlon::control {
namespace {

using client::Align;
using client::Column;
using client::Row;
using client::Table;
using client::Unit;
using client::Value;

Column text(std::string name, std::string title) { return {std::move(name), std::move(title)}; }
Column number(std::string name, std::string title, Unit unit = Unit::kCount) {
  return {std::move(name), std::move(title), unit, Align::kRight};
}
Column wide(Column column) {
  column.is_wide = true;
  return column;
}

Value words(const std::string& value) {
  return value.empty() ? Value(std::monostate{}) : Value(value);
}
Value seconds(std::uint64_t ms) { return static_cast<double>(ms) / 1000; }
Value place(const base::SourcePos& where) {
  if (!where.has_place()) return std::monostate{};
  return fmt::format("{}:{}:{}", where.file, where.line, where.column);
}
Value reason(base::DropReason why) {
  if (why == base::DropReason::kNone) return std::monostate{};
  return std::string(base::drop_reason_name(why));
}
Value count(std::uint64_t value) { return value; }
std::string end_text(const base::IpAddress& address, std::uint16_t port, std::uint8_t protocol) {
  return client::endpoint(address, port, client::has_ports(protocol));
}

}  // namespace

Table ports_table(const std::vector<PortStatus>& rows) {
  Table t{"ports",
          {text("port", "PORT"),
           text("link", "LINK"),
           number("speed_mbps", "SPEED", Unit::kNone),
           text("role", "ROLE"),
           text("zone", "ZONE"),
           text("driver", "DRIVER"),
           text("mac", "MAC"),
           number("rx_packets", "RX PACKETS"),
           number("rx_bytes", "RX BYTES", Unit::kBytes),
           number("rx_packets_per_second", "RX PPS", Unit::kPerSecond),
           number("rx_bits_per_second", "RX RATE", Unit::kBitsPerSecond),
           number("rx_errors", "RX ERRORS"),
           number("rx_dropped", "RX DROPPED"),
           wide(number("rx_ring_full", "RX RING FULL")),
           number("tx_packets", "TX PACKETS"),
           number("tx_bytes", "TX BYTES", Unit::kBytes),
           number("tx_packets_per_second", "TX PPS", Unit::kPerSecond),
           number("tx_bits_per_second", "TX RATE", Unit::kBitsPerSecond),
           number("tx_errors", "TX ERRORS"),
           number("tx_dropped", "TX DROPPED"),
           wide(text("device", "DEVICE")),
           wide(number("mtu", "MTU", Unit::kNone)),
           wide(text("duplex", "DUPLEX")),
           wide(number("rx_queues", "RX QUEUES", Unit::kNone)),
           wide(number("tx_queues", "TX QUEUES", Unit::kNone)),
           wide(text("rss", "RSS")),
           wide(number("numa_node", "NODE", Unit::kNone))},
          {}};
  for (const PortStatus& p : rows) {
    const auto& i = p.info;
    const auto& c = p.counters;
    t.rows.push_back({i.name,
                      std::string(i.is_link_up ? "up" : "down"),
                      i.speed_mbps == 0 ? Value() : count(i.speed_mbps),
                      words(p.role),
                      words(p.zone),
                      words(i.driver),
                      i.mac.to_string(),
                      c.rx_packets,
                      c.rx_bytes,
                      p.rx_packets_per_second,
                      p.rx_bits_per_second,
                      c.rx_errors,
                      c.rx_dropped,
                      c.rx_ring_full,
                      c.tx_packets,
                      c.tx_bytes,
                      p.tx_packets_per_second,
                      p.tx_bits_per_second,
                      c.tx_errors,
                      c.tx_dropped,
                      words(i.device),
                      count(i.mtu),
                      std::string(i.is_full_duplex ? "full" : "half"),
                      count(i.rx_queues),
                      count(i.tx_queues),
                      i.has_rss,
                      i.numa_node < 0 ? Value() : Value(std::int64_t{i.numa_node})});
  }
  return t;
}

Table workers_table(const std::vector<WorkerStatus>& rows) {
  Table t{"workers",
          {number("worker", "WORKER", Unit::kNone), number("core", "CORE", Unit::kNone),
           number("busy_ratio", "BUSY", Unit::kRatio),
           number("cycles_per_packet", "CYCLES/PACKET", Unit::kNone),
           number("packets_per_burst", "PACKETS/BURST", Unit::kNone),
           number("packets_per_second", "PPS", Unit::kPerSecond), number("packets", "PACKETS"),
           number("sessions", "SESSIONS"), number("session_limit", "LIMIT"),
           number("handed_over", "HANDED OVER"), number("events_lost", "EVENTS LOST"),
           wide(number("late_turns", "LATE TURNS")),
           wide(number("late_seconds", "LATE", Unit::kSeconds))},
          {}};
  for (const WorkerStatus& w : rows)
    t.rows.push_back({count(w.worker), w.core < 0 ? Value() : Value(std::int64_t{w.core}),
                      w.busy_ratio, w.cycles_per_packet, w.packets_per_burst, w.packets_per_second,
                      w.packets, w.sessions, w.session_limit, w.handed_over, w.events_lost,
                      w.late_turns, w.late_seconds});
  return t;
}

Table rules_table(const std::vector<RuleStatus>& rows) {
  Table t{"policy",
          {text("rule", "RULE"),
           text("category", "CATEGORY"),
           text("from", "FROM"),
           text("to", "TO"),
           text("action", "ACTION"),
           text("state", "STATE"),
           number("hits", "HITS"),
           number("packets", "PACKETS"),
           number("bytes", "BYTES", Unit::kBytes),
           number("sessions", "SESSIONS"),
           text("last_hit", "LAST HIT"),
           wide(text("first_hit", "FIRST HIT")),
           wide(text("observed_since", "OBSERVED SINCE")),
           wide(number("limit_drops", "LIMIT DROPS")),
           wide(text("log", "LOG")),
           wide(text("on_change", "ON CHANGE")),
           wide(text("owner", "OWNER")),
           wide(text("reason", "REASON")),
           wide(text("description", "DESCRIPTION")),
           wide(text("where", "WHERE"))},
          {}};
  for (const std::size_t time : {10U, 11U, 12U}) t.columns[time].unit = Unit::kTime;
  for (const RuleStatus& r : rows)
    t.rows.push_back({r.id,
                      words(r.category),
                      words(r.from),
                      words(r.to),
                      r.action,
                      r.state,
                      r.hits,
                      r.packets,
                      r.bytes,
                      r.sessions,
                      r.last_hit,
                      r.first_hit,
                      r.observed_since,
                      r.limit_drops,
                      words(r.log),
                      words(r.on_change),
                      words(r.owner),
                      words(r.reason),
                      words(r.description),
                      place(r.where)});
  return t;
}

Table drops_table(const std::vector<DropCount>& rows) {
  Table t{"drops",
          {text("reason", "REASON"), number("packets", "PACKETS"),
           number("would_drop", "WOULD DROP"), number("per_second", "RATE", Unit::kPerSecond),
           text("last", "LAST"), text("sentence", "MEANING")},
          {}};
  t.columns[4].unit = Unit::kTime;
  for (const DropCount& d : rows)
    t.rows.push_back({reason(d.reason), d.packets, d.would_drop, d.per_second, d.last,
                      std::string(base::drop_reason_sentence(d.reason))});
  return t;
}

Table dropped_packets_table(const std::vector<DroppedPacket>& rows) {
  Table t{
      "dropped_packets",
      {text("time", "TIME"), text("reason", "REASON"), text("rule", "RULE"), text("port", "PORT"),
       text("zone", "ZONE"), text("protocol", "PROTO"), text("source", "SOURCE"),
       text("destination", "DESTINATION"), number("length", "LENGTH", Unit::kNone),
       wide(number("worker", "WORKER", Unit::kNone)), wide(text("bytes", "BYTES"))},
      {}};
  t.columns[0].unit = Unit::kTime;
  for (const DroppedPacket& p : rows) {
    std::string hex;
    for (const base::Byte b : p.bytes) hex += fmt::format("{:02x}", b);
    const bool has_address = p.source != base::IpAddress{} || p.destination != base::IpAddress{};
    t.rows.push_back(
        {p.time, reason(p.reason), words(p.rule), words(p.port), words(p.zone),
         has_address ? Value(client::protocol_name(p.protocol)) : Value(),
         has_address ? Value(end_text(p.source, p.source_port, p.protocol)) : Value(),
         has_address ? Value(end_text(p.destination, p.destination_port, p.protocol)) : Value(),
         count(p.length), count(p.worker), std::move(hex)});
  }
  return t;
}

Table pools_table(const std::vector<PoolStatus>& rows) {
  Table t{"pools",
          {text("pool", "POOL"), number("used", "USED"), number("limit", "LIMIT"),
           number("used_ratio", "USED", Unit::kRatio), number("peak", "PEAK"),
           number("failures", "FAILURES"), number("size_bytes", "MEMORY", Unit::kBytes)},
          {}};
  for (const PoolStatus& p : rows) {
    const double ratio =
        p.limit == 0 ? 0.0 : static_cast<double>(p.used) / static_cast<double>(p.limit);
    t.rows.push_back({p.name, p.used, p.limit, ratio, p.peak, p.failures, p.size_bytes});
  }
  return t;
}

Table history_table(const std::vector<RevisionInfo>& rows, std::uint64_t running) {
  Table t{"history",
          {number("revision", "REVISION", Unit::kNone), text("running", ""), text("time", "TIME"),
           text("author", "AUTHOR"), text("reason", "REASON"), text("comment", "COMMENT"),
           wide(number("content_of", "CONTENT OF", Unit::kNone)), wide(text("hash", "HASH"))},
          {}};
  t.columns[2].unit = Unit::kTime;
  for (const RevisionInfo& r : rows)
    t.rows.push_back({r.number, r.number == running ? Value(std::string("running")) : Value(),
                      r.time, words(r.author), words(r.reason), words(r.comment),
                      r.content_of == 0 ? Value() : count(r.content_of), words(r.hash)});
  return t;
}

Table names_table(const std::vector<std::string>& names) {
  Table t{"names", {text("name", "NAME")}, {}};
  for (const std::string& name : names) t.rows.push_back({name});
  return t;
}

Table sessions_head() {
  return {"sessions",
          {number("id", "ID", Unit::kNone),
           text("protocol", "PROTO"),
           text("source", "SOURCE"),
           text("destination", "DESTINATION"),
           text("state", "STATE"),
           text("rule", "RULE"),
           text("action", "ACTION"),
           number("packets_out", "PKTS OUT"),
           number("packets_in", "PKTS IN"),
           number("bytes_out", "BYTES OUT", Unit::kBytes),
           number("bytes_in", "BYTES IN", Unit::kBytes),
           number("age", "AGE", Unit::kSeconds),
           number("idle", "IDLE", Unit::kSeconds),
           wide(number("expires_in", "EXPIRES", Unit::kSeconds)),
           wide(text("from", "FROM")),
           wide(text("to", "TO")),
           wide(text("in_port", "IN")),
           wide(text("out_port", "OUT")),
           wide(number("vlan", "VLAN", Unit::kNone)),
           wide(text("reason", "REASON")),
           wide(number("worker", "WORKER", Unit::kNone)),
           wide(number("revision", "REVISION", Unit::kNone)),
           wide({"start", "START", Unit::kTime})},
          {}};
}

Row session_row(const SessionRow& s) {
  return {s.id,
          client::protocol_name(s.protocol),
          end_text(s.source, s.source_port, s.protocol),
          end_text(s.destination, s.destination_port, s.protocol),
          s.state,
          s.rule,
          s.action,
          s.packets[0],
          s.packets[1],
          s.bytes[0],
          s.bytes[1],
          seconds(s.age_ms),
          seconds(s.idle_ms),
          seconds(s.expires_in_ms),
          words(s.from_zone),
          words(s.to_zone),
          words(s.in_port),
          words(s.out_port),
          s.vlan == 0 ? Value() : count(s.vlan),
          reason(s.reason),
          count(s.worker),
          count(s.revision),
          s.start};
}

std::string dropped_packets_pcap(std::vector<DroppedPacket> packets) {
  std::string out;
  const auto u32 = [&out](std::uint32_t value) {
    char bytes[4];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof bytes);
  };
  u32(0xa1b23c4d);   // nanosecond stamps, byte order of this machine
  u32(2 | 4 << 16);  // version 2.4
  u32(0);
  u32(0);
  u32(262'144);
  u32(1);  // LINKTYPE_ETHERNET
  std::ranges::stable_sort(packets, {}, &DroppedPacket::time);
  for (const DroppedPacket& p : packets) {
    const auto time = static_cast<std::uint64_t>(std::max<base::Nanos>(p.time, 0));
    const auto captured = static_cast<std::uint32_t>(p.bytes.size());
    u32(static_cast<std::uint32_t>(time / 1'000'000'000));
    u32(static_cast<std::uint32_t>(time % 1'000'000'000));
    u32(captured);
    u32(std::max(p.length, captured));
    out.append(reinterpret_cast<const char*>(p.bytes.data()), p.bytes.size());
  }
  return out;
}

}  // namespace merlon::control
