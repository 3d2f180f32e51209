// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every measured frame carries in the last 18 bytes of its IP packet, big-endian:
//
//    0  magic     2   kMagic
//    2  trial     2   drawn per trial; tells stragglers of an earlier trial
//    4  sequence  4   of the direction, from 0. It also is the per-flow sequence (it rises within
//    each
//                     flow, which is all RFC 4737 asks for) and names the scheduled time, which is
//                     a function of it (Schedule::due)
//    8  time      4   when it was handed to the port, since the trial's start, in 2^n ns; n per
//    trial
//   12  flow      3   index of the flow
//   15  flags     1   bit 0: must be dropped; bit 1: sent from b to a
//   16  check     2   over the 16 bytes before
//
// 18 bytes are the whole UDP payload of a 64-byte frame. values; any thread. Cost: a
// multiplication.
#include <cstddef>
#include <cstdint>

#include "merlon/base/bytes.h"
#include "merlon/base/hash.h"

namespace merlon::lab {

struct FrameTag {
  static constexpr std::size_t kSize = 18;
  static constexpr std::uint16_t kMagic = 0x4d6c;
  static constexpr std::uint32_t kMaxFlows = 1U << 24;
  enum Flag : std::uint8_t { kMustDrop = 1, kIsReverse = 2 };

  std::uint16_t trial = 0;
  std::uint32_t sequence = 0;
  std::uint32_t time = 0;
  std::uint32_t flow = 0;  // below kMaxFlows
  std::uint8_t flags = 0;

  friend bool operator==(const FrameTag&, const FrameTag&) = default;
};

enum class TagState : std::uint8_t { kNone, kBroken, kGood };

// The two words before the check, and the check itself.
struct TagWords {
  std::uint64_t first = 0, second = 0;
  std::uint16_t check = 0;
};

inline std::uint16_t tag_check(std::uint64_t first, std::uint64_t second) noexcept {
  const std::uint64_t h =
      base::fold_multiply(first ^ 0x9e37'79b9'7f4a'7c15ULL, second ^ 0xd1b5'4a32'd192'ed03ULL);
  const std::uint64_t half = h ^ h >> 32;
  return static_cast<std::uint16_t>(half ^ half >> 16);
}

inline TagWords tag_words(const FrameTag& tag) noexcept {
  TagWords w;
  w.first = std::uint64_t{FrameTag::kMagic} << 48 | std::uint64_t{tag.trial} << 32 | tag.sequence;
  w.second = std::uint64_t{tag.time} << 32 | std::uint64_t{tag.flow} << 8 | tag.flags;
  w.check = tag_check(w.first, w.second);
  return w;
}

// Writes kSize bytes.
inline void write_tag(base::Byte* out, const TagWords& w) noexcept {
  base::store_be(out, w.first);
  base::store_be(out + 8, w.second);
  base::store_be(out + 16, w.check);
}

// Reads kSize bytes. `tag` is filled unless there is no magic; believe it only when kGood.
inline TagState read_tag(const base::Byte* in, FrameTag& tag) noexcept {
  const auto first = base::load_be<std::uint64_t>(in);
  if (first >> 48 != FrameTag::kMagic) return TagState::kNone;
  const auto second = base::load_be<std::uint64_t>(in + 8);
  tag.trial = static_cast<std::uint16_t>(first >> 32);
  tag.sequence = static_cast<std::uint32_t>(first);
  tag.time = static_cast<std::uint32_t>(second >> 32);
  tag.flow = static_cast<std::uint32_t>(second >> 8) & (FrameTag::kMaxFlows - 1);
  tag.flags = static_cast<std::uint8_t>(second);
  return base::load_be<std::uint16_t>(in + 16) == tag_check(first, second) ? TagState::kGood
                                                                           : TagState::kBroken;
}

}  // namespace merlon::lab
