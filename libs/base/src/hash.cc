// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/hash.h"

#include <sys/random.h>

#include <cstring>

#include "merlon/base/check.h"

namespace merlon::base {

HashSeed HashSeed::random() {
  HashSeed s;
  MERLON_CHECK(getrandom(&s, sizeof s, 0) == static_cast<ssize_t>(sizeof s));
  s.a |= 1;
  s.b |= 1;
  return s;
}

std::uint64_t hash_bytes(const void* data, std::size_t size, HashSeed seed) noexcept {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint64_t h = seed.a ^ size;
  while (size >= 8) {
    std::uint64_t w;
    std::memcpy(&w, p, 8);
    h = fold_multiply(h ^ w, seed.b);
    p += 8;
    size -= 8;
  }
  std::uint64_t w = 0;
  if (size != 0) std::memcpy(&w, p, size);
  return fold_multiply(h ^ w, seed.a ^ seed.b ^ 0xa0761d6478bd642fULL);
}

}  // namespace merlon::base
