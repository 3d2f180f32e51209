// SPDX-License-Identifier: Apache-2.0
#pragma once
// Levels of a worker's tables, stored by the worker once per turn with work and read by anyone: shared-atomic,
// relaxed, one cache line.
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
    put(sessions, v.sessions);
    put(sessions_max, v.sessions_max);
    put(half_open, v.half_open);
    put(sessions_peak, v.sessions_peak);
    put(sources, v.sources);
    put(fragments_held, v.fragments_held);
    put(fragment_datagrams, v.fragment_datagrams);
    put(timeout_scale, v.timeout_scale);
    put(table_full, v.table_full);
    put(window_passed, v.window_passed);
    put(syn_passed, v.syn_passed);
    put(icmp_errors, v.icmp_errors);
  }
  [[nodiscard]] Values load() const noexcept {
    return {.sessions = get(sessions),
            .sessions_max = get(sessions_max),
            .half_open = get(half_open),
            .sessions_peak = get(sessions_peak),
            .sources = get(sources),
            .fragments_held = get(fragments_held),
            .fragment_datagrams = get(fragment_datagrams),
            .timeout_scale = get(timeout_scale),
            .table_full = get(table_full),
            .window_passed = get(window_passed),
            .syn_passed = get(syn_passed),
            .icmp_errors = get(icmp_errors)};
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

  std::atomic<std::uint32_t> sessions{0}, sessions_max{0}, half_open{0}, sessions_peak{0};
  std::atomic<std::uint32_t> sources{0}, fragments_held{0}, fragment_datagrams{0}, timeout_scale{1024};
  std::atomic<std::uint64_t> table_full{0}, window_passed{0}, syn_passed{0}, icmp_errors{0};
};

}  // namespace merlon::engine
