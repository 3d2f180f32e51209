// SPDX-License-Identifier: Apache-2.0
#pragma once
// Virtual reassembly: fragments travel as they are, but each is judged as a part of its datagram. A
// non-first fragment gets the key of its first one and follows its verdict; one that comes earlier
// is held. Nothing is copied or joined. Bounds: datagrams, fragments per datagram, held packets,
// time; each with a drop reason. worker-owned; memory fixed at construction.
//
//   process()  after parse(): looks at fragments only (kFragment, Headers::kFirstFragment).
//   settle()   at the end of the turn, with the burst that process() saw, packets in their places:
//   learns the
//              verdicts of first fragments. kDrop refuses the rest of the datagram; every other
//              verdict lets it follow with the first one's key (after kHandOver to the same worker,
//              through the same ring).
//   take_ready() at the start of a turn: held fragments whose first one has been judged, put in
//   front of new packets. expire()   drops what waited too long, with its reason.
//
// A fragment that the parser refused, an impossible end, too many fragments and a full store
// condemn the datagram as well: it could not be put together any more. Released packets are
// kUndecided with the first one's key, hash and direction, or kDrop with kFragmentDatagram. After
// the last missing piece the datagram is forgotten, so that its identification may be used again.
//
// Overlap (RFC 5722) condemns the whole datagram; the exact duplicate of a fragment already seen is
// refused alone. Atomic IPv6 fragments (RFC 6946) are not fragments: the parser treats them as
// whole packets.
#include <cstdint>
#include <memory>

#include "merlon/packet/burst.h"

namespace merlon::packet {

struct FragmentOptions {
  std::uint32_t max_datagrams = 4096;
  std::uint32_t max_held = 1024;     // packets in hand, all datagrams together
  std::uint16_t max_fragments = 64;  // per datagram; 64 KiB over 1500 needs 45
  base::Ticks timeout_v4 = 30'000;   // RFC 791, RFC 1122 section 3.3.2
  base::Ticks timeout_v6 = 60'000;   // RFC 8200 section 4.5
  base::HashSeed seed{};
};

struct FragmentCounters {
  std::uint64_t fragments = 0, datagrams = 0, held = 0, released = 0, completed = 0;
};

// The same for every fragment of a datagram and for no other datagram on purpose: chooses the
// worker whose table joins them. Packet `i` must be kFragment or a first fragment. Reads the frame.
std::uint64_t fragment_hash(const Burst& burst, unsigned i, base::HashSeed seed) noexcept;

class FragmentTable {
 public:
  explicit FragmentTable(const FragmentOptions& options);
  ~FragmentTable();

  // Resolves, holds (Verdict::kHold) or drops every fragment of the burst that is kUndecided.
  // Packets before index `first` are left alone: take_ready() has put them there.
  void process(Burst& burst, unsigned first = 0) noexcept;
  void settle(const Burst& burst) noexcept;
  // Appends ready packets to `burst` with their frame, key, hash and headers columns filled; true
  // when more wait.
  bool take_ready(Burst& burst) noexcept;
  // Appends timed-out held packets to `burst`, already kDrop with kFragmentTimeout; true when more
  // wait.
  bool expire(Burst& burst, base::Ticks now) noexcept;

  [[nodiscard]] std::uint32_t held_count() const noexcept;
  [[nodiscard]] std::uint32_t datagram_count() const noexcept;
  [[nodiscard]] const FragmentCounters& counters() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace merlon::packet
