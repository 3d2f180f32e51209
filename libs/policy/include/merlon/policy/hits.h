// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hit counters of rules: one row per worker, indexed by rule slot, plain adds by its owner; a
// reader sums. add() is worker-owned and costs one cache line; the rest is for control's threads,
// which share a lock. Rows grow by whole chunks that never move, so a worker never waits: control
// calls reserve() before it publishes a snapshot.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "merlon/base/time.h"

namespace merlon::policy {

struct RuleHits {
  std::uint64_t sessions = 0;            // sessions (or refused first packets) the rule decided
  base::Nanos first = 0, last = 0;       // 0: never
  base::Nanos observed_since = 0;        // when counting for this slot began
  std::uint64_t packets = 0, bytes = 0;  // of the rule's sessions that have ended, both directions
  std::uint64_t limit_drops = 0;  // sessions that the rule permits and its own limits refused
};

class HitCounters {
 public:
  static constexpr std::uint32_t kChunk = 1024;
  static constexpr std::uint32_t kMaxChunks = 1024;

  explicit HitCounters(unsigned workers);

  // worker-owned row. `slot` must be below the last reserve()d count; others are ignored.
  void add(unsigned worker, std::uint32_t slot, base::Nanos now) noexcept {
    const std::uint32_t c = slot / kChunk;
    if (c >= kMaxChunks) return;
    Cell* chunk = rows_[worker].chunks[c].load(std::memory_order_acquire);
    if (chunk == nullptr) return;
    Cell& cell = chunk[slot % kChunk];
    // Only the owner writes; relaxed atomics keep a concurrent reader's view whole per field.
    const auto n = cell.sessions.load(std::memory_order_relaxed);
    if (cell.first.load(std::memory_order_relaxed) == 0)
      cell.first.store(now, std::memory_order_relaxed);
    cell.last.store(now, std::memory_order_relaxed);
    cell.sessions.store(n + 1, std::memory_order_relaxed);
  }

  // worker-owned: what an ended session of the rule carried.
  void add_traffic(unsigned worker, std::uint32_t slot, std::uint64_t packets,
                   std::uint64_t bytes) noexcept {
    const std::uint32_t c = slot / kChunk;
    if (c >= kMaxChunks) return;
    Cell* chunk = rows_[worker].chunks[c].load(std::memory_order_acquire);
    if (chunk == nullptr) return;
    Cell& cell = chunk[slot % kChunk];
    cell.packets.store(cell.packets.load(std::memory_order_relaxed) + packets,
                       std::memory_order_relaxed);
    cell.bytes.store(cell.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  // worker-owned: a session that the rule's limits refused.
  void add_limit_drop(unsigned worker, std::uint32_t slot) noexcept {
    const std::uint32_t c = slot / kChunk;
    if (c >= kMaxChunks) return;
    Cell* chunk = rows_[worker].chunks[c].load(std::memory_order_acquire);
    if (chunk == nullptr) return;
    std::atomic<std::uint64_t>& n = chunk[slot % kChunk].limit_drops;
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // Makes room for slots below `count`; new slots are observed since `now`. Before publishing.
  // False when the count is above kChunk * kMaxChunks.
  bool reserve(std::uint32_t count, base::Nanos now);
  // Sum over workers.
  [[nodiscard]] RuleHits read(std::uint32_t slot) const noexcept;
  // Counts from here: what was counted before is taken off, observed_since becomes `now`.
  void reset(std::uint32_t slot, base::Nanos now);
  // The slot gets another rule: nothing is left of the one before, observed_since becomes `now`.
  // Only while no worker can count for the slot.
  void clear(std::uint32_t slot, base::Nanos now);

 private:
  struct Cell {
    std::atomic<std::uint64_t> sessions{0};
    std::atomic<base::Nanos> first{0}, last{0};
    std::atomic<std::uint64_t> packets{0}, bytes{0}, limit_drops{0};
  };
  struct alignas(64) Row {
    std::array<std::atomic<Cell*>, kMaxChunks> chunks{};
  };
  struct Origin {
    base::Nanos since = 0;
    std::uint64_t sessions = 0, packets = 0, bytes = 0, limit_drops = 0;
    bool is_reset = false;
  };
  [[nodiscard]] RuleHits read_locked(std::uint32_t slot) const noexcept;

  std::vector<Row> rows_;
  mutable std::mutex mutex_;  // all below
  std::vector<std::unique_ptr<Cell[]>> storage_;
  std::vector<Origin> origins_;
};

}  // namespace merlon::policy
