// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled policy. Made by compile() or apply(), published to the workers, immutable from then
// on. decide() allocates nothing, takes no lock and its cost is bounded by the number of rules;
// figures in NOTES.md.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "merlon/base/time.h"
#include "merlon/policy/query.h"
#include "merlon/policy/zones.h"

namespace merlon::policy {

class Image;      // src/image.h: the classifier over all rules at the last full build
struct Compiled;  // src/rule.h: one rule with its names resolved

// What people are told about a rule slot. Slot 0 describes the default action.
struct SlotInfo {
  std::string id;
  Category category = Category::kApplication;
  Action action = Action::kDrop;
  LogMode log = LogMode::kNone;
  bool is_enabled = true;
  std::string owner, ticket, reason, description;
  std::optional<base::Nanos> expires;
  base::SourcePos where{};
};

struct SnapshotSize {
  std::size_t rules = 0;    // in force, enabled
  std::size_t rows = 0;     // match rows they became
  std::size_t classes = 0;  // equivalence classes over all dimensions
  std::size_t changed = 0;  // rules held beside the image since the last full build
  std::size_t bytes = 0;    // of the classifier
};

inline constexpr base::Nanos kNever = std::numeric_limits<base::Nanos>::max();

class Snapshot {
 public:
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // The first rule in force at `now` that matches, else the default action with rule slot 0.
  [[nodiscard]] Decision decide(const Query& query, base::Nanos now) const noexcept;
  // The same answers for n queries, with their memory accesses overlapped.
  void decide_bulk(const Query* queries, Decision* decisions, std::size_t n,
                   base::Nanos now) const noexcept;

  [[nodiscard]] const ZoneTable& zones() const noexcept { return *zones_; }

  // Configuration revision that this policy belongs to; 0 until set. Control sets it before
  // publishing.
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
  void set_generation(std::uint32_t generation) noexcept { generation_ = generation; }

  // nullptr when the slot's rule is not part of this policy. control-only.
  [[nodiscard]] const SlotInfo* slot(std::uint32_t slot) const noexcept;
  // One past the highest slot that decide() may return.
  [[nodiscard]] std::uint32_t slot_count() const noexcept { return slot_count_; }
  // Slots in order of evaluation, disabled rules included. control-only.
  [[nodiscard]] std::vector<std::uint32_t> order() const;

  // The first moment after `now` when a schedule or an expiry may change an answer; kNever when
  // none. control-only: the engine raises its epoch then, so that sessions ask again.
  [[nodiscard]] base::Nanos next_edge(base::Nanos now) const;
  [[nodiscard]] SnapshotSize size() const;

 private:
  friend class SnapshotBuilder;
  friend class SnapshotReader;
  using RulePtr = std::shared_ptr<const Compiled>;
  using SlotTable = std::vector<std::optional<SlotInfo>>;
  struct Changed {
    RulePtr rule;
    std::shared_ptr<const SlotInfo> info;  // null: the slot table's entry holds
  };
  Snapshot();
  [[nodiscard]] const Compiled* overlay(const Query& query, base::Nanos now,
                                        std::uint64_t before) const noexcept;
  [[nodiscard]] Decision merge(const Query& query, base::Nanos now,
                               const Compiled* found) const noexcept;

  std::shared_ptr<const Image> image_;
  std::shared_ptr<const ZoneTable> zones_;
  std::shared_ptr<const SlotTable> slots_;
  std::vector<std::uint64_t> live_;  // rows still in force; empty: all of them
  std::vector<Changed> changed_;     // in order of evaluation
  std::vector<std::uint32_t> dead_;  // image rules replaced or removed, sorted
  Decision default_;
  std::uint32_t generation_ = 0;
  std::uint32_t slot_count_ = 1;
};

}  // namespace merlon::policy
