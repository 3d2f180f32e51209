// SPDX-License-Identifier: Apache-2.0
#include "ovs_text.h"

#include <fmt/format.h>

#include "merlon/lab_host/file.h"
#include "rules.h"

namespace merlon::lab {
namespace {

// Drops in a table ("table=1," or nothing): the oracle's above all, then those that don't match.
void add_drops(std::string& text, const std::string& table, const RuleSet& rules) {
  if (rules.has_drop_rule) {
    for (const char* protocol : {"udp", "tcp", "udp6", "tcp6"}) {
      text += fmt::format("cookie=1,{}priority=200,{},tp_dst={},actions=drop\n", table, protocol,
                          kDropPort);
    }
  }
  for (const BlockRule& r : block_rules(rules)) {
    const bool is_v6 = r.is_ipv6;
    text += fmt::format("cookie=2,{}priority=100,{},{}={},{}={},tp_src={},tp_dst={},actions=drop\n",
                        table, is_v6 ? "udp6" : "udp", is_v6 ? "ipv6_src" : "nw_src",
                        r.source_text(), is_v6 ? "ipv6_dst" : "nw_dst", r.destination_text(),
                        r.source_port, r.destination_port);
  }
}

}  // namespace

std::string ovs_flows(const std::string& mode, const RuleSet& rules, const std::string& last) {
  std::string text;
  if (mode != "conntrack") {
    add_drops(text, "", rules);
    return text + "priority=1,actions=" + last + "\n";
  }
  // Every IP packet is tracked; known connections pass, the first packet of a new one meets the
  // rules.
  text += "table=0,priority=1,actions=" + last + "\n";
  for (const char* family : {"ip", "ipv6"}) {
    text += fmt::format("table=0,priority=10,{},actions=ct(table=1)\n", family);
    text += fmt::format("table=1,priority=300,{},ct_state=+trk+est,actions={}\n", family, last);
    if (rules.is_per_connection)
      text += fmt::format("table=1,priority=300,{},ct_state=+trk+inv,actions=drop\n", family);
    text += fmt::format("table=1,priority=1,{},actions=ct(commit),{}\n", family, last);
  }
  add_drops(text, "table=1,", rules);
  return text;
}

NamedCounts parse_pmd_stats(std::string_view text) {
  NamedCounts counts;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.rfind(": ");
    if (!line.starts_with(" ") || colon == std::string_view::npos) continue;
    const auto words = split_words(line.substr(colon + 1));
    if (words.empty()) continue;
    if (const auto n = parse_count(words[0]))
      counts[std::string(trim(line.substr(0, colon)))] += *n;
  }
  return counts;
}

NamedCounts parse_coverage(std::string_view text) {
  NamedCounts counts;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t total = line.find("total: ");
    const auto words = split_words(line);
    if (total == std::string_view::npos || words.empty()) continue;
    if (const auto n = parse_count(trim(line.substr(total + 7))))
      counts[std::string(words[0])] += *n;
  }
  return counts;
}

NamedCounts parse_port_drops(std::string_view text) {
  NamedCounts counts;
  std::string port;
  for (const std::string_view line : split(text, '\n')) {
    std::string_view rest = trim(line);
    if (rest.starts_with("port ")) {
      const std::size_t colon = rest.find(':');
      port = std::string(trim(rest.substr(5, colon == std::string_view::npos ? colon : colon - 5)));
      if (port.size() >= 2 && port.front() == '"') port = port.substr(1, port.size() - 2);
      rest = colon == std::string_view::npos ? std::string_view() : trim(rest.substr(colon + 1));
    }
    const bool is_rx = rest.starts_with("rx "), is_tx = rest.starts_with("tx ");
    if (port.empty() || (!is_rx && !is_tx)) continue;
    for (const std::string_view part : split(rest.substr(3), ',')) {
      const std::string_view item = trim(part);
      for (const std::string_view name : {std::string_view("drop="), std::string_view("errs=")}) {
        if (!item.starts_with(name)) continue;
        const auto n = parse_count(item.substr(name.size()));
        if (n) counts[port + (is_rx ? " rx " : " tx ") + std::string(name.substr(0, 4))] = *n;
      }
    }
  }
  return counts;
}

}  // namespace merlon::lab
