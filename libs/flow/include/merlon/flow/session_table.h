// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sessions of one worker: fixed memory, found by key, ended by time, limit, eviction or order.
// worker-owned: listings too are made on the worker's thread. Cost: a hit touches one index line
// and the session's two; find_bulk overlaps the misses of a whole burst. 212 bytes per session all
// in, sources apart.
//
// Ending a session is the caller's business, because an event may be due: the table says which
// session ends and why by calling on_end(index, SessionEnd) while the session can still be read,
// and frees it afterwards.
//
// An index stays valid until its session is erased. create() may evict: sessions found for later
// packets of the same burst must have been tracked (or be found again) before.
#include <cstdint>
#include <memory>
#include <span>

#include "merlon/base/arena.h"
#include "merlon/base/result.h"
#include "merlon/flow/limits.h"
#include "merlon/flow/options.h"
#include "merlon/flow/session.h"
#include "merlon/flow/table_counters.h"
#include "merlon/flow/tag_index.h"
#include "merlon/flow/wheel.h"
#include "merlon/packet/burst.h"

namespace merlon::flow {

using packet::kNoSession;

class SessionTable {
 public:
  static std::size_t memory_for(const TableOptions& options) noexcept;
  // kInvalidValue for no or more than 2^30 sessions, kCapacity when the memory can't be had.
  static base::Result<std::unique_ptr<SessionTable>> create_table(const TableOptions& options);

  // From the snapshot. Shorter timeouts reach sessions already parked within a sweep of the table,
  // a piece per expire().
  void set_timeouts(const Timeouts& timeouts) noexcept;
  [[nodiscard]] const Timeouts& timeouts() const noexcept { return timeouts_; }

  // Fills burst.session for [first, first + count): the session's index or kNoSession. Looks at
  // packets that are kUndecided and of a kind that has sessions; kFragment counts as resolved.
  void find_bulk(packet::Burst& burst, unsigned first, unsigned count) noexcept;
  // The same for a burst of which every packet is kUndecided and of a kind that has sessions.
  void find_all(packet::Burst& burst) noexcept;
  [[nodiscard]] std::uint32_t find(const packet::FlowKey& key, std::uint64_t hash) const noexcept;

  // A new session in `state`, zeroed but for key, last_seen and state; kNoSession when full and
  // nothing may go (a denied one displaces denied ones only, and takes a quarter of the table at
  // most). The key must not be there: find() first.
  template <class OnEnd>
  std::uint32_t create(const packet::FlowKey& key, std::uint64_t hash, SessionState state,
                       base::Ticks now, OnEnd&& on_end) noexcept {
    if (needs_room(state)) [[unlikely]] {
      const std::uint32_t victim = choose_victim(state, now);
      if (victim == kNoSession) return kNoSession;
      on_end(victim, base::SessionEnd::kEvicted);
      erase(victim, base::SessionEnd::kEvicted);
    }
    return create_in_room(key, hash, state, now);
  }
  // Fetches the records that the next `count` create() calls will write, and those of the sessions
  // that they will displace. Worth it where many are created: 32 before every sixteenth.
  void prefetch_for_create(unsigned count) const noexcept;
  // Oldest half-open session, for limits on them; kNoSession when there is none.
  [[nodiscard]] std::uint32_t oldest(SessionClass c) const noexcept {
    return lists_[static_cast<unsigned>(c)].first;
  }

  // Frees the session. The index and its key may be reused at once.
  void erase(std::uint32_t index, base::SessionEnd why) noexcept;

  // To be called after session.state changed from `before`: moves it between classes and, where the
  // timeout got shorter, on the wheel.
  void state_changed(std::uint32_t index, SessionState before, base::Ticks now) noexcept;

