// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <unordered_map>

#include "builder.h"
#include "sequence.h"

namespace merlon::policy {

namespace {

using base::Errc;
using base::Error;
using base::Errors;

void check_rules(const PolicyModel& model, const CompileLimits& limits, Errors& errors) {
  if (model.rules.size() > limits.max_rules)
    errors.push_back(too_big(fmt::format("the policy has {} rules, the limit is {}",
                                         model.rules.size(), limits.max_rules),
                             "raise the rule limit or use groups"));
  std::unordered_map<std::string_view, const Rule*> seen;
  seen.reserve(model.rules.size());
  for (const Rule& r : model.rules) {
    if (r.id.empty())
      errors.push_back(
          {Errc::kInvalidValue, "a rule has no id", r.where, "give it a name that stays"});
    else if (r.id == "default")
      errors.push_back({Errc::kInvalidValue,
                        "the rule id \"default\" is taken by the default action", r.where,
                        "choose another id"});
    else if (const auto [it, is_new] = seen.try_emplace(r.id, &r); !is_new)
      errors.push_back({Errc::kDuplicate, fmt::format("rule id \"{}\" is used twice", r.id),
                        r.where, fmt::format("the first is at line {}", it->second->where.line)});
  }
}

// Rules by category, file order inside one.
std::vector<const Rule*> in_order(const PolicyModel& model) {
  std::vector<const Rule*> out;
  out.reserve(model.rules.size());
  for (const Rule& r : model.rules) out.push_back(&r);
  std::stable_sort(out.begin(), out.end(),
                   [](const Rule* a, const Rule* b) { return a->category < b->category; });
  return out;
}

std::vector<std::optional<SlotInfo>> slot_table(const PolicyModel& model, const RuleSlots& slots) {
  std::vector<std::optional<SlotInfo>> table(slots.count());
  SlotInfo& d = table[kDefaultRuleSlot].emplace();
  d.id = "default";
  d.action = model.default_action;
  d.log = model.default_log;
  for (const Rule& r : model.rules) table[*slots.find(r.id)] = slot_info(r);
  return table;
}

bool is_same(const base::SourcePos& a, const base::SourcePos& b) {
  return a.line == b.line && a.column == b.column && a.end_column == b.end_column &&
         a.file == b.file;
}

class Compilation {
 public:
  Compilation(const PolicyModel& model, RuleSlots& slots, const CompileLimits& limits,
              const Snapshot* previous)
      : model_(model),
        slots_(slots),
        limits_(limits),
        previous_(previous),
        order_(in_order(model)) {}

  CompileResult run() {
    const auto begin = std::chrono::steady_clock::now();
    out_.stats.rules = model_.rules.size();
    check_rules(model_, limits_, out_.errors);
    // The size is refused at once: resolving millions of rules for their errors is not worth the
    // wait.
    if (model_.rules.size() <= limits_.max_rules && !try_incremental()) full();
    if (!out_.errors.empty()) out_.snapshot.reset();
    if (out_.snapshot) out_.stats.bytes = out_.snapshot->size().bytes;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    out_.stats.seconds = took.count();
    return std::move(out_);
  }

 private:
  void full();
  bool try_incremental();
  bool find_changes();
  bool place_changes(SnapshotBuilder& builder);
  void remark_unchanged();

  const PolicyModel& model_;
  RuleSlots& slots_;
  const CompileLimits& limits_;
  const Snapshot* previous_;
  std::vector<const Rule*> order_;
  CompileResult out_;

