// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a measuring thread's time goes. worker-owned. Cost: a TSC read a turn, with TLS a system
// call.
#include <cstdint>

namespace merlon::lab::tcp {

// What the measuring loop saw of itself.
struct LoopUse {
  double elapsed_s = 0;
  std::uint64_t busy_ticks = 0, ticks = 0;  // TSC, in turns with work and in all
  std::uint64_t longest_gap_ticks = 0;      // between two turns
  double sustain_busy_ratio = -1;  // of the time that the thread ran in sustain; -1: it had none
};

class TurnAccount {
 public:
  // Without TLS the TSC tells: a turn longer than its bounds allow was the thread being kept from
  // running, and that time is nobody's work. A turn of signatures may be as long, so with TLS the
  // kernel's account of the thread is read.
  explicit TurnAccount(bool has_tls) noexcept;

  void turn(bool has_worked, bool is_sustain) noexcept;
  [[nodiscard]] LoopUse use(double elapsed_s) const noexcept;

 private:
  [[nodiscard]] std::uint64_t read() const noexcept;

  const bool has_tls_;
  const std::uint64_t longest_;
  std::uint64_t last_, last_tsc_;
  std::uint64_t sustain_ticks_ = 0, sustain_busy_ticks_ = 0;
  LoopUse use_;
};

}  // namespace merlon::lab::tcp
