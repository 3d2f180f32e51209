// SPDX-License-Identifier: Apache-2.0
#pragma once
// Virtual reassembly: fragments travel as they are, but each is judged as a part of its datagram. A
// non-first fragment gets the key of its first one and follows its verdict; one that comes earlier is held. Nothing
// is copied or joined. Bounds: datagrams, fragments per datagram, held packets, time; each with a drop reason.
// worker-owned; memory fixed at construction.
//
//   process()  after parse(): looks at fragments only (kFragment, Headers::kFirstFragment).
//   settle()   at the end of the turn: learns the verdicts of first fragments.
//   take_ready() at the start of a turn: held fragments whose first one has been judged, put in front of new packets.
//   expire()   drops what waited too long, with its reason.
//
// Overlap (RFC 5722) condemns the whole datagram; the exact duplicate of a fragment already seen is refused alone.
// Atomic IPv6 fragments (RFC 6946) are not fragments: the parser treats them as whole packets.
#include <cstdint>
#include <memory>

#include "merlon/packet/burst.h"

namespace merlon::packet {

struct FragmentOptions {
  std::uint32_t max_datagrams = 4096;
  std::uint32_t max_held = 1024;                // packets in hand, all datagrams together
  std::uint16_t max_fragments = 64;             // per datagram; 64 KiB over 1500 needs 45
  base::Ticks timeout_v4 = 30'000;              // RFC 791, RFC 1122 section 3.3.2
  base::Ticks timeout_v6 = 60'000;              // RFC 8200 section 4.5
  base::HashSeed seed{};
};

struct FragmentCounters {
  std::uint64_t fragments = 0, datagrams = 0, held = 0, released = 0, completed = 0;
};

class FragmentTable {
 public:
  explicit FragmentTable(const FragmentOptions& options);
  ~FragmentTable();

  // Resolves, holds (Verdict::kHold) or drops every fragment of the burst that is kUndecided.
  void process(Burst& burst) noexcept;
  void settle(const Burst& burst) noexcept;
  // Appends ready packets to `burst` with their frame, key, hash and headers columns filled; true when more wait.
  bool take_ready(Burst& burst) noexcept;
  // Appends timed-out held packets to `burst`, already kDrop with kFragmentTimeout; true when more wait.
  bool expire(Burst& burst, base::Ticks now) noexcept;

  [[nodiscard]] std::uint32_t held_count() const noexcept;
  [[nodiscard]] std::uint32_t datagram_count() const noexcept;
  [[nodiscard]] const FragmentCounters& counters() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace merlon::packet
