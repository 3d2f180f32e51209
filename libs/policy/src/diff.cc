// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "merlon/policy/service.h"
#include "sequence.h"

namespace merlon::policy {

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

template <class T, class Text>
std::string join(const std::vector<T>& list, const Text& text) {
  std::string out;
  for (const T& v : list) {
    if (!out.empty()) out += ", ";
    out += text(v);
  }
  return out;
}
std::string join(const std::vector<Name>& list) {
  return join(list,
              [](const Name& n) { return fmt::format("{}{}", n.negated ? "!" : "", n.text); });
}
std::string join(const std::vector<std::string>& list) {
  return join(list, [](const std::string& s) { return s; });
}
std::string join(const std::vector<base::AddressRange>& list) {
  return join(list, [](const base::AddressRange& r) { return r.to_string(); });
}

template <class Enum, std::size_t N>
std::string word(Enum value, const std::array<std::string_view, N>& words) {
  return std::string(words[static_cast<std::size_t>(value)]);
}
std::string word(Action v) {
  return word(v, std::array<std::string_view, 3>{"permit", "drop", "reject"});
}
std::string word(LogMode v) {
  return word(v, std::array<std::string_view, 4>{"none", "start", "end", "both"});
}
std::string word(OnChange v) {
  return word(v, std::array<std::string_view, 3>{"re-evaluate", "keep", "kill"});
}
std::string word(Category v) {
  return word(v, std::array<std::string_view, 4>{"emergency", "infrastructure", "environment",
                                                 "application"});
}
std::string yes_no(bool v) { return v ? "yes" : "no"; }
std::string moment(const std::optional<base::Nanos>& t) {
  return t ? base::format_timestamp(*t) : std::string();
}
std::string limit(std::uint32_t n) { return n == 0 ? std::string() : fmt::format("{}", n); }

Fields fields(const Rule& r) {
  return {{"category", word(r.category)},
          {"enabled", yes_no(r.is_enabled)},
          {"from", join(r.from_zones)},
          {"to", join(r.to_zones)},
          {"source", join(r.sources)},
          {"destination", join(r.destinations)},
          {"service", join(r.services)},
          {"applied_to", join(r.applied_to)},
          {"schedule", r.schedule ? join(std::vector<Name>{*r.schedule}) : std::string()},
          {"action", word(r.action)},
          {"log", word(r.log)},
          {"on_change", word(r.on_change)},
          {"max_sessions", limit(r.max_sessions)},
          {"max_sessions_per_source", limit(r.max_sessions_per_source)},
          {"allow_midstream", r.allow_midstream ? yes_no(*r.allow_midstream) : std::string()},
          {"expires", moment(r.expires)},
          {"owner", r.owner},
          {"ticket", r.ticket},
          {"description", r.description},
          {"reason", r.reason},
          {"tags", join(r.tags)}};
}

Fields fields(const AddressObject& o) {
  return {{"ranges", join(o.ranges)},
          {"members", join(o.members)},
          {"tags", join(o.tags)},
          {"with_tags", join(o.with_tags)}};
}

Fields fields(const ServiceObject& o) {
  return {{"terms", join(o.terms, [](const ServiceTerm& t) { return format_service(t); })},
          {"members", join(o.members)}};
}

std::string window_text(const ScheduleWindow& w) {
  static constexpr std::array<std::string_view, 7> kDays{"mon", "tue", "wed", "thu",
                                                         "fri", "sat", "sun"};
  std::string out;
  for (std::size_t d = 0; d < kDays.size(); ++d)
    if ((w.weekdays >> d & 1) != 0) out += fmt::format("{}{}", out.empty() ? "" : "+", kDays[d]);
  out += fmt::format(" {:02}:{:02}-{:02}:{:02}", w.from_minute / 60, w.from_minute % 60,
                     w.to_minute / 60, w.to_minute % 60);
  if (w.not_before) out += fmt::format(" from {}", moment(w.not_before));
  if (w.not_after) out += fmt::format(" until {}", moment(w.not_after));
  return out;
}

Fields fields(const Schedule& s) {
  return {{"utc_offset", fmt::format("{} min", s.utc_offset_minutes)},
          {"windows", join(s.windows, window_text)}};
}

Fields fields(const Zone& z) {
  return {{"ports", join(z.ports)},
          {"vlans", join(z.vlans, [](std::uint16_t v) { return fmt::format("{}", v); })},
          {"networks", join(z.networks)}};
}

const std::string& name_of(const Rule& r) { return r.id; }
template <class T>
const std::string& name_of(const T& o) {
  return o.name;
}

void compare(const std::string& object, const std::string& name, const Fields& before,
             const Fields& after, std::vector<Change>& out) {
  for (std::size_t f = 0; f < before.size(); ++f)
    if (before[f].second != after[f].second)
      out.push_back(
          {ChangeKind::kChanged, object, name, before[f].first, before[f].second, after[f].second});
}

template <class T>
void diff_list(const char* object, const std::vector<T>& before, const std::vector<T>& after,
               std::vector<Change>& out) {
  std::unordered_map<std::string_view, const T*> old, now;
  for (const T& o : before) old.emplace(name_of(o), &o);
  for (const T& o : after) now.emplace(name_of(o), &o);
  for (const T& o : before)
    if (!now.contains(name_of(o)))
      out.push_back({ChangeKind::kRemoved, object, name_of(o), {}, {}, {}});
  for (const T& o : after) {
    const auto it = old.find(name_of(o));
    if (it == old.end())
      out.push_back({ChangeKind::kAdded, object, name_of(o), {}, {}, {}});
    else
      compare(object, name_of(o), fields(*it->second), fields(o), out);
  }
}

void diff_order(const std::vector<Rule>& before, const std::vector<Rule>& after,
                std::vector<Change>& out) {
  std::unordered_map<std::string_view, std::uint32_t> old;
  for (std::uint32_t i = 0; i < before.size(); ++i) old.emplace(before[i].id, i);
  std::vector<std::uint32_t> places;
  for (const Rule& r : after) {
    const auto it = old.find(r.id);
    places.push_back(it == old.end() ? kNoPosition : it->second);
  }
  const std::vector<bool> kept = longest_increasing(places);
  for (std::size_t i = 0; i < after.size(); ++i)
    if (places[i] != kNoPosition && !kept[i])
      out.push_back({ChangeKind::kMoved,
                     "rule",
                     after[i].id,
                     {},
                     {},
                     i > 0 ? after[i - 1].id : std::string()});
}

}  // namespace

