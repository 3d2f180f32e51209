// SPDX-License-Identifier: Apache-2.0
#pragma once
// Levels of a worker's tables, stored by the worker once per turn with work and read by anyone:
// shared-atomic, relaxed, one cache line.
#include <atomic>
#include <cstdint>

namespace merlon::engine {

struct alignas(64) Gauges {
  struct Values {
    std::uint32_t sessions = 0, sessions_max = 0, half_open = 0, sessions_peak = 0;
    std::uint32_t sources = 0, fragments_held = 0, fragment_datagrams = 0, timeout_scale = 1024;
    std::uint64_t table_full = 0, window_passed = 0, syn_passed = 0, icmp_errors = 0;
  };

  void store(const Values& v) noexcept {
    put(sessions_, v.sessions);
    put(sessions_max_, v.sessions_max);
    put(half_open_, v.half_open);
    put(sessions_peak_, v.sessions_peak);
    put(sources_, v.sources);
    put(fragments_held_, v.fragments_held);
    put(fragment_datagrams_, v.fragment_datagrams);
    put(timeout_scale_, v.timeout_scale);
    put(table_full_, v.table_full);
    put(window_passed_, v.window_passed);
    put(syn_passed_, v.syn_passed);
    put(icmp_errors_, v.icmp_errors);
  }
  [[nodiscard]] Values load() const noexcept {
    return {.sessions = get(sessions_),
            .sessions_max = get(sessions_max_),
            .half_open = get(half_open_),
            .sessions_peak = get(sessions_peak_),
            .sources = get(sources_),
            .fragments_held = get(fragments_held_),
            .fragment_datagrams = get(fragment_datagrams_),
            .timeout_scale = get(timeout_scale_),
            .table_full = get(table_full_),
            .window_passed = get(window_passed_),
            .syn_passed = get(syn_passed_),
            .icmp_errors = get(icmp_errors_)};
  }

 private:
  template <class T>
  static void put(std::atomic<T>& to, T value) noexcept {
    to.store(value, std::memory_order_relaxed);
  }
  template <class T>
  static T get(const std::atomic<T>& from) noexcept {
    return from.load(std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> sessions_{0}, sessions_max_{0}, half_open_{0}, sessions_peak_{0};
  std::atomic<std::uint32_t> sources_{0}, fragments_held_{0}, fragment_datagrams_{0},
      timeout_scale_{1024};
  std::atomic<std::uint64_t> table_full_{0}, window_passed_{0}, syn_passed_{0}, icmp_errors_{0};
};

}  // namespace merlon::engine
