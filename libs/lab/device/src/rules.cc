// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_set>

namespace merlon::lab {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): its sequence is fixed, unlike that of the standard's
// distributions.
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e37'79b9'7f4a'7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11ebULL;
  return z ^ (z >> 31);
}

constexpr std::uint32_t kBlockNet = 0xac10'0000, kBlockHosts = 0x000f'ffff;

std::string address_text(std::uint32_t address, bool is_ipv6) {
  if (!is_ipv6) return ip_text(address);
  return fmt::format("2001:2:0:ac10::{:x}:{:x}", address >> 16, address & 0xffffU);
}

}  // namespace

std::vector<BlockRule> block_rules(const RuleSet& rules) {
  std::vector<BlockRule> all;
  std::unordered_set<std::uint64_t> pairs;  // different address pairs make different rules
  std::uint64_t state = rules.seed;
  while (all.size() < rules.count) {
    const std::uint64_t addresses = next(state), ports = next(state);
    BlockRule r;
    r.source = kBlockNet | (static_cast<std::uint32_t>(addresses) & kBlockHosts);
    r.destination = kBlockNet | (static_cast<std::uint32_t>(addresses >> 32) & kBlockHosts);
    r.source_port = static_cast<std::uint16_t>(ports % 64'000 + 1024);
    r.destination_port = static_cast<std::uint16_t>((ports >> 32) % 64'000 + 1);
    const auto number = static_cast<double>(all.size());
    r.is_ipv6 = std::floor((number + 1) * rules.ipv6_share) > std::floor(number * rules.ipv6_share);
    if (pairs.insert(std::uint64_t{r.source} << 32 | r.destination).second) all.push_back(r);
  }
  return all;
}

std::string BlockRule::source_text() const { return address_text(source, is_ipv6); }
std::string BlockRule::destination_text() const { return address_text(destination, is_ipv6); }

std::string ip_text(std::uint32_t a) {
  return std::to_string(a >> 24) + "." + std::to_string(a >> 16 & 255) + "." +
         std::to_string(a >> 8 & 255) + "." + std::to_string(a & 255);
}

}  // namespace merlon::lab