  // Ends sessions whose time is over, at most `budget` looked at. on_end as in create().
  template <class OnEnd>
  void expire(base::Ticks now, unsigned budget, OnEnd&& on_end) noexcept {
    scale_timeouts();
    if (uncounted_ != 0) [[unlikely]]
      count_more_sources();
    if (sweeping_) [[unlikely]]
      for (unsigned n = 0; n < budget && sweeping_; ++n) {
        const std::uint32_t i = sweep_one(now);
        if (i != kNoSession) end_expired(i, now, on_end);
      }
    // In batches, so that the misses of the sessions and of their index lines overlap.
    std::uint32_t batch[kExpireBatch];
    for (unsigned n = kExpireBatch; n == kExpireBatch && budget != 0; budget -= n) {
      const unsigned most = budget < kExpireBatch ? budget : kExpireBatch;
      n = 0;
      wheel_.advance(now, most, [&](std::uint32_t i) noexcept {
        batch[n++] = i;
        prefetch_session(i);
      });
      for (unsigned k = 0; k < n; ++k)
        if (!park_again(batch[k], now)) end_expired(batch[k], now, on_end);
    }
  }
  // Whether the session's time was over at `now` though expire() has not come to it yet. track()
  // asks per packet, so that what a packet meets never depends on how far the wheel has got.
  [[nodiscard]] bool is_over(const Session& s, base::Ticks now) const noexcept {
    // Time-outs are at least 1, so a clock that stands before last_seen is never over.
    return static_cast<std::int32_t>(now - s.last_seen) >=
           static_cast<std::int32_t>(scaled_[static_cast<unsigned>(s.state)]);
  }

  [[nodiscard]] Session& at(std::uint32_t index) noexcept { return sessions_[index]; }
  [[nodiscard]] const Session& at(std::uint32_t index) const noexcept { return sessions_[index]; }
  [[nodiscard]] SessionCold& cold(std::uint32_t index) noexcept { return cold_[index]; }
  [[nodiscard]] const SessionCold& cold(std::uint32_t index) const noexcept { return cold_[index]; }
  [[nodiscard]] bool is_live(std::uint32_t index) const noexcept {
    return index < capacity_ && sessions_[index].state != SessionState::kFree;
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return capacity_ - free_count_; }
  [[nodiscard]] std::uint32_t count(SessionClass c) const noexcept {
    return lists_[static_cast<unsigned>(c)].count;
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] TableCounters& counters() noexcept { return counters_; }
  [[nodiscard]] const TableCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const TagIndex& index() const noexcept { return index_; }
  // Timeouts in force, in 1/1024 of the configured ones.
  [[nodiscard]] unsigned timeout_scale() const noexcept { return scale_; }

  // Counting for limits: the address of the initiator, and the rule slot. Undone by erase(); the
  // second call moves the count to the new rule. Session.rule is written too.
  void count_source(std::uint32_t index) noexcept;
  // Counting sources costs two cache misses a session, so it is done only while some limit needs
  // it. Sessions that are there when it is turned on are counted by and by, a piece per expire().
  // On by default.
  void set_source_counting(bool on) noexcept {
    if (on && !is_counting_sources_) uncounted_ = capacity_;
    is_counting_sources_ = on;
  }
  void count_rule(std::uint32_t index, std::uint32_t rule) noexcept;
  [[nodiscard]] std::uint32_t rule_count(std::uint32_t rule) const noexcept {
    return rule < rule_capacity_ ? rule_counts_[rule] : 0;
  }
  [[nodiscard]] const SourceTable& sources() const noexcept { return sources_; }
  [[nodiscard]] bool counts_sources() const noexcept {
    return is_counting_sources_ && max_sources_ != 0;
  }

  // Calls fn(index, session, cold) for live sessions among `max` indexes from `from` on and returns
  // where to go on, kNoSession at the end. A session that lives through a walk is seen exactly
  // once.
  template <class Fn>
  std::uint32_t for_each(std::uint32_t from, std::uint32_t max, Fn&& fn) const {
    const std::uint32_t end =
        max < capacity_ - (from < capacity_ ? from : capacity_) ? from + max : capacity_;
    for (std::uint32_t i = from; i < end; ++i)
      if (sessions_[i].state != SessionState::kFree) fn(i, sessions_[i], cold_[i]);
    return end < capacity_ ? end : kNoSession;
  }

