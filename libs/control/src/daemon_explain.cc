// SPDX-License-Identifier: Apache-2.0
// Explain: a packet told in words becomes a frame, the worker that would get it judges it on its
// own code path, and what it says is put into words again. The rules that did not match are told by
// policy::explain().
#include <fmt/format.h>

#include <algorithm>

#include "merlon/client/packet_words.h"
#include "merlon/client/words.h"
#include "merlon/control/daemon_view.h"
#include "merlon/engine/session_walk.h"
#include "merlon/packet/text.h"
#include "merlon/policy/explain.h"

namespace merlon::control {
namespace {

using base::DropReason;
using base::Errc;
using base::Error;

Error no_answer() {
  return {.code = Errc::kTimeout,
          .message = "a worker did not answer in time",
          .hint = "look at `merlon show workers`; the process may be starved of CPU"};
}

// A port of that name, or the first port of the zone of that name.
base::Result<std::uint16_t> find_port(const Runtime& runtime, const engine::EngineConfig& config,
                                      const std::string& in, std::uint16_t vlan) {
  for (std::uint16_t p = 0; p < config.ports.size(); ++p)
    if (config.ports[p].name == in) return p;
  const auto policy = runtime.policy();
  const std::uint16_t zone = policy->zones().find(in);
  if (zone == base::kNoZone) {
    std::vector<std::string> names;
    for (const auto& p : config.ports) names.push_back(p.name);
    for (std::uint16_t z = 0; z < policy->zones().count(); ++z)
      names.emplace_back(policy->zones().name(z));
    std::string hint = client::did_you_mean(in, names);
    if (hint.empty()) hint = "`merlon show ports` lists ports with their zones";
    return Error{.code = Errc::kInvalidValue,
                 .message = fmt::format("there is no zone or port \"{}\"", client::printable(in)),
                 .hint = std::move(hint)};
  }
  for (std::uint16_t p = 0; p < config.ports.size(); ++p)
    if (policy->zones().zone(p, vlan) == zone) return p;
  return Error{.code = Errc::kInvalidValue,
               .message = fmt::format("zone \"{}\" has no port for VLAN {}", in, vlan),
               .hint = "name the VLAN with vlan=N, or the port itself"};
}

std::string frame_text(const client::PacketWords& w) {
  const bool v4 = w.source.is_v4();
  std::string text = w.vlan != 0 ? fmt::format("eth / vlan {} / ", w.vlan) : "eth / ";
  text += fmt::format("{} src={} dst={}", v4 ? "ipv4" : "ipv6", w.source.to_string(),
                      w.destination.to_string());
  switch (w.protocol) {
    case 6: {
      std::string flags;
      constexpr std::pair<unsigned, char> kFlags[] = {{2, 'S'}, {16, 'A'}, {1, 'F'},
                                                      {4, 'R'}, {8, 'P'},  {32, 'U'}};
      for (const auto& [bit, letter] : kFlags)
        if ((w.tcp_flags & bit) != 0) flags += letter;
      text += fmt::format(" / tcp sport={} dport={} flags={}", w.source_port, w.destination_port,
                          flags);
      break;
    }
    case 17:
      text += fmt::format(" / udp sport={} dport={}", w.source_port, w.destination_port);
      break;
    case 132:
      text += fmt::format(" / sctp sport={} dport={}", w.source_port, w.destination_port);
      break;
    case 1:
      text += fmt::format(" / icmp type={} code={}", w.icmp_type, w.icmp_code);
      break;
    case 58:
      text += fmt::format(" / icmpv6 type={} code={}", w.icmp_type, w.icmp_code);
      break;
    default:
      text += fmt::format(" proto={} / payload zeros=8", w.protocol);
      break;
  }
  return text;
}

std::string session_words(const engine::JudgeRequest& r, const NamesTable& names,
                          std::uint32_t revision) {
  if (!r.has_session) return "none";
  const SessionRow row = session_row(r.session, names, revision);
  return fmt::format("id {}, {}, {} s old, by rule {}", row.id, row.state, row.age_ms / 1000,
                     row.rule);
}

std::string other_side_words(const engine::JudgeRequest& r, const NamesTable& names,
                             std::uint32_t revision) {
  const SessionRow row = session_row(r.other_side, names, revision);
  return fmt::format(
      "session {} has these addresses, but its initiator comes in by {}: by {} this packet is not "
      "one of it",
      row.id, names.port(r.other_side.cold.in_port), names.port(r.in_port));
}

std::string verdict_words(const engine::JudgeRequest& r) {
  const bool drops = r.reason != DropReason::kNone;
  const std::string what = !drops                                  ? "forward"
                           : r.reason == DropReason::kPolicyReject ? "reject"
                                                                   : "drop";
  return r.is_tap && drops ? "would " + what : what;
}

void add_policy(Explanation& out, const policy::Explanation& why) {
  out.rule = why.rule.id;
  out.rule_where = why.rule.where;
  out.action = telemetry::action_name(why.decision.action);
  out.rule_reason = why.rule.reason;
  out.rule_owner = why.rule.owner;
  out.before = static_cast<std::uint32_t>(why.rules_before);
  out.before_same_zone = static_cast<std::uint32_t>(why.zone_matched);
  out.before_inactive = static_cast<std::uint32_t>(why.inactive_matched);
  for (const policy::RuleTrace& t : why.nearest)
    out.considered.push_back({.rule = t.id, .where = t.where, .why_not = t.sentence});
}

Explanation put_in_words(Runtime& runtime, const engine::JudgeRequest& r, std::string packet,
                         base::Nanos now) {
  Explanation out;
  const auto policy = runtime.policy();
  const NamesTable& names = runtime.names();
  out.packet = std::move(packet);
  out.port_in = names.port(r.in_port);
  out.port_out = names.port(r.out_port);
  out.zone_in = policy->zones().name(r.zone_source);
  out.zone_out = policy->zones().name(r.zone_destination);
  out.session =
      session_words(r, names, runtime.engine()->revision_of(r.session.session.generation));
  out.verdict = verdict_words(r);
  out.reason = r.reason;
  if (r.asks_policy) {
    add_policy(out, policy::explain(*policy, r.query, now));
    if (!r.has_session && r.reason == DropReason::kNone) out.session = "none: would create";
  } else if (r.has_session) {
    out.rule = names.rule(r.session.session.rule);
    if (const auto* info = policy->slot(r.session.session.rule)) {
      out.rule_where = info->where;
      out.action = telemetry::action_name(info->action);
      out.rule_reason = info->reason;
      out.rule_owner = info->owner;
    }
  }
  if (r.reason != DropReason::kNone)
    out.notes.emplace_back("reason", std::string(base::drop_reason_sentence(r.reason)));
  if (r.has_other_side)
    out.notes.emplace_back(
        "side",
        other_side_words(r, names, runtime.engine()->revision_of(r.other_side.session.generation)));
  if (r.is_tap) out.notes.emplace_back("mode", "tap: the packet is watched, never stopped");
  return out;
}

}  // namespace

base::Result<Explanation> explain_packet(Runtime& runtime, const client::PacketWords& words,
                                         base::Nanos now) {
  engine::Engine& e = *runtime.engine();
  const auto port = find_port(runtime, e.config(), words.in, words.vlan);
  if (!port) return port.error();
  auto frame = packet::packet_from_text(frame_text(words), {});
  if (!frame) return frame.error();
  engine::JudgeRequest request;
  request.frame = std::move(*frame);
  request.in_port = *port;
  if (!e.judge(request) && !request.has_session) return no_answer();
  return put_in_words(runtime, request, client::to_string(words), now);
}

base::Result<Explanation> DaemonView::explain(const client::PacketWords& packet) {
  return explain_packet(runtime_, packet, base::wall_clock_now());
}

// A live session: what decided it, and what the running policy says to it now.
base::Result<Explanation> DaemonView::explain(const client::SessionWords& words) {
  engine::SessionWalk walk(
      *runtime_.engine(), [words](const flow::Session& s, const flow::SessionCold& c, base::Ticks) {
        if (words.id) return c.flow_id == *words.id;
        const policy::Query q = engine::query_of(s, c);
        const bool forth = q.source == words.source && q.destination == words.destination &&
                           q.source_port == words.source_port &&
                           q.destination_port == words.destination_port;
        const bool back = q.source == words.destination && q.destination == words.source &&
                          q.source_port == words.destination_port &&
                          q.destination_port == words.source_port;
        return q.protocol == words.protocol && (forth || back);
      });
  std::vector<engine::SessionView> views;
  const bool is_found = walk.next(views);
  if (!is_found && !walk.is_complete()) return no_answer();
  if (!is_found)
    return Error{.code = Errc::kNotFound,
                 .message = "there is no such session",
                 .hint =
                     "`merlon show sessions` lists them; `merlon explain packet ...` tells what a "
                     "new one would meet"};
  engine::JudgeRequest r;
  r.has_session = r.asks_policy = true;
  r.session = views.front();
  r.in_port = r.session.cold.in_port;
  r.out_port = r.session.cold.out_port;
  r.is_tap = r.out_port == base::kNoPort;
  r.query = engine::query_of(r.session.session, r.session.cold, *runtime_.policy());
  r.zone_source = r.query.zone_source;
  r.zone_destination = r.query.zone_destination;
  if (r.session.session.is(flow::Session::kDropAll)) r.reason = r.session.session.drop_reason;
  const SessionRow row = session_row(r.session, runtime_.names(),
                                     runtime_.engine()->revision_of(r.session.session.generation));
  Explanation out = put_in_words(
      runtime_, r,
      fmt::format(
          "{} {} {}",
          client::endpoint(row.source, row.source_port, row.protocol == 6 || row.protocol == 17),
          client::endpoint(row.destination, row.destination_port,
                           row.protocol == 6 || row.protocol == 17),
          telemetry::protocol_name(row.protocol)),
      base::wall_clock_now());
  out.notes.emplace_back("decided",
                         fmt::format("by rule {} of revision {}", row.rule, row.revision));
  return out;
}

}  // namespace merlon::control
