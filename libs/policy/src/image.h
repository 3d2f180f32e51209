// SPDX-License-Identifier: Apache-2.0
#pragma once
// The classifier: all rules of one full build. immutable, shared by the snapshots that differ from
// it in a few rules. A rule becomes one row per group of services with equal source ports; rows are
// placed so that those with like zones and addresses are neighbours, which leaves few words in
// which all dimensions have something to say. A look-up intersects the dimensions' bit vectors
// level by level; among the rows left the first rule in order wins, whatever its place.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "dimension.h"
#include "merlon/base/result.h"
#include "merlon/policy/snapshot.h"
#include "objects.h"
#include "rule.h"

namespace merlon::policy {

using CompiledPtr = std::shared_ptr<const Compiled>;

// kCapacity, without a place.
base::Error too_big(std::string message, std::string hint);

struct Row {
  std::uint32_t rule;
  const ServiceRow* service;  // null: any
};

class ImagePlan {
 public:
  ImagePlan(std::vector<CompiledPtr> rules, std::shared_ptr<const Objects> objects);
  [[nodiscard]] std::size_t estimate() const noexcept;
  [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }

 private:
  friend class Image;
  void make_rows();
  void place_rows();

  std::vector<CompiledPtr> rules_;
  std::shared_ptr<const Objects> objects_;
  std::vector<Row> rows_;
  std::unique_ptr<DimensionPlan<Key128>> source_, destination_;
  std::unique_ptr<DimensionPlan<std::uint32_t>> service_, source_port_, from_, to_, applied_;
};

class Image {
 public:
  static constexpr std::uint32_t kNoMatch = 0xffffffff;
  static constexpr unsigned kAppliedKeys = 4;

  // kCapacity when it would take more than max_bytes or has more than kMaxRows rows.
  static base::Result<std::shared_ptr<const Image>> build(ImagePlan plan, std::size_t max_bytes);

  // Where the query stands in each dimension: its class's words and the store of common vectors.
  struct Place {
    const std::uint64_t* own[6 + kAppliedKeys];
    const std::uint64_t* common[6 + kAppliedKeys];
  };
  void prefetch_index(const Query& query) const noexcept {
    if (has_source_) source_index_.prefetch(query.source);
    if (has_destination_) destination_index_.prefetch(query.destination);
  }
  void locate(const Query& query, Place& place) const noexcept;
  // After locate(): the second line of each class and the head of its common vector.
  void prefetch_classes(const Place& place) const noexcept {
    if (row_rule_.empty()) return;
    for (unsigned i = 0; i < dimensions_; ++i) {
      __builtin_prefetch(place.own[i] + 8);
      __builtin_prefetch(place.common[i] + place.own[i][1]);
    }
  }
  // The first rule in order that matches and is active, as its number; kNoMatch when none. `live`
  // is null or a bit per row.
  [[nodiscard]] std::uint32_t match(const Place& place, const std::uint64_t* live,
                                    base::Nanos now) const noexcept;
  // control-only: all rules that match, timed or not, in no order, a rule once for each of its
  // rows.
  void match_all(const Place& place, std::vector<std::uint32_t>& rules) const;

  [[nodiscard]] const std::vector<CompiledPtr>& rules() const noexcept { return rules_; }
  [[nodiscard]] const Decision& decision(std::uint32_t rule) const noexcept {
    return decisions_[rule];
  }
  [[nodiscard]] std::size_t row_count() const noexcept { return row_rule_.size(); }
  [[nodiscard]] std::size_t leaf_count() const noexcept { return leaf_first_.size(); }
  // Rows of a rule.
  [[nodiscard]] std::span<const std::uint32_t> rows_of(std::uint32_t rule) const noexcept {
    return {&rule_rows_[rule_row_begin_[rule]], rule_row_begin_[rule + 1] - rule_row_begin_[rule]};
  }
  // The rule in a slot; kNoMatch when the slot has none here.
  [[nodiscard]] std::uint32_t rule_in_slot(std::uint32_t slot) const noexcept {
    return slot < slot_rule_.size() ? slot_rule_[slot] : kNoMatch;
  }
  [[nodiscard]] const std::shared_ptr<const Objects>& objects() const noexcept { return objects_; }
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] std::size_t class_count() const noexcept;

 private:
  template <unsigned N, bool Applied, class Sink>
  void intersect(const Place& place, Sink& sink) const noexcept;
  template <class Sink>
  void dispatch(const Place& place, Sink& sink) const noexcept;
  void index_rules(const ImagePlan& plan);
  bool build_dimensions(const ImagePlan& plan, std::size_t max_bytes);

  std::vector<CompiledPtr> rules_;
  std::shared_ptr<const Objects> objects_;
  std::vector<Decision> decisions_;        // by rule
  std::vector<std::uint8_t> is_timed_;     // by rule
  std::vector<std::uint32_t> row_rule_;    // by row
  std::vector<std::uint32_t> leaf_first_;  // by leaf: its lowest rule number
  std::vector<std::uint32_t> rule_row_begin_, rule_rows_, slot_rule_;
  std::size_t l1_count_ = 0;

  unsigned dimensions_ = 0;
  bool has_source_ = false, has_destination_ = false, has_service_ = false,
       has_source_port_ = false, has_from_ = false, has_to_ = false, has_applied_ = false;
  AddressIndex source_index_, destination_index_;
  PagedIndex service_index_, source_port_index_, from_index_, to_index_, applied_index_;
  BitStore source_, destination_, service_, source_port_, from_, to_, applied_;
};

}  // namespace merlon::policy
