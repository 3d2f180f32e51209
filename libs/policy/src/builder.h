// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only code that fills a Snapshot, and the only code of the room that looks inside one.
// control-only.
#include <memory>
#include <vector>

#include "image.h"
#include "merlon/policy/compile.h"
#include "merlon/policy/snapshot.h"

namespace merlon::policy {

class SnapshotReader {
 public:
  // Rules in order of evaluation, disabled ones included.
  static std::vector<const Compiled*> listing(const Snapshot& snapshot);
  // Of the rules in the listing, by slot; others may hold anything.
  static std::vector<const SlotInfo*> infos(const Snapshot& snapshot);
  static const Image& image(const Snapshot& s) { return *s.image_; }
  static const std::uint64_t* live(const Snapshot& s) {
    return s.live_.empty() ? nullptr : s.live_.data();
  }
};

// Labels of neighbours at a full build leave room for 31 insertions at one place.
inline constexpr std::uint64_t kOrderStep = std::uint64_t{1} << 32;

class SnapshotBuilder {
 public:
  SnapshotBuilder() : made_(new Snapshot) {}
  // A copy that shares the image.
  explicit SnapshotBuilder(const Snapshot& from);

  void set_image(std::shared_ptr<const Image> image) {
    made_->zones_ = image->objects()->zones;
    made_->image_ = std::move(image);
    made_->live_.clear();
    made_->changed_.clear();
    made_->dead_.clear();
  }
  void set_default(Action action, LogMode log) {
    made_->default_ = Decision{};
    made_->default_.action = action;
    made_->default_.log = log;
  }
  void set_slots(std::vector<std::optional<SlotInfo>> table) {
    made_->slots_ = std::make_shared<const Snapshot::SlotTable>(std::move(table));
    for (auto& c : made_->changed_) c.info = nullptr;
  }
  [[nodiscard]] Snapshot& peek() noexcept { return *made_; }
  [[nodiscard]] const Image& image() const noexcept { return *made_->image_; }
  [[nodiscard]] std::size_t changed() const noexcept { return made_->changed_.size(); }
  [[nodiscard]] std::size_t dead() const noexcept { return made_->dead_.size(); }
  [[nodiscard]] std::vector<std::optional<SlotInfo>> merged_slots() const;

  // Takes the rule in the slot out; false when there is none.
  bool remove(std::uint32_t slot);
  void insert(CompiledPtr rule, std::shared_ptr<const SlotInfo> info);
  // nullptr when the slot has no rule.
  [[nodiscard]] const Compiled* find(std::uint32_t slot) const;
  // A label right behind the rule with label `after` (0: none) and before the next one; 0 when no
  // room.
  [[nodiscard]] std::uint64_t label_behind(std::uint64_t after) const;
  // Of the last rule of an earlier category; 0 when none.
  [[nodiscard]] std::uint64_t last_before(Category category) const;

  std::unique_ptr<Snapshot> finish(std::uint32_t slot_count) {
    made_->slot_count_ = slot_count;
    return std::move(made_);
  }

 private:
  std::unique_ptr<Snapshot> made_;
};

// Every rule of the listing in a fresh image; copies them for their new labels.
base::Result<std::shared_ptr<const Image>> rebuild(const std::vector<const Compiled*>& listing,
                                                   std::shared_ptr<const Objects> objects,
                                                   std::size_t max_bytes);

}  // namespace merlon::policy
