// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <fmt/format.h>

#include <bit>

namespace merlon::policy {

using base::Errc;
using base::Error;

namespace {

template <class Key>
bool build_one(const DimensionPlan<Key>& plan, BitStore& store, std::size_t& budget,
               std::vector<typename DimensionPlan<Key>::Start>& starts) {
  starts.clear();
  if (!plan.build(store, budget, starts)) return false;
  budget -= std::min(budget, store.bytes());
  return true;
}

}  // namespace

Error too_big(std::string message, std::string hint) {
  Error e;
  e.code = Errc::kCapacity;
  e.message = std::move(message);
  e.hint = std::move(hint);
  return e;
}

base::Result<std::shared_ptr<const Image>> Image::build(ImagePlan plan, std::size_t max_bytes) {
  if (plan.rows_.size() > kMaxRows)
    return too_big(
        fmt::format("the rules become {} match rows, the limit is {}", plan.rows_.size(), kMaxRows),
        "join services that differ in their source ports only");
  auto image = std::make_shared<Image>();
  image->rules_ = std::move(plan.rules_);
  image->objects_ = std::move(plan.objects_);
  image->index_rules(plan);
  if (!plan.rows_.empty() && !image->build_dimensions(plan, max_bytes))
    return too_big(fmt::format("the policy needs more than {} bytes", max_bytes),
                   "raise the policy memory limit or use fewer overlapping address groups");
  return std::shared_ptr<const Image>(std::move(image));
}

void Image::index_rules(const ImagePlan& plan) {
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    const Compiled& c = *rules_[i];
    decisions_.push_back(c.decision);
    is_timed_.push_back(c.is_timed());
    if (slot_rule_.size() <= c.decision.rule) slot_rule_.resize(c.decision.rule + 1, kNoMatch);
    slot_rule_[c.decision.rule] = i;
  }
  rule_row_begin_.assign(rules_.size() + 1, 0);
  for (const Row& r : plan.rows_) {
    row_rule_.push_back(r.rule);
    ++rule_row_begin_[r.rule + 1];
  }
  for (std::size_t i = 1; i < rule_row_begin_.size(); ++i)
    rule_row_begin_[i] += rule_row_begin_[i - 1];
  rule_rows_.resize(row_rule_.size() + 1);
  auto next = rule_row_begin_;
  for (std::uint32_t r = 0; r < row_rule_.size(); ++r) rule_rows_[next[row_rule_[r]]++] = r;
  for (std::size_t r = 0; r < row_rule_.size(); r += 64) leaf_first_.push_back(row_rule_[r]);
  l1_count_ = (leaf_first_.size() + 63) / 64;
}

bool Image::build_dimensions(const ImagePlan& plan, std::size_t max_bytes) {
  std::size_t budget = max_bytes;
  std::vector<DimensionPlan<Key128>::Start> addresses;
  std::vector<DimensionPlan<std::uint32_t>::Start> keys;
  const auto address = [&](const auto& p, bool& has, BitStore& store, AddressIndex& index) {
    has = !p->is_trivial();
    if (!has) return true;
    ++dimensions_;
    if (!build_one(*p, store, budget, addresses)) return false;
    index = AddressIndex(addresses);
    return true;
  };
  const auto paged = [&](const auto& p, bool& has, BitStore& store, PagedIndex& index,
                         std::uint32_t last) {
    has = !p->is_trivial();
    if (!has) return true;
    if (!build_one(*p, store, budget, keys)) return false;
    index = PagedIndex(keys, last);
    return true;
  };
  const bool fits =
      address(plan.source_, has_source_, source_, source_index_) &&
      address(plan.destination_, has_destination_, destination_, destination_index_) &&
      paged(plan.source_port_, has_source_port_, source_port_, source_port_index_, 0xffff) &&
      paged(plan.from_, has_from_, from_, from_index_, 0xffff) &&
      paged(plan.to_, has_to_, to_, to_index_, 0xffff) &&
      paged(plan.applied_, has_applied_, applied_, applied_index_, 0x1ffff) &&
      paged(plan.service_, has_service_, service_, service_index_, kServiceLast);
  if (!fits) return false;
  dimensions_ += static_cast<unsigned>(has_source_port_) + static_cast<unsigned>(has_from_) +
                 static_cast<unsigned>(has_to_) + static_cast<unsigned>(has_service_);
  if (dimensions_ > 0) return true;
  // Only rules for everything: one dimension must still say which rows there are.
  has_service_ = true;
  dimensions_ = 1;
  if (!build_one(*plan.service_, service_, budget, keys)) return false;
  service_index_ = PagedIndex(keys, kServiceLast);
  return true;
}

