// SPDX-License-Identifier: Apache-2.0
// Routes that tell the state: ports, workers, policy, drops, pools, names, metrics, watch.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api_routes.h"
#include "api_tables.h"

namespace merlon::control {
namespace {

using base::Errc;
using base::Error;
using nlohmann::json;

json time_json(base::Nanos time) {
  return time == 0 ? json(nullptr) : json(base::format_timestamp(time));
}

// One picture of everything that `merlon watch` shows.
json snapshot(RuntimeView& runtime) {
  constexpr std::size_t kTopRules = 20;
  auto rules = runtime.rules();
  std::ranges::stable_sort(rules, std::greater<>(), &RuleStatus::hits);
  if (rules.size() > kTopRules) rules.resize(kTopRules);
  auto drops = runtime.drops();
  std::ranges::stable_sort(drops, std::greater<>(), &DropCount::packets);
  return {{"time", time_json(base::wall_clock_now())},
          {"status", status_json(runtime.status())},
          {"ports", table_objects(ports_table(runtime.ports()))},
          {"workers", table_objects(workers_table(runtime.workers()))},
          {"policy", table_objects(rules_table(rules))},
          {"drops", table_objects(drops_table(drops))},
          {"pools", table_objects(pools_table(runtime.pools()))}};
}

ApiAnswer one_rule(RuntimeView& runtime, const std::string& id) {
  std::vector<std::string> ids;
  for (const RuleStatus& rule : runtime.rules()) {
    if (rule.id == id) return ApiAnswer::json(table_objects(rules_table({rule})).at(0));
    ids.push_back(rule.id);
  }
  return ApiAnswer::error({Errc::kNotFound,
                           fmt::format("no rule \"{}\"", client::printable(id)),
                           {},
                           client::did_you_mean(id, ids)});
}

ApiAnswer dropped(RuntimeView& runtime, const ApiRequest& request) {
  auto reason = base::DropReason::kNone;
  if (const std::string_view name = request.word("reason"); !name.empty()) {
    const auto known = base::drop_reason_from_name(name);
    if (!known) {
      std::vector<std::string> names;
      for (unsigned i = 1; i < base::kDropReasonCount; ++i)
        names.emplace_back(base::drop_reason_name(static_cast<base::DropReason>(i)));
      return ApiAnswer::error({Errc::kInvalidValue,
                               fmt::format("no drop reason \"{}\"", client::printable(name)),
                               {},
                               client::did_you_mean(name, names)});
    }
    reason = *known;
  }
  const std::string_view format = request.word("format");
  if (format == "pcap")
    return {200,
            ApiText{"application/vnd.tcpdump.pcap",
                    dropped_packets_pcap(runtime.dropped_packets(reason))},
            {}};
  if (!format.empty())
    return ApiAnswer::error(
        {Errc::kInvalidValue, fmt::format("format \"{}\" is not pcap", client::printable(format))});
  return ApiAnswer::table(dropped_packets_table(runtime.dropped_packets(reason)));
}

ApiAnswer names(RuntimeView& runtime, const ApiRequest& request) {
  const std::string_view type = request.word("type");
  std::vector<std::string> found;
  if (type == "rule") {
    found = runtime.names(NameType::kRule);
  } else if (type == "zone") {
    found = runtime.names(NameType::kZone);
  } else if (type == "port") {
    found = runtime.names(NameType::kPort);
  } else if (type == "state") {
    found = runtime.names(NameType::kState);
  } else if (type == "reason") {
    for (unsigned i = 1; i < base::kDropReasonCount; ++i)
      found.emplace_back(base::drop_reason_name(static_cast<base::DropReason>(i)));
  } else {
    return ApiAnswer::error({Errc::kInvalidValue,
                             fmt::format("type \"{}\" is not known", client::printable(type)),
                             {},
                             "one of rule, zone, port, state, reason"});
  }
  return ApiAnswer::table(names_table(found));
}

ApiAnswer watch(RuntimeView& runtime, const ApiRequest& request) {
  std::chrono::milliseconds interval{1000};
  if (const std::string_view word = request.word("interval"); !word.empty()) {
    const auto ms = client::parse_duration_ms(word);
    if (!ms) return ApiAnswer::error(ms.error());
    interval = std::chrono::milliseconds(std::clamp<std::uint64_t>(*ms, 100, 60'000));
  }
  return {200,
          ApiEventStream{interval,
                         [&runtime]() -> std::optional<std::string> {
                           return "event: snapshot\ndata: " +
                                  snapshot(runtime).dump(-1, ' ', false,
                                                         json::error_handler_t::replace) +
                                  "\n\n";
                         }},
          {}};
}

ApiAnswer events(RuntimeView& runtime, const ApiRequest& request) {
  std::uint64_t after = 0;
  if (const std::string_view word = request.word("after"); !word.empty()) {
    const auto number = client::parse_number(word, ~0ULL);
    if (!number) return ApiAnswer::error(number.error());
    after = *number;
  }
  constexpr std::size_t kBatch = 500;
  return {200,
          ApiEventStream{std::chrono::milliseconds(250),
                         [&runtime, after]() mutable -> std::optional<std::string> {
                           std::string text;
                           for (const EventLine& line : runtime.events(after, kBatch)) {
                             text += fmt::format("id: {}\ndata: {}\n\n", line.sequence, line.json);
                             after = line.sequence;
                           }
                           return text;
                         }},
          {}};
}

}  // namespace

json table_objects(const client::Table& table) {
  json out = json::array();
  std::string value;
  for (const client::Row& row : table.rows) {
    json object = json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      value.clear();
      client::append_json_value(value, row[i], table.columns[i].unit);
      object[table.columns[i].name] = json::parse(value);
    }
    out.push_back(std::move(object));
  }
  return out;
}

json status_json(const Status& s) {
  return {{"version", s.version},
          {"source_revision", s.revision},
          {"name", s.name},
          {"mode", s.mode},
          {"state", s.state},
          {"process", s.process},
          {"started", time_json(s.started)},
          {"uptime_seconds", static_cast<double>(s.uptime_ms) / 1000},
          {"config_revision", s.config_revision},
          {"confirm_deadline", time_json(s.confirm_deadline)},
          {"sessions", s.sessions},
          {"session_limit", s.session_limit},
          {"warnings", s.warnings}};
}

void add_show_routes(ApiRouter& router, RuntimeView& runtime) {
  const auto get = [&router](std::string pattern, std::string help, std::vector<std::string> words,
                             ApiHandler handler) {
    router.add({"GET", std::move(pattern), std::move(help), RouteCost::kQuick, std::move(words),
                std::move(handler)});
  };
  RuntimeView* r = &runtime;
  const auto list = [&get](std::string pattern, std::string help, auto make) {
    get(std::move(pattern), std::move(help), {},
        [make](const ApiRequest&) { return ApiAnswer::table(make()); });
  };
  get("/api/v1/status", "program, configuration, sessions, warnings", {},
      [r](const ApiRequest&) { return ApiAnswer::json(status_json(r->status())); });
  list("/api/v1/ports", "ports with link, driver, counters, rates",
       [r] { return ports_table(r->ports()); });
  list("/api/v1/workers", "packet workers with load and cycles per packet",
       [r] { return workers_table(r->workers()); });
  list("/api/v1/policy", "rules in order of evaluation with their hits",
       [r] { return rules_table(r->rules()); });
  get("/api/v1/rules/{id}", "one rule", {},
      [r](const ApiRequest& q) { return one_rule(*r, q.parameters.at("id")); });
  list("/api/v1/drops", "drop reasons with counts", [r] { return drops_table(r->drops()); });
  get("/api/v1/drops/packets", "the last dropped packets, newest first; `format=pcap` as a capture",
      {"reason", "format"}, [r](const ApiRequest& q) { return dropped(*r, q); });
  list("/api/v1/pools", "bounded resources with their use",
       [r] { return pools_table(r->pools()); });
  get("/api/v1/names", "names for completion: `type=rule`, `zone`, `port`, `state` or `reason`",
      {"type"}, [r](const ApiRequest& q) { return names(*r, q); });
  get("/api/v1/snapshot", "status, ports, workers, busiest rules, drops and pools in one document",
      {}, [r](const ApiRequest&) { return ApiAnswer::json(snapshot(*r)); });
  get("/api/v1/watch", "the snapshot as server-sent events, each `interval` (default 1s)",
      {"interval"}, [r](const ApiRequest& q) { return watch(*r, q); });
  get("/api/v1/events", "EVE records as server-sent events, those `after` a number first",
      {"after"}, [r](const ApiRequest& q) { return events(*r, q); });
  get("/metrics", "Prometheus text", {}, [r](const ApiRequest&) {
    return ApiAnswer{
        200, ApiText{"text/plain; version=0.0.4; charset=utf-8", r->metrics_text()}, {}};
  });
}

void add_routes(ApiRouter& router, RuntimeView& runtime) {
  router.add({"GET", "/api/v1", "this list", RouteCost::kQuick, {}, [&router](const ApiRequest&) {
                client::Table t{
                    "routes", {{"method", "METHOD"}, {"path", "PATH"}, {"help", "ANSWER"}}, {}};
                for (const Route& route : router.routes())
                  t.rows.push_back({route.method, route.pattern, route.help});
                return ApiAnswer::table(std::move(t));
              }});
  add_show_routes(router, runtime);
  add_session_routes(router, runtime);
  add_explain_routes(router, runtime);
  add_config_routes(router, runtime);
}

}  // namespace merlon::control
