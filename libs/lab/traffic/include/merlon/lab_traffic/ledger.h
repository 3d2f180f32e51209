// SPDX-License-Identifier: Apache-2.0
#pragma once
// What became of each measured frame of one direction: sent or refused by the sender, seen or not
// by the receiver. Three bits per frame and four bytes per flow, in memory that is taken page by
// page as sequence numbers reach it; 10 s at 1 Mpps are 4 MB. Each half has one writer (sender,
// receiver); evaluate() after both are done.
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/base/time.h"
#include "merlon/lab_model/histogram.h"
#include "merlon/lab_model/trial.h"
#include "merlon/lab_traffic/frames.h"
#include "merlon/lab_traffic/schedule.h"

namespace merlon::lab {

// Zeroed memory that the system gives on first touch.
class LazyMemory {
 public:
  LazyMemory() = default;
  static LazyMemory allocate(std::size_t size);  // data() == nullptr when refused
  ~LazyMemory();
  LazyMemory(LazyMemory&& other) noexcept;
  LazyMemory& operator=(LazyMemory&& other) noexcept;
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

class Bitmap {
 public:
  explicit Bitmap(std::uint64_t bits) : memory_(LazyMemory::allocate((bits + 63) / 64 * 8)) {}
  [[nodiscard]] bool has_memory() const noexcept { return memory_.data() != nullptr; }
  [[nodiscard]] bool test(std::uint64_t bit) const noexcept {
    return (words()[bit / 64] >> bit % 64 & 1) != 0;
  }
  // The word that holds `bit`.
  [[nodiscard]] std::uint64_t word_of(std::uint64_t bit) const noexcept {
    return words()[bit / 64];
  }
  // Returns whether it was set already.
  bool set(std::uint64_t bit) noexcept {
    std::uint64_t& word = words()[bit / 64];
    const std::uint64_t mask = std::uint64_t{1} << bit % 64;
    const bool was = (word & mask) != 0;
    word |= mask;
    return was;
  }

 private:
  [[nodiscard]] std::uint64_t* words() const noexcept {
    return static_cast<std::uint64_t*>(memory_.data());
  }
  LazyMemory memory_;
};

// Of the receiver, beyond FrameCounts.
struct ReceivedExtras {
  std::uint64_t bytes = 0;          // of distinct measured frames, with FCS
  std::uint64_t impossible = 0;     // intact tags with numbers that were never sent
  base::Nanos first = 0, last = 0;  // trial time of the first and last measured frame
};

class Ledger {
 public:
  // kCapacity when the system has not enough memory.
  static base::Result<std::unique_ptr<Ledger>> create(std::shared_ptr<const FrameSource> source,
                                                      const Schedule& schedule);

  // Sender: the frame was handed over at `time` and taken, or refused by the port. In order.
  void offered(std::uint64_t number, const BuiltFrame& frame, base::Nanos time) noexcept;
  void refused(std::uint64_t number) noexcept;

  // Receiver: an intact frame of this trial came at `time`, sent at `sent`, `size` bytes with FCS.
  void received(const FrameTag& tag, base::Nanos time, base::Nanos sent,
                std::uint32_t size) noexcept;

  // Adds this direction to `result`: counts, histograms, timelines. `explained` are frames known to
  // be lost in our own receiver. A lost frame is a false deny when nothing but the device's verdict
  // explains it; NOTES.md has the rule.
  void evaluate(TrialResult& result, std::uint64_t explained) const;
  [[nodiscard]] const ReceivedExtras& extras() const noexcept { return got_.extras; }
  [[nodiscard]] std::uint64_t refused_count() const noexcept { return sent_.refused; }
  // Trial times of the first and the last frame sent.
  [[nodiscard]] base::Nanos first_sent() const noexcept { return sent_.first; }
  [[nodiscard]] base::Nanos last_sent() const noexcept { return sent_.last; }

  [[nodiscard]] const Schedule& schedule() const noexcept { return schedule_; }
  [[nodiscard]] const FrameSource& source() const noexcept { return *source_; }
  // Live counts for the progress line; any thread.
  [[nodiscard]] std::uint64_t offered_count() const noexcept {
    return shown_offered_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t received_count() const noexcept {
    return shown_received_.load(std::memory_order_relaxed);
  }

 private:
  struct Sent {
    std::uint64_t offered = 0, refused = 0, expected_drops = 0;
    std::uint64_t next = 0;  // one past the highest number tried
    base::Nanos first = 0, last = 0;
    Histogram lateness;
    std::vector<std::uint32_t> timeline;
  };
  struct Got {
    std::uint64_t distinct = 0, duplicated = 0, reordered = 0, false_accepts = 0;
    base::Nanos least = std::numeric_limits<base::Nanos>::max();  // latency
    ReceivedExtras extras;
    Histogram actual, intended;
  };

  Ledger(std::shared_ptr<const FrameSource> source, const Schedule& schedule);
  struct Denials;
  [[nodiscard]] std::size_t slot(base::Nanos time) const noexcept;
  [[nodiscard]] std::uint32_t* flow_table() const noexcept {
    return static_cast<std::uint32_t*>(flows_.data());
  }
  template <class Visit>
  void for_each_lost(Visit visit) const;
  [[nodiscard]] bool has_slow_neighbour(std::uint64_t number) const noexcept;
  void add_lost_timeline(TrialResult& result) const;
  [[nodiscard]] Denials denied_flows(std::uint64_t lost) const;
  [[nodiscard]] std::uint64_t count_false_denies(std::uint64_t lost, std::uint64_t explained) const;

  const std::shared_ptr<const FrameSource> source_;
  const Schedule schedule_;
  Bitmap refused_, seen_;
  Bitmap slow_;       // came after waiting in some queue
  LazyMemory flows_;  // per flow: one past the highest sequence seen
  Sent sent_;
  Got got_;
  std::atomic<std::uint64_t> shown_offered_{0}, shown_received_{0};
};

}  // namespace merlon::lab
