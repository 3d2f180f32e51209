// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "config_bind.h"
#include "merlon/policy/service.h"
#include "schema_index.h"

namespace merlon::control {

using base::Errc;
using policy::Name;

namespace {

Name to_name(const Binding& b, const Node& node) {
  Name name;
  std::string_view text = node.text;
  if (text.starts_with('!')) {
    name.negated = true;
    text.remove_prefix(1);
  }
  name.text = text;
  name.where = b.tree.position(node.place);
  return name;
}

std::vector<Name> to_names(const Binding& b, const Section& s, std::string_view key) {
  std::vector<Name> out;
  const Node* n = s.get(key);
  if (n == nullptr) return out;
  if (n->is_scalar()) {
    if (n->text != "any") out.push_back(to_name(b, *n));
    return out;
  }
  // Alone, "any" is the same as leaving the key out.
  if (n->items.size() == 1 && n->items[0].text == "any") return out;
  out.reserve(n->items.size());
  for (const Node& item : n->items)
    if (item.is_scalar() && !item.is_bad) out.push_back(to_name(b, item));
  return out;
}

void add_ranges(const std::vector<const Node*>& nodes, std::vector<base::AddressRange>& out) {
  for (const Node* n : nodes)
    if (const auto range = base::parse_address_range(n->text)) out.push_back(*range);
}

void bind_addresses(const Binding& b, const Section& objects, policy::PolicyModel& model) {
  for (const Node* node : objects.items("addresses")) {
    policy::AddressObject object;
    object.name = node->key;
    object.where = b.tree.position(node->key_place);
    if (node->is_mapping()) {
      const Section s(node);
      add_ranges(s.list("ranges"), object.ranges);
      for (const Node* n : s.list("members")) object.members.push_back(to_name(b, *n));
      for (const Node* n : s.list("except")) {
        object.members.push_back(to_name(b, *n));
        object.members.back().negated = true;
      }
      object.tags = s.texts("tags");
      for (const Node* n : s.list("with_tags")) object.with_tags.push_back(to_name(b, *n));
    } else {
      const auto add = [&](const Node& n) {
        if (n.is_bad || !n.is_scalar()) return;
        const auto range = base::parse_address_range(n.text);
        if (range) {
          object.ranges.push_back(*range);
        } else {
          object.members.push_back(to_name(b, n));
        }
      };
      if (node->is_scalar()) add(*node);
      for (const Node& n : node->items) add(n);
    }
    model.addresses.push_back(std::move(object));
  }
}

void bind_services(const Binding& b, const Section& objects, policy::PolicyModel& model) {
  for (const Node* node : objects.items("services")) {
    policy::ServiceObject object;
    object.name = node->key;
    object.where = b.tree.position(node->key_place);
    const auto add = [&](const Node& n) {
      if (n.is_bad || !n.is_scalar()) return;
      if (!policy::is_service_literal(n.text)) {
        object.members.push_back(to_name(b, n));
        return;
      }
      auto terms = policy::parse_service(n.text, b.tree.position(n.place));
      if (terms) {
        object.terms.insert(object.terms.end(), terms->begin(), terms->end());
      } else {
        b.error(n.place, fmt::format("objects.services.{}", node->key), terms.error().message,
                terms.error().hint, terms.error().code);
      }
    };
    if (node->is_scalar()) add(*node);
    for (const Node& n : node->items) add(n);
    model.services.push_back(std::move(object));
  }
}

void bind_schedules(const Binding& b, const Section& objects, policy::PolicyModel& model) {
  for (const Node* node : objects.items("schedules")) {
    const Section s(node);
    policy::Schedule schedule;
    schedule.name = node->key;
    schedule.where = b.tree.position(node->key_place);
    const std::string path = fmt::format("objects.schedules.{}", node->key);
    if (const Node* n = s.get("utc_offset")) {
      if (const auto minutes = parse_utc_offset(n->text)) {
        schedule.utc_offset_minutes = static_cast<std::int32_t>(*minutes);
      } else {
        b.error(n->place, path + ".utc_offset", minutes.error().message, minutes.error().hint);
      }
    }
    const Node* windows = s.get("windows");
    if (windows != nullptr && windows->items.empty())
      b.error(windows->key_place, path + ".windows",
              fmt::format("schedule \"{}\" has no window", node->key),
              "without a window it is never active");
    for (const Node* item : s.items("windows")) {
      const Section w(item);
      policy::ScheduleWindow window;
      const std::vector<const Node*> days = w.list("days");
      if (!days.empty()) window.weekdays = 0;
      const std::vector<std::string_view> words = split_words("mon tue wed thu fri sat sun");
      for (const Node* day : days)
        for (std::size_t i = 0; i < words.size(); ++i)
          if (day->text == words[i])
            window.weekdays = static_cast<std::uint8_t>(window.weekdays | (1U << i));
      if (const Node* n = w.get("from"))
        window.from_minute = static_cast<std::uint32_t>(*parse_clock(n->text));
      if (const Node* n = w.get("to"))
        window.to_minute = static_cast<std::uint32_t>(*parse_clock(n->text));
      if (const Node* n = w.get("not_before")) window.not_before = *parse_time(n->text);
      if (const Node* n = w.get("not_after")) window.not_after = *parse_time(n->text);
      if (window.from_minute == window.to_minute)
        b.error(item->items.front().key_place, path + ".windows",
                "the window starts and ends at the same minute",
                "leave both out for the whole day");
      if (window.not_before && window.not_after && *window.not_after <= *window.not_before)
        b.error(w.get("not_after")->place, path + ".windows",
                "\"not_after\" is not later than \"not_before\"");
      schedule.windows.push_back(window);
    }
    model.schedules.push_back(std::move(schedule));
  }
}

// A port and VLAN belong to one zone, unless networks tell the zones apart.
void check_overlap(const Binding& b, const policy::PolicyModel& model,
                   const std::vector<const Node*>& nodes) {
  std::unordered_map<std::string, std::vector<std::size_t>> zones_of_port;
  for (std::size_t i = 0; i < model.zones.size(); ++i) {
    const policy::Zone& zone = model.zones[i];
    if (nodes[i]->is_mapping() && nodes[i]->find("networks") != nullptr) continue;
    for (const Name& port : zone.ports) {
      for (const std::size_t other : zones_of_port[port.text]) {
        const policy::Zone& first = model.zones[other];
        std::optional<std::uint16_t> shared;
        for (const std::uint16_t v : zone.vlans)
          if (std::find(first.vlans.begin(), first.vlans.end(), v) != first.vlans.end()) shared = v;
        if (!shared && !(zone.vlans.empty() && first.vlans.empty())) continue;
        b.error(nodes[i]->key_place, fmt::format("zones.{}", zone.name),
                shared
                    ? fmt::format("VLAN {} of port \"{}\" is in zone \"{}\" already", *shared,
                                  port.text, first.name)
                    : fmt::format("port \"{}\" is in zone \"{}\" already", port.text, first.name),
                "tell the zones apart by \"vlans\" or by \"networks\"", Errc::kDuplicate);
      }
      std::vector<std::size_t>& list = zones_of_port[port.text];
      if (list.empty() || list.back() != i) list.push_back(i);
    }
  }
}

void bind_zones(const Binding& b, const Section& root, policy::PolicyModel& model) {
  std::vector<std::string_view> known;
  const Node* ports = root.node() == nullptr ? nullptr : root.node()->find("ports");
  if (ports != nullptr)
    for (const Node& n : ports->items) known.push_back(n.key);
  std::vector<const Node*> nodes;
  std::vector<std::string_view> used;
  for (const Node* node : root.items("zones")) {
    const Section s(node);
    policy::Zone zone;
    zone.name = node->key;
    zone.where = b.tree.position(node->key_place);
    for (const Node* n : s.list("ports")) {
      used.push_back(n->text);
      if (std::find(known.begin(), known.end(), n->text) == known.end()) {
        b.error(n->place, fmt::format("zones.{}.ports", node->key),
                fmt::format("there is no port \"{}\"", n->text), did_you_mean(n->text, known),
                Errc::kNotFound);
      } else {
        zone.ports.push_back(to_name(b, *n));
      }
    }
    for (const Node* n : s.list("vlans"))
      zone.vlans.push_back(static_cast<std::uint16_t>(*parse_integer(n->text)));
    add_ranges(s.list("networks"), zone.networks);
    if (node->is_mapping() && node->find("ports") == nullptr && node->find("networks") == nullptr)
      b.warning(node->key_place, fmt::format("zones.{}", node->key),
                fmt::format("zone \"{}\" has neither ports nor networks", node->key),
                "no packet is ever in it");
    model.zones.push_back(std::move(zone));
    nodes.push_back(node);
  }
  check_overlap(b, model, nodes);
  if (!b.errors.empty()) return;
  for (const Node* node : root.items("ports"))
    if (!nodes.empty() && std::find(used.begin(), used.end(), node->key) == used.end())
      b.warning(node->key_place, fmt::format("ports.{}", node->key),
                fmt::format("port \"{}\" is in no zone", node->key),
                "rules with \"from\" or \"to\" never match its packets");
}

policy::Rule bind_rule(const Binding& b, const Node& node) {
  const Section s(&node);
  policy::Rule rule;
  rule.where = b.tree.position(node.place);
  if (const Node* id = s.get("id")) rule.where = b.tree.position(id->place);
  s.read("id", rule.id);
  s.read_choice("category", {"emergency", "infrastructure", "environment", "application"},
                rule.category);
  s.read("enabled", rule.is_enabled);
  rule.from_zones = to_names(b, s, "from");
  rule.to_zones = to_names(b, s, "to");
  rule.sources = to_names(b, s, "source");
  rule.destinations = to_names(b, s, "destination");
  rule.services = to_names(b, s, "service");
  rule.applied_to = to_names(b, s, "applied_to");
  if (const Node* n = s.get("schedule")) rule.schedule = to_name(b, *n);
  s.read_choice("action", {"permit", "drop", "reject"}, rule.action);
  s.read_choice("log", {"none", "start", "end", "both"}, rule.log);
  s.read_choice("on_change", {"re-evaluate", "keep", "kill"}, rule.on_change);
  s.read_integer("max_sessions", rule.max_sessions);
  s.read_integer("max_sessions_per_source", rule.max_sessions_per_source);
  if (s.get("midstream") != nullptr) {
    bool is_allowed = false;
    s.read("midstream", is_allowed);
    rule.allow_midstream = is_allowed;
  }
  if (const Node* n = s.get("expires")) rule.expires = *parse_time(n->text);
  s.read("owner", rule.owner);
  s.read("ticket", rule.ticket);
  s.read("description", rule.description);
  s.read("reason", rule.reason);
  rule.tags = s.texts("tags");
  return rule;
}

}  // namespace

void bind_policy(const Binding& binding, LoadedConfig& config) {
  const Section root(&binding.tree.root);
  policy::PolicyModel& model = config.policy;
  for (const auto& port : config.engine.ports) model.ports.push_back(port.name);
  const Section objects = root.section("objects");
  bind_addresses(binding, objects, model);
  bind_services(binding, objects, model);
  bind_schedules(binding, objects, model);
  bind_zones(binding, root, model);
  const Section policy = root.section("policy");
  policy.read_choice("default", {"permit", "drop", "reject"}, model.default_action);
  policy.read_choice("default_log", {"none", "start", "end", "both"}, model.default_log);
  const std::vector<const Node*> rules = policy.items("rules");
  model.rules.reserve(rules.size());
  for (const Node* node : rules)
    if (node->is_mapping()) model.rules.push_back(bind_rule(binding, *node));
  if (model.default_action == base::Action::kPermit)
    binding.warning(policy.get("default")->place, "policy.default",
                    "sessions that no rule matches are permitted",
                    "a firewall's default is usually drop");
}

}  // namespace merlon::control
