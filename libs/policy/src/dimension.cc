// SPDX-License-Identifier: Apache-2.0
#include "dimension.h"

#include <bit>

#include "merlon/base/check.h"
#include "merlon/base/hash.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace merlon::policy {

ClassWriter::ClassWriter(std::size_t rows, BitStore& store)
    : store_(store), l1_((rows + 4095) / 4096 + 1), leaves_((rows + 63) / 64 + 1) {}

std::uint32_t ClassWriter::write_class(std::uint32_t common) {
  auto& w = store_.words;
  const std::size_t at = w.size();
  const auto n1 = static_cast<std::size_t>(std::popcount(top_));
  w.resize(at + 2 + 2 * n1);
  w[at] = top_;
  w[at + 1] = common;
  std::size_t entry = at + 2;
  for (std::uint64_t top = top_; top != 0; top &= top - 1) {
    const auto t = static_cast<std::size_t>(std::countr_zero(top));
    w[entry] = l1_[t];
    w[entry + 1] = w.size() - at;
    entry += 2;
    for (std::uint64_t l1 = l1_[t]; l1 != 0; l1 &= l1 - 1) {
      const std::size_t leaf = t * 64 + static_cast<std::size_t>(std::countr_zero(l1));
      w.push_back(leaves_[leaf]);
      leaves_[leaf] = 0;
    }
    l1_[t] = 0;
  }
  top_ = 0;
  ++store_.classes;
  return static_cast<std::uint32_t>(at);
}

std::uint32_t ClassWriter::write_common() {
  auto& c = store_.commons;
  const std::size_t at = c.size();
  c.push_back(top_);
  c.insert(c.end(), l1_.begin(), l1_.end() - 1);
  c.insert(c.end(), leaves_.begin(), leaves_.end() - 1);
  std::fill(l1_.begin(), l1_.end(), 0);
  std::fill(leaves_.begin(), leaves_.end(), 0);
  top_ = 0;
  return static_cast<std::uint32_t>(at);
}

template <class Key>
void DimensionPlan<Key>::Id::toggle(std::uint32_t set) noexcept {
  a ^= base::fold_multiply(set + 1, 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  b ^= base::fold_multiply(set + 0x5bd1e995ULL, 0xd1b54a32d192ed03ULL) * 0x94d049bb133111ebULL;
}

template <class Key>
void DimensionPlan<Key>::Active::toggle(const Event& e, bool is_big) {
  all.toggle(e.set);
  if (is_big) big.toggle(e.set);
  if (e.is_begin) {
    place[e.set] = static_cast<std::uint32_t>(list.size());
    list.push_back(e.set);
    return;
  }
  const std::uint32_t hole = place[e.set];
  place[list.back()] = hole;
  list[hole] = list.back();
  list.pop_back();
  place[e.set] = kNowhere;
}

template <class Key>
DimensionPlan<Key>::DimensionPlan(const std::vector<const Set*>& rows, Key last)
    : rows_(rows.size()) {
  std::unordered_map<const Set*, std::uint32_t> known;
  std::vector<const Set*> order;
  for (std::uint32_t r = 0; r < rows.size(); ++r) {
    if (rows[r] == nullptr) {
      any_rows_.push_back(r);
      continue;
    }
    const auto [it, is_new] = known.try_emplace(rows[r], static_cast<std::uint32_t>(sets_.size()));
    if (is_new) {
      sets_.emplace_back();
      order.push_back(rows[r]);
    }
    sets_[it->second].rows.push_back(r);
  }
  const std::size_t big = std::max<std::size_t>(64, rows_ / 16);
  for (std::uint32_t s = 0; s < sets_.size(); ++s) {
    sets_[s].is_big = sets_[s].rows.size() >= big;
    for (const auto& i : *order[s]) {
      events_.push_back({i.first, s, true});
      if (i.last != last) events_.push_back({static_cast<Key>(i.last + 1), s, false});
    }
  }
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.at < b.at; });
  make_estimate();
}

