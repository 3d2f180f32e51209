// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/slots.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "merlon/policy/compile.h"

namespace merlon::policy {
namespace {

TEST(Slots, AReleasedSlotGoesToTheNextNewId) {
  RuleSlots slots;
  const std::uint32_t a = slots.acquire("a"), b = slots.acquire("b");
  EXPECT_TRUE(slots.reused().empty());
  slots.release(a);
  EXPECT_FALSE(slots.find("a"));
  EXPECT_EQ(slots.id(a), "");
  EXPECT_EQ(slots.acquire("b"), b);
  EXPECT_EQ(slots.acquire("c"), a);
  EXPECT_EQ(slots.reused(), std::vector<std::uint32_t>{a});
  EXPECT_EQ(slots.id(a), "c");
  EXPECT_EQ(slots.acquire("a"), 3U);  // it comes back as another
  EXPECT_EQ(slots.id(kDefaultRuleSlot), "default");
}

TEST(Slots, ACopyGoesItsOwnWay) {
  RuleSlots slots;
  const std::uint32_t a = slots.acquire("a");
  slots.acquire("b");
  slots.release(a);
  RuleSlots copy(slots);
  EXPECT_EQ(copy.acquire("c"), a);
  EXPECT_FALSE(slots.is_taken(a));
  EXPECT_EQ(slots.taken_count(), 2U);
  slots = std::move(copy);
  EXPECT_EQ(slots.find("c"), a);
  EXPECT_EQ(slots.id(a), "c");
  EXPECT_TRUE(RuleSlots(slots).reused().empty());
}

TEST(Slots, AnswersAsAMapDoes) {
  RuleSlots slots;
  std::map<std::string, std::uint32_t> oracle{{"default", 0}};
  std::mt19937 random(7);
  for (int n = 0; n < 20'000; ++n) {
    const std::string id = "r" + std::to_string(random() % 300);
    const auto found = oracle.find(id);
    if (found == oracle.end()) {
      const std::uint32_t slot = slots.acquire(id);
      for (const auto& [other, taken] : oracle) ASSERT_NE(taken, slot) << other;
      oracle[id] = slot;
    } else if (random() % 2 == 0) {
      slots.release(found->second);
      oracle.erase(found);
    } else {
      ASSERT_EQ(slots.acquire(id), found->second);
    }
    ASSERT_EQ(slots.taken_count(), oracle.size());
    ASSERT_LE(slots.count(), 301U);
  }
}

// A rule beside the image in the slot of a rule that the image still has, but no longer holds.
TEST(Slots, AReusedSlotTellsOfItsNewRuleOnly) {
  const auto rule = [](const std::string& id, base::Action action) {
    Rule r;
    r.id = id;
    r.action = action;
    return r;
  };
  RuleSlots slots;
  PolicyModel model;
  for (int n = 0; n < 40; ++n)
    model.rules.push_back(rule("r" + std::to_string(n), base::Action::kPermit));
  const auto first = compile(model, slots);
  ASSERT_NE(first.snapshot, nullptr);
  const std::uint32_t slot = *slots.find("r0");
  model.rules.erase(model.rules.begin());
  const auto second = compile(model, slots, {}, first.snapshot.get());
  ASSERT_TRUE(second.stats.is_incremental);
  slots.release(slot);
  EXPECT_EQ(second.snapshot->slot(slot), nullptr);
  model.rules.insert(model.rules.begin() + 5, rule("new", base::Action::kReject));
  const auto third = compile(model, slots, {}, second.snapshot.get());
  ASSERT_TRUE(third.stats.is_incremental);
  EXPECT_EQ(slots.find("new"), slot);
  ASSERT_NE(third.snapshot->slot(slot), nullptr);
  EXPECT_EQ(third.snapshot->slot(slot)->id, "new");
  EXPECT_EQ(third.snapshot->decide({}, 0).rule, *slots.find("r1"));
  model.rules.erase(model.rules.begin() + 5);
  const auto fourth = compile(model, slots, {}, third.snapshot.get());
  EXPECT_EQ(fourth.snapshot->slot(slot), nullptr);
  EXPECT_EQ(fourth.snapshot->order().size(), 39U);
}

}  // namespace
}  // namespace merlon::policy
