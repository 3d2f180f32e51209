// SPDX-License-Identifier: Apache-2.0
#include "merlon/flow/session_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "merlon/base/check.h"
#include "merlon/base/make_error.h"

namespace merlon::flow {

namespace {

constexpr std::uint32_t kMaxSessions = 1U << 30;
constexpr base::Ticks kMaxTimeout =
    1U << 30;  // 12 days: serial comparison of ticks needs less than 24

// Kinds that have sessions, as bits.
constexpr std::uint32_t kFindable = [] {
  using packet::Kind;
  std::uint32_t m = 0;
  for (Kind k : {Kind::kTcp, Kind::kUdp, Kind::kIcmpQuery, Kind::kIcmpError, Kind::kIcmpOther,
                 Kind::kSctp, Kind::kOtherIp, Kind::kFragment})
    m |= 1U << static_cast<unsigned>(k);
  return m;
}();

bool is_findable(const packet::Burst& b, unsigned i) noexcept {
  const packet::Headers& h = b.headers[i];
  return b.verdict[i] == packet::Verdict::kUndecided &&
         (kFindable >> static_cast<unsigned>(h.kind) & 1) != 0 &&
         !h.is(packet::Headers::kQuoteUnknown);
}

inline bool same_key(const packet::FlowKey& x, const packet::FlowKey& y) noexcept {
#if defined(__AVX2__)
  const auto load = [](const packet::FlowKey& k, unsigned offset) {
    return _mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(reinterpret_cast<const unsigned char*>(&k) + offset));
  };
  const __m256i d = _mm256_or_si256(_mm256_xor_si256(load(x, 0), load(y, 0)),
                                    _mm256_xor_si256(load(x, 12), load(y, 12)));
  return _mm256_testz_si256(d, d) != 0;
#else
  return x == y;
#endif
}

base::Ticks scale_one(base::Ticks t, unsigned scale) noexcept {
  return std::max<base::Ticks>(static_cast<base::Ticks>(std::uint64_t{t} * scale >> 10), 1);
}

constexpr std::size_t round_line(std::size_t n) noexcept { return (n + 63) / 64 * 64; }

}  // namespace

SessionClass session_class(SessionState state) noexcept {
  switch (state) {
    case SessionState::kSynSent:
    case SessionState::kSynReceived:
    case SessionState::kMidstream:
    case SessionState::kUdpUnreplied:
    case SessionState::kIcmpQuery:
    case SessionState::kSctpInit:
    case SessionState::kOtherUnreplied:
      return SessionClass::kHalfOpen;
    case SessionState::kDenied:
      return SessionClass::kDenied;
    case SessionState::kClosing:
    case SessionState::kTimeWait:
    case SessionState::kReset:
    case SessionState::kSctpShutdown:
      return SessionClass::kClosing;
    default:
      return SessionClass::kLive;
  }
}

// Where each part lies in the one region; every part starts on a cache line.
struct SessionTable::Layout {
  std::size_t sessions, cold, nodes, free, index, sources, rules, total;

  explicit Layout(const TableOptions& o) noexcept {
    const std::size_t n = o.max_sessions;
    sessions = 0;
    cold = sessions + n * sizeof(Session);
    nodes = cold + round_line(n * sizeof(SessionCold));
    free = nodes + round_line(n * sizeof(Node));
    index = free + round_line(n * sizeof(std::uint32_t));
    sources = index + TagIndex::memory_for(o.max_sessions);
    rules = sources + SourceTable::memory_for(o.max_sources);
    total = rules + round_line(std::size_t{o.max_rules} * sizeof(std::uint32_t));
  }
};

std::size_t SessionTable::memory_for(const TableOptions& options) noexcept {
  return Layout(options).total + sizeof(SessionTable);
}

