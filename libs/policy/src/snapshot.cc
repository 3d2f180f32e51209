// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/snapshot.h"

#include <algorithm>

#include "builder.h"
#include "image.h"

namespace merlon::policy {

Snapshot::Snapshot() = default;
Snapshot::~Snapshot() = default;

const Compiled* Snapshot::overlay(const Query& query, base::Nanos now,
                                  std::uint64_t before) const noexcept {
  for (const Changed& c : changed_) {
    if (c.rule->order >= before) return nullptr;
    if (c.rule->takes_part() && c.rule->miss(query) == Miss::kNone && c.rule->is_active(now))
      return c.rule.get();
  }
  return nullptr;
}

Decision Snapshot::merge(const Query& query, base::Nanos now,
                         const Compiled* found) const noexcept {
  const Compiled* over = overlay(query, now, found ? found->order : ~std::uint64_t{0});
  if (over != nullptr) return over->decision;
  return found ? found->decision : default_;
}

Decision Snapshot::decide(const Query& query, base::Nanos now) const noexcept {
  Image::Place place;
  image_->locate(query, place);
  const std::uint32_t rule = image_->match(place, live_.empty() ? nullptr : live_.data(), now);
  if (changed_.empty()) return rule == Image::kNoMatch ? default_ : image_->decision(rule);
  return merge(query, now, rule == Image::kNoMatch ? nullptr : image_->rules()[rule].get());
}

void Snapshot::decide_bulk(const Query* queries, Decision* decisions, std::size_t n,
                           base::Nanos now) const noexcept {
  constexpr std::size_t kGroup = 16;
  Image::Place places[kGroup];
  const std::uint64_t* live = live_.empty() ? nullptr : live_.data();
  for (std::size_t i = 0; i < n; i += kGroup) {
    const std::size_t m = std::min(kGroup, n - i);
    for (std::size_t k = 0; k < m; ++k) image_->prefetch_index(queries[i + k]);
    for (std::size_t k = 0; k < m; ++k) image_->locate(queries[i + k], places[k]);
    for (std::size_t k = 0; k < m; ++k) image_->prefetch_classes(places[k]);
    for (std::size_t k = 0; k < m; ++k) {
      const std::uint32_t rule = image_->match(places[k], live, now);
      decisions[i + k] = rule == Image::kNoMatch ? default_ : image_->decision(rule);
      if (!changed_.empty())
        decisions[i + k] = merge(queries[i + k], now,
                                 rule == Image::kNoMatch ? nullptr : image_->rules()[rule].get());
    }
  }
}

const SlotInfo* Snapshot::slot(std::uint32_t slot) const noexcept {
  for (const Changed& c : changed_)
    if (c.rule->decision.rule == slot && c.info) return c.info.get();
  const std::uint32_t rule = image_->rule_in_slot(slot);
  const bool is_changed = std::any_of(changed_.begin(), changed_.end(), [&](const Changed& c) {
    return c.rule->decision.rule == slot;
  });
  if (!is_changed && slot != kDefaultRuleSlot) {
    if (rule == Image::kNoMatch) return nullptr;
    if (std::binary_search(dead_.begin(), dead_.end(), rule)) return nullptr;
  }
  return slot < slots_->size() && (*slots_)[slot] ? &*(*slots_)[slot] : nullptr;
}

std::vector<const Compiled*> SnapshotReader::listing(const Snapshot& s) {
  std::vector<const Compiled*> out;
  const auto& rules = s.image_->rules();
  out.reserve(rules.size() + s.changed_.size());
  auto over = s.changed_.begin();
  auto dead = s.dead_.begin();
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    for (; over != s.changed_.end() && over->rule->order < rules[i]->order; ++over)
      out.push_back(over->rule.get());
    if (dead != s.dead_.end() && *dead == i)
      ++dead;
    else
      out.push_back(rules[i].get());
  }
  for (; over != s.changed_.end(); ++over) out.push_back(over->rule.get());
  return out;
}

std::vector<const SlotInfo*> SnapshotReader::infos(const Snapshot& s) {
  std::vector<const SlotInfo*> out(s.slot_count_);
  for (std::size_t i = 0; i < std::min(out.size(), s.slots_->size()); ++i)
    if ((*s.slots_)[i]) out[i] = &*(*s.slots_)[i];
  for (const auto& c : s.changed_)
    if (c.info) out[c.rule->decision.rule] = c.info.get();
  return out;
}

std::vector<std::uint32_t> Snapshot::order() const {
  std::vector<std::uint32_t> out;
  for (const Compiled* c : SnapshotReader::listing(*this)) out.push_back(c->decision.rule);
  return out;
}

base::Nanos Snapshot::next_edge(base::Nanos now) const {
  base::Nanos best = kNever;
  for (const Compiled* c : SnapshotReader::listing(*this)) {
    if (!c->takes_part()) continue;
    if (c->expires > now) best = std::min(best, c->expires);
    if (c->schedule) best = std::min(best, c->schedule->next_edge(now));
  }
  return best;
}

SnapshotSize Snapshot::size() const {
  SnapshotSize s;
  for (const Compiled* c : SnapshotReader::listing(*this)) s.rules += c->takes_part();
  s.rows = image_->row_count();
  s.classes = image_->class_count();
  s.changed = changed_.size();
  s.bytes = image_->bytes() + live_.capacity() * 8 + changed_.size() * sizeof(Compiled);
  return s;
}

}  // namespace merlon::policy
