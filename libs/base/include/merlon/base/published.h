// SPDX-License-Identifier: Apache-2.0
#pragma once
// Published<T>: one immutable object, replaced whole by control, read by workers without locks or
// reference counts. A worker calls read() at the start of a turn and must not keep the pointer past
// its next quiescent(); control frees a retired object only after every registered worker passed a
// quiescent point that is later than the exchange.
//
// Proof sketch. publish() stores the pointer, then takes a new epoch E (seq_cst). A worker's
// quiescent() loads the epoch, then stores it to its own slot (release). If a slot holds >= E, the
// worker's load of the epoch saw the increment, so its next read() sees the new pointer; it holds
// nothing from before, because quiescent() is called with no borrowed pointer. Retired objects
// tagged E are freed when all slots >= E.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace merlon::base {

template <class T>
class Published {
 public:
  static constexpr unsigned kMaxWorkers = 64;

  explicit Published(std::unique_ptr<const T> first) : current_(first.release()) {}
  ~Published() {
    delete current_.load(std::memory_order_relaxed);
    for (auto& r : retired_) delete r.second;
  }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // Any thread that is registered and online. One acquire load.
  [[nodiscard]] const T* read() const noexcept { return current_.load(std::memory_order_acquire); }

  // Worker threads, once per turn, holding no pointer from read().
  void quiescent(unsigned worker) noexcept {
    slots_[worker].seen.store(epoch_.load(std::memory_order_seq_cst), std::memory_order_release);
  }
  // A worker takes part from online() to offline(); offline workers are not waited for.
  void online(unsigned worker) noexcept {
    quiescent(worker);
    // A read-modify-write of what publish() modifies: either it comes first, then control sees this
    // slot online, or it comes second, then read() sees what control published.
    epoch_.fetch_add(0, std::memory_order_acq_rel);
  }
  void offline(unsigned worker) noexcept {
    slots_[worker].seen.store(kOffline, std::memory_order_release);
  }

  // control-only: replaces the object; returns the epoch that workers must reach (see
  // all_passed()).
  std::uint64_t publish(std::unique_ptr<const T> next) {
    const std::lock_guard lock(mutex_);
    const T* old = current_.exchange(next.release(), std::memory_order_seq_cst);
    const std::uint64_t e = epoch_.fetch_add(1, std::memory_order_seq_cst) + 1;
    retired_.emplace_back(e, old);
    return e;
  }
  [[nodiscard]] bool all_passed(std::uint64_t epoch) const noexcept {
    for (const auto& s : slots_)
      if (s.seen.load(std::memory_order_acquire) < epoch) return false;
    return true;
  }
  // control-only: frees what no worker can hold any more; returns how many objects still wait.
  std::size_t reclaim() {
    const std::lock_guard lock(mutex_);
    std::erase_if(retired_, [this](auto& r) {
      if (!all_passed(r.first)) return false;
      delete r.second;
      return true;
    });
    return retired_.size();
  }

 private:
  static constexpr std::uint64_t kOffline = ~std::uint64_t{0};
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> seen{kOffline};
  };

  alignas(64) std::atomic<const T*> current_;
  std::atomic<std::uint64_t> epoch_{0};
  std::array<Slot, kMaxWorkers> slots_{};
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, const T*>> retired_;
};

}  // namespace merlon::base