base::Result<std::unique_ptr<SessionTable>> SessionTable::create_table(
    const TableOptions& options) {
  if (options.max_sessions == 0 || options.max_sessions > kMaxSessions)
    return make_error(base::Errc::kInvalidValue,
                      fmt::format("{} sessions per worker; the table holds 1 to {}",
                                  options.max_sessions, kMaxSessions),
                      {});
  const Layout layout(options);
  std::unique_ptr<SessionTable> t(new SessionTable);
  t->memory_ = base::Region::allocate(layout.total);
  if (t->memory_.data() == nullptr)
    return make_error(base::Errc::kCapacity,
                      fmt::format("{} MiB for {} sessions can't be had", (layout.total >> 20) + 1,
                                  options.max_sessions),
                      "lower max_sessions or free memory");
  std::byte* const m = t->memory_.data();
  t->options_ = options;
  t->capacity_ = t->free_count_ = options.max_sessions;
  t->denied_max_ = options.max_sessions / 4 + 1;
  if (options.adaptive_start_percent != 0)
    t->adaptive_start_ = std::uint64_t{t->capacity_} * options.adaptive_start_percent / 100;
  t->sessions_ = reinterpret_cast<Session*>(m + layout.sessions);
  t->cold_ = reinterpret_cast<SessionCold*>(m + layout.cold);
  t->nodes_ = reinterpret_cast<Node*>(m + layout.nodes);
  t->free_ = reinterpret_cast<std::uint32_t*>(m + layout.free);
  for (std::uint32_t i = 0; i < t->capacity_; ++i) t->free_[i] = t->capacity_ - 1 - i;
  t->index_.attach(m + layout.index, options.max_sessions);
  t->max_sources_ = options.max_sources;
  if (options.max_sources != 0)
    t->sources_.attach(m + layout.sources, options.max_sources, options.seed);
  t->rule_counts_ = reinterpret_cast<std::uint32_t*>(m + layout.rules);
  t->rule_capacity_ = options.max_rules;
  t->wheel_.attach(t->nodes_);
  t->timeouts_ = t->scaled_ = default_timeouts();
  return t;
}

std::uint32_t SessionTable::find(const packet::FlowKey& key, std::uint64_t hash) const noexcept {
  return index_.find(hash,
                     [&](std::uint32_t n) noexcept { return same_key(sessions_[n].key, key); });
}

// Three loops over the burst, so that the misses of one step overlap: index lines, session lines,
// compare. kAll: every packet is looked up, else those of `list`.
template <bool kAll>
void SessionTable::find_listed(packet::Burst& burst, const std::uint8_t* list,
                               unsigned count) noexcept {
  std::array<const TagIndex::Bucket*, packet::Burst::kCapacity> buckets;
  for (unsigned k = 0; k < count; ++k) {
    buckets[k] = &index_.bucket(burst.hash[kAll ? k : list[k]]);
    __builtin_prefetch(buckets[k]);
  }
  for (unsigned k = 0; k < count; ++k) {
    const unsigned i = kAll ? k : list[k];
    const TagIndex::Bucket& b = *buckets[k];
    const std::uint32_t m = TagIndex::match(b, TagIndex::tag_of(burst.hash[i]));
    // No match reads slot 0: harmless, since its session is only prefetched and then compared.
    const std::uint32_t n = b.number[m == 0 ? 0 : static_cast<unsigned>(std::countr_zero(m)) / 2];
    burst.session[i] = m == 0 ? kNoSession : n;
    __builtin_prefetch(&sessions_[n], 1);
    __builtin_prefetch(reinterpret_cast<const char*>(&sessions_[n]) + 64, 1);
  }
  for (unsigned k = 0; k < count; ++k) {
    const unsigned i = kAll ? k : list[k];
    const std::uint32_t n = burst.session[i];
    if (n != kNoSession && same_key(sessions_[n].key, burst.key[i])) [[likely]]
      continue;
    // A miss in a bucket that never overflowed and has no such tag is final.
    if (n == kNoSession && buckets[k]->next == TagIndex::kNone) continue;
    burst.session[i] = find(burst.key[i], burst.hash[i]);
  }
}

void SessionTable::find_all(packet::Burst& burst) noexcept {
  find_listed<true>(burst, nullptr, burst.count);
}

void SessionTable::find_bulk(packet::Burst& burst, unsigned first, unsigned count) noexcept {
  const unsigned end = first + count;
  std::uint8_t list[packet::Burst::kCapacity];
  unsigned listed = 0;
  for (unsigned i = first; i < end; ++i) {
    burst.session[i] = kNoSession;
    list[listed] = static_cast<std::uint8_t>(i);
    listed += is_findable(burst, i);
  }
  find_listed<false>(burst, list, listed);
}

void SessionTable::prefetch_for_create(unsigned count) const noexcept {
  const unsigned from_stack = count < free_count_ ? count : free_count_;
  for (unsigned k = 0; k < from_stack; ++k) {
    const std::uint32_t i = free_[free_count_ - 1 - k];
    __builtin_prefetch(&sessions_[i], 1);
    __builtin_prefetch(reinterpret_cast<const char*>(&sessions_[i]) + 64, 1);
    __builtin_prefetch(&nodes_[i], 1);
    __builtin_prefetch(&cold_[i], 1);
  }
  SessionClass c = SessionClass::kHalfOpen;
  if (oldest(c) == kNoSession) c = SessionClass::kClosing;
  std::uint32_t i = oldest(c);
  for (unsigned k = from_stack; k < count && i != kNoSession; ++k, i = nodes_[i].class_next)
    prefetch_session(i);
}

