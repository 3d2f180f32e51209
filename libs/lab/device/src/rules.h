// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of a RuleSet as values, the same for every device: four fields of 172.16.0.0/12, or of
// 2001:2:0:ac10::/64, that no frame of the tester matches. Pure functions.
#include <cstdint>
#include <string>
#include <vector>

#include "merlon/lab_device/device.h"

namespace merlon::lab {

struct BlockRule {
  std::uint32_t source = 0, destination = 0;  // IPv4, host order; of IPv6 the last 32 bits
  std::uint16_t source_port = 0, destination_port = 0;
  bool is_ipv6 = false;

  [[nodiscard]] std::string source_text() const;
  [[nodiscard]] std::string destination_text() const;

  friend bool operator==(const BlockRule&, const BlockRule&) = default;
};

// `rules.count` different rules, the same ones for the same seed on any machine.
std::vector<BlockRule> block_rules(const RuleSet& rules);
std::string ip_text(std::uint32_t address);

}  // namespace merlon::lab
