// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends frames when they are due. The rule for late ones: a frame whose time has passed is sent at
// once, in order, and its lateness recorded; none is skipped. After the schedule's end and a grace
// time what is left counts as intended and not offered. Only frames already due share a burst; a
// frame that is due alone is handed over alone, so its stamp is its own. In a burst the stamp is
// that of the hand-over of the burst. One thread; no allocation, no lock, no system call but the
// port's.
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "merlon/io/port.h"
#include "merlon/lab_traffic/clock.h"
#include "merlon/lab_traffic/ledger.h"

namespace merlon::lab {

// What one port is to send. Several streams are merged by due time.
struct Stream {
  io::Port* port = nullptr;
  unsigned queue = 0;
  std::shared_ptr<const FrameSource> source;
  Schedule schedule;
  Ledger* ledger = nullptr;  // nullptr: not measured (an attack)
};

struct SenderUse {
  std::uint64_t bursts = 0;
  std::uint64_t attack = 0;           // frames of streams without ledger that were taken
  std::uint64_t unmeasured = 0;       // frames without tag that were taken
  std::uint64_t late_at_end = 0;      // never tried: the grace time was over
  std::uint64_t no_buffer = 0;        // turns without a free buffer
  base::Nanos port_time = 0;          // inside transmit()
  base::Nanos longest_port_time = 0;  // of one transmit()
};

class Sender {
 public:
  static constexpr unsigned kMaxBurst = 32;
  static constexpr base::Nanos kNever = std::numeric_limits<base::Nanos>::max();

  // `time_shift`: a unit of the tag's time is 2^time_shift ns. `grace`: how long after a schedule's
  // end late frames are still sent.
  Sender(const Clock& clock, unsigned time_shift, base::Nanos grace)
      : clock_(clock), time_shift_(time_shift), grace_(grace) {}

  void add(Stream stream);  // before the first turn

  // Sends at most one burst that is due. Returns when the next frame is due (a time in the past:
  // call again at once), kNever when all is done.
  base::Nanos turn() noexcept;

  [[nodiscard]] const SenderUse& use() const noexcept { return use_; }

 private:
  struct State {
    Stream stream;
    std::uint64_t next = 0;
    base::Nanos due = 0;
    base::Nanos served = 0;  // time of the last burst
    std::uint32_t room = 0;  // bytes to ask of the port
    bool is_done = false;
  };
  void send_due(State& s, base::Nanos now) noexcept;
  void account(State& s, std::uint64_t first, unsigned count, unsigned sent,
               base::Nanos time) noexcept;
  void end(State& s) noexcept;
  // Since when a stream wants its next frame out; at the maximum rate since its last burst, so that
  // it takes turns with what is late.
  [[nodiscard]] static base::Nanos wanted_since(const State& s) noexcept {
    return s.stream.schedule.is_maximum() ? s.served : s.due;
  }

  const Clock clock_;
  const unsigned time_shift_;
  const base::Nanos grace_;
  std::vector<State> streams_;
  SenderUse use_;
  std::array<void*, kMaxBurst> handles_{};
  std::array<base::Byte*, kMaxBurst> bytes_{};
  std::array<BuiltFrame, kMaxBurst> built_{};
};

}  // namespace merlon::lab
