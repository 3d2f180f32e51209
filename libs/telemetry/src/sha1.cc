// SPDX-License-Identifier: Apache-2.0
#include "sha1.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace merlon::telemetry {
namespace {

using State = std::array<std::uint32_t, 5>;

void compress(State& h, const base::Byte* block) noexcept {
  std::array<std::uint32_t, 80> w;
  for (unsigned i = 0; i < 16; ++i) w[i] = base::load_be<std::uint32_t>(block + 4 * i);
  for (unsigned i = 16; i < 80; ++i)
    w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = h;
  const auto round = [&](std::uint32_t f, std::uint32_t k, std::uint32_t word) {
    const std::uint32_t t = std::rotl(a, 5) + f + e + k + word;
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = t;
  };
  for (unsigned i = 0; i < 20; ++i) round(d ^ (b & (c ^ d)), 0x5a827999, w[i]);
  for (unsigned i = 20; i < 40; ++i) round(b ^ c ^ d, 0x6ed9eba1, w[i]);
  for (unsigned i = 40; i < 60; ++i) round((b & c) | (d & (b | c)), 0x8f1bbcdc, w[i]);
  for (unsigned i = 60; i < 80; ++i) round(b ^ c ^ d, 0xca62c1d6, w[i]);
  h = {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
}

}  // namespace

std::array<base::Byte, 20> sha1(base::ByteSpan message) noexcept {
  State h{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::size_t at = 0;
  for (; message.size() - at >= 64; at += 64) compress(h, message.data() + at);

  // Padding: 0x80, zeros, the length in bits; a second block when fewer than 9 bytes are left.
  std::array<base::Byte, 128> tail{};
  const std::size_t left = message.size() - at;
  if (left != 0) std::memcpy(tail.data(), message.data() + at, left);
  tail[left] = 0x80;
  const std::size_t size = left < 56 ? 64 : 128;
  base::store_be<std::uint64_t>(tail.data() + size - 8, std::uint64_t{message.size()} * 8);
  for (std::size_t i = 0; i < size; i += 64) compress(h, tail.data() + i);

  std::array<base::Byte, 20> digest;
  for (unsigned i = 0; i < 5; ++i) base::store_be<std::uint32_t>(digest.data() + 4 * i, h[i]);
  return digest;
}

}  // namespace merlon::telemetry
