// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "kit.h"

namespace merlon::flow {
namespace {

struct Index {
  explicit Index(std::uint32_t entries)
      : memory(base::Region::allocate(TagIndex::memory_for(entries))) {
    index.attach(memory.data(), entries);
  }
  [[nodiscard]] bool has(std::uint64_t hash, std::uint32_t n) const {
    return index.find(hash, [&](std::uint32_t k) { return k == n; }) == n;
  }
  base::Region memory;
  TagIndex index;
};

TEST(TagIndex, FindsOnlyWhatIsThere) {
  Index x(100);
  EXPECT_TRUE(x.index.insert(0x1234'0000'0000'0001, 7));
  EXPECT_TRUE(x.has(0x1234'0000'0000'0001, 7));
  EXPECT_FALSE(x.has(0x1235'0000'0000'0001, 7));
  EXPECT_FALSE(x.has(0x1234'0000'ffff'0001, 7));
  x.index.erase(1, 7);
  EXPECT_FALSE(x.has(0x1234'0000'0000'0001, 7));
}

TEST(TagIndex, TagZeroIsNotEmpty) {
  Index x(10);
  EXPECT_TRUE(x.index.insert(5, 3));
  EXPECT_TRUE(x.has(5, 3));
  EXPECT_FALSE(x.has(5, 0));
}

TEST(TagIndex, OneBucketTakesEightLinesAndGivesThemBack) {
  Index x(2000);
  std::uint32_t n = 0;
  while (x.index.insert(0xabcd'0000'0000'0001, n)) ++n;
  EXPECT_EQ(n, TagIndex::kMaxChain * TagIndex::kSlots);
  EXPECT_EQ(x.index.max_chain(), TagIndex::kMaxChain);
  EXPECT_EQ(x.index.overflow_used(), TagIndex::kMaxChain - 1);
  for (std::uint32_t k = 0; k < n; ++k) EXPECT_TRUE(x.has(0xabcd'0000'0000'0001, k)) << k;
  for (std::uint32_t k = 0; k < n; ++k) x.index.erase(1, k);
  EXPECT_EQ(x.index.overflow_used(), 0U);
}

// A chain is as long as its entries need, whatever the order of removals.
TEST(TagIndex, ChainsStayDense) {
  Index x(2000);
  for (std::uint32_t n = 0; n < 25; ++n) ASSERT_TRUE(x.index.insert(1, n));
  EXPECT_EQ(x.index.overflow_used(), 2U);
  for (std::uint32_t n = 0; n < 10; ++n) x.index.erase(1, n);  // all of the first line
  EXPECT_EQ(x.index.overflow_used(), 1U);
  for (std::uint32_t n = 10; n < 25; ++n) EXPECT_TRUE(x.has(1, n)) << n;
}

TEST(TagIndex, EverySmallTableHoldsWhatItPromises) {
  for (std::uint32_t entries : {1U, 2U, 9U, 10U, 11U, 50U, 79U}) {
    Index x(entries);
    for (std::uint32_t n = 0; n < entries; ++n) EXPECT_TRUE(x.index.insert(1, n)) << entries;
  }
}

TEST(TagIndex, RandomHashesFitWhenFull) {
  constexpr std::uint32_t kEntries = 200'000;
  Index x(kEntries);
  for (std::uint32_t n = 0; n < kEntries; ++n)
    ASSERT_TRUE(x.index.insert(base::fold_multiply(n + 1, 0x9e3779b97f4a7c15ULL), n)) << n;
  EXPECT_LE(x.index.max_chain(), 3U);
  EXPECT_LT(x.index.overflow_used(), kEntries / 5 / 40);
}

TEST(TagIndexProperty, EqualsAMap) {
  const bool ok = rc::check([] {
    Index x(64);
    std::map<std::uint32_t, std::uint64_t> model;  // number -> hash
    const auto ops = *rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint8_t>>>(
        600, rc::gen::arbitrary<std::pair<std::uint8_t, std::uint8_t>>());
    for (const auto& [number, spread] : ops) {
      const std::uint32_t n = number % 64;
      if (model.contains(n)) {
        x.index.erase(static_cast<std::uint32_t>(model[n]), n);
        model.erase(n);
      } else {
        // Few buckets and few tags, so that chains and equal tags are usual.
        const std::uint64_t hash =
            (std::uint64_t{spread % 3U} << 48) | (std::uint64_t{spread % 2U} << 31);
        RC_ASSERT(x.index.insert(hash, n));
        model[n] = hash;
      }
      for (std::uint32_t k = 0; k < 64; ++k)
        RC_ASSERT(
            (model.contains(k) ? x.has(model[k], k) : !(x.has(0, k) || x.has(1ULL << 48, k))));
    }
  });
  EXPECT_TRUE(ok);
}

base::IpAddress address(std::uint32_t n) { return base::IpAddress::v4(0x0a000000 + n); }

struct Sources {
  explicit Sources(std::uint32_t n) : memory(base::Region::allocate(SourceTable::memory_for(n))) {
    table.attach(memory.data(), n, base::HashSeed{});
  }
  base::Region memory;
  SourceTable table;
};

TEST(SourceTable, CountsAndForgets) {
  Sources s(4);
  const std::uint32_t e = s.table.add(address(1));
  EXPECT_EQ(s.table.add(address(1)), e);
  EXPECT_EQ(s.table.count_of(address(1)), 2U);
  EXPECT_EQ(s.table.active(), 1U);
  s.table.remove(e);
  s.table.remove(e);
  EXPECT_EQ(s.table.count_of(address(1)), 0U);
  EXPECT_EQ(s.table.find(address(1)), SourceTable::kNone);
  EXPECT_EQ(s.table.active(), 0U);
}

TEST(SourceTable, FullTableSaysSo) {
  Sources s(3);
  for (std::uint32_t n = 0; n < 3; ++n) EXPECT_NE(s.table.add(address(n)), SourceTable::kNone);
  EXPECT_EQ(s.table.add(address(3)), SourceTable::kNone);
  EXPECT_EQ(s.table.untracked(), 1U);
  s.table.remove(s.table.find(address(1)));
  EXPECT_NE(s.table.add(address(3)), SourceTable::kNone);
  EXPECT_EQ(s.table.count_of(address(3)), 1U);
}

TEST(SourceTable, TopIsOrderedByCountThenAddress) {
  Sources s(16);
  for (std::uint32_t n = 1; n <= 8; ++n)
    for (std::uint32_t k = 0; k < (n == 3 ? 9 : n / 2 + 1); ++k) s.table.add(address(n));
  SourceTable::Source top[4];
  ASSERT_EQ(s.table.top(top), 4U);
  EXPECT_EQ(top[0].address, address(3));
  EXPECT_EQ(top[0].count, 9U);
  EXPECT_EQ(top[1].address, address(8));
  EXPECT_EQ(top[2].address, address(6));
  EXPECT_EQ(top[3].address, address(7));
  SourceTable::Source all[32];
  EXPECT_EQ(s.table.top(all), 8U);
}

}  // namespace
}  // namespace merlon::flow
