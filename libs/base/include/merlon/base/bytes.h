// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading untrusted bytes. Reader walks a span, never past its end; after the first failure it
// stays failed and returns zeros, so a parser checks once at the end of a block. The load_be
// helpers are for code that has already checked the length that covers them.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace merlon::base {

using Byte = std::uint8_t;
using ByteSpan = std::span<const Byte>;

template <class T>
constexpr T byteswap(T v) noexcept {
  if constexpr (sizeof(T) == 1) return v;
  if constexpr (sizeof(T) == 2)
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(v)));
  if constexpr (sizeof(T) == 4)
    return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(v)));
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(v)));
}

template <class T>
inline T load_raw(const Byte* p) noexcept {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store_raw(Byte* p, T v) noexcept {
  std::memcpy(p, &v, sizeof v);
}

template <class T>
inline T load_be(const Byte* p) noexcept {
  if constexpr (std::endian::native == std::endian::little) return byteswap(load_raw<T>(p));
  return load_raw<T>(p);
}
template <class T>
inline T load_le(const Byte* p) noexcept {
  if constexpr (std::endian::native == std::endian::big) return byteswap(load_raw<T>(p));
  return load_raw<T>(p);
}
template <class T>
inline void store_be(Byte* p, T v) noexcept {
  store_raw(p, std::endian::native == std::endian::little ? byteswap(v) : v);
}

class Reader {
 public:
  explicit Reader(ByteSpan bytes) noexcept : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - p_); }

  std::uint8_t u8() noexcept { return take<std::uint8_t>(); }
  std::uint16_t be16() noexcept { return take<std::uint16_t>(); }
  std::uint32_t be32() noexcept { return take<std::uint32_t>(); }
  std::uint64_t be64() noexcept { return take<std::uint64_t>(); }

  void skip(std::size_t n) noexcept {
    if (n > left()) return fail();
    p_ += n;
  }
  // The next n bytes; an empty span and a failed reader when there are fewer.
  ByteSpan bytes(std::size_t n) noexcept {
    if (n > left()) {
      fail();
      return {};
    }
    ByteSpan s(p_, n);
    p_ += n;
    return s;
  }

 private:
  template <class T>
  T take() noexcept {
    if (sizeof(T) > left()) {
      fail();
      return 0;
    }
    T v = load_be<T>(p_);
    p_ += sizeof(T);
    return v;
  }
  void fail() noexcept {
    failed_ = true;
    p_ = end_;
  }

  const Byte* p_;
  const Byte* end_;
  bool failed_ = false;
};

}  // namespace merlon::base
