// SPDX-License-Identifier: Apache-2.0
// The classifier against the oracle.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "merlon/policy/compile.h"
#include "random_model.h"
#include "reference.h"

namespace merlon::policy {
namespace {

using test::Maker;

// Empty when decide() and decide_bulk() agree with the oracle on `n` random queries.
std::string disagreement(const PolicyModel& model, const Snapshot& snapshot, const RuleSlots& slots,
                         Maker& maker, std::size_t n) {
  std::vector<Query> queries(n);
  for (Query& q : queries) q = maker.query();
  std::vector<Decision> bulk(n);
  const base::Nanos now = maker.moment();
  snapshot.decide_bulk(queries.data(), bulk.data(), n, now);
  for (std::size_t i = 0; i < n; ++i) {
    const std::string want = reference::decide(model, queries[i], now);
    const Decision got = snapshot.decide(queries[i], now);
    if (slots.id(got.rule) != want)
      return fmt::format("query {}: {} instead of {}", i, slots.id(got.rule), want);
    if (slots.id(bulk[i].rule) != want)
      return fmt::format("query {} in bulk: {} instead of {}", i, slots.id(bulk[i].rule), want);
    const auto rule = std::find_if(model.rules.begin(), model.rules.end(),
                                   [&](const Rule& r) { return r.id == want; });
    const bool same = rule == model.rules.end()
                          ? got.action == model.default_action
                          : got.action == rule->action && got.log == rule->log &&
                                got.max_sessions == rule->max_sessions;
    if (!same) return fmt::format("query {}: another decision than rule {}", i, want);
  }
  return {};
}

std::string first_error(const CompileResult& r) {
  return r.errors.empty() ? std::string() : r.errors.front().to_string();
}

TEST(Classifier, EqualsLinearScanOnRandomModels) {
  EXPECT_TRUE(rc::check("compiled equals linear", [](std::uint64_t seed) {
    Maker maker(seed);
    const PolicyModel model = maker.model(1 + maker.below(120));
    RuleSlots slots;
    const CompileResult r = compile(model, slots);
    RC_ASSERT(first_error(r) == "");
    RC_ASSERT(disagreement(model, *r.snapshot, slots, maker, 200) == "");
  }));
}

TEST(Classifier, EqualsLinearScanWithManyLeaves) {
  Maker maker(7);
  const PolicyModel model = maker.model(12000);
  RuleSlots slots;
  const CompileResult r = compile(model, slots);
  ASSERT_EQ(first_error(r), "");
  EXPECT_GT(r.snapshot->size().rows, 4096U);  // more than one L1 word
  EXPECT_EQ(disagreement(model, *r.snapshot, slots, maker, 500), "");
}

// Rules of a random model in order of evaluation, so that a position means the same for apply().
void sort_rules(PolicyModel& model) {
  std::stable_sort(model.rules.begin(), model.rules.end(),
                   [](const Rule& a, const Rule& b) { return a.category < b.category; });
}

// One random edit made to the model and described as a change.
RuleChange edit(PolicyModel& model, Maker& maker, std::uint32_t serial) {
  RuleChange change;
  const std::uint32_t at = maker.below(static_cast<std::uint32_t>(model.rules.size()));
  const auto place = model.rules.begin() + at;
  switch (model.rules.size() < 3 ? 0 : maker.below(3)) {
    case 0: {
      change.kind = RuleChange::Kind::kAdd;
      change.rule = maker.rule(fmt::format("n{}", serial));
      change.rule.category = place->category;
      if (maker.chance(50)) {
        change.after = place->id;
        model.rules.insert(place + 1, change.rule);
      } else {
        const auto first = std::find_if(model.rules.begin(), model.rules.end(), [&](const Rule& r) {
          return r.category >= change.rule.category;
        });
        model.rules.insert(first, change.rule);
      }
      break;
    }
    case 1:
      change.kind = RuleChange::Kind::kReplace;
      change.rule = maker.rule(place->id);
      change.rule.category = place->category;
      *place = change.rule;
      break;
    default:
      change.kind = RuleChange::Kind::kRemove;
      change.rule.id = place->id;
      model.rules.erase(place);
  }
  return change;
}

TEST(Classifier, EqualsLinearScanAfterApply) {
  EXPECT_TRUE(rc::check("apply equals linear", [](std::uint64_t seed) {
    Maker maker(seed);
    PolicyModel model = maker.model(1 + maker.below(60));
    sort_rules(model);
    RuleSlots slots;
    CompileResult r = compile(model, slots);
    RC_ASSERT(first_error(r) == "");
    std::unique_ptr<Snapshot> snapshot = std::move(r.snapshot);
    CompileLimits limits;
    limits.max_changed = 1 + maker.below(8);
    for (std::uint32_t step = 0; step < 20; ++step) {
      std::vector<RuleChange> changes;
      for (std::uint32_t k = 0; k <= maker.below(3); ++k)
        changes.push_back(edit(model, maker, step * 10 + k));
      auto next = apply(*snapshot, slots, changes, limits);
      RC_ASSERT(next.ok());
      snapshot = *std::move(next);
      RC_ASSERT(snapshot->size().changed <= limits.max_changed);
      RC_ASSERT(disagreement(model, *snapshot, slots, maker, 30) == "");
      std::vector<std::string> order, want;
      for (const std::uint32_t s : snapshot->order()) order.push_back(slots.id(s));
      for (const Rule& rule : model.rules) want.push_back(rule.id);
      RC_ASSERT(order == want);
    }
  }));
}

TEST(Classifier, IncrementalCompileEqualsLinearScan) {
  EXPECT_TRUE(rc::check("commit equals linear", [](std::uint64_t seed) {
    Maker maker(seed);
    PolicyModel model = maker.model(1 + maker.below(60));
    RuleSlots slots;
    CompileLimits limits;
    limits.max_changed = 12;
    CompileResult r = compile(model, slots, limits);
    RC_ASSERT(first_error(r) == "");
    for (std::uint32_t step = 0; step < 10; ++step) {
      for (std::uint32_t k = 0; k <= maker.below(3); ++k) edit(model, maker, step * 10 + k);
      if (maker.chance(30)) std::swap(model.rules.front(), model.rules.back());
      if (maker.chance(20)) model.default_action = Action::kReject;
      const std::unique_ptr<Snapshot> before = std::move(r.snapshot);
      r = compile(model, slots, limits, before.get());
      RC_ASSERT(first_error(r) == "");
      RC_ASSERT(disagreement(model, *r.snapshot, slots, maker, 50) == "");
    }
  }));
}

}  // namespace
}  // namespace merlon::policy