 private:
  // The table's own record beside each session.
  struct Node {
    std::uint32_t wheel_next, wheel_prev;
    std::uint32_t class_next, class_prev;
    std::uint32_t hash_low;
    std::uint32_t source, rule;
    std::uint16_t wheel_slot;
    SessionClass session_class;
    std::uint8_t reserved;
  };
  static_assert(sizeof(Node) == 32);
  struct List {
    std::uint32_t first = kNoSession, last = kNoSession, count = 0;
  };
  struct Layout;

  static constexpr unsigned kExpireBatch = 16;

  SessionTable() = default;
  template <bool kAll>
  void find_listed(packet::Burst& burst, const std::uint8_t* list, unsigned count) noexcept;
  void prefetch_session(std::uint32_t i) const noexcept {
    __builtin_prefetch(&index_.bucket(nodes_[i].hash_low));
    __builtin_prefetch(&sessions_[i], 1);
    __builtin_prefetch(reinterpret_cast<const char*>(&sessions_[i]) + 64, 1);
    __builtin_prefetch(&cold_[i], 1);
  }
  [[nodiscard]] bool needs_room(SessionState state) const noexcept {
    return free_count_ == 0 ||
           (state == SessionState::kDenied && count(SessionClass::kDenied) >= denied_max_);
  }
  std::uint32_t choose_victim(SessionState newcomer, base::Ticks now) noexcept;
  std::uint32_t create_in_room(const packet::FlowKey& key, std::uint64_t hash, SessionState state,
                               base::Ticks now) noexcept;
  void list_append(std::uint32_t i, SessionClass c) noexcept;
  void list_remove(std::uint32_t i) noexcept;
  void scale_timeouts() noexcept;
  void count_more_sources() noexcept;
  std::uint32_t sweep_one(base::Ticks now) noexcept;
  bool park_again(std::uint32_t i, base::Ticks now) noexcept;
  [[nodiscard]] base::Ticks deadline(const Session& s) const noexcept {
    return s.last_seen + scaled_[static_cast<unsigned>(s.state)];
  }
  template <class OnEnd>
  void end_expired(std::uint32_t i, base::Ticks now, OnEnd& on_end) noexcept {
    const Session& s = sessions_[i];
    if (base::ticks_between(s.last_seen, now) < timeouts_[static_cast<unsigned>(s.state)])
      ++counters_.expired_early;
    on_end(i, base::SessionEnd::kTimeout);
    erase(i, base::SessionEnd::kTimeout);
  }

  Session* sessions_ = nullptr;
  TagIndex index_;
  Timeouts scaled_{};  // in force
  // More sessions than these scale the time-outs; none can be more without scaling.
  std::uint64_t adaptive_start_ = ~std::uint64_t{0};
  std::uint32_t capacity_ = 0, free_count_ = 0, denied_max_ = 0, rule_capacity_ = 0,
                max_sources_ = 0;
  std::uint32_t* free_ = nullptr;  // stack of free indexes
  Node* nodes_ = nullptr;
  SessionCold* cold_ = nullptr;
  std::uint32_t* rule_counts_ = nullptr;
  List lists_[kSessionClassCount];
  TableCounters counters_;
  Wheel<Node> wheel_;
  SourceTable sources_;
  Timeouts timeouts_{};
  unsigned scale_ = 1024;
  bool is_counting_sources_ = true;
  bool sweeping_ = false, sweep_relinks_ = false;
  std::uint32_t sweep_next_ = 0, sweep_left_ = 0;
  std::uint32_t uncounted_ = 0;  // sessions below this index may not have been counted
  TableOptions options_;
  base::Region memory_;
};

}  // namespace merlon::flow
