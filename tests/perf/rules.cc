// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <fmt/format.h>

namespace merlon::perf {
namespace {

policy::Name word(std::string text) { return {.text = std::move(text)}; }

// Spread over 198.18.0.0/15, another host for every number below 131,072.
std::string foreign_host(std::size_t n) {
  const auto host = static_cast<std::uint32_t>(n * 0x9e3779b1U) & 0x1ffffU;
  return base::IpAddress::v4(0xc6120000U + host).to_string();
}

policy::Rule block(std::size_t n) {
  policy::Rule r;
  r.id = fmt::format("block-{}", n);
  switch (n % 4) {
    case 0:
      r.sources.push_back(word(foreign_host(n)));
      break;
    case 1:
      r.destinations.push_back(
          word(base::IpAddress::v4(0xc6120000U + ((n * 64) & 0x1ffc0U)).to_string() + "/26"));
      r.services.push_back(word(fmt::format("tcp/{}", 1024 + n % 4096)));
      break;
    case 2:
      r.sources.push_back(word("10.0.0.0/8"));
      r.destinations.push_back(word(foreign_host(n)));
      break;
    default:
      r.services.push_back(word(fmt::format("udp/{}", 20'000 + n % 40'000)));
      break;
  }
  return r;
}

}  // namespace

policy::PolicyModel blocks_then_allow(std::size_t count) {
  policy::PolicyModel model;
  model.ports = {"left", "right"};
  model.rules.reserve(count + 2);
  for (std::size_t n = 0; n < count; ++n) model.rules.push_back(block(n));
  policy::Rule refuse;
  refuse.id = "refuse-echo";
  refuse.services.push_back(word("udp/7"));
  model.rules.push_back(std::move(refuse));
  policy::Rule allow;
  allow.id = "allow";
  allow.action = policy::Action::kPermit;
  model.rules.push_back(std::move(allow));
  return model;
}

}  // namespace merlon::perf
