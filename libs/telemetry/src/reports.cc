// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/reports.h"

#include "json_line.h"
#include "merlon/telemetry/eve.h"

namespace merlon::telemetry {
namespace {

void open_event(JsonLine& json, base::Nanos time, std::string_view type, std::string_view host) {
  json.open();
  json.time("timestamp", time);
  json.word("event_type", type);
  if (!host.empty()) json.text("host", host);
  json.open(type);
}

void append_drops(const CounterTotals& t, JsonLine& json) {
  json.open("drops");
  for (unsigned i = 1; i < base::kDropReasonCount; ++i)
    json.number(base::drop_reason_name(static_cast<base::DropReason>(i)), t.drop_packets[i]);
  json.close();
}

void append_sessions(const StatsReport& r, JsonLine& json) {
  json.open("sessions");
  json.number("active", r.sessions_active);
  json.number("limit", r.sessions_limit);
  json.number("created", r.totals.sessions_created);
  json.open("ended");
  for (unsigned i = 1; i < kSessionEndCount; ++i)
    json.number(session_end_name(static_cast<base::SessionEnd>(i)), r.totals.sessions_ended[i]);
  json.close();
  json.close();
}

void append_counters(const CounterTotals& t, JsonLine& json) {
  json.open("counters");
#define MERLON_X(field, help) json.number(#field, t.field);
  MERLON_WORKER_COUNTERS(MERLON_X)
#undef MERLON_X
  json.close();
}

void append_sinks(std::span<const SinkStatus> sinks, JsonLine& json) {
  json.open_array("sinks");
  for (const SinkStatus& s : sinks) {
    json.open();
    json.text("name", s.name);
    json.text("kind", s.kind);
    json.number("written", s.written);
    json.number("lost", s.lost);
    json.number("bytes", s.bytes);
    json.boolean("failing", s.is_failing);
    json.close();
  }
  json.close_array();
}

}  // namespace

std::string_view config_result_name(ConfigReport::Result result) noexcept {
  switch (result) {
    case ConfigReport::Result::kCommitted:
      return "committed";
    case ConfigReport::Result::kConfirmed:
      return "confirmed";
    case ConfigReport::Result::kRolledBack:
      return "rolled_back";
    case ConfigReport::Result::kRefused:
      return "refused";
  }
  return "refused";
}

std::string format_stats(const StatsReport& r) {
  std::string out;
  out.reserve(4096);
  JsonLine json(out);
  open_event(json, r.time, "stats", r.host);
  json.number("event_schema", kEventSchema);
  json.text("version", r.version);
  json.number("uptime", r.uptime_seconds);
  json.number("revision", r.revision);
  json.number("workers", r.workers);
  append_sessions(r, json);
  append_counters(r.totals, json);
  append_drops(r.totals, json);
  append_sinks(r.sinks, json);
  json.close();
  json.close();
  json.finish();
  return out;
}

std::string format_config_event(const ConfigReport& r) {
  std::string out;
  JsonLine json(out);
  open_event(json, r.time, "config", r.host);
  json.word("result", config_result_name(r.result));
  json.number("revision", r.revision);
  json.number("previous_revision", r.previous_revision);
  if (!r.author.empty()) json.text("author", r.author);
  if (!r.comment.empty()) json.text("comment", r.comment);
  if (!r.cause.empty()) json.text("cause", r.cause);
  json.number("rules", r.rules);
  json.number("sessions_ended", r.sessions_ended);
  json.number("blocked_ns", r.blocked_nanos);
  json.close();
  json.close();
  json.finish();
  return out;
}

}  // namespace merlon::telemetry
