// SPDX-License-Identifier: Apache-2.0
#include "builder.h"

#include <algorithm>

namespace merlon::policy {

SnapshotBuilder::SnapshotBuilder(const Snapshot& from) : made_(new Snapshot) {
  made_->image_ = from.image_;
  made_->zones_ = from.zones_;
  made_->slots_ = from.slots_;
  made_->live_ = from.live_;
  made_->changed_ = from.changed_;
  made_->dead_ = from.dead_;
  made_->default_ = from.default_;
  made_->generation_ = from.generation_;
  made_->slot_count_ = from.slot_count_;
}

bool SnapshotBuilder::remove(std::uint32_t slot) {
  auto& changed = made_->changed_;
  const auto it = std::find_if(changed.begin(), changed.end(),
                               [&](auto& c) { return c.rule->decision.rule == slot; });
  if (it != changed.end()) {
    changed.erase(it);
    return true;
  }
  const Image& image = *made_->image_;
  const std::uint32_t rule = image.rule_in_slot(slot);
  auto& dead = made_->dead_;
  const auto at = std::lower_bound(dead.begin(), dead.end(), rule);
  if (rule == Image::kNoMatch || (at != dead.end() && *at == rule)) return false;
  dead.insert(at, rule);
  if (made_->live_.empty()) made_->live_.assign(image.leaf_count(), ~std::uint64_t{0});
  for (const std::uint32_t row : image.rows_of(rule))
    made_->live_[row >> 6] &= ~(std::uint64_t{1} << (row & 63));
  return true;
}

void SnapshotBuilder::insert(CompiledPtr rule, std::shared_ptr<const SlotInfo> info) {
  auto& changed = made_->changed_;
  const auto at = std::find_if(changed.begin(), changed.end(),
                               [&](auto& c) { return c.rule->order > rule->order; });
  changed.insert(at, {std::move(rule), std::move(info)});
}

const Compiled* SnapshotBuilder::find(std::uint32_t slot) const {
  for (const auto& c : made_->changed_)
    if (c.rule->decision.rule == slot) return c.rule.get();
  const std::uint32_t rule = made_->image_->rule_in_slot(slot);
  if (rule == Image::kNoMatch || std::binary_search(made_->dead_.begin(), made_->dead_.end(), rule))
    return nullptr;
  return made_->image_->rules()[rule].get();
}

std::uint64_t SnapshotBuilder::label_behind(std::uint64_t after) const {
  const auto& rules = made_->image_->rules();
  // A dead rule's label still bounds the gap: a rule put back takes its old place.
  const auto it = std::upper_bound(rules.begin(), rules.end(), after,
                                   [](std::uint64_t l, auto& r) { return l < r->order; });
  std::uint64_t next = it != rules.end() ? (*it)->order : ~std::uint64_t{0} - 1;
  if (it == rules.end() && after < ~std::uint64_t{0} - 2 * kOrderStep) next = after + kOrderStep;
  for (const auto& c : made_->changed_)
    if (c.rule->order > after) next = std::min(next, c.rule->order);
  const std::uint64_t middle = after + (next - after) / 2;
  return middle == after ? 0 : middle;
}

std::uint64_t SnapshotBuilder::last_before(Category category) const {
  const auto& rules = made_->image_->rules();
  const auto it = std::lower_bound(rules.begin(), rules.end(), category,
                                   [](auto& r, Category c) { return r->category < c; });
  std::uint64_t last = it == rules.begin() ? 0 : (*std::prev(it))->order;
  for (const auto& c : made_->changed_)
    if (c.rule->category < category) last = std::max(last, c.rule->order);
  return last;
}

std::vector<std::optional<SlotInfo>> SnapshotBuilder::merged_slots() const {
  auto table = *made_->slots_;
  for (const auto& c : made_->changed_) {
    if (!c.info) continue;
    const std::uint32_t slot = c.rule->decision.rule;
    if (table.size() <= slot) table.resize(slot + 1);
    table[slot] = *c.info;
  }
  return table;
}

base::Result<std::shared_ptr<const Image>> rebuild(const std::vector<const Compiled*>& listing,
                                                   std::shared_ptr<const Objects> objects,
                                                   std::size_t max_bytes) {
  std::vector<CompiledPtr> rules;
  rules.reserve(listing.size());
  for (const Compiled* c : listing) {
    auto copy = std::make_shared<Compiled>(*c);
    copy->order = (rules.size() + 1) * kOrderStep;
    rules.push_back(std::move(copy));
  }
  return Image::build(ImagePlan(std::move(rules), std::move(objects)), max_bytes);
}

}  // namespace merlon::policy