std::vector<Change> diff(const PolicyModel& before, const PolicyModel& after) {
  std::vector<Change> out;
  diff_list("zone", before.zones, after.zones, out);
  diff_list("address", before.addresses, after.addresses, out);
  diff_list("service", before.services, after.services, out);
  diff_list("schedule", before.schedules, after.schedules, out);
  diff_list("rule", before.rules, after.rules, out);
  diff_order(before.rules, after.rules, out);
  compare("default", "",
          {{"action", word(before.default_action)}, {"log", word(before.default_log)}},
          {{"action", word(after.default_action)}, {"log", word(after.default_log)}}, out);
  return out;
}

std::string to_text(const std::vector<Change>& changes) {
  const auto shown = [](const std::string& v) { return v.empty() ? std::string("(none)") : v; };
  std::string out;
  for (const Change& c : changes) {
    const std::string name = c.name.empty() ? c.object : fmt::format("{} {}", c.object, c.name);
    switch (c.kind) {
      case ChangeKind::kAdded:
        out += fmt::format("+ {}\n", name);
        break;
      case ChangeKind::kRemoved:
        out += fmt::format("- {}\n", name);
        break;
      case ChangeKind::kChanged:
        out += fmt::format("~ {}: {} {} → {}\n", name, c.field, shown(c.before), shown(c.after));
        break;
      case ChangeKind::kMoved:
        out += c.after.empty() ? fmt::format("moved {} (first)\n", name)
                               : fmt::format("moved {} (after {})\n", name, c.after);
        break;
    }
  }
  return out;
}

}  // namespace merlon::policy
