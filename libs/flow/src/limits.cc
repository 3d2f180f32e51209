// SPDX-License-Identifier: Apache-2.0
#include "merlon/flow/limits.h"

#include <algorithm>

namespace merlon::flow {

std::size_t SourceTable::memory_for(std::uint32_t max_sources) noexcept {
  if (max_sources == 0) return 0;
  const std::size_t entries = (std::size_t{max_sources} * sizeof(Source) + 63) / 64 * 64;
  return TagIndex::memory_for(max_sources) + entries;
}

void SourceTable::attach(std::byte* memory, std::uint32_t max_sources,
                         base::HashSeed seed) noexcept {
  index_.attach(memory, max_sources);
  sources_ = reinterpret_cast<Source*>(memory + TagIndex::memory_for(max_sources));
  capacity_ = max_sources;
  seed_ = seed;
}

std::uint64_t SourceTable::hash(const base::IpAddress& a) const noexcept {
  const auto high = base::load_raw<std::uint64_t>(a.bytes.data());
  const auto low = base::load_raw<std::uint64_t>(a.bytes.data() + 8);
  return base::fold_multiply(base::fold_multiply(high ^ seed_.b, low ^ seed_.a),
                             seed_.a ^ 0x8ebc6af09c88c6e3ULL);
}

std::uint32_t SourceTable::find(const base::IpAddress& a) const noexcept {
  if (capacity_ == 0) return kNone;
  return index_.find(hash(a), [&](std::uint32_t n) noexcept { return sources_[n].address == a; });
}

std::uint32_t SourceTable::count_of(const base::IpAddress& a) const noexcept {
  const std::uint32_t n = find(a);
  return n == kNone ? 0 : sources_[n].count;
}

std::uint32_t SourceTable::add(const base::IpAddress& a) noexcept {
  if (capacity_ == 0) return kNone;
  const std::uint64_t h = hash(a);
  std::uint32_t n =
      index_.find(h, [&](std::uint32_t k) noexcept { return sources_[k].address == a; });
  if (n == kNone) {
    n = free_ != kNone ? free_ : used_;
    if (n == capacity_ || !index_.insert(h, n)) {
      ++untracked_;
      return kNone;
    }
    if (n == used_)
      ++used_;
    else
      free_ = sources_[n].next_free;
    sources_[n] = {a, 0, kNone};
    ++active_;
  }
  ++sources_[n].count;
  return n;
}

void SourceTable::remove(std::uint32_t entry) noexcept {
  Source& s = sources_[entry];
  if (--s.count != 0) return;
  index_.erase(static_cast<std::uint32_t>(hash(s.address)), entry);
  s.next_free = free_;
  free_ = entry;
  --active_;
}

std::size_t SourceTable::top(std::span<Source> out) const noexcept {
  const auto more = [](const Source& x, const Source& y) noexcept {
    return x.count != y.count ? x.count > y.count : x.address < y.address;
  };
  std::size_t kept = 0;
  for (std::uint32_t n = 0; n < used_ && !out.empty(); ++n) {
    if (sources_[n].count == 0) continue;
    if (kept < out.size()) {
      out[kept++] = sources_[n];
      std::push_heap(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(kept), more);
    } else if (more(sources_[n], out.front())) {
      std::pop_heap(out.begin(), out.end(), more);
      out.back() = sources_[n];
      std::push_heap(out.begin(), out.end(), more);
    }
  }
  std::sort_heap(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(kept), more);
  return kept;
}

}  // namespace merlon::flow