std::uint32_t SessionTable::create_in_room(const packet::FlowKey& key, std::uint64_t hash,
                                           SessionState state, base::Ticks now) noexcept {
  const std::uint32_t i = free_[free_count_ - 1];
  if (!index_.insert(hash, i)) [[unlikely]] {
    ++counters_.index_full;
    return kNoSession;
  }
  --free_count_;
  Session& s = sessions_[i];
  s = Session{};
  s.key = key;
  s.last_seen = now;
  s.state = state;
  cold_[i] = SessionCold{};
  Node& node = nodes_[i];
  node.hash_low = static_cast<std::uint32_t>(hash);
  node.source = SourceTable::kNone;
  node.rule = base::kNoRule;
  list_append(i, session_class(state));
  wheel_.link(i, deadline(s), now);
  ++counters_.created;
  if (count() > counters_.peak) counters_.peak = count();
  return i;
}

void SessionTable::erase(std::uint32_t index, base::SessionEnd why) noexcept {
  Session& s = sessions_[index];
  Node& node = nodes_[index];
  MERLON_CHECK(s.state != SessionState::kFree);
  index_.erase(node.hash_low, index);
  if (why == base::SessionEnd::kEvicted)
    ++counters_.evicted[static_cast<unsigned>(node.session_class)];
  ++counters_.ended[static_cast<unsigned>(why)];
  list_remove(index);
  if (node.wheel_slot != Wheel<Node>::kUnlinked) wheel_.unlink(index);
  if (node.source != SourceTable::kNone) sources_.remove(node.source);
  if (node.rule != base::kNoRule) --rule_counts_[node.rule];
  s.state = SessionState::kFree;
  free_[free_count_++] = index;
}

std::uint32_t SessionTable::choose_victim(SessionState newcomer, base::Ticks now) noexcept {
  const std::uint32_t denied = oldest(SessionClass::kDenied);
  std::uint32_t victim = denied;
  if (newcomer != SessionState::kDenied) {
    // Unanswered streams that still send are not what a flood leaves behind: a few of them get
    // another turn.
    for (unsigned turns = 0; turns < 4; ++turns) {
      const std::uint32_t i = oldest(SessionClass::kHalfOpen);
      if (i == kNoSession || sessions_[i].packets[0] < 2 ||
          base::ticks_between(sessions_[i].last_seen, now) >= options_.half_open_grace)
        break;
      list_remove(i);
      list_append(i, SessionClass::kHalfOpen);
    }
    const std::uint32_t half_open = oldest(SessionClass::kHalfOpen);
    const bool is_silent =
        half_open != kNoSession &&
        base::ticks_between(sessions_[half_open].last_seen, now) >= options_.half_open_grace;
    if (is_silent)
      victim = half_open;
    else if (victim == kNoSession)
      victim =
          oldest(SessionClass::kClosing) != kNoSession ? oldest(SessionClass::kClosing) : half_open;
  }
  if (victim == kNoSession) ++counters_.table_full;
  return victim;
}

void SessionTable::list_append(std::uint32_t i, SessionClass c) noexcept {
  Node& node = nodes_[i];
  List& list = lists_[static_cast<unsigned>(c)];
  node.session_class = c;
  ++list.count;
  if (c == SessionClass::kLive) return;  // counted only: never evicted, so its order is not needed
  node.class_next = kNoSession;
  node.class_prev = list.last;
  (list.last == kNoSession ? list.first : nodes_[list.last].class_next) = i;
  list.last = i;
}

void SessionTable::list_remove(std::uint32_t i) noexcept {
  const Node& node = nodes_[i];
  List& list = lists_[static_cast<unsigned>(node.session_class)];
  --list.count;
  if (node.session_class == SessionClass::kLive) return;
  (node.class_prev == kNoSession ? list.first : nodes_[node.class_prev].class_next) =
      node.class_next;
  (node.class_next == kNoSession ? list.last : nodes_[node.class_next].class_prev) =
      node.class_prev;
}

