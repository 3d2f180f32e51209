// SPDX-License-Identifier: Apache-2.0
#pragma once
// Enumerators as words, in the order of their enumeration. The words are part of the file format.
#include <array>
#include <string_view>

#include "merlon/lab_model/run.h"
#include "merlon/lab_model/trial.h"

namespace merlon::lab {

template <class E>
inline constexpr std::array<std::string_view, 0> kWords{};
template <>
inline constexpr std::array<std::string_view, 4> kWords<Stamp>{"clean", "tester_limited",
                                                               "contaminated", "failed"};
template <>
inline constexpr std::array<std::string_view, 5> kWords<RowState>{"pending", "done", "skipped",
                                                                  "failed", "unavailable"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<Variation>{"fixed", "cycle", "random"};
template <>
inline constexpr std::array<std::string_view, 5> kWords<Pacing>{"constant", "burst", "ramp",
                                                                "maximum", "steps"};
template <>
inline constexpr std::array<std::string_view, 6> kWords<AttackKind>{
    "none", "syn_flood", "udp_flood", "dns_reflection", "icmp_flood", "fragments"};

static_assert(kWords<Stamp>.size() == static_cast<std::size_t>(Stamp::kFailed) + 1);
static_assert(kWords<RowState>.size() == static_cast<std::size_t>(RowState::kUnavailable) + 1);
static_assert(kWords<Variation>.size() == static_cast<std::size_t>(Variation::kRandom) + 1);
static_assert(kWords<Pacing>.size() == static_cast<std::size_t>(Pacing::kSteps) + 1);
static_assert(kWords<AttackKind>.size() == static_cast<std::size_t>(AttackKind::kFragments) + 1);

}  // namespace merlon::lab
