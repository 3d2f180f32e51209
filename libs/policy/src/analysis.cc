// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "builder.h"

namespace merlon::policy {

namespace {

template <class Ptr>
bool set_covers(const Ptr& outer, const Ptr& inner) {
  return !outer || outer == inner || (inner && covers(*outer, *inner));
}
template <class Ptr>
bool sets_meet(const Ptr& a, const Ptr& b) {
  return !a || !b || a == b || overlaps(*a, *b);
}

bool services_cover(const Compiled& outer, const Compiled& inner) {
  if (!outer.services || outer.services == inner.services) return true;
  if (!inner.services) return false;
  return std::all_of(inner.services->begin(), inner.services->end(), [&](const ServiceRow& i) {
    return std::any_of(outer.services->begin(), outer.services->end(), [&](const ServiceRow& o) {
      return set_covers(o.keys, i.keys) && set_covers(o.source_ports, i.source_ports);
    });
  });
}
bool services_meet(const Compiled& a, const Compiled& b) {
  if (!a.services || !b.services || a.services == b.services) return true;
  return std::any_of(a.services->begin(), a.services->end(), [&](const ServiceRow& i) {
    return std::any_of(b.services->begin(), b.services->end(), [&](const ServiceRow& o) {
      return sets_meet(o.keys, i.keys) && sets_meet(o.source_ports, i.source_ports);
    });
  });
}

bool scope_covers(const Compiled& outer, const Compiled& inner) {
  return set_covers(outer.from_zones, inner.from_zones) &&
         set_covers(outer.to_zones, inner.to_zones) &&
         set_covers(outer.applied_to, inner.applied_to);
}
bool rule_covers(const Compiled& outer, const Compiled& inner) {
  return scope_covers(outer, inner) && set_covers(outer.sources, inner.sources) &&
         set_covers(outer.destinations, inner.destinations) && services_cover(outer, inner);
}
// Two applied_to lists may meet in a packet that touches both, so they never tell rules apart.
bool scope_meets(const Compiled& a, const Compiled& b) {
  return sets_meet(a.from_zones, b.from_zones) && sets_meet(a.to_zones, b.to_zones);
}

// The smallest box around a rule; most pairs of rules are told apart by it.
struct Hull {
  Key128 source_first = 0, source_last = kAddressLast;
  Key128 destination_first = 0, destination_last = kAddressLast;
  std::uint32_t service_first = 0, service_last = kServiceLast;
  [[nodiscard]] bool meets(const Hull& o) const noexcept {
    return source_first <= o.source_last && o.source_first <= source_last &&
           destination_first <= o.destination_last && o.destination_first <= destination_last &&
           service_first <= o.service_last && o.service_first <= service_last;
  }
};

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

std::uint16_t first_zone(const KeySetPtr& set) {
  return set ? static_cast<std::uint16_t>(set->front().first) : base::kNoZone;
}

// A packet that the rule takes. False when its zones and applied_to contradict each other.
bool witness(const Compiled& c, Query& q) {
  if (c.sources) q.source = key_address(c.sources->front().first);
  if (c.destinations) q.destination = key_address(c.destinations->front().first);
  q.protocol = 255;
  if (c.services) {
    const ServiceRow& s = c.services->front();
    const std::uint32_t key = s.keys ? s.keys->front().first : std::uint32_t{kProtoTcp} << 16;
    q.protocol = static_cast<std::uint8_t>(key >> 16);
    q.destination_port = static_cast<std::uint16_t>(key);
    q.icmp_type = static_cast<std::uint8_t>(key >> 8);
    q.icmp_code = static_cast<std::uint8_t>(key);
    if (s.source_ports) q.source_port = static_cast<std::uint16_t>(s.source_ports->front().first);
  }
  q.zone_source = first_zone(c.from_zones);
  q.zone_destination = first_zone(c.to_zones);
  if (!c.applied_to) return true;
  const std::uint32_t last = c.applied_to->back().last;
  if (last >= kAppliedPort) {
    q.in_port = static_cast<std::uint16_t>(last - kAppliedPort);
    return true;
  }
  for (const auto& i : *c.applied_to) {
    for (std::uint32_t z = i.first; z <= i.last; ++z) {
      const bool is_source = !c.from_zones || contains(*c.from_zones, z);
      if (is_source || !c.to_zones || contains(*c.to_zones, z)) {
        (is_source ? q.zone_source : q.zone_destination) = static_cast<std::uint16_t>(z);
        return true;
      }
    }
  }
  return false;
}

class Analyser {
 public:
  Analyser(const Snapshot& snapshot, base::Nanos now, const AnalysisLimits& limits)
      : snapshot_(snapshot), now_(now), limits_(limits) {
    const Image& image = SnapshotReader::image(snapshot);
    image_ = &image;
    if (snapshot.size().changed > 0 || SnapshotReader::live(snapshot) != nullptr) {
      auto own = rebuild(SnapshotReader::listing(snapshot), image.objects(), ~std::size_t{0} >> 1);
      if (own) own_image_ = *std::move(own);
      if (own_image_) image_ = own_image_.get();
      out_.is_complete = own_image_ != nullptr;
    }
  }

