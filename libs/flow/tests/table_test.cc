// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "kit.h"

namespace merlon::flow {
namespace {

using base::SessionEnd;
using testing::hash_of;
using testing::make_table;
using testing::numbered_key;
using S = SessionState;
using C = SessionClass;

struct Ended {
  std::uint32_t index;
  SessionEnd why;
  friend bool operator==(const Ended&, const Ended&) = default;
};

struct Rig {
  explicit Rig(const TableOptions& o) : table(make_table(o)) {}
  std::uint32_t add(std::uint32_t n, S state = S::kUdpUnreplied, base::Ticks now = 0) {
    const auto key = numbered_key(n);
    return table->create(key, hash_of(key), state, now, [this](std::uint32_t i, SessionEnd w) {
      ended.push_back({i, w});
    });
  }
  [[nodiscard]] std::uint32_t find(std::uint32_t n) const {
    return table->find(numbered_key(n), hash_of(numbered_key(n)));
  }
  void expire(base::Ticks now, unsigned budget = 1'000'000) {
    table->expire(now, budget, [this](std::uint32_t i, SessionEnd w) { ended.push_back({i, w}); });
  }
  void change(std::uint32_t i, S to, base::Ticks now) {
    const S before = table->at(i).state;
    table->at(i).state = to;
    table->at(i).last_seen = now;
    table->state_changed(i, before, now);
  }
  std::unique_ptr<SessionTable> table;
  std::vector<Ended> ended;
};

TableOptions small(std::uint32_t n) {
  return {.max_sessions = n, .max_sources = 8, .max_rules = 8, .adaptive_start_percent = 0};
}

TEST(SessionTable, RefusesSenselessSizes) {
  EXPECT_EQ(SessionTable::create_table({.max_sessions = 0}).error().code,
            base::Errc::kInvalidValue);
  EXPECT_EQ(SessionTable::create_table({.max_sessions = (1U << 30) + 1}).error().code,
            base::Errc::kInvalidValue);
}

TEST(SessionTable, StatesItsMemoryAndKeepsTo256BytesPerSession) {
  for (const std::uint32_t n : {1'024U, 262'144U, 10'000'000U}) {
    const std::size_t bytes =
        SessionTable::memory_for({.max_sessions = n, .max_sources = 0, .max_rules = 0});
    EXPECT_LE((bytes - sizeof(SessionTable)) / n, 215U) << n;
  }
  EXPECT_LE(SessionTable::memory_for({}) / TableOptions{}.max_sessions, 256U);
}

TEST(SessionTable, CreateFindErase) {
  Rig r(small(4));
  const std::uint32_t i = r.add(1, S::kUdpUnreplied, 5);
  ASSERT_NE(i, kNoSession);
  EXPECT_EQ(r.find(1), i);
  EXPECT_EQ(r.find(2), kNoSession);
  EXPECT_EQ(r.table->at(i).last_seen, 5U);
  EXPECT_EQ(r.table->at(i).key, numbered_key(1));
  EXPECT_EQ(r.table->count(), 1U);
  EXPECT_EQ(r.table->count(C::kHalfOpen), 1U);
  r.table->erase(i, SessionEnd::kCleared);
  EXPECT_EQ(r.find(1), kNoSession);
  EXPECT_EQ(r.table->count(), 0U);
  EXPECT_EQ(r.table->counters().ended[static_cast<unsigned>(SessionEnd::kCleared)], 1U);
}

TEST(SessionTable, ReusedSessionIsClean) {
  Rig r(small(1));
  const std::uint32_t i = r.add(1);
  r.table->at(i).packets[1] = 9;
  r.table->at(i).flags = 0xff;
  r.table->cold(i).flow_id = 77;
  r.table->erase(i, SessionEnd::kCleared);
  ASSERT_EQ(r.add(2), i);
  EXPECT_EQ(r.table->at(i).packets[1], 0U);
  EXPECT_EQ(r.table->at(i).flags, 0U);
  EXPECT_EQ(r.table->cold(i).flow_id, 0U);
}

// Two keys with one hash share bucket and tag: only the key tells them apart.
TEST(SessionTable, EqualHashesAreToldApartByKey) {
  Rig r(small(64));
  std::vector<std::uint32_t> index;
  for (std::uint32_t n = 0; n < 30; ++n)
    index.push_back(r.table->create(numbered_key(n), 42, S::kUdpUnreplied, 0, [](auto, auto) {}));
  for (std::uint32_t n = 0; n < 30; ++n) EXPECT_EQ(r.table->find(numbered_key(n), 42), index[n]);
  EXPECT_EQ(r.table->find(numbered_key(30), 42), kNoSession);
  packet::Burst b;
  b.count = 31;
  for (unsigned n = 0; n < 31; ++n) {
    b.key[n] = numbered_key(n);
    b.hash[n] = 42;
    b.verdict[n] = packet::Verdict::kUndecided;
    b.headers[n] = {};
    b.headers[n].kind = packet::Kind::kUdp;
  }
  r.table->find_bulk(b, 0, 31);
  for (unsigned n = 0; n < 30; ++n) EXPECT_EQ(b.session[n], index[n]) << n;
  EXPECT_EQ(b.session[30], kNoSession);
}

TEST(SessionTable, EveryByteOfTheKeyCounts) {
  Rig r(small(4));
  const packet::FlowKey key = numbered_key(1);
  ASSERT_NE(r.add(1), kNoSession);
  for (unsigned at = 0; at < sizeof key; ++at) {
    packet::FlowKey other = key;
    reinterpret_cast<unsigned char*>(&other)[at] ^= 1;
    EXPECT_EQ(r.table->find(other, hash_of(key)), kNoSession) << at;
  }
}

TEST(SessionTable, FindBulkLooksOnlyAtUndecidedPacketsWithSessions) {
  Rig r(small(4));
  const std::uint32_t i = r.add(1);
  using packet::Kind;
  using packet::Verdict;
  const struct {
    Kind kind;
    Verdict verdict;
    std::uint8_t flags;
    bool is_found;
  } cases[] = {{Kind::kUdp, Verdict::kUndecided, 0, true},
               {Kind::kTcp, Verdict::kUndecided, 0, true},
               {Kind::kIcmpError, Verdict::kUndecided, 0, true},
               {Kind::kIcmpError, Verdict::kUndecided, packet::Headers::kQuoteUnknown, false},
               {Kind::kFragment, Verdict::kUndecided, 0, true},
               {Kind::kFragment, Verdict::kHold, 0, false},
               {Kind::kUdp, Verdict::kDrop, 0, false},
               {Kind::kArp, Verdict::kUndecided, 0, false},
               {Kind::kNeighbour, Verdict::kUndecided, 0, false},
               {Kind::kNonIp, Verdict::kUndecided, 0, false}};
  packet::Burst b;
  b.count = 0;
  for (const auto& c : cases) {
    b.key[b.count] = numbered_key(1);
    b.hash[b.count] = hash_of(numbered_key(1));
    b.verdict[b.count] = c.verdict;
    b.headers[b.count] = {};
    b.headers[b.count].kind = c.kind;
    b.headers[b.count].flags = c.flags;
    b.session[b.count++] = 12345;
  }
  r.table->find_bulk(b, 1, b.count - 1);
  EXPECT_EQ(b.session[0], 12345U) << "outside the range";
  for (unsigned n = 1; n < b.count; ++n)
    EXPECT_EQ(b.session[n], cases[n].is_found ? i : kNoSession) << n;
}

TEST(SessionTable, FullTableTakesTheOldestHalfOpenFirst) {
  Rig r(small(4));
  const auto live = r.add(1, S::kEstablished);
  const auto closing = r.add(2, S::kTimeWait);
  const auto old_half_open = r.add(3, S::kSynSent, 10);
  const auto half_open = r.add(4, S::kSynSent, 20);
  EXPECT_EQ(r.add(5, S::kSynSent, 5'000), old_half_open);
  EXPECT_EQ(r.ended, (std::vector<Ended>{{old_half_open, SessionEnd::kEvicted}}));
  EXPECT_EQ(r.add(6, S::kEstablished, 5'000), half_open);
  EXPECT_EQ(r.add(7, S::kEstablished, 5'000), closing)
      << "the remaining half-open one is younger than the grace";
  EXPECT_EQ(r.add(8, S::kEstablished, 5'000), old_half_open)
      << "nothing but a young half-open one is left";
  EXPECT_EQ(r.add(9, S::kEstablished, 9'000), kNoSession);
  EXPECT_EQ(r.find(1), live);
  const TableCounters& c = r.table->counters();
  EXPECT_EQ(c.evicted[static_cast<unsigned>(C::kHalfOpen)], 3U);
  EXPECT_EQ(c.evicted[static_cast<unsigned>(C::kClosing)], 1U);
  EXPECT_EQ(c.table_full, 1U);
  EXPECT_EQ(c.peak, 4U);
}

TEST(SessionTable, DeniedGoesBeforeClosing) {
  Rig r(small(3));
  r.add(1, S::kEstablished);
  r.add(2, S::kTimeWait, 1);
  const auto denied = r.add(3, S::kDenied, 2);
  EXPECT_EQ(r.add(4, S::kSynSent, 3), denied);
}

TEST(SessionTable, DeniedNewcomerDisplacesDeniedOnly) {
  Rig r(small(3));
  r.add(1, S::kSynSent);
  r.add(2, S::kTimeWait);
  r.add(3, S::kUdpUnreplied);
  EXPECT_EQ(r.add(4, S::kDenied, 60'000), kNoSession);
  EXPECT_TRUE(r.ended.empty());
}

TEST(SessionTable, DeniedTakesAQuarterAtMost) {
  Rig r(small(40));
  for (std::uint32_t n = 0; n < 30; ++n) ASSERT_NE(r.add(n, S::kDenied), kNoSession);
  EXPECT_EQ(r.table->count(C::kDenied), 11U);
  EXPECT_EQ(r.ended.size(), 19U);
  EXPECT_EQ(r.ended.front().index, 0U) << "the oldest first";
}

TEST(SessionTable, UnansweredStreamThatSendsIsNotTheVictim) {
  Rig r(small(2));
  const auto stream = r.add(1);
  const auto silent = r.add(2, S::kUdpUnreplied, 100);
  r.table->at(stream).packets[0] = 50;
  r.table->at(stream).last_seen = 9'900;
  EXPECT_EQ(r.add(3, S::kUdpUnreplied, 10'000), silent);
  EXPECT_EQ(r.find(1), stream);
}

TEST(SessionTable, EachStateEndsAtItsTimeout) {
  for (unsigned s = 1; s < kSessionStateCount; ++s) {
    Rig r(small(2));
    const base::Ticks t = default_timeouts()[s];
    ASSERT_GT(t, 0U) << s;
    const auto i = r.add(1, static_cast<S>(s), 1'000);
    r.expire(1'000 + t - 1);
    EXPECT_TRUE(r.ended.empty()) << s;
    EXPECT_FALSE(r.table->is_over(r.table->at(i), 1'000 + t - 1));
    EXPECT_TRUE(r.table->is_over(r.table->at(i), 1'000 + t));
    r.expire(1'000 + t + 64);
    EXPECT_EQ(r.ended, (std::vector<Ended>{{i, SessionEnd::kTimeout}}))
        << session_state_name(static_cast<S>(s));
    EXPECT_EQ(r.find(1), kNoSession);
  }
}

TEST(SessionTable, ActivityIsSeenWithoutTouchingTheWheel) {
  Rig r(small(2));
  const auto i = r.add(1, S::kUdpStream);
  for (base::Ticks now = 0; now < 3'000'000; now += 200'000) {
    r.table->at(i).last_seen = now;
    r.expire(now);
    ASSERT_EQ(r.find(1), i) << now;
  }
  r.expire(2'800'000 + 300'064);
  EXPECT_EQ(r.find(1), kNoSession);
}

TEST(SessionTable, ShorterStateTakesEffectOnTime) {
  Rig r(small(2));
  const auto i = r.add(1, S::kEstablished);
  r.change(i, S::kReset, 50);
  EXPECT_EQ(r.table->count(C::kClosing), 1U);
  r.expire(10'049);
  EXPECT_EQ(r.find(1), i);
  r.expire(10'050 + 64);
  EXPECT_EQ(r.find(1), kNoSession);
}

TEST(SessionTable, ShorterTimeoutsReachParkedSessions) {
  Rig r(small(100));
  for (std::uint32_t n = 0; n < 100; ++n) r.add(n, S::kEstablished);
  Timeouts t = default_timeouts();
  t[static_cast<unsigned>(S::kEstablished)] = 5'000;
  r.table->set_timeouts(t);
  for (unsigned call = 0; call < 20; ++call) r.expire(1'000, 10);  // a piece of the sweep each
  EXPECT_EQ(r.table->count(), 100U);
  r.expire(5'064);
  EXPECT_EQ(r.table->count(), 0U);
  EXPECT_EQ(r.table->counters().ended[static_cast<unsigned>(SessionEnd::kTimeout)], 100U);
}

TEST(SessionTable, ExpireKeepsToItsBudget) {
  Rig r(small(100));
  for (std::uint32_t n = 0; n < 100; ++n) r.add(n, S::kDenied);
  const std::size_t there = r.table->count();
  r.expire(10'000, 7);
  EXPECT_EQ(r.table->count(), there - 7);
}

TEST(SessionTable, AdaptiveTimeoutsShrinkWithTheFill) {
  TableOptions o = small(1'000);
  o.adaptive_start_percent = 60;
  o.adaptive_floor_percent = 10;
  Rig r(o);
  for (std::uint32_t n = 0; n < 600; ++n) r.add(n, S::kEstablished);
  r.expire(0);
  EXPECT_EQ(r.table->timeout_scale(), 1024U);
  for (std::uint32_t n = 600; n < 800; ++n) r.add(n, S::kEstablished);
  r.expire(0);
  EXPECT_NEAR(r.table->timeout_scale(), 1024 * 0.55, 16);
  for (std::uint32_t n = 800; n < 1'000; ++n) r.add(n, S::kEstablished);
  r.expire(0);
  EXPECT_NEAR(r.table->timeout_scale(), 102, 16);
  // A tenth of 7,440 s is over; the sessions go until the scale allows the rest to stay.
  r.expire(744'000, 500);
  EXPECT_EQ(r.table->count(), 500U);
  EXPECT_EQ(r.table->counters().expired_early, 500U);
  r.expire(744'064);
  EXPECT_EQ(r.table->timeout_scale(), 1024U);
  EXPECT_EQ(r.table->count(), 500U);
}

TEST(SessionTable, CountsForLimitsAreUndoneByErase) {
  Rig r(small(8));
  const auto i = r.add(1);
  r.table->count_source(i);
  r.table->count_source(i);  // once only
  r.table->count_rule(i, 3);
  EXPECT_EQ(r.table->sources().count_of(r.table->at(i).key.a), 1U);
  EXPECT_EQ(r.table->rule_count(3), 1U);
  r.table->count_rule(i, 5);
  EXPECT_EQ(r.table->rule_count(3), 0U);
  EXPECT_EQ(r.table->rule_count(5), 1U);
  EXPECT_EQ(r.table->at(i).rule, 5U);
  r.table->count_rule(i, 999);  // beyond max_rules: not counted
  EXPECT_EQ(r.table->rule_count(5), 0U);
  EXPECT_EQ(r.table->rule_count(999), 0U);
  r.table->erase(i, SessionEnd::kCleared);
  EXPECT_EQ(r.table->sources().active(), 0U);
}

TEST(SessionTable, SessionsOfBeforeALimitAreCountedInPieces) {
  const auto t = make_table({.max_sessions = 1000, .max_sources = 1000});
  t->set_source_counting(false);
  const auto open = [&t](std::uint32_t n) {
    const packet::FlowKey k = numbered_key(n % 10);
    packet::FlowKey key = k;
    key.port_a = static_cast<std::uint16_t>(n);
    const std::uint32_t i =
        t->create(key, hash_of(key), SessionState::kUdpReplied, 0, [](auto...) noexcept {});
    t->count_source(i);
    return i;
  };
  for (std::uint32_t n = 0; n < 600; ++n) open(n);
  EXPECT_EQ(t->sources().active(), 0U);
  t->set_source_counting(true);
  t->erase(open(600), base::SessionEnd::kCleared);  // counted at once, and once only
  open(601);
  for (unsigned n = 0; n < 4; ++n) t->expire(1, 1, [](auto...) noexcept {});
  EXPECT_EQ(t->sources().active(), 10U);
  std::uint32_t sum = 0;
  for (std::uint32_t n = 0; n < 10; ++n) sum += t->sources().count_of(numbered_key(n).a);
  EXPECT_EQ(sum, 601U);
  // Off and on again before the walk is over: what was counted stays so, once.
  t->set_source_counting(false);
  open(602);
  t->set_source_counting(true);
  for (unsigned n = 0; n < 4; ++n) t->expire(1, 1, [](auto...) noexcept {});
  EXPECT_EQ(t->sources().count_of(numbered_key(2).a), 61U);
}

TEST(SessionTable, ForEachResumes) {
  Rig r(small(10));
  for (std::uint32_t n = 0; n < 7; ++n) r.add(n);
  r.table->erase(r.find(3), SessionEnd::kCleared);
  std::set<std::uint32_t> seen;
  std::uint32_t at = 0;
  unsigned pieces = 0;
  while (at != kNoSession) {
    at = r.table->for_each(at, 3, [&](std::uint32_t i, const Session&, const SessionCold&) {
      EXPECT_TRUE(seen.insert(i).second);
    });
    ++pieces;
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(pieces, 4U);
  EXPECT_EQ(r.table->for_each(999, 3, [](auto, auto&, auto&) { FAIL(); }), kNoSession);
}

TEST(SessionTable, StateNamesAreDistinct) {
  std::set<std::string_view> names;
  for (unsigned s = 0; s < kSessionStateCount; ++s)
    names.insert(session_state_name(static_cast<S>(s)));
  EXPECT_EQ(names.size(), kSessionStateCount);
  EXPECT_EQ(session_state_name(S::kTimeWait), "time_wait");
}

// Random life against a map: what is found, what is counted, in which class, and that nothing lives
// beyond its time.
struct Model {
  std::map<std::uint32_t, std::pair<std::uint32_t, base::Ticks>>
      sessions;  // number -> index, last seen
};

void check_equal(const Rig& r, const Model& m) {
  RC_ASSERT(r.table->count() == m.sessions.size());
  std::uint32_t classes[kSessionClassCount]{};
  for (const auto& [n, s] : m.sessions) {
    RC_ASSERT(r.find(n) == s.first);
    ++classes[static_cast<unsigned>(session_class(r.table->at(s.first).state))];
  }
  for (unsigned c = 0; c < kSessionClassCount; ++c)
    RC_ASSERT(r.table->count(static_cast<C>(c)) == classes[c]);
}

TEST(SessionTableProperty, EqualsAMap) {
  const bool ok = rc::check([] {
    constexpr std::uint32_t kNumbers = 48;
    Rig r(small(24));
    Model m;
    base::Ticks now = *rc::gen::element<base::Ticks>(0, 0xffffff00U);
    const auto forget = [&] {
      for (const Ended& e : r.ended)
        std::erase_if(m.sessions, [&](const auto& s) { return s.second.first == e.index; });
      r.ended.clear();
    };
    const auto ops = *rc::gen::container<std::vector<std::pair<std::uint16_t, std::uint16_t>>>(
        600, rc::gen::arbitrary<std::pair<std::uint16_t, std::uint16_t>>());
    for (const auto& [what, arg] : ops) {
      const std::uint32_t n = what % kNumbers;
      const auto state = static_cast<S>(1 + arg % (kSessionStateCount - 1));
      const auto it = m.sessions.find(n);
      switch (what / kNumbers % 4) {
        case 0:
          if (it == m.sessions.end()) {
            const auto i = r.add(n, state, now);
            forget();
            if (i != kNoSession) m.sessions[n] = {i, now};
          } else {
            r.change(it->second.first, state, now);
            it->second.second = now;
          }
          break;
        case 1:
          if (it != m.sessions.end()) {
            r.table->erase(it->second.first, SessionEnd::kCleared);
            m.sessions.erase(it);
          }
          break;
        case 2:
          now += arg;
          r.expire(now);
          forget();
          for (const auto& [k, s] : m.sessions) {
            const base::Ticks t =
                default_timeouts()[static_cast<unsigned>(r.table->at(s.first).state)];
            RC_ASSERT(base::ticks_between(s.second, now) < t + 64);
          }
          break;
        default:
          if (it != m.sessions.end())
            r.table->at(it->second.first).last_seen = it->second.second = now;
      }
      check_equal(r, m);
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace merlon::flow
