// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many sessions a source address or a policy rule has open. worker-owned; fixed memory. An
// address is forgotten when its count returns to zero. When more addresses are active than fit,
// further ones are not counted (and not limited): untracked() says how often. Cost: one look-up per
// session start, none at its end but a decrement.
#include <cstdint>
#include <span>

#include "merlon/base/address.h"
#include "merlon/base/hash.h"
#include "merlon/flow/tag_index.h"

namespace merlon::flow {

class SourceTable {
 public:
  static constexpr std::uint32_t kNone = TagIndex::kNone;

  struct Source {
    base::IpAddress address;
    std::uint32_t count = 0;
    std::uint32_t next_free = kNone;
  };

  static std::size_t memory_for(std::uint32_t max_sources) noexcept;
  // Takes over zeroed memory of memory_for(max_sources) bytes, aligned to 64.
  void attach(std::byte* memory, std::uint32_t max_sources, base::HashSeed seed) noexcept;

  [[nodiscard]] std::uint64_t hash(const base::IpAddress& a) const noexcept;
  void prefetch(const base::IpAddress& a) const noexcept {
    __builtin_prefetch(&index_.bucket(hash(a)), 1);
  }
  // Entry of an address, or kNone when it has no session or is not counted.
  [[nodiscard]] std::uint32_t find(const base::IpAddress& a) const noexcept;
  [[nodiscard]] std::uint32_t count_of(const base::IpAddress& a) const noexcept;
  // Counts one session more and returns the entry for remove(); kNone when the table is full.
  std::uint32_t add(const base::IpAddress& a) noexcept;
  void remove(std::uint32_t entry) noexcept;

  // The addresses with the most sessions, most first (ties: smaller address first), at most
  // out.size(). Walks the whole table: for listings, not per packet. Returns how many were written.
  std::size_t top(std::span<Source> out) const noexcept;

  [[nodiscard]] std::uint32_t active() const noexcept { return active_; }
  [[nodiscard]] std::uint64_t untracked() const noexcept { return untracked_; }

 private:
  TagIndex index_;
  Source* sources_ = nullptr;
  std::uint32_t capacity_ = 0, active_ = 0,
                used_ = 0;  // used_: entries ever taken, the rest is untouched
  std::uint32_t free_ = kNone;
  std::uint64_t untracked_ = 0;
  base::HashSeed seed_{};
};

}  // namespace merlon::flow
