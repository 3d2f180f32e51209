// SPDX-License-Identifier: Apache-2.0
#include "suggest.h"

#include <algorithm>
#include <numeric>

namespace merlon::policy {

namespace {

// Optimal string alignment: a swap of neighbours counts once, since that is how people mistype.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& names) {
  // A word from a hostile file must not make this quadratic in its length.
  if (word.size() > 64) return {};
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::size_t best = limit + 1;
  std::string_view found;
  for (const std::string_view name : names) {
    if (name.size() > word.size() + limit || word.size() > name.size() + limit) continue;
    const std::size_t d = distance(word, name);
    if (d < best) {
      best = d;
      found = name;
    }
  }
  return found.empty() ? std::string() : "did you mean \"" + std::string(found) + "\"?";
}

}  // namespace merlon::policy
