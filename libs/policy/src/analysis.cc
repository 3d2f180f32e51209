// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "analysis_change.h"
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

// What find_cover() and look_at_pairs() find.
bool is_of_pairs(FindingCode code) {
  return code == FindingCode::kShadowed || code == FindingCode::kRedundant ||
         code == FindingCode::kUnreachable || code == FindingCode::kConflicting ||
         code == FindingCode::kEmptyMatch;
}

class Analyser {
 public:
  Analyser(const Snapshot& snapshot, base::Nanos now, const AnalysisLimits& limits,
           const KnownAnalysis* from)
      : snapshot_(snapshot), now_(now), limits_(limits) {
    if (from != nullptr && from->known.is_complete && from->known.left_out == 0)
      touched_ = touched_rules(from->before, snapshot);
    if (touched_) {
      rules_ = SnapshotReader::listing(snapshot);
      learn(from->known);
    } else {
      take_image();
    }
  }

  Analysis run() {
    for (const Compiled* r : rules_) hulls_.push_back(r->takes_part() ? hull_of(*r) : Hull{});
    for (std::uint32_t i = 0; i < rules_.size(); ++i) {
      if (!rules_[i]->takes_part()) continue;
      look_alone(i);
      if (touched_ && !(*touched_)[i]) {
        repeat_known(i);
      } else if (!find_cover(i)) {
        look_at_pairs(i);
      }
    }
    return std::move(out_);
  }

 private:
  // All rules in one image, which names candidates.
  void take_image() {
    const Image& image = SnapshotReader::image(snapshot_);
    image_ = &image;
    if (snapshot_.size().changed > 0 || SnapshotReader::live(snapshot_) != nullptr) {
      auto own = rebuild(SnapshotReader::listing(snapshot_), image.objects(), ~std::size_t{0} >> 1);
      if (own) own_image_ = *std::move(own);
      if (own_image_) image_ = own_image_.get();
      out_.is_complete = own_image_ != nullptr;
    }
    for (const auto& r : image_->rules()) rules_.push_back(r.get());
  }
  void learn(const Analysis& known) {
    for (const Finding& f : known.findings)
      if (is_of_pairs(f.code)) known_.emplace(f.rule, &f);
  }
  [[nodiscard]] const SlotInfo& info(std::uint32_t rule) const {
    static const SlotInfo kUnknown;
    const SlotInfo* s = snapshot_.slot(rules_[rule]->decision.rule);
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
  void repeat_known(std::uint32_t i);
  [[nodiscard]] const SlotInfo* find_rule(const std::string& id);
  void find_candidates(std::uint32_t i, const Query& q);
  bool find_cover(std::uint32_t i);
  void look_at_pairs(std::uint32_t i);

  const Snapshot& snapshot_;
  base::Nanos now_;
  AnalysisLimits limits_;
  std::optional<std::vector<bool>> touched_;               // rules to compare; empty: all
  std::multimap<std::string_view, const Finding*> known_;  // of the others, by rule
  std::unordered_map<std::string_view, const SlotInfo*> by_id_;
  const Image* image_ = nullptr;  // over rules_; none with touched_
  std::shared_ptr<const Image> own_image_;
  std::vector<const Compiled*> rules_;  // in order of evaluation
  std::vector<Hull> hulls_;
  std::vector<std::uint32_t> candidates_;
  std::array<std::size_t, 2> counts_{};  // by severity
  Analysis out_;
};

// With today's places.
void Analyser::repeat_known(std::uint32_t i) {
  const auto [first, last] = known_.equal_range(info(i).id);
  for (auto at = first; at != last; ++at) {
    const Finding& f = *at->second;
    add(f.code, f.severity, i, f.other.empty() ? nullptr : find_rule(f.other), f.message);
  }
}

const SlotInfo* Analyser::find_rule(const std::string& id) {
  if (by_id_.empty()) {
    const auto infos = SnapshotReader::infos(snapshot_);
    for (const Compiled* r : rules_)
      if (const SlotInfo* s = infos[r->decision.rule]; s != nullptr) by_id_.emplace(s->id, s);
  }
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

void Analyser::look_alone(std::uint32_t i) {
  const Compiled& c = *rules_[i];
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
void Analyser::find_candidates(std::uint32_t i, const Query& q) {
  candidates_.clear();
  if (image_ == nullptr) {
    for (std::uint32_t a = 0; a < i; ++a)
      if (rules_[a]->takes_part() && hulls_[a].meets(hulls_[i])) candidates_.push_back(a);
    return;
  }
  Image::Place place;
  image_->locate(q, place);
  image_->match_all(place, candidates_);
  std::sort(candidates_.begin(), candidates_.end());
}

bool Analyser::find_cover(std::uint32_t i) {
  const auto& rules = rules_;
  Query q;
  if (!witness(*rules[i], q)) {
    add(FindingCode::kEmptyMatch, Severity::kWarning, i, nullptr,
        fmt::format("rule \"{}\" can't match: applied_to names none of its zones", info(i).id));
    return true;
  }
  find_candidates(i, q);
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
  const auto& rules = rules_;
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
  return Analyser(snapshot, now, limits, nullptr).run();
}

Analysis analyse(const Snapshot& snapshot, base::Nanos now, const AnalysisLimits& limits,
                 const KnownAnalysis& from) {
  return Analyser(snapshot, now, limits, &from).run();
}

}  // namespace merlon::policy
