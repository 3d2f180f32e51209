// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rule file of the nftables driver, and the counters that it gives back. Pure functions.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "merlon/lab_device/device.h"

namespace merlon::lab {

struct NftStyle {
  bool is_routed = false;      // family inet between routed ports; else family bridge
  bool is_set = false;         // one look-up in a set instead of a rule each
  bool has_conntrack = false;  // packets of known connections pass first

  [[nodiscard]] const char* family() const noexcept { return is_routed ? "inet" : "bridge"; }
};

// linear, set, ct, routed, routed-set, routed-ct.
NftStyle nft_style(std::string_view mode);
// Replaces the whole table "lab". Order: known connections, the oracle's drop, the rules that don't
// match, the allow.
std::string nft_text(const NftStyle& style, const RuleSet& rules);
// Name and packets of each named counter in the answer of `nft list counters`.
std::vector<std::pair<std::string, std::uint64_t>> parse_nft_counters(std::string_view text);

}  // namespace merlon::lab
