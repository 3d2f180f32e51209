// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "builder.h"

namespace merlon::policy {

namespace {

std::string zone_text(const Snapshot& s, std::uint16_t zone) {
  const std::string_view name = s.zones().name(zone);
  return name.empty() ? "no zone" : fmt::format("zone {}", name);
}

std::string service_text(const Query& q) {
  ServiceTerm t;
  t.protocol = q.protocol;
  if (has_ports(q.protocol)) {
    t.source_ports.push_back({q.source_port, q.source_port});
    t.destination_ports.push_back({q.destination_port, q.destination_port});
  }
  if (q.protocol == kProtoIcmp || q.protocol == kProtoIcmpv6) {
    t.icmp_type = q.icmp_type;
    t.icmp_code = q.icmp_code;
  }
  return format_service(t);
}

std::string sentence(Miss miss, const Snapshot& s, const Query& q) {
  switch (miss) {
    case Miss::kNone:
      return "matches";
    case Miss::kDisabled:
      return "the rule is disabled";
    case Miss::kFromZone:
      return fmt::format("{} is not among its source zones", zone_text(s, q.zone_source));
    case Miss::kToZone:
      return fmt::format("{} is not among its destination zones", zone_text(s, q.zone_destination));
    case Miss::kAppliedTo:
      return "it is not applied to these ports and zones";
    case Miss::kSource:
      return fmt::format("source {} is not in its sources", q.source.to_string());
    case Miss::kDestination:
      return fmt::format("destination {} is not in its destinations", q.destination.to_string());
    case Miss::kService:
      return fmt::format("{} is not in its services", service_text(q));
    case Miss::kExpired:
      return "it would match but has expired";
    case Miss::kSchedule:
      return "it would match but its schedule is off";
  }
  return {};
}

bool is_past_zones(Miss m) {
  return m != Miss::kFromZone && m != Miss::kToZone && m != Miss::kAppliedTo;
}

std::string place_text(const base::SourcePos& p) {
  if (!p.has_place()) return {};
  return p.file.empty() ? fmt::format("  (line {}:{})", p.line, p.column)
                        : fmt::format("  ({}:{}:{})", p.file, p.line, p.column);
}

std::string_view action_text(Action a) {
  switch (a) {
    case Action::kPermit:
      return "permit";
    case Action::kDrop:
      return "drop";
    case Action::kReject:
      return "reject";
  }
  return {};
}

// Matching rules that were passed over first, then those that failed latest.
unsigned nearness(Miss m) {
  switch (m) {
    case Miss::kDisabled:
    case Miss::kExpired:
    case Miss::kSchedule:
      return 100;
    default:
      return static_cast<unsigned>(m);
  }
}

}  // namespace

std::string_view miss_name(Miss miss) noexcept {
  static constexpr std::array<std::string_view, 10> kNames{
      "none",   "disabled",    "from_zone", "to_zone", "applied_to",
      "source", "destination", "service",   "expired", "schedule"};
  return kNames[static_cast<std::size_t>(miss)];
}

Explanation explain(const Snapshot& snapshot, const Query& query, base::Nanos now,
                    std::size_t max_nearest) {
  Explanation out;
  out.decision = snapshot.decide(query, now);
  if (const SlotInfo* info = snapshot.slot(out.decision.rule)) out.rule = *info;
  struct Near {
    const Compiled* rule;
    Miss miss;
  };
  std::vector<Near> near;
  for (const Compiled* c : SnapshotReader::listing(snapshot)) {
    if (c->decision.rule == out.decision.rule) break;
    ++out.rules_before;
    Miss miss = c->is_empty && c->miss(query) == Miss::kNone ? Miss::kService : c->miss(query);
    out.zone_matched += is_past_zones(miss);
    if (miss == Miss::kNone) {
      ++out.inactive_matched;
      miss = Miss::kSchedule;
      if (now >= c->expires) miss = Miss::kExpired;
      if (!c->is_enabled) miss = Miss::kDisabled;
    }
    near.push_back({c, miss});
  }
  std::reverse(near.begin(), near.end());
  std::stable_sort(near.begin(), near.end(), [](const Near& a, const Near& b) {
    return nearness(a.miss) > nearness(b.miss);
  });
  for (std::size_t i = 0; i < std::min(max_nearest, near.size()); ++i) {
    RuleTrace t;
    t.slot = near[i].rule->decision.rule;
    if (const SlotInfo* info = snapshot.slot(t.slot)) {
      t.id = info->id;
      t.where = info->where;
    }
    t.miss = near[i].miss;
    t.sentence = sentence(t.miss, snapshot, query);
    out.nearest.push_back(std::move(t));
  }
  return out;
}

std::string Explanation::to_text() const {
  const bool is_default = decision.rule == kDefaultRuleSlot;
  std::string out = is_default ? "default action" : fmt::format("rule {}", rule.id);
  out += fmt::format("{}  action {}", place_text(rule.where), action_text(decision.action));
  if (!rule.reason.empty()) out += fmt::format(", reason \"{}\"", rule.reason);
  out += fmt::format("\nbefore it: {} rule{}, {} matched zone, {} matched fully but {} inactive\n",
                     rules_before, rules_before == 1 ? "" : "s", zone_matched, inactive_matched,
                     inactive_matched == 1 ? "was" : "were");
  for (const RuleTrace& t : nearest)
    out += fmt::format("not {}{}: {}\n", t.id, place_text(t.where), t.sentence);
  return out;
}

}  // namespace merlon::policy