void Image::locate(const Query& q, Place& place) const noexcept {
  if (row_rule_.empty()) return;
  unsigned n = 0;
  const auto put = [&](const BitStore& s, std::uint32_t at) {
    place.own[n] = s.words.data() + at;
    place.common[n] = s.commons.data();
    __builtin_prefetch(place.own[n]);
    ++n;
  };
  std::uint32_t source = 0, destination = 0;
  if (has_source_) source = source_index_.find(q.source);
  if (has_destination_) destination = destination_index_.find(q.destination);
  if (has_source_) put(source_, source);
  if (has_destination_) put(destination_, destination);
  if (has_service_) put(service_, service_index_.find(service_key(q)));
  if (has_source_port_) put(source_port_, source_port_index_.find(q.source_port));
  if (has_from_) put(from_, from_index_.find(q.zone_source));
  if (has_to_) put(to_, to_index_.find(q.zone_destination));
  if (!has_applied_) return;
  const std::uint32_t keys[kAppliedKeys] = {q.zone_source, q.zone_destination,
                                            kAppliedPort + q.in_port, kAppliedPort + q.out_port};
  for (const std::uint32_t key : keys) put(applied_, applied_index_.find(key));
}

// Calls sink.skip(leaf) and sink.take(leaf, rows) for the leaves where every dimension has rows in
// common.
template <unsigned N, bool Applied, class Sink>
void Image::intersect(const Place& place, Sink& sink) const noexcept {
  constexpr unsigned kAll = N + (Applied ? kAppliedKeys : 0);
  // Dimension i below N is intersected; those from N on are united first, then intersected.
  const auto join = [](const auto& word_of) {
    std::uint64_t all = ~std::uint64_t{0};
    for (unsigned i = 0; i < N; ++i) all &= word_of(i);
    if constexpr (Applied) {
      std::uint64_t any = 0;
      for (unsigned i = N; i < kAll; ++i) any |= word_of(i);
      all &= any;
    }
    return all;
  };
  const std::uint64_t* own[kAll];
  const std::uint64_t* common[kAll];
  std::uint64_t own1[kAll];
  const std::uint64_t* leaves[kAll];
  for (unsigned i = 0; i < kAll; ++i) {
    own[i] = place.own[i];
    common[i] = place.common[i] + own[i][1];
  }
  std::uint64_t top = join([&](unsigned i) { return own[i][0] | common[i][0]; });
  for (; top != 0; top &= top - 1) {
    const auto t = static_cast<unsigned>(std::countr_zero(top));
    std::uint64_t l1 = join([&](unsigned i) {
      // Branch-free: without an entry the next class's word is read and masked out.
      const std::uint64_t has = 0 - (own[i][0] >> t & 1);
      const auto below = own[i][0] & ((std::uint64_t{1} << t) - 1);
      const std::uint64_t* entry = own[i] + 2 + 2 * std::popcount(below);
      own1[i] = entry[0] & has;
      leaves[i] = own[i] + (entry[1] & has);
      return own1[i] | common[i][1 + t];
    });
    for (; l1 != 0; l1 &= l1 - 1) {
      const auto b = static_cast<unsigned>(std::countr_zero(l1));
      const std::size_t leaf = std::size_t{t} * 64 + b;
      if (sink.skip(leaf)) continue;
      const std::uint64_t rows = join([&](unsigned i) {
        const std::uint64_t has = 0 - (own1[i] >> b & 1);
        const auto below = own1[i] & ((std::uint64_t{1} << b) - 1);
        return (leaves[i][std::popcount(below)] & has) | common[i][1 + l1_count_ + leaf];
      });
      if (rows != 0) sink.take(leaf, rows);
    }
  }
}