  std::vector<const Compiled*> old_;
  std::vector<std::uint32_t>
      old_at_;  // by position in order_: place in old_ of the equal rule, or kNoPosition
  std::vector<bool> kept_;
  std::vector<std::uint32_t> gone_;  // slots of rules that are no longer, or moved, or changed
};

void Compilation::full() {
  const auto objects = resolve_objects(model_, out_.errors, out_.findings);
  RuleResolver resolver(*objects, out_.errors, out_.findings);
  std::vector<CompiledPtr> rules;
  rules.reserve(order_.size());
  for (const Rule* r : order_) {
    auto c = resolver.resolve(*r, slots_);
    c->order = (rules.size() + 1) * kOrderStep;
    rules.push_back(std::move(c));
  }
  if (!out_.errors.empty()) return;
  ImagePlan plan(std::move(rules), objects);
  out_.stats.estimated_bytes = plan.estimate();
  out_.stats.changed_rules = model_.rules.size();
  if (out_.stats.estimated_bytes > limits_.max_bytes) {
    out_.errors.push_back(too_big(fmt::format("the policy may need {} bytes, the limit is {}",
                                              out_.stats.estimated_bytes, limits_.max_bytes),
                                  "raise the policy memory limit or use fewer overlapping groups"));
    return;
  }
  auto image = Image::build(std::move(plan), limits_.max_bytes);
  if (!image) return out_.errors.push_back(image.error());
  SnapshotBuilder builder;
  builder.set_image(*std::move(image));
  builder.set_default(model_.default_action, model_.default_log);
  builder.set_slots(slot_table(model_, slots_));
  out_.snapshot = builder.finish(slots_.count());
}

bool Compilation::find_changes() {
  old_ = SnapshotReader::listing(*previous_);
  std::vector<std::uint32_t> by_slot(slots_.count(), kNoPosition);
  for (std::uint32_t i = 0; i < old_.size(); ++i) by_slot[old_[i]->decision.rule] = i;
  std::size_t fresh = 0;
  for (const Rule* r : order_) {
    const auto slot = slots_.find(r->id);
    std::uint32_t at = slot ? by_slot[*slot] : kNoPosition;
    if (at != kNoPosition) {
      std::uint64_t print[2];
      fingerprint_rule(*r, print);
      if (print[0] != old_[at]->fingerprint[0] || print[1] != old_[at]->fingerprint[1])
        at = kNoPosition;
    }
    fresh += at == kNoPosition;
    if (fresh > limits_.max_changed) return false;
    old_at_.push_back(at);
  }
  kept_ = longest_increasing(old_at_);
  std::vector<bool> stays(old_.size());
  std::size_t changes = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (kept_[i]) stays[old_at_[i]] = true;
    changes += !kept_[i];
  }
  for (std::size_t i = 0; i < old_.size(); ++i)
    if (!stays[i]) gone_.push_back(old_[i]->decision.rule);
  out_.stats.changed_rules = std::max(changes, gone_.size());
  return changes <= limits_.max_changed &&
         gone_.size() <= std::max<std::size_t>(32, old_.size() / 4);
}

// The new rules between two that stayed share the gap of their labels.
bool Compilation::place_changes(SnapshotBuilder& builder) {
  RuleResolver resolver(*builder.image().objects(), out_.errors, out_.findings);
  std::uint64_t label = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (kept_[i]) {
      label = old_[old_at_[i]]->order;
      continue;
    }
    label = builder.label_behind(label);
    if (label == 0) return false;
    auto c = resolver.resolve(*order_[i], slots_);
    c->order = label;
    builder.insert(std::move(c), std::make_shared<const SlotInfo>(slot_info(*order_[i])));
  }
  return true;
}

void Compilation::remark_unchanged() {
  // What resolving said of the objects and of the rules that stayed is said again, with today's
  // places.
  Errors unused;
  resolve_objects(model_, unused, out_.findings);
  for (std::size_t i = 0; i < order_.size(); ++i)
    if (kept_[i] && old_[old_at_[i]]->is_empty)
      out_.findings.push_back(empty_match(*order_[i], *old_[old_at_[i]]));
}

bool Compilation::try_incremental() {
  if (previous_ == nullptr || !out_.errors.empty()) return false;
  std::uint64_t print[2];
  fingerprint_objects(model_, print);
  const Objects& objects = *SnapshotReader::image(*previous_).objects();
  if (print[0] != objects.fingerprint[0] || print[1] != objects.fingerprint[1]) return false;
  if (!find_changes()) return false;

  SnapshotBuilder builder(*previous_);
  for (const std::uint32_t slot : gone_) builder.remove(slot);
  const bool is_placed = place_changes(builder);
  const bool is_full = builder.changed() > limits_.max_changed ||
                       builder.dead() > std::max<std::size_t>(64, old_.size() / 4);
  if (!is_placed || is_full) {
    out_.errors.clear();
    out_.findings.clear();
    return false;
  }
  if (!out_.errors.empty()) return true;
  remark_unchanged();
  builder.set_default(model_.default_action, model_.default_log);
  bool is_moved = gone_.size() != out_.stats.changed_rules;
  const auto infos = SnapshotReader::infos(*previous_);
  for (std::size_t i = 0; i < order_.size() && !is_moved; ++i) {
    if (!kept_[i]) continue;
    const SlotInfo* info = infos[old_[old_at_[i]]->decision.rule];
    is_moved = info == nullptr || !is_same(info->where, order_[i]->where);
  }
  const SlotInfo* d = previous_->slot(kDefaultRuleSlot);
  is_moved |= d->action != model_.default_action || d->log != model_.default_log;
  if (is_moved) builder.set_slots(slot_table(model_, slots_));
  out_.stats.is_incremental = true;
  out_.snapshot = builder.finish(slots_.count());
  return true;
}

}  // namespace

CompileResult compile(const PolicyModel& model, RuleSlots& slots, const CompileLimits& limits,
                      const Snapshot* previous) {
  return Compilation(model, slots, limits, previous).run();
}

std::size_t estimate(const PolicyModel& model) {
  RuleSlots slots;
  Errors errors;
  std::vector<Finding> findings;
  const auto objects = resolve_objects(model, errors, findings);
  RuleResolver resolver(*objects, errors, findings);
  std::vector<CompiledPtr> rules;
  for (const Rule* r : in_order(model)) rules.push_back(resolver.resolve(*r, slots));
  return ImagePlan(std::move(rules), objects).estimate();
}

}  // namespace merlon::policy
