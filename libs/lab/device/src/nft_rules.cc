// SPDX-License-Identifier: Apache-2.0
#include "nft_rules.h"

#include <fmt/format.h>

#include "merlon/lab_host/file.h"
#include "rules.h"

namespace merlon::lab {
namespace {

std::string port_text(std::uint16_t port) { return std::to_string(port); }

void add_linear(std::string& text, const std::vector<BlockRule>& rules) {
  for (const BlockRule& r : rules) {
    const char* family = r.is_ipv6 ? "ip6" : "ip";
    text += fmt::format(
        "    {} saddr {} {} daddr {} udp sport {} udp dport {} counter name blocked drop\n", family,
        r.source_text(), family, r.destination_text(), r.source_port, r.destination_port);
  }
}

// Of one family; false when there are none.
bool add_set(std::string& text, const std::vector<BlockRule>& rules, bool is_ipv6) {
  std::string elements;
  for (const BlockRule& r : rules) {
    if (r.is_ipv6 != is_ipv6) continue;
    elements += std::string(elements.empty() ? "" : ",") + "\n      " + r.source_text() + " . " +
                r.destination_text() + " . " + port_text(r.source_port) + " . " +
                port_text(r.destination_port);
  }
  if (elements.empty()) return false;
  const std::string type = is_ipv6 ? "ipv6_addr" : "ipv4_addr";
  text += std::string("  set ") + (is_ipv6 ? "blocks6" : "blocks") + " {\n    type " + type +
          " . " + type + " . inet_service . inet_service\n    elements = {" + elements +
          "\n    }\n  }\n";
  return true;
}

}  // namespace

NftStyle nft_style(std::string_view mode) {
  NftStyle style;
  style.is_routed = mode.starts_with("routed");
  style.is_set = mode.ends_with("set");
  style.has_conntrack = mode.ends_with("ct");
  return style;
}

std::string nft_text(const NftStyle& style, const RuleSet& rules) {
  const std::vector<BlockRule> blocks = block_rules(rules);
  const std::string table = std::string(style.family()) + " lab";
  std::string text = "table " + table + "\ndelete table " + table + "\ntable " + table + " {\n";
  for (const char* name : {"oracle", "blocked", "allowed", "invalid"}) {
    text += "  counter " + std::string(name) + " { }\n";
  }
  const bool has_set = style.is_set && add_set(text, blocks, false);
  const bool has_set6 = style.is_set && add_set(text, blocks, true);
  text += "  chain forward {\n    type filter hook forward priority 0; policy accept;\n";
  if (style.has_conntrack) {
    text += "    ct state established,related counter name allowed accept\n";
    if (rules.is_per_connection) text += "    ct state invalid counter name invalid drop\n";
  }
  if (rules.has_drop_rule) {
    const std::string port = port_text(kDropPort);
    text += "    udp dport " + port + " counter name oracle drop\n    tcp dport " + port +
            " counter name oracle drop\n";
  }
  if (!style.is_set) add_linear(text, blocks);
  const std::string ports = " . udp sport . udp dport @blocks";
  if (has_set) text += "    ip saddr . ip daddr" + ports + " counter name blocked drop\n";
  if (has_set6) text += "    ip6 saddr . ip6 daddr" + ports + "6 counter name blocked drop\n";
  return text + "    counter name allowed accept\n  }\n}\n";
}

std::vector<std::pair<std::string, std::uint64_t>> parse_nft_counters(std::string_view text) {
  std::vector<std::pair<std::string, std::uint64_t>> counters;
  std::string name;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() >= 2 && words[0] == "counter") name = words[1];
    if (words.size() >= 2 && words[0] == "packets" && !name.empty()) {
      counters.emplace_back(name, parse_count(words[1]).value_or(0));
    }
  }
  return counters;
}

}  // namespace merlon::lab
