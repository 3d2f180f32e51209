// SPDX-License-Identifier: Apache-2.0
#include "merlon/flow/tag_index.h"

#include "merlon/base/check.h"

namespace merlon::flow {

namespace {

// Entries per bucket when full. At five of ten, 1.4 % of buckets overflow (Poisson); four would
// cost 3 bytes per session more and save nothing that can be measured.
constexpr std::uint32_t kLoad = 5;

// Entries of a line; a line is filled from the front.
unsigned used_of(const TagIndex::Bucket& b) noexcept {
  const std::uint32_t empty = TagIndex::match(b, 0);
  return empty == 0 ? TagIndex::kSlots : static_cast<unsigned>(std::countr_zero(empty)) / 2;
}

// One bit per slot. Without a branch per slot: where a session sits in its line is random, and a
// wrong guess costs more than the whole comparison (60 ns per removal with a loop that stops, 15
// with this).
std::uint32_t match_number(const TagIndex::Bucket& b, std::uint32_t number) noexcept {
#if defined(__AVX2__)
  const __m256i numbers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b.number));
  const __m256i same = _mm256_cmpeq_epi32(numbers, _mm256_set1_epi32(static_cast<int>(number)));
  const auto eight = static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(same)));
  return eight | std::uint32_t{b.number[8] == number} << 8 |
         std::uint32_t{b.number[9] == number} << 9;
#else
  std::uint32_t mask = 0;
  for (unsigned s = 0; s < TagIndex::kSlots; ++s) mask |= std::uint32_t{b.number[s] == number} << s;
  return mask;
#endif
}

}  // namespace

std::uint32_t TagIndex::buckets_for(std::uint32_t entries) noexcept { return entries / kLoad + 1; }

// An eighth of the buckets is nine times what a random hash needs; small tables get what their
// worst case needs.
std::uint32_t TagIndex::overflow_for(std::uint32_t entries) noexcept {
  const std::uint32_t worst = entries / kSlots + 1;
  const std::uint32_t usual = buckets_for(entries) / 8 + 32;
  return worst < usual ? worst : usual;
}

std::size_t TagIndex::memory_for(std::uint32_t entries) noexcept {
  return (std::size_t{buckets_for(entries)} + overflow_for(entries)) * sizeof(Bucket);
}

void TagIndex::attach(std::byte* memory, std::uint32_t entries) noexcept {
  buckets_ = reinterpret_cast<Bucket*>(memory);
  bucket_count_ = buckets_for(entries);
  const auto pool = static_cast<std::uint32_t>(bucket_count_);
  for (std::uint32_t i = 0; i < pool; ++i) buckets_[i].next = kNone;
  const std::uint32_t end = pool + overflow_for(entries);
  for (std::uint32_t i = pool; i < end; ++i) buckets_[i].next = i + 1 < end ? i + 1 : kNone;
  free_ = pool;
}

bool TagIndex::insert(std::uint64_t hash, std::uint32_t number) noexcept {
  Bucket* b = &bucket(hash);
  unsigned chain = 1;
  while (b->next != kNone) {
    b = &buckets_[b->next];
    ++chain;
  }
  std::uint32_t empty = match(*b, 0);
  if (empty == 0) [[unlikely]] {
    if (free_ == kNone || chain == kMaxChain) return false;
    const std::uint32_t line = free_;
    free_ = buckets_[line].next;
    buckets_[line] = Bucket{};
    buckets_[line].next = kNone;
    b->next = line;
    b = &buckets_[line];
    empty = 1;
    ++overflow_used_;
    if (++chain > max_chain_) max_chain_ = chain;
  }
  const unsigned slot = static_cast<unsigned>(std::countr_zero(empty)) / 2;
  b->tag[slot] = tag_of(hash);
  b->number[slot] = number;
  return true;
}

void TagIndex::erase(std::uint32_t hash_low, std::uint32_t number) noexcept {
  Bucket* hole = nullptr;
  unsigned hole_slot = 0;
  Bucket* last = &bucket(hash_low);
  Bucket* before_last = nullptr;
  unsigned used = used_of(*last);
  for (;;) {
    const std::uint32_t here = match_number(*last, number) & ((1U << used) - 1);
    if (here != 0) {
      hole = last;
      hole_slot = static_cast<unsigned>(std::countr_zero(here));
    }
    if (last->next == kNone) [[likely]]
      break;
    before_last = last;
    last = &buckets_[last->next];
    used = used_of(*last);
  }
  MERLON_CHECK(hole != nullptr);
  hole->tag[hole_slot] = last->tag[used - 1];
  hole->number[hole_slot] = last->number[used - 1];
  last->tag[used - 1] = 0;
  if (used == 1 && before_last != nullptr) {
    const std::uint32_t line = before_last->next;
    before_last->next = kNone;
    last->next = free_;
    free_ = line;
    --overflow_used_;
  }
}

}  // namespace merlon::flow