template <class Key>
void DimensionPlan<Key>::make_estimate() {
  const std::size_t leaves = (rows_ + 63) / 64, l1 = (rows_ + 4095) / 4096;
  const std::size_t common = 1 + l1 + leaves;
  std::size_t bits = 0, words = 2 + common;
  std::size_t i = 0;
  while (i < events_.size()) {
    const Key at = events_[i].at;
    bool has_big = false;
    for (; i < events_.size() && events_[i].at == at; ++i) {
      const SetRows& s = sets_[events_[i].set];
      has_big |= s.is_big;
      if (s.is_big) continue;
      if (events_[i].is_begin)
        bits += s.rows.size();
      else
        bits -= s.rows.size();
    }
    words += 2 + 2 * std::min(bits, l1) + std::min(bits, leaves) + (has_big ? common : 0);
  }
  // Vectors grow by doubling; the index beside them takes at most 24 bytes a boundary.
  estimate_ = words * 8 * 3 / 2 + events_.size() * 24 + (sets_.empty() ? 0 : std::size_t{1} << 19);
}

template <class Key>
std::uint32_t DimensionPlan<Key>::common_of(
    const Active& active, ClassWriter& writer,
    std::unordered_map<Id, std::uint32_t, IdHash>& known) const {
  const auto [it, is_new] = known.try_emplace(active.big);
  if (is_new) {
    for (const std::uint32_t r : any_rows_) writer.set(r);
    for (const std::uint32_t s : active.list)
      if (sets_[s].is_big)
        for (const std::uint32_t r : sets_[s].rows) writer.set(r);
    it->second = writer.write_common();
  }
  return it->second;
}

// Classes are told apart by a 128-bit fingerprint of the sets that hold; see fingerprint.cc for the
// odds.
template <class Key>
bool DimensionPlan<Key>::build(BitStore& store, std::size_t max_bytes,
                               std::vector<Start>& out) const {
  ClassWriter writer(rows_, store);
  Active active(sets_.size());
  std::unordered_map<Id, std::uint32_t, IdHash> classes, commons;
  const auto emit = [&](Key at) {
    const auto [it, is_new] = classes.try_emplace(active.all);
    if (is_new) {
      const std::uint32_t common = common_of(active, writer, commons);
      for (const std::uint32_t s : active.list)
        if (!sets_[s].is_big)
          for (const std::uint32_t r : sets_[s].rows) writer.set(r);
      it->second = writer.write_class(common);
    }
    if (out.empty() || out.back().class_at != it->second) out.push_back({at, it->second});
  };
  std::size_t i = 0;
  if (events_.empty() || events_[0].at != 0) emit(0);
  while (i < events_.size()) {
    const Key at = events_[i].at;
    for (; i < events_.size() && events_[i].at == at; ++i)
      active.toggle(events_[i], sets_[events_[i].set].is_big);
    emit(at);
    if (store.bytes() > max_bytes) return false;
  }
  // Look-ups read one entry past a class's last one and mask it out.
  store.words.insert(store.words.end(), 4, 0);
  store.words.shrink_to_fit();
  store.commons.shrink_to_fit();
  return store.words.size() <= 0xffffffffU && store.commons.size() <= 0xffffffffU;
}

template class DimensionPlan<Key128>;
template class DimensionPlan<std::uint32_t>;

PagedIndex::PagedIndex(const std::vector<DimensionPlan<std::uint32_t>::Start>& starts,
                       std::uint32_t last) {
  std::unordered_map<std::uint32_t, std::uint32_t> uniform;
  std::size_t next = 0;
  std::uint32_t current = 0;
  for (std::uint32_t page = 0; page <= last >> 8; ++page) {
    const std::uint32_t begin = page << 8, end = begin | 0xff;
    if (next < starts.size() && starts[next].first == begin) current = starts[next++].class_at;
    const bool is_uniform = next == starts.size() || starts[next].first > end;
    const auto at = static_cast<std::uint32_t>(pages_.size());
    if (is_uniform) {
      const auto [it, is_new] = uniform.try_emplace(current, at);
      if (is_new) pages_.insert(pages_.end(), 256, current);
      roots_.push_back(it->second);
      continue;
    }
    roots_.push_back(at);
    for (std::uint32_t key = begin; key <= end; ++key) {
      if (next < starts.size() && starts[next].first == key) current = starts[next++].class_at;
      pages_.push_back(current);
    }
  }
}

