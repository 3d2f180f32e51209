// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hash index from 64-bit hashes to 32-bit numbers: one cache line per bucket with ten 16-bit tags,
// compared by one SIMD instruction, ten numbers and a link to an overflow line from a fixed pool.
// Holds no keys: the owner compares them. worker-owned; memory is given by the owner and never
// grows. A look-up costs one cache miss, rarely two.
//
// A chain is kept dense: removal moves the chain's last entry into the hole, so a chain is never
// longer than its entries need, and an empty overflow line goes back to the pool at once.
#include <bit>
#include <cstddef>
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace merlon::flow {

class TagIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr unsigned kSlots = 10;
  static constexpr unsigned kMaxChain =
      8;  // lines; 80 entries on one of >= n/5 buckets means a known seed

  struct alignas(64) Bucket {
    std::uint16_t tag[kSlots];  // 0: empty
    std::uint32_t number[kSlots];
    std::uint32_t next;  // overflow line or kNone
  };
  static_assert(sizeof(Bucket) == 64);

  // Bytes that attach() needs for `entries` numbers.
  static std::size_t memory_for(std::uint32_t entries) noexcept;
  // Takes over zeroed memory of memory_for(entries) bytes, aligned to 64.
  void attach(std::byte* memory, std::uint32_t entries) noexcept;

  // Bits 0-31 choose the bucket, 48-63 are the tag.
  [[nodiscard]] Bucket& bucket(std::uint64_t hash) const noexcept {
    return buckets_[(hash & 0xffffffff) * bucket_count_ >> 32];
  }
  static std::uint16_t tag_of(std::uint64_t hash) noexcept {
    const auto t = static_cast<std::uint16_t>(hash >> 48);
    return t == 0 ? std::uint16_t{1} : t;
  }
  [[nodiscard]] const Bucket& line(std::uint32_t n) const noexcept { return buckets_[n]; }

  // Bit 2*slot is set for each slot whose tag is `tag`.
  static std::uint32_t match(const Bucket& b, std::uint16_t tag) noexcept {
#if defined(__AVX2__)
    // Reads 32 bytes of the line; lanes 10-15 are the first numbers and are masked away.
    const __m256i tags = _mm256_load_si256(reinterpret_cast<const __m256i*>(&b));
    const __m256i same = _mm256_cmpeq_epi16(tags, _mm256_set1_epi16(static_cast<short>(tag)));
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(same)) & 0x55555;
#else
    std::uint32_t mask = 0;
    for (unsigned s = 0; s < kSlots; ++s) mask |= std::uint32_t{b.tag[s] == tag} << (2 * s);
    return mask;
#endif
  }

  // First number under `hash` that `same(number)` accepts, or kNone.
  template <class Same>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, Same&& same) const noexcept {
    const std::uint16_t tag = tag_of(hash);
    const Bucket* b = &bucket(hash);
    for (;;) {
      for (std::uint32_t m = match(*b, tag); m != 0; m &= m - 1) {
        const std::uint32_t n = b->number[static_cast<unsigned>(std::countr_zero(m)) / 2];
        if (same(n)) return n;
      }
      if (b->next == kNone) [[likely]]
        return kNone;
      b = &buckets_[b->next];
    }
  }

  // False when the pool is empty or the chain too long; nothing has changed then.
  bool insert(std::uint64_t hash, std::uint32_t number) noexcept;
  // `hash` needs its bits 0-31 only. The number must be there.
  void erase(std::uint32_t hash_low, std::uint32_t number) noexcept;

  [[nodiscard]] unsigned max_chain() const noexcept { return max_chain_; }
  [[nodiscard]] std::uint32_t overflow_used() const noexcept { return overflow_used_; }

 private:
  static std::uint32_t buckets_for(std::uint32_t entries) noexcept;
  static std::uint32_t overflow_for(std::uint32_t entries) noexcept;

  Bucket* buckets_ = nullptr;  // buckets, then the overflow pool
  std::uint64_t bucket_count_ = 0;
  std::uint32_t free_ = kNone;  // pool, linked by `next`
  std::uint32_t overflow_used_ = 0;
  unsigned max_chain_ = 1;
};

}  // namespace merlon::flow
