// SPDX-License-Identifier: Apache-2.0
#include "merlon/flow/tag_index.h"

#include "merlon/base/check.h"

namespace merlon::flow {

namespace {

// Entries per bucket when full. At five of ten, 1.4 % of buckets overflow (Poisson); four would
// cost 3 bytes per session more and save nothing that can be measured.
constexpr std::uint32_t kLoad = 5;

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
  for (;;) {
    for (unsigned s = 0; hole == nullptr && s < kSlots; ++s) {
      if (last->tag[s] != 0 && last->number[s] == number) {
        hole = last;
        hole_slot = s;
      }
    }
    if (last->next == kNone) break;
    before_last = last;
    last = &buckets_[last->next];
  }
  MERLON_CHECK(hole != nullptr);
  const std::uint32_t empty = match(*last, 0);
  const unsigned used = empty == 0 ? kSlots : static_cast<unsigned>(std::countr_zero(empty)) / 2;
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
