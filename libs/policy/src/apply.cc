// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "builder.h"

namespace merlon::policy {

namespace {

using base::Errc;
using base::Error;
using base::Result;

class Edit {
 public:
  Edit(const Snapshot& current, RuleSlots& slots, const CompileLimits& limits)
      : slots_(slots), limits_(limits), builder_(current) {}

  Result<void> one(const RuleChange& change) {
    if (change.rule.id.empty() || change.rule.id == "default")
      return Error{Errc::kInvalidValue, "a rule change needs a rule id other than \"default\"",
                   change.rule.where};
    switch (change.kind) {
      case RuleChange::Kind::kAdd:
        return add(change);
      case RuleChange::Kind::kReplace:
        return replace(change);
      case RuleChange::Kind::kRemove:
        break;
    }
    const auto slot = slots_.find(change.rule.id);
    if (!slot || !builder_.remove(*slot)) return missing(change.rule);
    return {};
  }

  Result<std::unique_ptr<Snapshot>> finish() {
    const std::size_t rules = builder_.image().rules().size();
    const bool is_full = builder_.changed() > limits_.max_changed ||
                         builder_.dead() > std::max<std::size_t>(64, rules / 4);
    if (is_full) {
      if (auto done = compact(); !done) return done.error();
    }
    return builder_.finish(slots_.count());
  }

 private:
  static Error missing(const Rule& rule) {
    return {Errc::kNotFound, fmt::format("rule \"{}\" is not in the policy", rule.id), rule.where};
  }

  Result<void> compact() {
    auto table = builder_.merged_slots();
    auto image = rebuild(SnapshotReader::listing(builder_.peek()), builder_.image().objects(),
                         limits_.max_bytes);
    if (!image) return image.error();
    builder_.set_image(*std::move(image));
    builder_.set_slots(std::move(table));
    return {};
  }

  Result<void> put(const Rule& rule, std::uint64_t order) {
    base::Errors errors;
    std::vector<Finding> findings;
    auto made = RuleResolver(*builder_.image().objects(), errors, findings).resolve(rule, slots_);
    if (!errors.empty()) return errors.front();
    made->order = order;
    builder_.remove(made->decision.rule);
    builder_.insert(std::move(made), std::make_shared<const SlotInfo>(slot_info(rule)));
    return {};
  }

  Result<void> replace(const RuleChange& change) {
    const auto slot = slots_.find(change.rule.id);
    const Compiled* old = slot ? builder_.find(*slot) : nullptr;
    if (old == nullptr) return missing(change.rule);
    if (old->category != change.rule.category)
      return Error{Errc::kInvalidValue,
                   fmt::format("rule \"{}\" can't change its category in place", change.rule.id),
                   change.rule.where, "remove it and add it again"};
    return put(change.rule, old->order);
  }

  Result<void> add(const RuleChange& change) {
    const auto slot = slots_.find(change.rule.id);
    if (slot && builder_.find(*slot) != nullptr)
      return Error{Errc::kDuplicate, fmt::format("rule id \"{}\" is used twice", change.rule.id),
                   change.rule.where};
    auto after = label_after(change);
    if (!after) return after.error();
    std::uint64_t label = builder_.label_behind(*after);
    if (label == 0) {
      if (auto done = compact(); !done) return done;
      after = label_after(change);
      if (!after) return after.error();
      label = builder_.label_behind(*after);
    }
    return put(change.rule, label);
  }

  Result<std::uint64_t> label_after(const RuleChange& change) const {
    if (change.after.empty()) return builder_.last_before(change.rule.category);
    const auto slot = slots_.find(change.after);
    const Compiled* c = slot ? builder_.find(*slot) : nullptr;
    if (c == nullptr)
      return Error{Errc::kNotFound, fmt::format("rule \"{}\" is not in the policy", change.after),
                   change.rule.where};
    if (c->category != change.rule.category)
      return Error{Errc::kInvalidValue,
                   fmt::format("rule \"{}\" is of another category than \"{}\"", change.after,
                               change.rule.id),
                   change.rule.where};
    return c->order;
  }

  RuleSlots& slots_;
  const CompileLimits& limits_;
  SnapshotBuilder builder_;
};

}  // namespace

Result<std::unique_ptr<Snapshot>> apply(const Snapshot& current, RuleSlots& slots,
                                        std::span<const RuleChange> changes,
                                        const CompileLimits& limits) {
  Edit edit(current, slots, limits);
  for (const RuleChange& c : changes)
    if (auto done = edit.one(c); !done) return done.error();
  return edit.finish();
}

}  // namespace merlon::policy