namespace {

// How many of the sorted bounds[0..count) are <= value.
std::uint32_t count_le(const std::uint16_t* bounds, std::uint32_t count,
                       std::uint16_t value) noexcept {
  std::uint32_t skipped = 0;
  while (count > 16) {
    const std::uint32_t half = count / 2;
    const bool is_right = bounds[half - 1] <= value;
    bounds += is_right ? half : 0;
    skipped += is_right ? half : 0;
    count = is_right ? count - half : half;
  }
#if defined(__AVX2__)
  const __m256i v = _mm256_set1_epi16(static_cast<short>(value));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bounds));
  const auto le = static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_min_epu16(b, v), b)));
  const std::uint64_t mask = (std::uint64_t{1} << (2 * count)) - 1;
  return skipped + static_cast<std::uint32_t>(std::popcount(le & mask)) / 2;
#else
  for (std::uint32_t i = 0; i < count; ++i) skipped += bounds[i] <= value;
  return skipped;
#endif
}

}  // namespace

void AddressIndex::add_bucket(std::uint32_t bucket,
                              std::span<const DimensionPlan<Key128>::Start> inner,
                              std::uint32_t before) {
  const bool fits_last = inner.empty() && bucket > 0 && bounds_[roots_[bucket - 1]] == 0 &&
                         classes_[roots_[bucket - 1]] == before;
  if (fits_last) {
    roots_[bucket] = roots_[bucket - 1];
    return;
  }
  roots_[bucket] = static_cast<std::uint32_t>(bounds_.size());
  bounds_.push_back(static_cast<std::uint16_t>(inner.size()));
  classes_.push_back(before);
  for (const auto& s : inner) {
    bounds_.push_back(static_cast<std::uint16_t>(s.first));
    classes_.push_back(s.class_at);
  }
}

AddressIndex::AddressIndex(const std::vector<DimensionPlan<Key128>::Start>& starts)
    : roots_(65536) {
  MERLON_CHECK(!starts.empty() && starts[0].first == 0);
  std::size_t next = 0;
  std::uint32_t current = starts[0].class_at;
  const auto take_v6 = [&](Key128 from, Key128 last) {
    if (next < starts.size() && starts[next].first == from) current = starts[next++].class_at;
    v6_starts_.push_back(from);
    v6_classes_.push_back(current);
    for (; next < starts.size() && starts[next].first <= last; ++next) {
      current = starts[next].class_at;
      v6_starts_.push_back(starts[next].first);
      v6_classes_.push_back(current);
    }
  };
  take_v6(0, kV4First - 1);
  for (std::uint32_t b = 0; b < 65536; ++b) {
    const Key128 first = kV4First + (static_cast<Key128>(b) << 16);
    if (next < starts.size() && starts[next].first == first) current = starts[next++].class_at;
    const std::size_t begin = next;
    while (next < starts.size() && starts[next].first <= first + 0xffff) ++next;
    add_bucket(b, std::span(starts).subspan(begin, next - begin), current);
    if (next > begin) current = starts[next - 1].class_at;
  }
  take_v6(kV4Last + 1, kAddressLast);
  bounds_.insert(bounds_.end(), 16, 0xffff);  // the vector compare reads 16 entries
}

std::uint32_t AddressIndex::find_v4(std::uint32_t address) const noexcept {
  const std::uint32_t block = roots_[address >> 16];
  const std::uint16_t* bounds = &bounds_[block];
  if (bounds[0] == 0) return classes_[block];
  return classes_[block + count_le(bounds + 1, bounds[0], static_cast<std::uint16_t>(address))];
}

std::uint32_t AddressIndex::find_v6(Key128 key) const noexcept {
  const Key128* p = v6_starts_.data();
  std::size_t n = v6_starts_.size();
  while (n > 1) {
    const std::size_t half = n / 2;
    p = p[half] <= key ? p + half : p;
    n -= half;
  }
  return v6_classes_[static_cast<std::size_t>(p - v6_starts_.data())];
}

}  // namespace merlon::policy
