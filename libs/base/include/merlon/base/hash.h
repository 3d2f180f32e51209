// SPDX-License-Identifier: Apache-2.0
#pragma once
// Seeded hashing for tables whose keys a sender chooses. The mixer is a 64x64->128 bit multiply
// folded by exclusive or, with a random secret per process start: without the secret a sender can't
// aim at a bucket. Replays use a fixed seed so that two runs are equal.
#include <cstddef>
#include <cstdint>

namespace merlon::base {

struct HashSeed {
  std::uint64_t a = 0x9e3779b97f4a7c15ULL;
  std::uint64_t b = 0xd1b54a32d192ed03ULL;

  // From the kernel's random source.
  static HashSeed random();
};

inline std::uint64_t fold_multiply(std::uint64_t x, std::uint64_t y) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide p = static_cast<Wide>(x) * y;
  return static_cast<std::uint64_t>(p) ^ static_cast<std::uint64_t>(p >> 64);
}

std::uint64_t hash_bytes(const void* data, std::size_t size, HashSeed seed) noexcept;

}  // namespace merlon::base
