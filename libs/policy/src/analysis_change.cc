// SPDX-License-Identifier: Apache-2.0
#include "analysis_change.h"

#include <algorithm>
#include <unordered_map>

#include "sequence.h"

namespace merlon::policy {

Hull hull_of(const Compiled& c) {
  Hull h;
  if (c.sources) {
    h.source_first = c.sources->front().first;
    h.source_last = c.sources->back().last;
  }
  if (c.destinations) {
    h.destination_first = c.destinations->front().first;
    h.destination_last = c.destinations->back().last;
  }
  if (!c.services) return h;
  h.service_first = kServiceLast;
  h.service_last = 0;
  for (const ServiceRow& s : *c.services) {
    h.service_first = s.keys ? std::min(h.service_first, s.keys->front().first) : 0;
    h.service_last = s.keys ? std::max(h.service_last, s.keys->back().last) : kServiceLast;
  }
  return h;
}

namespace {

bool are_equal(const std::uint64_t (&a)[2], const std::uint64_t (&b)[2]) {
  return a[0] == b[0] && a[1] == b[1];
}

}  // namespace

std::optional<std::vector<bool>> touched_rules(const Snapshot& before, const Snapshot& after) {
  const Objects& old_objects = *SnapshotReader::image(before).objects();
  const Objects& new_objects = *SnapshotReader::image(after).objects();
  if (!are_equal(old_objects.fingerprint, new_objects.fingerprint)) return std::nullopt;
  const auto old_rules = SnapshotReader::listing(before), rules = SnapshotReader::listing(after);
  std::unordered_map<std::uint32_t, std::uint32_t> old_place;  // by slot
  old_place.reserve(old_rules.size());
  for (std::uint32_t i = 0; i < old_rules.size(); ++i)
    old_place.emplace(old_rules[i]->decision.rule, i);
  std::vector<std::uint32_t> came_from(rules.size(), kNoPosition);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto at = old_place.find(rules[i]->decision.rule);
    if (at != old_place.end() &&
        are_equal(old_rules[at->second]->fingerprint, rules[i]->fingerprint))
      came_from[i] = at->second;
  }
  const std::vector<bool> kept = longest_increasing(came_from);
  std::vector<bool> stays(old_rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (kept[i]) stays[came_from[i]] = true;
  std::vector<Hull> changes;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (!kept[i] && rules[i]->takes_part()) changes.push_back(hull_of(*rules[i]));
  for (std::size_t i = 0; i < old_rules.size(); ++i)
    if (!stays[i] && old_rules[i]->takes_part()) changes.push_back(hull_of(*old_rules[i]));
  if (changes.size() > std::max<std::size_t>(64, rules.size() / 16)) return std::nullopt;
  std::vector<bool> touched(rules.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Hull own = rules[i]->takes_part() ? hull_of(*rules[i]) : Hull{};
    touched[i] =
        !kept[i] || std::ranges::any_of(changes, [&](const Hull& h) { return h.meets(own); });
    count += touched[i];
  }
  if (count > rules.size() / 4 + 64) return std::nullopt;
  return touched;
}

}  // namespace merlon::policy
