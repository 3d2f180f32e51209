// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of a plan file's keys and of its enumerators, shared by reader and printer.
#include <array>
#include <string_view>
#include <utility>

#include "merlon/lab_model/traffic.h"

namespace merlon::lab {

inline constexpr std::array<std::pair<std::string_view, Variation>, 3> kVariations{
    {{"fixed", Variation::kFixed}, {"cycle", Variation::kCycle}, {"random", Variation::kRandom}}};
inline constexpr std::array<std::pair<std::string_view, Pacing>, 5> kPacings{
    {{"constant", Pacing::kConstant},
     {"burst", Pacing::kBurst},
     {"ramp", Pacing::kRamp},
     {"maximum", Pacing::kMaximum},
     {"steps", Pacing::kSteps}}};
// TrafficSpec::ipv6_share by name.
inline constexpr std::array<std::pair<std::string_view, double>, 3> kFamilies{
    {{"ipv4", 0}, {"ipv6", 1}, {"mixed", 0.5}}};
inline constexpr std::array<std::pair<std::string_view, AttackKind>, 6> kAttacks{
    {{"none", AttackKind::kNone},
     {"syn_flood", AttackKind::kSynFlood},
     {"udp_flood", AttackKind::kUdpFlood},
     {"dns_reflection", AttackKind::kDnsReflection},
     {"icmp_flood", AttackKind::kIcmpFlood},
     {"fragments", AttackKind::kFragments}}};

}  // namespace merlon::lab
