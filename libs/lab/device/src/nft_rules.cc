// SPDX-License-Identifier: Apache-2.0
#include "nft_rules.h"

#include "merlon/lab_host/file.h"
#include "rules.h"

namespace merlon::lab {
namespace {

std::string port_text(std::uint16_t port) { return std::to_string(port); }

void add_linear(std::string& text, const std::vector<BlockRule>& rules) {
  for (const BlockRule& r : rules) {
    text += "    ip saddr " + ip_text(r.source) + " ip daddr " + ip_text(r.destination) +
            " udp sport " + port_text(r.source_port) + " udp dport " +
            port_text(r.destination_port) + " counter name blocked drop\n";
  }
}

void add_set(std::string& text, const std::vector<BlockRule>& rules) {
  text +=
      "  set blocks {\n    type ipv4_addr . ipv4_addr . inet_service . inet_service\n    elements "
      "= {";
  const char* separator = "\n";
  for (const BlockRule& r : rules) {
    text += separator;
    text += "      " + ip_text(r.source) + " . " + ip_text(r.destination) + " . " +
            port_text(r.source_port) + " . " + port_text(r.destination_port);
    separator = ",\n";
  }
  text += "\n    }\n  }\n";
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
  if (style.is_set && !blocks.empty()) add_set(text, blocks);
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
  if (style.is_set && !blocks.empty()) {
    text += "    ip saddr . ip daddr . udp sport . udp dport @blocks counter name blocked drop\n";
  } else {
    add_linear(text, blocks);
  }
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
