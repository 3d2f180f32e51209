// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order of frame sizes in a trial, from its text. The order is part of the result (RFC 6985),
// so it is fixed: every frame number has one size, on every run. control-only to make, immutable
// after.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::lab {

// One frame of the sequence. Sizes are Ethernet frames with FCS.
struct SizeElement {
  std::uint32_t size = 64;
  std::uint8_t protocol = 0;  // IP protocol; 0: the trial's own
  std::uint16_t port = 0;     // destination port; 0: the trial's own

  friend bool operator==(const SizeElement&, const SizeElement&) = default;
};

inline constexpr std::uint32_t kMinFrameSize = 64;
inline constexpr std::uint32_t kMaxFrameSize = 16'000;  // the genome's letter j
inline constexpr std::size_t kMaxSequence = 16'384;     // frames before the sequence repeats

struct SizeSequence {
  std::vector<SizeElement> elements;
  // A mix by name, of messages rather than of sizes: over IPv6 its frames are longer
  // (size_over_ipv6()).
  bool is_mix = false;

  [[nodiscard]] double mean_size() const noexcept;
  [[nodiscard]] std::uint32_t smallest() const noexcept;
  [[nodiscard]] std::uint32_t largest() const noexcept;
  // Size of an element's frame over IPv6: as stated, but of a mix 20 bytes more, up to a full
  // segment.
  [[nodiscard]] std::uint32_t size_over_ipv6(const SizeElement& element) const noexcept;
};

// The forms of TrafficSpec::sizes:
//   "64" | "64,1518"               in turn
//   "64:28,570:16,1518:4"          by weight, spread evenly: element e comes floor or ceil of its
//   share "aaaaaaaddddg"                 RFC 6985: a 64, b 128, c 256, d 512, e 1024, f 1280, g
//   1518, h 2112,
//                                  i 9000, j 16000, z the MTU with header and FCS
//   "aaAg(A=300)"                  capital letters are sizes stated beside
//   "imix" | "emix"                the tables below
// kInvalidValue names the place in the text and what may stand there.
base::Result<SizeSequence> parse_sizes(std::string_view text, std::uint32_t mtu = 1500);

// "imix": the simple Internet mix, 7:4:1 of 64, 570 and 1518 bytes; mean 353.8.
inline constexpr std::string_view kImix = "64:7,570:4,1518:1";

// One line of the application mix.
struct MixLine {
  std::string_view what;
  std::uint8_t protocol;
  std::uint16_t port;
  std::uint32_t size;
  std::uint32_t weight;
};
// "emix": frames of what an enterprise's edge carries, 100 in all; docs/lab/mixes.md shows the
// table. TCP acknowledgements stand at 76 bytes, the least that holds a tag; real ones take 64
// to 82.
std::span<const MixLine> emix_table() noexcept;

}  // namespace merlon::lab
