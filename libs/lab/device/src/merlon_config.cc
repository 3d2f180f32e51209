// SPDX-License-Identifier: Apache-2.0
#include "merlon_config.h"

#include <nlohmann/json.hpp>

#include "merlon/base/make_error.h"
#include "merlon/lab_device/loss.h"
#include "rules.h"

namespace merlon::lab {
namespace {

using Json = nlohmann::json;

std::string port_text(const MerlonSetup& setup, std::size_t i) {
  const std::string& port = setup.ports[i];
  const std::string number = std::to_string(i);
  if (setup.port_kind == "native") return "{interface: " + port + "}";
  if (setup.port_kind == "memif") {
    return "{device: \"net_memif" + number + ",role=server,socket=" + port +
           ",socket-abstract=no\"}";
  }
  if (setup.port_kind == "vhost")
    return "{device: \"net_vhost" + number + ",iface=" + port + ",client=1\"}";
  return "{device: \"net_" + setup.port_kind + number + ",iface=" + port + "\"}";
}

std::string workers_text(const MerlonSetup& setup) {
  if (setup.cores.empty()) return "workers: {count: 1}\n";
  std::string list;
  for (const int core : setup.cores) list += (list.empty() ? "" : ", ") + std::to_string(core);
  return "workers: {count: " + std::to_string(setup.cores.size()) + ", cores: [" + list + "]}\n";
}

void add_rules(std::string& text, const RuleSet& rules) {
  if (rules.has_drop_rule) {
    const std::string port = std::to_string(kDropPort);
    text += "    - {id: oracle, service: [tcp/" + port + ", udp/" + port + "], action: drop}\n";
  }
  std::size_t number = 0;
  for (const BlockRule& r : block_rules(rules)) {
    text += "    - {id: block-" + std::to_string(++number) + ", source: " + "\"" + r.source_text() +
            "\"" + ", destination: " + "\"" + r.destination_text() + "\"" + ", service: udp/" +
            std::to_string(r.destination_port) + ", action: drop}\n";
  }
  text += "    - {id: allow, action: permit}\n";
}

std::int64_t number_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

std::string text_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void add(std::vector<LayerCounter>& counters, std::string layer, std::string name,
         std::int64_t value, bool is_loss) {
  LayerCounter c;
  c.layer = std::move(layer);
  c.counter = std::move(name);
  c.delta = value;
  c.is_loss = is_loss;
  counters.push_back(std::move(c));
}

Json parse_list(std::string_view text) {
  Json list = Json::parse(text, nullptr, false);
  return list.is_array() ? list : Json::array();
}

}  // namespace

std::string merlon_config(const MerlonSetup& setup, const RuleSet& rules) {
  std::string text =
      "version: 1\nname: lab\nstate_directory: " + setup.folder + "/state\n" + workers_text(setup);
  text += "ports:\n";
  std::string names;
  for (std::size_t i = 0; i < setup.ports.size(); ++i) {
    const std::string name = "p" + std::to_string(i);
    text += "  " + name + ": " + port_text(setup, i) + "\n";
    names += (names.empty() ? "" : ", ") + name;
  }
  text += setup.mode == "tap" ? "taps: [" + names + "]\n"
                              : "wires:\n  lab: {ports: [" + names + "], follow_link: false}\n";
  if (setup.mode == "tap") {
    // A mirror carries both directions: networks tell the zones apart.
    text += "zones:\n  clients: {ports: [" + names +
            "], networks: [10.9.0.0/16, \"2001:2:0:9::/64\"]}\n  servers: {ports: [" + names +
            "], networks: [0.0.0.0/0, \"::/0\"]}\n";
  } else {
    text += "zones:\n  clients: {ports: p0}\n  servers: {ports: p1}\n";
  }
  text += setup.sections;
  if (!setup.sections.empty() && !setup.sections.ends_with('\n')) text += '\n';
  if (!setup.sessions.empty()) text += "sessions: {max: " + setup.sessions + "}\n";
  // Frames of a trial are no real conversations; whole connections are judged strictly.
  if (!rules.is_per_connection) text += "tcp: {window: loose, midstream: true}\n";
  text += "policy:\n  default: drop\n  rules:\n";
  add_rules(text, rules);
  return text;
}

std::string merlon_commit_body(const std::string& path, const std::string& text) {
  return Json{{"files", Json::array({Json{{"name", path}, {"text", text}}})},
              {"comment", "laboratory"}}
      .dump();
}

base::Error merlon_error(int status, std::string_view body) {
  std::string message = "Merlon answered with status " + std::to_string(status), hint;
  const Json answer = Json::parse(body, nullptr, false);
  if (answer.is_object() && answer.contains("error") && answer["error"].is_object()) {
    message += ": " + text_of(answer["error"], "message");
    hint = text_of(answer["error"], "hint");
  }
  return make_error(base::Errc::kRefused, std::move(message), std::move(hint));
}

void add_merlon_ports(std::string_view json, std::vector<LayerCounter>& counters) {
  for (const Json& row : parse_list(json)) {
    const std::string layer = "merlon port " + text_of(row, "port");
    add(counters, layer, "received", number_of(row, "rx_packets"), false);
    add(counters, layer, "sent", number_of(row, "tx_packets"), false);
    for (const char* loss : {"rx_dropped", "rx_errors", "tx_dropped", "tx_errors"}) {
      add(counters, layer, loss, number_of(row, loss), true);
    }
  }
}

void add_merlon_drops(std::string_view json, std::vector<LayerCounter>& counters) {
  for (const Json& row : parse_list(json)) {
    const std::string reason = text_of(row, "reason");
    const std::int64_t packets = number_of(row, "packets");
    const bool is_rule = reason == "policy_deny" || reason == "policy_reject";
    // Frames that a port did not take are in its tx_dropped already.
    const bool is_port = reason == "transmit_full";
    if (!reason.empty()) {
      add(counters, "merlon " + reason, is_rule ? std::string(kDroppedByRule) : "dropped", packets,
          !is_rule && !is_port);
    }
    if (const std::int64_t would = number_of(row, "would_drop"); would != 0) {
      add(counters, "merlon " + reason, "would_drop", would, false);
    }
  }
}

}  // namespace merlon::lab
