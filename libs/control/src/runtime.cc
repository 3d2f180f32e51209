// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "merlon/base/log.h"
#include "merlon/engine/session_walk.h"

namespace merlon::control {
namespace {

using base::Action;
using flow::Session;

constexpr std::size_t kMaxFindings = 200;
// Of these a change is foretold; half a second's work.
constexpr std::uint64_t kMaxExamined = 1'000'000;

std::uint64_t nanos_since(base::Nanos start) {
  return static_cast<std::uint64_t>(engine::steady_now() - start);
}

base::Error warning_of(const policy::Finding& f) {
  return {.code = base::Errc::kInvalidValue,
          .message = f.message,
          .where = f.where,
          .hint = f.other_where.has_place()
                      ? fmt::format("see {}:{}", f.other_where.file, f.other_where.line)
                      : std::string(),
          .path = f.rule.empty() ? std::string() : fmt::format("policy.rules[{}]", f.rule)};
}

// Collects what a candidate policy would do to sessions.
class EffectCounter {
 public:
  EffectCounter(const policy::Snapshot& candidate, const policy::RuleSlots& candidate_slots,
                const policy::RuleSlots& running_slots)
      : candidate_(candidate), candidate_slots_(candidate_slots), running_slots_(running_slots) {}

  void add(const engine::SessionView& view) {
    const Session& s = view.session;
    ++effect_.examined;
    const policy::Decision d =
        candidate_.decide(engine::query_of(s, view.cold, candidate_), view.taken_time);
    const bool same_rule = candidate_slots_.id(d.rule) == running_slots_.id(s.rule);
    const bool would_end =
        d.action != Action::kPermit || (s.is(Session::kKillOnChange) && !same_rule);
    if (!would_end && same_rule) return;
    SessionEffect::PerRule& per_rule = rules_[s.rule];
    if (would_end && s.is(Session::kKeepOnChange)) {
      ++effect_.kept;
      ++per_rule.kept;
    } else if (would_end) {
      ++effect_.dropped;
      ++per_rule.dropped;
    } else {
      ++effect_.changed_rule;
      ++per_rule.changed_rule;
    }
  }

  void add_all(engine::Engine& engine) {
    engine::SessionWalk walk(
        engine, [](const Session&, const flow::SessionCold&, base::Ticks) { return true; });
    for (std::vector<engine::SessionView> views; walk.next(views);) {
      effect_.is_partial = effect_.examined >= kMaxExamined;
      if (effect_.is_partial) return;
      for (const engine::SessionView& view : views) add(view);
    }
    effect_.is_unknown = !walk.is_complete();
  }

  SessionEffect finish() {
    for (auto& [slot, per_rule] : rules_) {
      per_rule.rule = running_slots_.id(slot);
      effect_.per_rule.push_back(std::move(per_rule));
    }
    std::ranges::stable_sort(effect_.per_rule, std::ranges::greater{},
                             &SessionEffect::PerRule::dropped);
    return std::move(effect_);
  }

