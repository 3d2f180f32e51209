// SPDX-License-Identifier: Apache-2.0
#include "turn_account.h"

#include <algorithm>
#include <ctime>

#include "merlon/base/time.h"

namespace merlon::lab::tcp {
namespace {

constexpr double kLongestTurnS = 3e-3;

}  // namespace

TurnAccount::TurnAccount(bool has_tls) noexcept
    : has_tls_(has_tls),
      longest_(static_cast<std::uint64_t>(base::TscClock::frequency() * kLongestTurnS)),
      last_(read()),
      last_tsc_(base::read_tsc()) {}

// TSC ticks, or the thread's own time in such.
std::uint64_t TurnAccount::read() const noexcept {
  if (!has_tls_) return base::read_tsc();
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  const double seconds = static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  return static_cast<std::uint64_t>(seconds * base::TscClock::frequency());
}

void TurnAccount::turn(bool has_worked, bool is_sustain) noexcept {
  const std::uint64_t tsc = base::read_tsc(), now = has_tls_ ? read() : tsc;
  const std::uint64_t spent = now - last_;
  last_ = now;
  use_.longest_gap_ticks = std::max(use_.longest_gap_ticks, tsc - last_tsc_);
  last_tsc_ = tsc;
  if (!has_tls_ && spent > longest_) return;
  use_.ticks += spent;
  if (has_worked) use_.busy_ticks += spent;
  if (!is_sustain) return;
  sustain_ticks_ += spent;
  if (has_worked) sustain_busy_ticks_ += spent;
}

LoopUse TurnAccount::use(double elapsed_s) const noexcept {
  LoopUse u = use_;
  u.elapsed_s = elapsed_s;
  if (sustain_ticks_ > 0)
    u.sustain_busy_ratio =
        static_cast<double>(sustain_busy_ticks_) / static_cast<double>(sustain_ticks_);
  return u;
}

}  // namespace merlon::lab::tcp
