// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of the table of keys and what they share. immutable.
#include <limits>
#include <span>

#include "merlon/control/schema.h"

namespace merlon::control {

[[nodiscard]] std::span<const Key> network_keys() noexcept;   // ports, wires, zones
[[nodiscard]] std::span<const Key> policy_keys() noexcept;    // objects, policy
[[nodiscard]] std::span<const Key> tracking_keys() noexcept;  // sessions, packets, events, api

inline constexpr std::int64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t kTextLimit = 1024;  // bytes

constexpr Key section(std::string_view path, std::string_view help) {
  return Key{.path = path, .help = help};
}

}  // namespace merlon::control
