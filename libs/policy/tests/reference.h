// SPDX-License-Identifier: Apache-2.0
#pragma once
// The oracle: answers a query by reading the model rule by rule, word by word, with no compiled
// form at all. Slow on purpose; shares only parse_service() and the address parser with the room.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "merlon/policy/model.h"
#include "merlon/policy/query.h"
#include "merlon/policy/service.h"

namespace merlon::policy::reference {

inline bool address_in(const PolicyModel& m, const Name& word, const base::IpAddress& a);

template <class Test>
bool in_list(const std::vector<Name>& list, const Test& test) {
  if (list.empty()) return true;
  bool has_plain = false, plain = false, negated = false;
  for (const Name& n : list) {
    has_plain |= !n.negated;
    if (n.negated)
      negated |= test(n);
    else
      plain |= test(n);
  }
  return (plain || !has_plain) && !negated;
}

inline bool object_holds(const PolicyModel& m, const AddressObject& o, const base::IpAddress& a) {
  bool plain = false, negated = false;
  bool has_plain = !o.ranges.empty() || !o.with_tags.empty();
  const auto in_range = [&](const base::AddressRange& r) {
    return r.contains(a) && r.first.is_v4() == a.is_v4();
  };
  for (const auto& r : o.ranges) plain |= in_range(r);
  for (const Name& n : o.members) {
    has_plain |= !n.negated;
    (n.negated ? negated : plain) |= address_in(m, n, a);
  }
  if (!o.with_tags.empty()) {
    for (const AddressObject& other : m.addresses) {
      if (&other == &o) continue;
      const bool fits = std::all_of(o.with_tags.begin(), o.with_tags.end(), [&](const Name& t) {
        return (std::count(other.tags.begin(), other.tags.end(), t.text) > 0) != t.negated;
      });
      plain |= fits && object_holds(m, other, a);
    }
  }
  if (!has_plain && !o.members.empty()) plain = true;
  return plain && !negated;
}

inline bool address_in(const PolicyModel& m, const Name& word, const base::IpAddress& a) {
  if (word.text == "any") return true;
  for (const AddressObject& o : m.addresses)
    if (o.name == word.text) return object_holds(m, o, a);
  const auto r = base::parse_address_range(word.text);
  return r && r->first.is_v4() == a.is_v4() && r->contains(a);
}

inline bool term_takes(const ServiceTerm& t, const Query& q) {
  if (t.protocol && *t.protocol != q.protocol) return false;
  const auto in = [](const std::vector<PortRange>& list, std::uint16_t port) {
    return list.empty() || std::any_of(list.begin(), list.end(), [&](const PortRange& r) {
             return r.first <= port && port <= r.last;
           });
  };
  const bool names_ports = !t.source_ports.empty() || !t.destination_ports.empty();
  if (names_ports && !has_ports(q.protocol)) return false;
  if (!in(t.source_ports, q.source_port) || !in(t.destination_ports, q.destination_port))
    return false;
  if (t.icmp_type && *t.icmp_type != q.icmp_type) return false;
  return !t.icmp_code || *t.icmp_code == q.icmp_code;
}

inline bool service_takes(const PolicyModel& m, const Name& word, const Query& q) {
  for (const ServiceObject& o : m.services) {
    if (o.name != word.text) continue;
    for (const ServiceTerm& t : o.terms)
      if (term_takes(t, q)) return true;
    return std::any_of(o.members.begin(), o.members.end(),
                       [&](const Name& n) { return service_takes(m, n, q); });
  }
  const auto terms = parse_service(word.text);
  return terms && std::any_of(terms->begin(), terms->end(),
                              [&](const ServiceTerm& t) { return term_takes(t, q); });
}

inline bool schedule_on(const Schedule& s, base::Nanos now) {
  // Minute by minute arithmetic on the local time, written apart from the room's.
  const std::int64_t local = now / base::kNanosPerSecond + std::int64_t{s.utc_offset_minutes} * 60;
  const std::int64_t minute = local / 60 % 1440;
  const unsigned today = static_cast<unsigned>((local / 86400 + 3) % 7);
  const unsigned yesterday = (today + 6) % 7;
  return std::any_of(s.windows.begin(), s.windows.end(), [&](const ScheduleWindow& w) {
    if ((w.not_before && now < *w.not_before) || (w.not_after && now >= *w.not_after)) return false;
    const bool on_today = (w.weekdays >> today) & 1, on_yesterday = (w.weekdays >> yesterday) & 1;
    if (w.from_minute <= w.to_minute)
      return on_today && minute >= w.from_minute && minute < w.to_minute;
    return (on_today && minute >= w.from_minute) || (on_yesterday && minute < w.to_minute);
  });
}

inline bool takes(const PolicyModel& m, const Rule& r, const Query& q, base::Nanos now) {
  if (!r.is_enabled || (r.expires && now >= *r.expires)) return false;
  if (r.schedule) {
    for (const Schedule& s : m.schedules)
      if (s.name == r.schedule->text && !schedule_on(s, now)) return false;
  }
  const auto is_zone = [&](std::uint16_t number) {
    return [&m, number](const Name& n) {
      return n.text == "any" || (number < m.zones.size() && m.zones[number].name == n.text);
    };
  };
  const auto is_port = [&](const Name& n, std::uint16_t number) {
    return number < m.ports.size() && m.ports[number] == n.text;
  };
  if (!in_list(r.from_zones, is_zone(q.zone_source))) return false;
  if (!in_list(r.to_zones, is_zone(q.zone_destination))) return false;
  if (!in_list(r.applied_to, [&](const Name& n) {
        return is_zone(q.zone_source)(n) || is_zone(q.zone_destination)(n) ||
               is_port(n, q.in_port) || is_port(n, q.out_port);
      }))
    return false;
  const auto holds = [&](const base::IpAddress& a) {
    return [&m, &a](const Name& n) { return address_in(m, n, a); };
  };
  return in_list(r.sources, holds(q.source)) && in_list(r.destinations, holds(q.destination)) &&
         in_list(r.services, [&](const Name& n) { return service_takes(m, n, q); });
}

// Id of the rule that decides; "default" when none does.
inline std::string decide(const PolicyModel& m, const Query& q, base::Nanos now) {
  for (const Category c : {Category::kEmergency, Category::kInfrastructure, Category::kEnvironment,
                           Category::kApplication})
    for (const Rule& r : m.rules)
      if (r.category == c && takes(m, r, q, now)) return r.id;
  return "default";
}

}  // namespace merlon::policy::reference
