// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a PolicyModel to a Snapshot. control-only; may run on any thread that owns its RuleSlots.
// All errors are found before anything is built; a refused policy costs nothing but the time.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/policy/finding.h"
#include "merlon/policy/model.h"
#include "merlon/policy/slots.h"
#include "merlon/policy/snapshot.h"

namespace merlon::policy {

struct CompileLimits {
  std::size_t max_rules = 200'000;
  std::size_t max_bytes = std::size_t{2}
                          << 30;  // of the classifier; estimate and actual are both held to it
  std::size_t max_changed = 32;   // rules kept beside the image before a full build
};

struct CompileStats {
  std::size_t rules = 0;
  std::size_t estimated_bytes = 0;  // before building; an upper guess
  std::size_t bytes = 0;            // as built
  std::size_t changed_rules =
      0;  // that differ from the previous snapshot; all of them in a full build
  bool is_incremental = false;
  double seconds = 0;
};

struct CompileResult {
  std::unique_ptr<Snapshot> snapshot;  // null when there are errors
  base::Errors errors;
  std::vector<Finding> findings;  // of resolving only; see analysis.h for the rest
  CompileStats stats;
};

// `previous`, when given, must come from the same RuleSlots: where only a few rules differ, its
// image is shared and the change costs microseconds plus a pass over the model.
CompileResult compile(const PolicyModel& model, RuleSlots& slots, const CompileLimits& limits = {},
                      const Snapshot* previous = nullptr);

// Memory that a full build of the model would take at most, in bytes, without building it.
std::size_t estimate(const PolicyModel& model);

// One edit of a live policy without its model: an emergency block, a toggled rule.
struct RuleChange {
  enum class Kind : std::uint8_t { kAdd, kReplace, kRemove };
  Kind kind = Kind::kReplace;
  Rule rule{};  // kRemove needs the id only
  std::string
      after{};  // kAdd: the rule of the same category that it follows; empty: first of its category
};

// A snapshot with the changes applied in order; `current` stays as it is. Objects, zones and
// schedules are those of `current`. Errors: kNotFound, kDuplicate, and those of compile(). About 2
// us a rule, plus a full build when more than limits.max_changed rules have gathered.
base::Result<std::unique_ptr<Snapshot>> apply(const Snapshot& current, RuleSlots& slots,
                                              std::span<const RuleChange> changes,
                                              const CompileLimits& limits = {});

}  // namespace merlon::policy