 private:
  const policy::Snapshot& candidate_;
  const policy::RuleSlots& candidate_slots_;
  const policy::RuleSlots& running_slots_;
  SessionEffect effect_;
  std::map<std::uint32_t, SessionEffect::PerRule> rules_;
};

std::vector<std::string> port_names(const engine::EngineConfig& config) {
  std::vector<std::string> names;
  for (const auto& p : config.ports) names.push_back(p.name);
  return names;
}

}  // namespace

base::Errors findings_as_warnings(const std::vector<policy::Finding>& findings) {
  base::Errors warnings;
  for (const policy::Finding& f : findings)
    if (f.severity == policy::Severity::kWarning) warnings.push_back(warning_of(f));
  return warnings;
}

Runtime::Runtime(PortFactory ports, const base::Nanos* replay_time, policy::CompileLimits limits)
    : open_ports_(std::move(ports)), replay_time_(replay_time), limits_(limits) {}

Runtime::~Runtime() { stop(); }

void Runtime::stop() {
  if (engine_ != nullptr) engine_->stop();
}

std::shared_ptr<const policy::Snapshot> Runtime::policy() const {
  const std::lock_guard lock(policy_mutex_);
  return policy_;
}

std::optional<std::uint32_t> Runtime::find_slot(std::string_view rule) const {
  const std::lock_guard lock(slots_mutex_);
  return slots_.find(rule);
}

// A candidate's policy, compiled against what ran at that time.
struct Runtime::Compilation final : Prepared {
  explicit Compilation(const policy::RuleSlots& running) : slots(running) {}
  std::shared_ptr<const policy::Snapshot> base;  // it builds on this one
  policy::RuleSlots slots;  // a copy: what is only checked takes no numbers of the running ones
  std::uint64_t slots_version = 0;
  policy::CompileResult result;
  std::optional<policy::Analysis> analysis;
  std::uint64_t nanos = 0;
};

std::shared_ptr<Runtime::Compilation> Runtime::compile(const policy::PolicyModel& policy) const {
  const base::Nanos start = engine::steady_now();
  auto made = std::make_shared<Compilation>(slots_);
  made->slots_version = slots_version_;
  made->base = this->policy();
  made->result = policy::compile(policy, made->slots, limits_, made->base.get());
  made->nanos = nanos_since(start);
  return made;
}

Runtime::Compilation* Runtime::good(Prepared* prepared) const {
  auto* made = dynamic_cast<Compilation*>(prepared);
  const bool is_good = made != nullptr && made->result.snapshot != nullptr &&
                       made->base == policy() && made->slots_version == slots_version_;
  return is_good ? made : nullptr;
}

CheckFindings Runtime::check(const policy::PolicyModel& policy,
                             const engine::EngineConfig& /*engine*/) {
  const auto made = compile(policy);
  CheckFindings out{.errors = std::move(made->result.errors),
                    .warnings = findings_as_warnings(made->result.findings)};
  if (made->result.snapshot == nullptr) return out;
  const policy::AnalysisLimits limits{.max_findings = kMaxFindings, .with_info = false};
  const base::Nanos now = base::wall_clock_now();
  made->analysis =
      analysis_ && made->base != nullptr
          ? policy::analyse(*made->result.snapshot, now, limits, {*made->base, *analysis_})
          : policy::analyse(*made->result.snapshot, now, limits);
  std::ranges::move(findings_as_warnings(made->analysis->findings),
                    std::back_inserter(out.warnings));
  out.prepared = made;
  return out;
}

base::Result<SessionEffect> Runtime::preview(const LoadedConfig& /*running*/,
                                             const LoadedConfig& candidate, Prepared* prepared) {
  if (engine_ == nullptr) return SessionEffect{};
  std::shared_ptr<Compilation> own;
  const Compilation* made = good(prepared);
  if (made == nullptr) made = (own = compile(candidate.policy)).get();
  if (made->result.snapshot == nullptr) return made->result.errors.front();
  EffectCounter effect(*made->result.snapshot, made->slots, slots_);
  effect.add_all(*engine_);
  return effect.finish();
}

base::Result<ApplyReport> Runtime::apply(const LoadedConfig* /*running*/,
                                         const LoadedConfig& candidate, Prepared* prepared) {
  std::shared_ptr<Compilation> own;
  Compilation* made = good(prepared);
  if (made == nullptr) made = (own = compile(candidate.policy)).get();
  policy::CompileResult& compiled = made->result;
  if (compiled.snapshot == nullptr) return compiled.errors.front();
  const base::Nanos start_time = base::wall_clock_now();
  take_slots(std::move(made->slots));
  stats_ = compiled.stats;
  const auto revision = static_cast<std::uint32_t>(candidate.revision);
  compiled.snapshot->set_generation(revision);
  const std::shared_ptr<const policy::Snapshot> next = std::move(compiled.snapshot);
  ApplyReport report;
  report.compile_ns = made->nanos;
  report.memory_size = stats_.bytes;

  if (names_ == nullptr) names_ = std::make_unique<NamesTable>(port_names(candidate.engine));
  names_->learn(*next, revision);
  engine::EngineSnapshot snapshot = engine::make_snapshot(candidate.engine, candidate.policy, next);
  const engine::EngineSnapshot before = std::exchange(template_, snapshot);
  const base::Nanos edge_before = next_edge_;
  next_edge_ = next->next_edge(replay_time_ != nullptr ? *replay_time_ : start_time);
  if (engine_ == nullptr) {
    if (auto started = start(candidate, std::move(snapshot)); !started) return started.error();
    report.published = base::wall_clock_now();
  } else if (auto published = publish(*next, std::move(snapshot), before, report); !published) {
    next_edge_ = edge_before;
    return published.error();
  }
  last_apply_ = report;
  analysis_ = std::move(made->analysis);
  const std::lock_guard lock(policy_mutex_);
  policy_ = next;
  return report;
}

// The candidate's numbers are the running ones and those that its new rules have got. A number that
// another rule had before counts from nothing.
void Runtime::take_slots(policy::RuleSlots&& slots) {
  const base::Nanos now = replay_time_ != nullptr ? *replay_time_ : base::wall_clock_now();
  if (engine_ != nullptr)
    for (const std::uint32_t slot : slots.reused()) engine_->hits().clear(slot, now);
  const std::lock_guard lock(slots_mutex_);
  slots_ = std::move(slots);
  ++slots_version_;
}

// All or nothing: where a worker does not take `snapshot`, it finds later what the others have gone
// back to. Waits for a silent worker three times EngineConfig::publish_patience at most.
base::Result<void> Runtime::publish(const policy::Snapshot& next, engine::EngineSnapshot snapshot,
                                    const engine::EngineSnapshot& before, ApplyReport& report) {
  EffectCounter effect(next, slots_, slots_);
  effect.add_all(*engine_);
  report.effect = effect.finish();
  const engine::PublishReport published = engine_->publish(std::move(snapshot));
  if (!published.all_passed) {
    gone_.doubt();
    template_ = before;
    engine_->publish(before);
    return base::Error{.code = base::Errc::kTimeout,
                       .message = "a worker did not take the new configuration in time",
                       .hint = "look at `merlon show workers`; the process may be starved of CPU"};
  }
  report.published = published.published;
  report.blocked_ns = published.blocked_nanos;
  gone_.settle(slots_, slots_mutex_, next, *engine_);
  return {};
}

base::Result<void> Runtime::start(const LoadedConfig& config, engine::EngineSnapshot snapshot) {
  auto ports = open_ports_(config.engine);
  if (!ports) return ports.error();
  engine::EngineConfig settings = config.engine;
  // A secret of this start, so that no sender can choose keys that meet; a replay repeats itself.
  if (replay_time_ == nullptr)
    settings.parse.seed = settings.table.seed = settings.fragments.seed = base::HashSeed::random();
  auto engine = engine::Engine::create(std::move(settings), std::move(*ports), std::move(snapshot),
                                       replay_time_);
  if (!engine) return engine.error();
  engine_ = std::move(*engine);
  engine_->poll_links();
  if (replay_time_ == nullptr) engine_->start();
  return {};
}

void Runtime::renumber(std::uint64_t revision) {
  if (engine_ == nullptr || template_.revision == revision) return;
  template_.revision = static_cast<std::uint32_t>(revision);
  names_->learn(*template_.policy, template_.revision);
  engine_->publish(template_);
}

void Runtime::tick(base::Nanos now) {
  if (engine_ == nullptr) return;
  // Where the clock was set back, what schedules say is what it was then.
  const bool is_set_back = now < last_tick_ - base::kNanosPerSecond;
  last_tick_ = now;
  if (now >= next_edge_ || is_set_back) {
    next_edge_ = template_.policy->next_edge(now);
    engine_->publish(template_);
  }
  engine_->reclaim();
}

}  // namespace merlon::control
