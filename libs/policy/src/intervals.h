// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sets of unsigned keys as sorted, disjoint, non-touching intervals. Values; O(n) unless said.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "merlon/base/address.h"

namespace merlon::policy {

__extension__ using Key128 = unsigned __int128;

template <class Key>
struct Interval {
  Key first, last;
  friend bool operator==(const Interval&, const Interval&) = default;
};
template <class Key>
using IntervalSet = std::vector<Interval<Key>>;

using AddressSet = IntervalSet<Key128>;  // IPv4 in its mapped form
using KeySet = IntervalSet<std::uint32_t>;
// Null stands for "any", so that the common case costs nothing and is seen at once.
using AddressSetPtr = std::shared_ptr<const AddressSet>;
using KeySetPtr = std::shared_ptr<const KeySet>;

inline Key128 address_key(const base::IpAddress& a) noexcept {
  return static_cast<Key128>(base::load_be<std::uint64_t>(a.bytes.data())) << 64 |
         base::load_be<std::uint64_t>(a.bytes.data() + 8);
}
inline base::IpAddress key_address(Key128 k) noexcept {
  base::IpAddress a;
  base::store_be(a.bytes.data(), static_cast<std::uint64_t>(k >> 64));
  base::store_be(a.bytes.data() + 8, static_cast<std::uint64_t>(k));
  return a;
}
inline constexpr Key128 kV4First = static_cast<Key128>(0xffff) << 32;
inline constexpr Key128 kV4Last = kV4First | 0xffffffffU;
inline constexpr Key128 kAddressLast = ~static_cast<Key128>(0);

template <class Key>
void normalise(IntervalSet<Key>& set) {
  std::sort(set.begin(), set.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::size_t n = 0;
  for (const auto& i : set) {
    const bool joins =
        n > 0 && (i.first <= set[n - 1].last || i.first == static_cast<Key>(set[n - 1].last + 1));
    if (joins)
      set[n - 1].last = std::max(set[n - 1].last, i.last);
    else
      set[n++] = i;
  }
  set.resize(n);
}

template <class Key>
IntervalSet<Key> subtract(const IntervalSet<Key>& from, const IntervalSet<Key>& what) {
  IntervalSet<Key> out;
  auto w = what.begin();
  for (auto i : from) {
    while (w != what.end() && w->last < i.first) ++w;
    bool is_gone = false;
    for (auto v = w; v != what.end() && v->first <= i.last; ++v) {
      if (v->first > i.first) out.push_back({i.first, static_cast<Key>(v->first - 1)});
      if (v->last >= i.last) {
        is_gone = true;
        break;
      }
      i.first = static_cast<Key>(v->last + 1);
    }
    if (!is_gone) out.push_back(i);
  }
  return out;
}

// O(log n).
template <class Key>
bool contains(const IntervalSet<Key>& set, Key key) noexcept {
  auto it = std::upper_bound(set.begin(), set.end(), key,
                             [](Key k, const Interval<Key>& i) { return k < i.first; });
  return it != set.begin() && key <= std::prev(it)->last;
}

// Every key of `inner` is in `outer`. O(inner log outer).
template <class Key>
bool covers(const IntervalSet<Key>& outer, const IntervalSet<Key>& inner) noexcept {
  return std::all_of(inner.begin(), inner.end(), [&](const Interval<Key>& i) {
    auto it = std::upper_bound(outer.begin(), outer.end(), i.first,
                               [](Key k, const Interval<Key>& o) { return k < o.first; });
    return it != outer.begin() && i.last <= std::prev(it)->last;
  });
}

template <class Key>
bool overlaps(const IntervalSet<Key>& a, const IntervalSet<Key>& b) noexcept {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (i->first <= j->last && j->first <= i->last) return true;
    if (i->last < j->last)
      ++i;
    else
      ++j;
  }
  return false;
}

// An IPv6 range never takes IPv4 with it, although the mapped block lies inside ::/0.
inline void add_range(AddressSet& set, const base::AddressRange& range) {
  const Interval<Key128> i{address_key(range.first), address_key(range.last)};
  if (range.first.is_v4() || i.last < kV4First || i.first > kV4Last) {
    set.push_back(i);
    return;
  }
  if (i.first < kV4First) set.push_back({i.first, kV4First - 1});
  if (i.last > kV4Last) set.push_back({kV4Last + 1, i.last});
}

}  // namespace merlon::policy
