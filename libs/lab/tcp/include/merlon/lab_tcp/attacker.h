// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which frames are the attack's. Pure function.
#include <cstdint>

#include "merlon/lab_traffic/recognise.h"

namespace merlon::lab::tcp {

// An address of the attack's network, 10.128.0.0/9.
constexpr bool is_attacker(std::uint32_t address) noexcept {
  return (address & 0xff80'0000) == kAttackNetwork;
}

}  // namespace merlon::lab::tcp