  Analysis run() {
    const auto& rules = image_->rules();
    for (const auto& r : rules) hulls_.push_back(r->takes_part() ? hull_of(*r) : Hull{});
    for (std::uint32_t i = 0; i < rules.size(); ++i) {
      if (!rules[i]->takes_part()) continue;
      look_alone(i);
      if (!find_cover(i)) look_at_pairs(i);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const SlotInfo& info(std::uint32_t rule) const {
    static const SlotInfo kUnknown;
    const SlotInfo* s = snapshot_.slot(image_->rules()[rule]->decision.rule);
    return s ? *s : kUnknown;
  }
  void add(FindingCode code, Severity severity, std::uint32_t rule, const SlotInfo* other,
           std::string message) {
    std::size_t& n = counts_[static_cast<std::size_t>(severity)];
    if (n++ >= limits_.max_findings) {
      ++out_.left_out;
      return;
    }
    const SlotInfo& r = info(rule);
    out_.findings.push_back({code, severity, r.id, other ? other->id : std::string(), r.where,
                             other ? other->where : base::SourcePos{}, std::move(message)});
  }
  void look_alone(std::uint32_t i);
  bool find_cover(std::uint32_t i);
  void look_at_pairs(std::uint32_t i);

  const Snapshot& snapshot_;
  base::Nanos now_;
  AnalysisLimits limits_;
  const Image* image_ = nullptr;
  std::shared_ptr<const Image> own_image_;
  std::vector<Hull> hulls_;
  std::vector<std::uint32_t> candidates_;
  std::array<std::size_t, 2> counts_{};  // by severity
  Analysis out_;
};

void Analyser::look_alone(std::uint32_t i) {
  const Compiled& c = *image_->rules()[i];
  const SlotInfo& r = info(i);
  const bool is_any = !c.sources && !c.destinations && !c.services;
  if (c.decision.action == Action::kPermit && is_any) {
    const bool is_everywhere = !c.from_zones && !c.to_zones && !c.applied_to;
    if (is_everywhere || limits_.with_info)
      add(FindingCode::kOverBroad, is_everywhere ? Severity::kWarning : Severity::kInfo, i, nullptr,
          fmt::format("rule \"{}\" permits any source to any destination with any service{}", r.id,
                      is_everywhere ? "" : " between its zones"));
  }
  if (limits_.with_info && c.decision.log == LogMode::kNone)
    add(FindingCode::kNoLog, Severity::kInfo, i, nullptr,
        fmt::format("rule \"{}\" has no log: its sessions leave no trace", r.id));
  if (c.expires <= now_) {
    add(FindingCode::kNeverActive, Severity::kWarning, i, nullptr,
        fmt::format("rule \"{}\" has expired", r.id));
  } else if (c.schedule && !c.is_active(now_) && c.schedule->next_edge(now_) == kNever) {
    add(FindingCode::kNeverActive, Severity::kWarning, i, nullptr,
        fmt::format("the schedule of rule \"{}\" has no time to come", r.id));
  }
}

// A rule that covers this one takes its witness too, so one look-up names all candidates.
bool Analyser::find_cover(std::uint32_t i) {
  const auto& rules = image_->rules();
  Query q;
  if (!witness(*rules[i], q)) {
    add(FindingCode::kEmptyMatch, Severity::kWarning, i, nullptr,
        fmt::format("rule \"{}\" can't match: applied_to names none of its zones", info(i).id));
    return true;
  }
  Image::Place place;
  image_->locate(q, place);
  candidates_.clear();
  image_->match_all(place, candidates_);
  std::sort(candidates_.begin(), candidates_.end());
  for (const std::uint32_t a : candidates_) {
    if (a >= i) break;
    ++out_.pairs;
    if (rules[a]->is_timed() || !rule_covers(*rules[a], *rules[i])) continue;
    const SlotInfo &mine = info(i), &other = info(a);
    const bool is_same = mine.action == other.action;
    add(is_same ? FindingCode::kRedundant : FindingCode::kShadowed, Severity::kWarning, i, &other,
        fmt::format("rule \"{}\" never decides: rule \"{}\" before it takes all its packets{}",
                    mine.id, other.id, is_same ? " with the same action" : " with another action"));
    return true;
  }
  return false;
}

// Rules before this one that overlap it: cover by a union along one dimension, and partial overlap
// with another action.
void Analyser::look_at_pairs(std::uint32_t i) {
  const auto& rules = image_->rules();
  const Compiled& b = *rules[i];
  if (out_.pairs + i > limits_.max_pairs) {
    out_.is_complete = false;
    return;
  }
  out_.pairs += i;
  const bool has_keys = b.services && b.services->size() == 1 && b.services->front().keys;
  AddressSet sources, destinations;
  KeySet keys;
  std::uint32_t conflicts = 0, nearest = 0;
  for (std::uint32_t a = 0; a < i; ++a) {
    if (!hulls_[a].meets(hulls_[i])) continue;
    const Compiled& o = *rules[a];
    if (!o.takes_part() || !scope_meets(o, b)) continue;
    const bool source = set_covers(o.sources, b.sources);
    const bool destination = set_covers(o.destinations, b.destinations);
    const bool service = services_cover(o, b);
    const bool is_plain = !o.is_timed() && scope_covers(o, b);
    if (is_plain && destination && service && !source)
      sources.insert(sources.end(), o.sources->begin(), o.sources->end());
    if (is_plain && source && service && !destination)
      destinations.insert(destinations.end(), o.destinations->begin(), o.destinations->end());
    if (is_plain && source && destination && !service && has_keys)
      for (const ServiceRow& s : *o.services)
        if (s.keys && set_covers(s.source_ports, b.services->front().source_ports))
          keys.insert(keys.end(), s.keys->begin(), s.keys->end());
    if (!limits_.with_info || o.decision.action == b.decision.action) continue;
    if (!sets_meet(o.sources, b.sources) || !sets_meet(o.destinations, b.destinations)) continue;
    if (!services_meet(o, b) || rule_covers(b, o)) continue;
    ++conflicts;
    nearest = a;
  }
  normalise(sources);
  normalise(destinations);
  normalise(keys);
  const auto full = [](const auto& have, const auto& want, auto last) {
    if (want) return !have.empty() && covers(have, *want);
    return have.size() == 1 && have[0].first == 0 && have[0].last == last;
  };
  if (full(sources, b.sources, kAddressLast) || full(destinations, b.destinations, kAddressLast) ||
      (has_keys && full(keys, b.services->front().keys, kServiceLast))) {
    add(FindingCode::kUnreachable, Severity::kWarning, i, nullptr,
        fmt::format("rule \"{}\" never decides: rules before it together take all its packets",
                    info(i).id));
  } else if (conflicts > 0) {
    const SlotInfo& other = info(nearest);
    add(FindingCode::kConflicting, Severity::kInfo, i, &other,
        fmt::format(
            "rule \"{}\" overlaps {} earlier rule{} with another action, the nearest is \"{}\"",
            info(i).id, conflicts, conflicts == 1 ? "" : "s", other.id));
  }
}

}  // namespace

std::string_view finding_name(FindingCode code) noexcept {
  static constexpr std::array<std::string_view, 10> kNames{
      "shadowed", "redundant",   "unreachable",  "conflicting",  "over_broad",
      "no_log",   "empty_match", "never_active", "name_shadows", "empty_object"};
  return kNames[static_cast<std::size_t>(code)];
}

Analysis analyse(const Snapshot& snapshot, base::Nanos now, const AnalysisLimits& limits) {
  return Analyser(snapshot, now, limits).run();
}

}  // namespace merlon::policy
