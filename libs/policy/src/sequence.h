// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which of the items that were there before kept their order: the rest, the fewest possible, moved.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace merlon::policy {

inline constexpr std::uint32_t kNoPosition = 0xffffffff;

// Marks a longest increasing subsequence of the old positions; kNoPosition (a new item) is never in
// it. Positions are distinct. O(n log n).
inline std::vector<bool> longest_increasing(const std::vector<std::uint32_t>& positions) {
  std::vector<std::uint32_t> tails, previous(positions.size(), kNoPosition);
  for (std::uint32_t i = 0; i < positions.size(); ++i) {
    if (positions[i] == kNoPosition) continue;
    const auto it =
        std::lower_bound(tails.begin(), tails.end(), positions[i],
                         [&](std::uint32_t t, std::uint32_t v) { return positions[t] < v; });
    if (it != tails.begin()) previous[i] = *std::prev(it);
    if (it == tails.end())
      tails.push_back(i);
    else
      *it = i;
  }
  std::vector<bool> kept(positions.size());
  for (std::uint32_t i = tails.empty() ? kNoPosition : tails.back(); i != kNoPosition;
       i = previous[i])
    kept[i] = true;
  return kept;
}

}  // namespace merlon::policy