template <class Sink>
void Image::dispatch(const Place& place, Sink& sink) const noexcept {
  if (row_rule_.empty()) return;
  switch (dimensions_ + (has_applied_ ? 8 : 0)) {
    case 1:
      return intersect<1, false>(place, sink);
    case 2:
      return intersect<2, false>(place, sink);
    case 3:
      return intersect<3, false>(place, sink);
    case 4:
      return intersect<4, false>(place, sink);
    case 5:
      return intersect<5, false>(place, sink);
    case 6:
      return intersect<6, false>(place, sink);
    case 9:
      return intersect<1, true>(place, sink);
    case 10:
      return intersect<2, true>(place, sink);
    case 11:
      return intersect<3, true>(place, sink);
    case 12:
      return intersect<4, true>(place, sink);
    case 13:
      return intersect<5, true>(place, sink);
    default:
      return intersect<6, true>(place, sink);
  }
}

std::uint32_t Image::match(const Place& place, const std::uint64_t* live,
                           base::Nanos now) const noexcept {
  struct First {
    const Image& image;
    const std::uint64_t* live;
    base::Nanos now;
    std::uint32_t best = kNoMatch;
    bool skip(std::size_t leaf) const noexcept { return image.leaf_first_[leaf] >= best; }
    void take(std::size_t leaf, std::uint64_t rows) noexcept {
      if (live != nullptr) rows &= live[leaf];
      for (; rows != 0; rows &= rows - 1) {
        const auto row = leaf * 64 + static_cast<unsigned>(std::countr_zero(rows));
        const std::uint32_t rule = image.row_rule_[row];
        if (rule >= best) return;
        if (image.is_timed_[rule] != 0 && !image.rules_[rule]->is_active(now)) continue;
        best = rule;
        return;
      }
    }
  } first{*this, live, now};
  dispatch(place, first);
  return first.best;
}

void Image::match_all(const Place& place, std::vector<std::uint32_t>& rules) const {
  struct All {
    const Image& image;
    std::vector<std::uint32_t>& rules;
    static bool skip(std::size_t) noexcept { return false; }
    void take(std::size_t leaf, std::uint64_t rows) {
      for (; rows != 0; rows &= rows - 1)
        rules.push_back(image.row_rule_[leaf * 64 + static_cast<unsigned>(std::countr_zero(rows))]);
    }
  } all{*this, rules};
  dispatch(place, all);
}

std::size_t Image::bytes() const noexcept {
  std::size_t sum = rules_.size() * (sizeof(Compiled) + sizeof(CompiledPtr) + 64) +
                    decisions_.size() * sizeof(Decision) + row_rule_.size() * 12 +
                    slot_rule_.size() * 4;
  for (const BitStore* s :
       {&source_, &destination_, &service_, &source_port_, &from_, &to_, &applied_})
    sum += s->bytes();
  for (const PagedIndex* p :
       {&service_index_, &source_port_index_, &from_index_, &to_index_, &applied_index_})
    sum += p->bytes();
  return sum + source_index_.bytes() + destination_index_.bytes();
}

std::size_t Image::class_count() const noexcept {
  std::size_t n = 0;
  for (const BitStore* s :
       {&source_, &destination_, &service_, &source_port_, &from_, &to_, &applied_})
    n += s->classes;
  return n;
}

}  // namespace merlon::policy