void SessionTable::state_changed(std::uint32_t index, SessionState before,
                                 base::Ticks now) noexcept {
  const Session& s = sessions_[index];
  const SessionClass c = session_class(s.state);
  if (c != nodes_[index].session_class) {
    list_remove(index);
    list_append(index, c);
  }
  if (scaled_[static_cast<unsigned>(s.state)] < scaled_[static_cast<unsigned>(before)]) {
    wheel_.unlink(index);
    wheel_.link(index, deadline(s), now);
  }
}

void SessionTable::set_timeouts(const Timeouts& timeouts) noexcept {
  bool is_shorter = false;
  for (unsigned s = 0; s < kSessionStateCount; ++s) {
    const base::Ticks t = std::clamp<base::Ticks>(timeouts[s], 1, kMaxTimeout);
    is_shorter |= t < timeouts_[s];
    timeouts_[s] = t;
    scaled_[s] = scale_one(t, scale_);
  }
  if (is_shorter) {
    sweeping_ = sweep_relinks_ = true;
    sweep_left_ = capacity_;
  }
}

// Called once per expire(): the scale follows the fill level in steps of 1/64, so that most calls
// change nothing.
void SessionTable::scale_timeouts() noexcept {
  unsigned scale = 1024;
  if (count() > adaptive_start_) {
    const std::uint64_t start = adaptive_start_;
    const std::uint64_t end = std::uint64_t{capacity_} * options_.adaptive_end_percent / 100;
    if (end > start) {
      const std::uint64_t into = count() < end ? count() - start : end - start;
      const std::uint64_t floor = 1024ULL * options_.adaptive_floor_percent / 100;
      const std::uint64_t lost = floor < 1024 ? (1024 - floor) * into / (end - start) : 0;
      scale = static_cast<unsigned>(1024 - lost) & ~15U;
    }
  }
  if (scale == scale_) [[likely]]
    return;
  if (scale < scale_) {
    sweeping_ = true;
    sweep_left_ = capacity_;
  }
  scale_ = scale;
  for (unsigned s = 0; s < kSessionStateCount; ++s) scaled_[s] = scale_one(timeouts_[s], scale_);
}

// The next session of the sweep, when its time is over; kNoSession otherwise. While the timeouts
// are scaled the sweep goes round and round, since sessions are parked by the scale of their time.
std::uint32_t SessionTable::sweep_one(base::Ticks now) noexcept {
  if (sweep_left_ == 0) {
    sweep_relinks_ = false;
    if (scale_ == 1024) {
      sweeping_ = false;
      return kNoSession;
    }
    sweep_left_ = capacity_;
  }
  --sweep_left_;
  const std::uint32_t i = sweep_next_;
  sweep_next_ = i + 1 < capacity_ ? i + 1 : 0;
  __builtin_prefetch(&sessions_[i + 8 < capacity_ ? i + 8 : i]);
  const Session& s = sessions_[i];
  if (s.state == SessionState::kFree) return kNoSession;
  if (is_over(s, now)) return i;
  if (sweep_relinks_) {
    wheel_.unlink(i);
    wheel_.link(i, deadline(s), now);
  }
  return kNoSession;
}

bool SessionTable::park_again(std::uint32_t i, base::Ticks now) noexcept {
  const Session& s = sessions_[i];
  if (s.state == SessionState::kFree) return true;  // on_end() of another one erased it
  if (is_over(s, now)) return false;
  wheel_.link(i, deadline(s), now);
  return true;
}

void SessionTable::count_source(std::uint32_t index) noexcept {
  if (!counts_sources() || nodes_[index].source != SourceTable::kNone) return;
  Session& s = sessions_[index];
  nodes_[index].source = sources_.add(s.is(Session::kInitiatorIsB) ? s.key.b : s.key.a);
  s.flags |= Session::kTracked;
}

void SessionTable::count_more_sources() noexcept {
  constexpr std::uint32_t kPiece = 256;
  if (!is_counting_sources_) {
    uncounted_ = 0;
    return;
  }
  for (std::uint32_t n = 0; n < kPiece && uncounted_ != 0; ++n)
    if (sessions_[--uncounted_].state != SessionState::kFree) count_source(uncounted_);
}

void SessionTable::count_rule(std::uint32_t index, std::uint32_t rule) noexcept {
  Node& node = nodes_[index];
  if (node.rule != base::kNoRule) --rule_counts_[node.rule];
  node.rule = rule < rule_capacity_ ? rule : base::kNoRule;
  if (node.rule != base::kNoRule) ++rule_counts_[node.rule];
  sessions_[index].rule = rule;
}

}  // namespace merlon::flow
