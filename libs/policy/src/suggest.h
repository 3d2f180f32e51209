// SPDX-License-Identifier: Apache-2.0
#pragma once
// "did you mean": the nearest of some names to a mistyped one. control-only; O(names x length^2).
#include <string>
#include <string_view>
#include <vector>

namespace merlon::policy {

// `did you mean "x"?`, or "" when nothing is near (distance above a third of the word, at least 1).
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& names);

}  // namespace merlon::policy
