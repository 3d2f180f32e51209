// SPDX-License-Identifier: Apache-2.0
#pragma once
// One queue's packet counters: written by the worker that owns the queue, read by control. A
// relaxed load and store per burst on the writer's side, no locked instruction.
#include <atomic>
#include <cstdint>

namespace merlon::io {

// shared-atomic with one writer.
class Tally {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct alignas(64) QueueCounters {
  Tally packets, bytes, errors, dropped;
};

}  // namespace merlon::io
