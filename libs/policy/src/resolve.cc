// SPDX-License-Identifier: Apache-2.0
// Rules to Compiled rules: lists of words to sets.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "objects.h"
#include "suggest.h"

namespace merlon::policy {

namespace {

using base::Errc;

std::string list_key(const std::vector<Name>& names) {
  std::string key;
  for (const Name& n : names) {
    key += n.negated ? '!' : ' ';
    key += n.text;
    key += '\n';
  }
  return key;
}

template <class T>
std::vector<std::string_view> keys_of(const NameMap<T>& map) {
  std::vector<std::string_view> out;
  for (const auto& [name, unused] : map) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> zone_names(const ZoneTable& zones) {
  std::vector<std::string_view> out;
  for (std::uint16_t z = 0; z < zones.count(); ++z) out.push_back(zones.name(z));
  return out;
}

KeySet port_keys(const std::vector<PortRange>& ports) {
  KeySet out;
  for (const PortRange& r : ports) out.push_back({r.first, r.last});
  normalise(out);
  if (out.size() == 1 && out[0] == Interval<std::uint32_t>{0, 65535}) out.clear();
  return out;
}

// The keys of one term; a protocol-free term with ports means the protocols that have ports.
void add_term_keys(const ServiceTerm& term, const KeySet& destination, KeySet& out) {
  const bool names_ports = !term.source_ports.empty() || !term.destination_ports.empty();
  std::vector<std::uint32_t> protocols;
  if (term.protocol)
    protocols.push_back(*term.protocol);
  else if (names_ports)
    protocols = {kProtoTcp, kProtoUdp, kProtoSctp};
  if (protocols.empty()) out.push_back({0, kServiceLast});
  for (const std::uint32_t p : protocols) {
    const std::uint32_t base = p << 16;
    if (term.icmp_type) {
      const std::uint32_t type = base | static_cast<std::uint32_t>(*term.icmp_type) << 8;
      if (term.icmp_code)
        out.push_back({type | *term.icmp_code, type | *term.icmp_code});
      else
        out.push_back({type, type | 0xff});
    } else if (destination.empty()) {
      out.push_back({base, base | 0xffff});
    } else {
      for (const auto& i : destination) out.push_back({base | i.first, base | i.last});
    }
  }
}

std::uint64_t hash_set(const KeySet& set) {
  std::uint64_t h = set.size();
  for (const auto& i : set)
    h = (h ^ (std::uint64_t{i.first} << 32 | i.last)) * 0x9e3779b97f4a7c15ULL;
  return h;
}

}  // namespace

KeySetPtr RuleResolver::intern(KeySet set) {
  auto& bucket = key_sets_[hash_set(set)];
  for (const KeySetPtr& p : bucket)
    if (*p == set) return p;
  return bucket.emplace_back(std::make_shared<const KeySet>(std::move(set)));
}

AddressSetPtr RuleResolver::address_list(const std::vector<Name>& names) {
  if (names.empty()) return nullptr;
  const auto [slot, is_new] = address_lists_.try_emplace(list_key(names));
  if (!is_new) return slot->second;
  if (names.size() == 1 && !names[0].negated) {  // the object's own set, shared
    const auto it = objects_.addresses.find(names[0].text);
    if (it != objects_.addresses.end()) return slot->second = it->second;
  }
  AddressSet plus, minus;
  bool has_plus = false;
  for (const Name& n : names) {
    AddressSet& to = n.negated ? minus : plus;
    has_plus |= !n.negated;
    Literal literal = address_literal(n);
    const auto it = objects_.addresses.find(n.text);
    if (literal.is == Literal::Is::kYes) {
      to.insert(to.end(), literal.set.begin(), literal.set.end());
    } else if (it != objects_.addresses.end()) {
      if (it->second)
        to.insert(to.end(), it->second->begin(), it->second->end());
      else
        to.push_back({0, kAddressLast});
    } else if (literal.is == Literal::Is::kBad) {
      errors_.push_back(std::move(literal.error));
    } else {
      errors_.push_back({Errc::kNotFound,
                         fmt::format("address object \"{}\" does not exist", n.text), n.where,
                         did_you_mean(n.text, keys_of(objects_.addresses))});
    }
  }
  if (!has_plus) plus.push_back({0, kAddressLast});
  normalise(plus);
  normalise(minus);
  if (!minus.empty()) plus = subtract(plus, minus);
  if (plus.size() == 1 && plus[0] == Interval<Key128>{0, kAddressLast}) return slot->second;
  return slot->second = std::make_shared<const AddressSet>(std::move(plus));
}

KeySetPtr RuleResolver::zone_list(const std::vector<Name>& names) {
  if (names.empty()) return nullptr;
  const auto [slot, is_new] = zone_lists_.try_emplace(list_key(names));
  if (!is_new) return slot->second;
  KeySet plus, minus;
  bool has_plus = false;
  for (const Name& n : names) {
    has_plus |= !n.negated;
    const std::uint16_t z = objects_.zones->find(n.text);
    if (z != base::kNoZone)
      (n.negated ? minus : plus).push_back({z, z});
    else if (n.text == "any")
      (n.negated ? minus : plus).push_back({0, 0xffff});
    else
      errors_.push_back({Errc::kNotFound, fmt::format("zone \"{}\" does not exist", n.text),
                         n.where, did_you_mean(n.text, zone_names(*objects_.zones))});
  }
  if (!has_plus) plus.push_back({0, 0xffff});
  normalise(plus);
  normalise(minus);
  if (!minus.empty()) plus = subtract(plus, minus);
  if (plus.size() == 1 && plus[0] == Interval<std::uint32_t>{0, 0xffff}) return slot->second;
  return slot->second = intern(std::move(plus));
}

KeySetPtr RuleResolver::applied_list(const std::vector<Name>& names) {
  if (names.empty()) return nullptr;
  const auto [slot, is_new] = applied_lists_.try_emplace(list_key(names));
  if (!is_new) return slot->second;
  KeySet set;
  bool is_any = false;
  for (const Name& n : names) {
    const std::uint16_t z = objects_.zones->find(n.text);
    const auto port = objects_.ports.find(n.text);
    if (n.negated) {
      errors_.push_back({Errc::kUnsupported,
                         fmt::format("\"{}\" can't be negated in applied_to", n.text), n.where,
                         "list the zones and ports where the rule holds"});
    } else if (z != base::kNoZone) {
      set.push_back({z, z});
    } else if (port != objects_.ports.end()) {
      set.push_back({kAppliedPort + port->second, kAppliedPort + port->second});
    } else if (n.text == "any") {
      is_any = true;
    } else {
      auto known = zone_names(*objects_.zones);
      for (const auto& name : keys_of(objects_.ports)) known.push_back(name);
      errors_.push_back({Errc::kNotFound, fmt::format("no zone or port is called \"{}\"", n.text),
                         n.where, did_you_mean(n.text, known)});
    }
  }
  if (is_any) return slot->second;
  normalise(set);
  return slot->second = intern(std::move(set));
}

void RuleResolver::one_service(const Name& name, ServiceTerms& terms) {
  if (name.negated) {
    errors_.push_back({Errc::kUnsupported,
                       fmt::format("service \"{}\" can't be negated", name.text), name.where,
                       "put a rule for it before this one"});
    return;
  }
  const auto it = objects_.services.find(name.text);
  if (it != objects_.services.end()) {
    terms.insert(terms.end(), it->second.begin(), it->second.end());
    return;
  }
  const auto parsed = parse_service(name.text, name.where);
  if (parsed) {
    terms.insert(terms.end(), parsed->begin(), parsed->end());
    return;
  }
  base::Error error = parsed.error();
  if (error.code == Errc::kNotFound) {
    auto known = keys_of(objects_.services);
    for (const auto& b : builtin_services()) known.push_back(b.name);
    error.message = fmt::format("service object \"{}\" does not exist", name.text);
    error.hint = did_you_mean(name.text, known);
  }
  errors_.push_back(std::move(error));
}

RuleResolver::ServicePtr RuleResolver::service_list(const std::vector<Name>& names) {
  if (names.empty()) return nullptr;
  const auto [slot, is_new] = service_lists_.try_emplace(list_key(names));
  if (!is_new) return slot->second;
  ServiceTerms terms;
  for (const Name& n : names) one_service(n, terms);
  struct Less {
    bool operator()(const KeySet& a, const KeySet& b) const {
      return std::lexicographical_compare(
          a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
            return x.first != y.first ? x.first < y.first : x.last < y.last;
          });
    }
  };
  std::map<KeySet, KeySet, Less> by_source;  // source ports (empty: any) to service keys
  for (const ServiceTerm& t : terms)
    add_term_keys(t, port_keys(t.destination_ports), by_source[port_keys(t.source_ports)]);
  auto rows = std::make_shared<std::vector<ServiceRow>>();
  for (auto& [source, keys] : by_source) {
    normalise(keys);
    const bool is_any = keys.size() == 1 && keys[0] == Interval<std::uint32_t>{0, kServiceLast};
    if (is_any && source.empty()) return slot->second;  // the union is any
    rows->push_back(
        {is_any ? nullptr : intern(std::move(keys)), source.empty() ? nullptr : intern(source)});
  }
  return slot->second = std::move(rows);
}

Finding empty_match(const Rule& rule, const Compiled& made) {
  const char* what = "applied_to";
  const auto none = [](const auto& set) { return set && set->empty(); };
  if (none(made.from_zones)) what = "its source zones";
  if (none(made.to_zones)) what = "its destination zones";
  if (none(made.sources)) what = "its sources";
  if (none(made.destinations)) what = "its destinations";
  if (none(made.services)) what = "its services";
  return {FindingCode::kEmptyMatch,
          Severity::kWarning,
          rule.id,
          {},
          rule.where,
          {},
          fmt::format("rule \"{}\" can't match: nothing is left of {}", rule.id, what)};
}

std::shared_ptr<Compiled> RuleResolver::resolve(const Rule& rule, RuleSlots& slots) {
  auto out = std::make_shared<Compiled>();
  Decision& d = out->decision;
  d.rule = slots.acquire(rule.id);
  d.action = rule.action;
  d.log = rule.log;
  d.on_change = rule.on_change;
  if (rule.allow_midstream) d.midstream = *rule.allow_midstream ? 1 : 2;
  d.max_sessions = rule.max_sessions;
  d.max_sessions_per_source = rule.max_sessions_per_source;
  fingerprint_rule(rule, out->fingerprint);
  out->category = rule.category;
  out->is_enabled = rule.is_enabled;
  out->from_zones = zone_list(rule.from_zones);
  out->to_zones = zone_list(rule.to_zones);
  out->applied_to = applied_list(rule.applied_to);
  out->sources = address_list(rule.sources);
  out->destinations = address_list(rule.destinations);
  out->services = service_list(rule.services);
  if (rule.expires) out->expires = *rule.expires;
  if (rule.schedule) {
    out->is_off_schedule = rule.schedule->negated;
    const auto it = objects_.schedules.find(rule.schedule->text);
    if (it != objects_.schedules.end())
      out->schedule = it->second;
    else
      errors_.push_back(
          {Errc::kNotFound, fmt::format("schedule \"{}\" does not exist", rule.schedule->text),
           rule.schedule->where, did_you_mean(rule.schedule->text, keys_of(objects_.schedules))});
  }
  const auto none = [](const auto& set) { return set && set->empty(); };
  out->is_empty = none(out->from_zones) || none(out->to_zones) || none(out->applied_to) ||
                  none(out->sources) || none(out->destinations) || none(out->services);
  if (out->is_empty) findings_.push_back(empty_match(rule, *out));
  return out;
}

SlotInfo slot_info(const Rule& rule) {
  return {rule.id,     rule.category, rule.action,      rule.log,     rule.is_enabled, rule.owner,
          rule.ticket, rule.reason,   rule.description, rule.expires, rule.where};
}

}  // namespace merlon::policy
