// SPDX-License-Identifier: Apache-2.0
// Rows of the classifier and their places.
#include <algorithm>
#include <bit>
#include <tuple>
#include <unordered_map>

#include "image.h"

namespace merlon::policy {

namespace {

// Numbers sets in order of first use; counts their rows.
class SetNumbers {
 public:
  std::uint32_t add(const void* set) {
    const auto [it, is_new] =
        known_.try_emplace(set, static_cast<std::uint32_t>(known_.size()), 0U);
    ++it->second.second;
    return it->second.first;
  }
  [[nodiscard]] std::uint32_t uses(const void* set) const { return known_.at(set).second; }

 private:
  std::unordered_map<const void*, std::pair<std::uint32_t, std::uint32_t>> known_;
};

struct RowPlace {
  std::uint32_t from = 0, to = 0, applied = 0;
  unsigned kind = 0;  // width classes of source and destination
  Key128 first = 0, second = 0;
  std::uint32_t service = 0;
  Row row{};
  [[nodiscard]] auto key() const {
    return std::tie(from, to, applied, kind, first, second, service, row.rule);
  }
};

Key128 begin_of(const AddressSetPtr& set) { return set ? (*set)[0].first : 0; }

// Of a set that rows share widely or that is any.
constexpr unsigned kWidest = 33;

// Up to so many rows width classes are told apart: rows of one class meet a packet seldom and
// together, so half as many leaves are looked into. With more rows the classes lie in different L1
// words, and six words are read in place of one (100,000 rules of many kinds, counted).
constexpr std::size_t kMostByWidth = std::size_t{4} * 64 * 64;

// How much a set spans, in steps of four prefix bits; steps of eight or two leave more leaves to
// look into (ClassBench 10k, counted).
unsigned width_class(const AddressSet& set) {
  const Key128 span = set.back().last - set.front().first;
  const auto high = static_cast<std::uint64_t>(span >> 64), low = static_cast<std::uint64_t>(span);
  const auto bits =
      static_cast<unsigned>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
  return (bits + 3) / 4;
}

template <class Key, class Get>
std::unique_ptr<DimensionPlan<Key>> plan_of(const std::vector<Row>& rows, Key last,
                                            const Get& get) {
  std::vector<const IntervalSet<Key>*> sets;
  sets.reserve(rows.size());
  for (const Row& r : rows) sets.push_back(get(r));
  return std::make_unique<DimensionPlan<Key>>(sets, last);
}

}  // namespace

ImagePlan::ImagePlan(std::vector<CompiledPtr> rules, std::shared_ptr<const Objects> objects)
    : rules_(std::move(rules)), objects_(std::move(objects)) {
  make_rows();
  if (rows_.size() > kMaxRows) return;
  place_rows();
  const auto rule = [this](const Row& r) -> const Compiled& { return *rules_[r.rule]; };
  source_ = plan_of<Key128>(rows_, kAddressLast, [&](auto& r) { return rule(r).sources.get(); });
  destination_ =
      plan_of<Key128>(rows_, kAddressLast, [&](auto& r) { return rule(r).destinations.get(); });
  service_ = plan_of<std::uint32_t>(
      rows_, kServiceLast, [](auto& r) { return r.service ? r.service->keys.get() : nullptr; });
  source_port_ = plan_of<std::uint32_t>(
      rows_, 0xffff, [](auto& r) { return r.service ? r.service->source_ports.get() : nullptr; });
  from_ = plan_of<std::uint32_t>(rows_, 0xffff, [&](auto& r) { return rule(r).from_zones.get(); });
  to_ = plan_of<std::uint32_t>(rows_, 0xffff, [&](auto& r) { return rule(r).to_zones.get(); });
  applied_ =
      plan_of<std::uint32_t>(rows_, 0x1ffff, [&](auto& r) { return rule(r).applied_to.get(); });
}

void ImagePlan::make_rows() {
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    const Compiled& c = *rules_[i];
    if (!c.takes_part()) continue;
    if (!c.services) rows_.push_back({i, nullptr});
    if (c.services)
      for (const ServiceRow& s : *c.services) rows_.push_back({i, &s});
  }
}

void ImagePlan::place_rows() {
  SetNumbers zones, services, addresses;
  std::vector<RowPlace> places;
  places.reserve(rows_.size());
  for (const Row& r : rows_) {
    const Compiled& c = *rules_[r.rule];
    addresses.add(c.sources.get());
    addresses.add(c.destinations.get());
    places.push_back({zones.add(c.from_zones.get()), zones.add(c.to_zones.get()),
                      zones.add(c.applied_to.get()), 0, 0, 0,
                      services.add(r.service ? r.service->keys.get() : nullptr), r});
  }
  const std::size_t wide = std::max<std::size_t>(64, rows_.size() / 16);
  const bool by_width = rows_.size() <= kMostByWidth;
  for (RowPlace& p : places) {
    const Compiled& c = *rules_[p.row.rule];
    const auto is_wide = [&](const AddressSetPtr& s) {
      return !s || addresses.uses(s.get()) >= wide;
    };
    const bool wide_source = is_wide(c.sources), wide_destination = is_wide(c.destinations);
    const auto width = [by_width](const AddressSetPtr& s, bool is_shared) {
      return is_shared ? kWidest : by_width ? width_class(*s) : 0;
    };
    p.kind =
        width(c.sources, wide_source) * (kWidest + 1) + width(c.destinations, wide_destination);
    p.first = begin_of(wide_source ? c.destinations : c.sources);
    p.second = begin_of(wide_source ? c.sources : c.destinations);
  }
  std::sort(places.begin(), places.end(),
            [](const RowPlace& a, const RowPlace& b) { return a.key() < b.key(); });
  for (std::size_t i = 0; i < places.size(); ++i) rows_[i] = places[i].row;
  // Inside one leaf the order of evaluation holds, so that its first row left is its answer.
  for (std::size_t i = 0; i < rows_.size(); i += 64) {
    const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(std::min(i + 64, rows_.size()));
    std::stable_sort(begin, end, [](const Row& a, const Row& b) { return a.rule < b.rule; });
  }
}

std::size_t ImagePlan::estimate() const noexcept {
  constexpr std::size_t kPerRule = 512, kPerRow = 24;
  // The service index is there even when no rule names a service.
  constexpr std::size_t kFixed = std::size_t{1} << 19;
  std::size_t sum = kFixed + rules_.size() * kPerRule + rows_.size() * kPerRow;
  if (!source_) return sum;
  sum += source_->estimate() + destination_->estimate();
  for (const auto* d : {&service_, &source_port_, &from_, &to_, &applied_}) sum += (*d)->estimate();
  return sum;
}

}  // namespace merlon::policy
