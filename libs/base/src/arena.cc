// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/arena.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace merlon::base {
namespace {
constexpr std::size_t kHuge = std::size_t{2} << 20;
}

Region Region::allocate(std::size_t size) {
  Region r;
  const std::size_t align = size >= kHuge ? kHuge : 64;
  const std::size_t rounded = (size + align - 1) / align * align;
  if (rounded < size) return r;
  void* p = std::aligned_alloc(align, rounded == 0 ? align : rounded);
  if (p == nullptr) return r;
  if (align == kHuge) madvise(p, rounded, MADV_HUGEPAGE);
  std::memset(p, 0, rounded);
  r.data_ = static_cast<std::byte*>(p);
  r.size_ = rounded;
  return r;
}

Region::~Region() { std::free(data_); }

Region::Region(Region&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace merlon::base
