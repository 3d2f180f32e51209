// SPDX-License-Identifier: Apache-2.0
#pragma once
// Seeded choice without state: hashes of numbers and permutations of ranges. Pure; any thread.
#include <bit>
#include <cstdint>

namespace merlon::lab {

// The finaliser of SplitMix64: every input bit reaches every output bit.
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x += 0x9e37'79b9'7f4a'7c15ULL;
  x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9ULL;
  x = (x ^ x >> 27) * 0x94d0'49bb'1331'11ebULL;
  return x ^ x >> 31;
}

// A value below `count` (count > 0) from a hash.
constexpr std::uint64_t below(std::uint64_t hash, std::uint64_t count) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(hash) * count >> 64);
}

// A permutation of 0 .. count - 1 chosen by `key`: a four-round Feistel network on the least even
// number of bits that holds count, walked until the value is inside; fewer than four steps on
// average.
class Permutation {
 public:
  constexpr explicit Permutation(std::uint64_t count) noexcept
      : count_(count),
        half_(static_cast<unsigned>(std::bit_width(count > 1 ? count - 1 : 1) + 1) / 2),
        mask_((std::uint64_t{1} << half_) - 1) {}

  [[nodiscard]] constexpr std::uint64_t at(std::uint64_t position,
                                           std::uint64_t key) const noexcept {
    std::uint64_t v = position;
    do {
      std::uint64_t left = v >> half_, right = v & mask_;
      for (std::uint64_t round = 0; round < 4; ++round) {
        const std::uint64_t next = left ^ (mix64(right ^ key ^ round << 56) & mask_);
        left = right;
        right = next;
      }
      v = left << half_ | right;
    } while (v >= count_);
    return v;
  }

 private:
  std::uint64_t count_;
  unsigned half_;
  std::uint64_t mask_;
};

}  // namespace merlon::lab
