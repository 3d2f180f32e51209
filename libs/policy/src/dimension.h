// SPDX-License-Identifier: Apache-2.0
#pragma once
// One dimension of the classifier: values that the same set of rows accepts form a class, a class
// holds its rows as a sparse bit vector. Built by control, immutable afterwards.
//
// A class in `words`, named by its offset:
//   [0] top: bit t says that L1 word t is there      [1] offset of its common vector in `commons`
//   [2+2i] the i-th L1 word that is there: bit b says that leaf 64t+b is there     [3+2i] offset of
//   its leaves then the leaves, 64 rows each.
// Rows that accept every value, and the rows of sets that very many rows use, are not repeated in
// each class: they are in a dense common vector ([0] top, [1..n1] L1 words, then all leaves), and
// one common vector serves all classes where the same big sets hold. Without this a policy whose
// every rule says "from 10.0.0.0/8" would take rows x classes bits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "intervals.h"

namespace merlon::policy {

inline constexpr std::size_t kMaxRows = std::size_t{64} * 64 * 64;

struct BitStore {
  std::vector<std::uint64_t> words, commons;
  std::size_t classes = 0;
  [[nodiscard]] std::size_t bytes() const noexcept {
    return (words.capacity() + commons.capacity()) * sizeof(std::uint64_t);
  }
};

// Writes classes and common vectors from lists of rows.
class ClassWriter {
 public:
  ClassWriter(std::size_t rows, BitStore& store);
  void set(std::uint32_t row) noexcept {
    leaves_[row >> 6] |= std::uint64_t{1} << (row & 63);
    l1_[row >> 12] |= std::uint64_t{1} << (row >> 6 & 63);
    top_ |= std::uint64_t{1} << (row >> 12);
  }
  // Each writes what was set, forgets it, and returns the offset.
  std::uint32_t write_class(std::uint32_t common);
  std::uint32_t write_common();

 private:
  BitStore& store_;
  std::uint64_t top_ = 0;
  std::vector<std::uint64_t> l1_, leaves_;
};

// Turns the sets of all rows into classes. First plan (cheap, gives an upper bound of the memory),
// then build. A set counts once however many rows use it.
template <class Key>
class DimensionPlan {
 public:
  using Set = IntervalSet<Key>;
  // One entry per row, null for any.
  DimensionPlan(const std::vector<const Set*>& rows, Key last);

  // Every row takes every value: the dimension can be left out.
  [[nodiscard]] bool is_trivial() const noexcept { return sets_.empty(); }
  [[nodiscard]] std::size_t estimate() const noexcept { return estimate_; }
  [[nodiscard]] std::size_t intervals() const noexcept { return events_.size() + 1; }

  struct Start {
    Key first;
    std::uint32_t class_at;
  };
  // False when `store` would grow above max_bytes.
  bool build(BitStore& store, std::size_t max_bytes, std::vector<Start>& out) const;

 private:
  struct Event {
    Key at;
    std::uint32_t set;
    bool is_begin;
  };
  struct SetRows {
    std::vector<std::uint32_t> rows;
    bool is_big = false;
  };
  struct Id {
    std::uint64_t a = 0, b = 0;
    friend bool operator==(const Id&, const Id&) = default;
    void toggle(std::uint32_t set) noexcept;
  };
  struct IdHash {
    std::size_t operator()(const Id& id) const noexcept { return id.a; }
  };
  // The sets that hold at the current place of the sweep.
  struct Active {
    explicit Active(std::size_t sets) : place(sets, kNowhere) {}
    static constexpr std::uint32_t kNowhere = 0xffffffff;
    std::vector<std::uint32_t> list, place;
    Id all, big;
    void toggle(const Event& e, bool is_big);
  };

  void make_estimate();
  std::uint32_t common_of(const Active& active, ClassWriter& writer,
                          std::unordered_map<Id, std::uint32_t, IdHash>& known) const;

  std::size_t rows_;
  std::vector<std::uint32_t> any_rows_;
  std::vector<SetRows> sets_;
  std::vector<Event> events_;
  std::size_t estimate_ = 0;
};

extern template class DimensionPlan<Key128>;
extern template class DimensionPlan<std::uint32_t>;

// Key to class offset for keys of up to 24 bits: two loads. Equal pages of 256 keys are kept once.
class PagedIndex {
 public:
  PagedIndex() = default;
  PagedIndex(const std::vector<DimensionPlan<std::uint32_t>::Start>& starts, std::uint32_t last);
  [[nodiscard]] std::uint32_t find(std::uint32_t key) const noexcept {
    return pages_[roots_[key >> 8] + (key & 0xff)];
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return (roots_.size() + pages_.size()) * 4; }

 private:
  std::vector<std::uint32_t> roots_, pages_;
};

// Address to class offset. IPv4: a table of the upper 16 bits, then a search among the boundaries
// inside that /16, the last 16 of them compared at once. IPv6: binary search.
class AddressIndex {
 public:
  AddressIndex() = default;
  explicit AddressIndex(const std::vector<DimensionPlan<Key128>::Start>& starts);

  void prefetch(const base::IpAddress& a) const noexcept {
    if (a.is_v4()) __builtin_prefetch(&roots_[a.v4_value() >> 16]);
  }
  [[nodiscard]] std::uint32_t find(const base::IpAddress& a) const noexcept {
    return a.is_v4() ? find_v4(a.v4_value()) : find_v6(address_key(a));
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return (roots_.size() + classes_.size() + v6_classes_.size()) * 4 + bounds_.size() * 2 +
           v6_starts_.size() * 16;
  }

 private:
  [[nodiscard]] std::uint32_t find_v4(std::uint32_t address) const noexcept;
  [[nodiscard]] std::uint32_t find_v6(Key128 key) const noexcept;
  void add_bucket(std::uint32_t bucket, std::span<const DimensionPlan<Key128>::Start> inner,
                  std::uint32_t before);

  std::vector<std::uint32_t> roots_;    // into bounds_ and classes_
  std::vector<std::uint16_t> bounds_;   // block: count, then the low halves where a class begins
  std::vector<std::uint32_t> classes_;  // block: count + 1 classes
  std::vector<Key128> v6_starts_;
  std::vector<std::uint32_t> v6_classes_;
};

}  // namespace merlon::policy
