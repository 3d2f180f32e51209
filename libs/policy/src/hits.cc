// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/hits.h"

#include <algorithm>

namespace merlon::policy {

HitCounters::HitCounters(unsigned workers) : rows_(workers) {}

bool HitCounters::reserve(std::uint32_t count, base::Nanos now) {
  const std::size_t chunks = (std::size_t{count} + kChunk - 1) / kChunk;
  if (chunks > kMaxChunks) return false;
  const std::lock_guard lock(mutex_);
  for (Row& row : rows_) {
    for (std::size_t c = 0; c < chunks; ++c) {
      if (row.chunks[c].load(std::memory_order_relaxed) != nullptr) continue;
      storage_.push_back(std::make_unique<Cell[]>(kChunk));
      row.chunks[c].store(storage_.back().get(), std::memory_order_release);
    }
  }
  const std::size_t had = origins_.size();
  if (count > had) {
    origins_.resize(count);
    for (std::size_t i = had; i < count; ++i) origins_[i].since = now;
  }
  return true;
}

RuleHits HitCounters::read(std::uint32_t slot) const noexcept {
  const std::lock_guard lock(mutex_);
  return read_locked(slot);
}

RuleHits HitCounters::read_locked(std::uint32_t slot) const noexcept {
  RuleHits out;
  if (slot >= origins_.size()) return out;
  const Origin& origin = origins_[slot];
  for (const Row& row : rows_) {
    const Cell* chunk = row.chunks[slot / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    const Cell& cell = chunk[slot % kChunk];
    out.sessions += cell.sessions.load(std::memory_order_relaxed);
    out.packets += cell.packets.load(std::memory_order_relaxed);
    out.bytes += cell.bytes.load(std::memory_order_relaxed);
    out.limit_drops += cell.limit_drops.load(std::memory_order_relaxed);
    const base::Nanos first = cell.first.load(std::memory_order_relaxed);
    if (first != 0) out.first = out.first == 0 ? first : std::min(out.first, first);
    out.last = std::max(out.last, cell.last.load(std::memory_order_relaxed));
  }
  out.observed_since = origin.since;
  out.sessions -= origin.sessions;
  out.packets -= origin.packets;
  out.bytes -= origin.bytes;
  out.limit_drops -= origin.limit_drops;
  // Cells belong to their workers, so a reset can't clear them: hits from before it are not shown,
  // and the first one after it is not known when there were hits before; its last one is.
  if (origin.is_reset) {
    if (out.sessions == 0) out.first = out.last = 0;
    if (out.first != 0 && out.first < origin.since) out.first = origin.since;
  }
  return out;
}

void HitCounters::reset(std::uint32_t slot, base::Nanos now) {
  const std::lock_guard lock(mutex_);
  if (slot >= origins_.size()) return;
  Origin& origin = origins_[slot];
  const RuleHits hits = read_locked(slot);
  origin.sessions += hits.sessions;
  origin.packets += hits.packets;
  origin.bytes += hits.bytes;
  origin.limit_drops += hits.limit_drops;
  origin.since = now;
  origin.is_reset = true;
}

void HitCounters::clear(std::uint32_t slot, base::Nanos now) {
  const std::lock_guard lock(mutex_);
  if (slot >= origins_.size()) return;
  // The next to write is a worker that has read a snapshot with the new rule, after this.
  for (Row& row : rows_) {
    Cell* chunk = row.chunks[slot / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    Cell& cell = chunk[slot % kChunk];
    for (auto* count : {&cell.sessions, &cell.packets, &cell.bytes, &cell.limit_drops})
      count->store(0, std::memory_order_relaxed);
    cell.first.store(0, std::memory_order_relaxed);
    cell.last.store(0, std::memory_order_relaxed);
  }
  origins_[slot] = Origin{.since = now};
}

}  // namespace merlon::policy
