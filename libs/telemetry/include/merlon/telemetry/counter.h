// SPDX-License-Identifier: Apache-2.0
#pragma once
// A 64-bit count with one writing thread and any number of readers. Adding is a load, an add and a
// store without a lock prefix; a reader on another thread sees a whole value, at worst a moment
// old.
#include <atomic>
#include <cstdint>

namespace merlon::telemetry {

class Counter {
 public:
  // The owning thread only.
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  // Any thread.
  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace merlon::telemetry
