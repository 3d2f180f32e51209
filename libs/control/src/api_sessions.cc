// SPDX-License-Identifier: Apache-2.0
// Routes that list, clear and explain sessions.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api_routes.h"
#include "api_tables.h"

namespace merlon::control {
namespace {

using base::Errc;
using base::Error;
using client::SessionFilter;
using nlohmann::json;

base::Result<void> check_name(RuntimeView& runtime, NameType type, std::string_view what,
                              const std::string& name) {
  if (name.empty()) return {};
  const auto names = runtime.names(type);
  if (std::ranges::find(names, name) != names.end()) return {};
  return Error{Errc::kInvalidValue,
               fmt::format("no {} \"{}\"", what, client::printable(name)),
               {},
               client::did_you_mean(name, names)};
}

// The filter of a request, with every name in it known.
base::Result<SessionFilter> filter_of(RuntimeView& runtime, const ApiRequest& request) {
  auto filter = client::parse_session_filter(request.word("filter"));
  if (!filter) {
    // A place in the filter is no place in a configuration: the request is wrong, not a file.
    Error error = filter.error();
    error.message += fmt::format(" (column {})", std::max(1U, error.where.column));
    error.where = {};
    return error;
  }
  for (const auto& [type, what, name] :
       {std::tuple(NameType::kState, "session state", filter->state),
        std::tuple(NameType::kZone, "zone", filter->zone),
        std::tuple(NameType::kZone, "zone", filter->from_zone),
        std::tuple(NameType::kZone, "zone", filter->to_zone),
        std::tuple(NameType::kPort, "port", filter->in_port)})
    if (auto known = check_name(runtime, type, what, name); !known) return known.error();
  if (filter->rule != "default")
    if (auto known = check_name(runtime, NameType::kRule, "rule", filter->rule); !known)
      return known.error();
  return filter;
}

ApiAnswer list_sessions(RuntimeView& runtime, const ApiRequest& request) {
  const auto filter = filter_of(runtime, request);
  if (!filter) return ApiAnswer::error(filter.error());
  ApiTableStream stream{sessions_head(), {}, 0};
  if (const std::string_view word = request.word("limit"); !word.empty()) {
    const auto limit = client::parse_number(word, ~0ULL);
    if (!limit) return ApiAnswer::error(limit.error());
    stream.limit = *limit;
  }
  stream.source = [cursor = std::shared_ptr<SessionCursor>(runtime.sessions(*filter)),
                   batch = std::vector<SessionRow>()](std::vector<client::Row>& rows) mutable {
    rows.clear();
    if (!cursor->next(batch)) return false;
    for (const SessionRow& session : batch) rows.push_back(session_row(session));
    return true;
  };
  return {200, std::move(stream), {}};
}

ApiAnswer clear_sessions(RuntimeView& runtime, const ApiRequest& request) {
  const auto filter = filter_of(runtime, request);
  if (!filter) return ApiAnswer::error(filter.error());
  if (filter->is_empty() && request.word("all") != "true")
    return ApiAnswer::error({Errc::kInvalidValue,
                             "a filter is needed to clear sessions",
                             {},
                             "all=true clears every session"});
  const auto cleared = runtime.clear_sessions(*filter, request.peer);
  if (!cleared) return ApiAnswer::error(cleared.error());
  return ApiAnswer::json({{"cleared", *cleared}});
}

std::string place(const base::SourcePos& where) {
  return where.has_place() ? fmt::format("{}:{}:{}", where.file, where.line, where.column)
                           : std::string();
}

std::string zone_text(const std::string& zone, const std::string& port) {
  std::string out = zone.empty() ? "no zone" : "zone " + zone;
  if (!port.empty()) out += fmt::format(" (port {})", port);
  return out;
}

std::vector<std::string> policy_lines(const Explanation& e) {
  std::string first = e.rule == "default" ? "default action, no rule matched" : "rule " + e.rule;
  if (const std::string where = place(e.rule_where); !where.empty())
    first += fmt::format("  ({})", where);
  first += "  action " + e.action;
  if (!e.rule_reason.empty()) first += fmt::format(", reason \"{}\"", e.rule_reason);
  if (!e.rule_owner.empty()) first += fmt::format(", owner {}", e.rule_owner);
  std::vector<std::string> lines{std::move(first)};
  if (e.before == 0) return lines;
  std::string before = fmt::format(
      "before it: {} rule{}, {} matched the zones, {} matched fully but {} "
      "inactive",
      e.before, e.before == 1 ? "" : "s", e.before_same_zone, e.before_inactive,
      e.before_inactive == 1 ? "was" : "were");
  lines.push_back(std::move(before));
  for (const auto& c : e.considered) {
    const std::string where = place(c.where);
    lines.push_back(where.empty() ? fmt::format("  {}: {}", c.rule, c.why_not)
                                  : fmt::format("  {}  ({}): {}", c.rule, where, c.why_not));
  }
  return lines;
}

ApiAnswer explain(RuntimeView& runtime, const ApiRequest& request) {
  const auto body = json_body(request);
  if (!body) return ApiAnswer::error(body.error());
  const auto words_at = body->find("words");
  std::vector<std::string> words;
  if (words_at != body->end() && words_at->is_array() && words_at->size() <= 32)
    for (const json& word : *words_at)
      if (word.is_string()) words.push_back(word.get<std::string>());
  const Error usage{Errc::kInvalidValue,
                    "\"words\" must say what to explain",
                    {},
                    "{\"words\":[\"packet\",\"lan\",\"10.0.0.5:40000\",\"192.0.2.9:23\",\"tcp\"]}"};
  if (words.empty()) return ApiAnswer::error(usage);
  const std::span<const std::string> rest = std::span(words).subspan(1);
  const auto answer = [](const base::Result<Explanation>& found) {
    return found ? ApiAnswer::json(explanation_json(*found)) : ApiAnswer::error(found.error());
  };
  const auto refuse = [](Error error) {
    if (error.where.has_place()) error.message += fmt::format(" (word {})", error.where.column);
    error.where = {};
    return ApiAnswer::error(error);
  };
  if (words[0] == "packet") {
    const auto packet = client::parse_packet_words(rest);
    return packet ? answer(runtime.explain(*packet)) : refuse(packet.error());
  }
  if (words[0] == "session") {
    const auto session = client::parse_session_words(rest);
    return session ? answer(runtime.explain(*session)) : refuse(session.error());
  }
  return ApiAnswer::error(usage);
}

bool zone_matches(const SessionFilter& f, const SessionRow& s) {
  return (f.zone.empty() || s.from_zone == f.zone || s.to_zone == f.zone) &&
         (f.from_zone.empty() || s.from_zone == f.from_zone) &&
         (f.to_zone.empty() || s.to_zone == f.to_zone) &&
         (f.in_port.empty() || s.in_port == f.in_port);
}

bool ports_match(const SessionFilter& f, const SessionRow& s) {
  if (!f.port && !f.source_port && !f.destination_port) return true;
  constexpr std::uint8_t kUdpLite = 136;
  return (client::has_ports(s.protocol) || s.protocol == kUdpLite) &&
         (!f.port || s.source_port == *f.port || s.destination_port == *f.port) &&
         (!f.source_port || s.source_port == *f.source_port) &&
         (!f.destination_port || s.destination_port == *f.destination_port);
}

}  // namespace

bool matches(const SessionFilter& f, const SessionRow& s) noexcept {
  return (!f.source || f.source->contains(s.source)) &&
         (!f.destination || f.destination->contains(s.destination)) &&
         (!f.address || f.address->contains(s.source) || f.address->contains(s.destination)) &&
         ports_match(f, s) && (!f.vlan || s.vlan == *f.vlan) &&
         (!f.protocol || s.protocol == *f.protocol) && (!f.id || s.id == *f.id) &&
         (!f.older_ms || s.age_ms >= *f.older_ms) && (!f.idle_ms || s.idle_ms >= *f.idle_ms) &&
         (f.state.empty() || s.state == f.state) && (f.rule.empty() || s.rule == f.rule) &&
         zone_matches(f, s);
}

json explanation_json(const Explanation& e) {
  json steps = json::array();
  const auto step = [&steps](std::string_view stage, std::vector<std::string> text) {
    steps.push_back({{"stage", stage}, {"text", std::move(text)}});
  };
  step("packet", {e.packet});
  step("ingress", {zone_text(e.zone_in, e.port_in)});
  if (!e.zone_out.empty() || !e.port_out.empty())
    step("egress", {zone_text(e.zone_out, e.port_out)});
  if (!e.session.empty()) step("session", {e.session});
  if (!e.rule.empty()) step("policy", policy_lines(e));
  for (const auto& [stage, text] : e.notes) step(stage, {text});
  json considered = json::array();
  for (const auto& c : e.considered)
    considered.push_back({{"rule", c.rule}, {"where", place(c.where)}, {"why_not", c.why_not}});
  json verdict{{"action", e.verdict}};
  if (e.reason != base::DropReason::kNone) {
    verdict["reason"] = base::drop_reason_name(e.reason);
    verdict["sentence"] = base::drop_reason_sentence(e.reason);
  }
  return {{"kind", "explain"},
          {"packet", e.packet},
          {"ingress", {{"zone", e.zone_in}, {"port", e.port_in}}},
          {"egress", {{"zone", e.zone_out}, {"port", e.port_out}}},
          {"session", e.session},
          {"policy",
           {{"rule", e.rule},
            {"where", place(e.rule_where)},
            {"action", e.action},
            {"reason", e.rule_reason},
            {"owner", e.rule_owner},
            {"before", e.before},
            {"before_same_zone", e.before_same_zone},
            {"before_inactive", e.before_inactive},
            {"considered", std::move(considered)}}},
          {"steps", std::move(steps)},
          {"verdict", std::move(verdict)}};
}

void add_session_routes(ApiRouter& router, RuntimeView& runtime) {
  RuntimeView* r = &runtime;
  router.add({"GET",
              "/api/v1/sessions",
              "sessions that pass the `filter` (`src=10.0.0.0/8 port=443 ...`), streamed",
              RouteCost::kQuick,
              {"filter", "limit"},
              [r](const ApiRequest& q) { return list_sessions(*r, q); }});
  router.add({"DELETE",
              "/api/v1/sessions",
              "ends sessions that pass the `filter`; `all=true` for all",
              RouteCost::kQuick,
              {"filter", "all"},
              [r](const ApiRequest& q) { return clear_sessions(*r, q); }});
}

void add_explain_routes(ApiRouter& router, RuntimeView& runtime) {
  RuntimeView* r = &runtime;
  router.add(
      {"POST",
       "/api/v1/explain",
       "what would happen to a packet or happens to a session: `{\"words\":[\"packet\",...]}`",
       RouteCost::kQuick,
       {},
       [r](const ApiRequest& q) { return explain(*r, q); }});
}

}  // namespace merlon::control
