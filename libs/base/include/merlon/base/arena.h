// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixed memory taken at start. control-only to create; the bytes belong to the caller afterwards.
// Asks for transparent huge pages and faults every page in, so that the packet path never meets a
// page fault.
#include <cstddef>
#include <memory>
#include <span>

namespace merlon::base {

class Region {
 public:
  Region() = default;
  // Zeroed memory of at least `size` bytes, aligned to 2 MiB when that large, to 64 otherwise. Ends
  // empty (data() == nullptr) when the system has not enough; the caller reports kCapacity.
  static Region allocate(std::size_t size);
  ~Region();
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // The region seen as `count` objects of a trivially constructible type, zeroed.
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace merlon::base
