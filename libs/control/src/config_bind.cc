// SPDX-License-Identifier: Apache-2.0
#include "config_bind.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "schema_index.h"

namespace merlon::control {

using base::Errc;
using base::Error;
using flow::SessionState;

Error& Binding::error(const Place& place, std::string path, std::string message, std::string hint,
                      Errc code) const {
  errors.push_back(Error{.code = code,
                         .message = std::move(message),
                         .where = tree.position(place),
                         .hint = std::move(hint),
                         .path = std::move(path)});
  return errors.back();
}
void Binding::warning(const Place& place, std::string path, std::string message,
                      std::string hint) const {
  warnings.push_back(Error{.code = Errc::kInvalidValue,
                           .message = std::move(message),
                           .where = tree.position(place),
                           .hint = std::move(hint),
                           .path = std::move(path)});
}

const Node* Section::get(std::string_view key) const noexcept {
  const Node* n = node_ == nullptr ? nullptr : node_->find(key);
  return n == nullptr || n->is_bad ? nullptr : n;
}
const Node* Section::scalar(std::string_view key) const noexcept {
  const Node* n = get(key);
  return n != nullptr && n->is_scalar() ? n : nullptr;
}
std::vector<const Node*> Section::list(std::string_view key) const {
  std::vector<const Node*> out;
  const Node* n = get(key);
  if (n == nullptr) return out;
  if (n->is_scalar()) out.push_back(n);
  for (const Node& item : n->items)
    if (item.is_scalar() && !item.is_bad) out.push_back(&item);
  return out;
}
std::vector<const Node*> Section::items(std::string_view key) const {
  std::vector<const Node*> out;
  if (const Node* n = get(key))
    for (const Node& item : n->items)
      if (!item.is_bad) out.push_back(&item);
  return out;
}
void Section::read(std::string_view key, std::string& out) const {
  if (const Node* n = scalar(key)) out = n->text;
}
void Section::read(std::string_view key, bool& out) const {
  if (const Node* n = scalar(key)) out = n->text == "true";
}
void Section::read_ticks(std::string_view key, base::Ticks& out) const {
  if (const Node* n = scalar(key))
    if (const auto v = parse_duration(n->text))
      out = static_cast<base::Ticks>(*v / base::kNanosPerTick);
}
void Section::read_nanos(std::string_view key, base::Nanos& out) const {
  if (const Node* n = scalar(key))
    if (const auto v = parse_duration(n->text)) out = *v;
}
void Section::read_size(std::string_view key, std::uint64_t& out) const {
  if (const Node* n = scalar(key))
    if (const auto v = parse_size(n->text)) out = static_cast<std::uint64_t>(*v);
}
std::vector<std::string> Section::texts(std::string_view key) const {
  std::vector<std::string> out;
  for (const Node* n : list(key)) out.emplace_back(n->text);
  return out;
}

namespace {

void bind_workers(const Binding& b, const Section& root, engine::EngineConfig& engine) {
  const Section workers = root.section("workers");
  workers.read_integer("count", engine.workers);
  std::vector<std::string_view> seen;
  for (const Node* n : workers.list("cores")) {
    if (std::find(seen.begin(), seen.end(), n->text) != seen.end())
      b.error(n->place, "workers.cores", fmt::format("core {} is listed twice", n->text), "",
              Errc::kDuplicate);
    seen.push_back(n->text);
    engine.worker_cores.push_back(static_cast<unsigned>(*parse_integer(n->text)));
  }
  if (!engine.worker_cores.empty() && engine.worker_cores.size() != engine.workers)
    b.error(workers.get("cores")->key_place, "workers.cores",
            fmt::format("\"cores\" lists {} core{} for {} worker{}", engine.worker_cores.size(),
                        engine.worker_cores.size() == 1 ? "" : "s", engine.workers,
                        engine.workers == 1 ? "" : "s"),
            "list one core per worker, or leave \"cores\" out");
}

void bind_port_source(const Binding& b, const Node& node, const std::string& path,
                      engine::PortConfig& port) {
  const Section s(&node);
  const unsigned sources =
      (node.find("interface") != nullptr ? 1U : 0U) + (node.find("device") != nullptr ? 1U : 0U) +
      (node.find("pci") != nullptr ? 1U : 0U) + (node.find("pcap") != nullptr ? 1U : 0U);
  if (sources != 1)
    b.error(node.key_place, path,
            fmt::format("port \"{}\" has {} of \"interface\", \"pci\", \"device\" and \"pcap\"",
                        node.key, sources == 0 ? "none" : "more than one"),
            "exactly one of them says what the port is");
  if (const Node* n = s.get("driver"); n != nullptr && node.find("pci") == nullptr)
    b.error(n->key_place, path + ".driver",
            fmt::format("\"driver\" in port \"{}\" needs \"pci\"", node.key),
            "only a card has a kernel driver to be bound to");
  if (s.get("interface") != nullptr) {
    port.type = engine::PortConfig::Type::kInterface;
    s.read("interface", port.interface);
  } else if (s.get("device") != nullptr) {
    port.type = engine::PortConfig::Type::kDevice;
    s.read("device", port.device);
  } else if (s.get("pci") != nullptr) {
    port.type = engine::PortConfig::Type::kPci;
    s.read("pci", port.pci_address);
    s.read("driver", port.uio_driver);
  } else if (const Section pcap = s.section("pcap")) {
    port.type = engine::PortConfig::Type::kPcap;
    pcap.read("read", port.read_file);
    pcap.read("write", port.write_file);
    if (pcap.node()->find("read") == nullptr && pcap.node()->find("write") == nullptr)
      b.error(pcap.node()->key_place, path + ".pcap",
              fmt::format("\"pcap\" of port \"{}\" has neither \"read\" nor \"write\"", node.key),
              "name the capture to read, the capture to write, or both");
  }
}

void bind_ports(const Binding& b, const Section& root, engine::EngineConfig& engine) {
  constexpr std::size_t kMaxPorts = 1024;
  for (const Node* node : root.items("ports")) {
    const std::string path = fmt::format("ports.{}", node->key);
    engine::PortConfig port;
    port.name = node->key;
    const Section s(node);
    bind_port_source(b, *node, path, port);
    s.read_integer("mtu", port.mtu);
    s.read_integer("rx_queues", port.rx_queues);
    s.read_integer("rx_descriptors", port.rx_descriptors);
    s.read_integer("tx_descriptors", port.tx_descriptors);
    s.read("promiscuous", port.promiscuous);
    engine.ports.push_back(std::move(port));
    if (engine.ports.size() == kMaxPorts + 1)
      b.error(node->key_place, path, fmt::format("more than {} ports", kMaxPorts), "",
              Errc::kCapacity);
  }
}

// Where each port is used: in one wire or one tap.
class PortUse {
 public:
  PortUse(const Binding& b, const Section& root, const engine::EngineConfig& engine) : b_(b) {
    for (const auto& p : engine.ports) names_.push_back(p.name);
    // Ports with errors of their own exist all the same.
    if (const Node* ports = root.node() != nullptr ? root.node()->find("ports") : nullptr)
      for (const Node& n : ports->items) known_.push_back(n.key);
  }
  // The port's number when it exists, is good and is used nowhere else.
  std::optional<std::uint16_t> take(const Node& name, const std::string& path,
                                    const std::string& user) {
    if (std::find(known_.begin(), known_.end(), name.text) == known_.end()) {
      b_.error(name.place, path, fmt::format("there is no port \"{}\"", name.text),
               did_you_mean(name.text, known_), Errc::kNotFound);
      return std::nullopt;
    }
    if (const auto [at, is_new] = users_.emplace(name.text, user); !is_new) {
      b_.error(name.place, path, fmt::format("port \"{}\" is in {} already", name.text, at->second),
               "a port is in one wire or one tap", Errc::kDuplicate);
      return std::nullopt;
    }
    const auto found = std::find(names_.begin(), names_.end(), name.text);
    if (found == names_.end()) return std::nullopt;
    return static_cast<std::uint16_t>(found - names_.begin());
  }
  [[nodiscard]] bool is_used(std::string_view name) const { return users_.contains(name); }

 private:
  const Binding& b_;
  std::vector<std::string_view> names_, known_;
  std::map<std::string_view, std::string> users_;
};

void bind_wires(const Binding& b, const Section& root, engine::EngineConfig& engine) {
  PortUse use(b, root, engine);
  for (const Node* node : root.items("wires")) {
    const Section s(node);
    const Node* list = s.get("ports");
    engine::WireConfig wire;
    wire.name = node->key;
    s.read("follow_link", wire.follow_link);
    s.read("fail_open", wire.fail_open);
    const std::string path = fmt::format("wires.{}.ports", node->key);
    const std::size_t written = list == nullptr ? 0 : list->is_scalar() ? 1 : list->items.size();
    if (list != nullptr && written != 2)
      b.error(list->key_place, path,
              fmt::format("wire \"{}\" has {} port{}, not two", node->key, written,
                          written == 1 ? "" : "s"),
              "a wire joins two ports: [lan, wan]");
    std::vector<std::uint16_t> numbers;
    for (const Node* n : s.list("ports"))
      if (const auto number = use.take(*n, path, fmt::format("wire \"{}\"", node->key)))
        numbers.push_back(*number);
    if (numbers.size() != 2) continue;
    wire.port_a = numbers[0];
    wire.port_b = numbers[1];
    engine.wires.push_back(std::move(wire));
  }
  for (const Node* n : root.list("taps"))
    if (const auto number = use.take(*n, "taps", "\"taps\"")) engine.taps.push_back(*number);
  if (!b.errors.empty()) return;  // a slip elsewhere may be why
  for (const Node* node : root.items("ports"))
    if (!use.is_used(node->key))
      b.warning(node->key_place, fmt::format("ports.{}", node->key),
                fmt::format("port \"{}\" is in no wire and no tap", node->key),
                "its packets go nowhere");
}

void bind_sessions(const Section& root, engine::EngineConfig& engine) {
  static constexpr std::array<std::pair<std::string_view, SessionState>, 17> kTimeouts{{
      {"tcp_syn_sent", SessionState::kSynSent},
      {"tcp_syn_received", SessionState::kSynReceived},
      {"tcp_established", SessionState::kEstablished},
      {"tcp_fin_wait", SessionState::kFinWait},
      {"tcp_closing", SessionState::kClosing},
      {"tcp_time_wait", SessionState::kTimeWait},
      {"tcp_reset", SessionState::kReset},
      {"tcp_midstream", SessionState::kMidstream},
      {"udp_unreplied", SessionState::kUdpUnreplied},
      {"udp_replied", SessionState::kUdpReplied},
      {"udp_stream", SessionState::kUdpStream},
      {"icmp_query", SessionState::kIcmpQuery},
      {"sctp_init", SessionState::kSctpInit},
      {"sctp_established", SessionState::kSctpEstablished},
      {"sctp_shutdown", SessionState::kSctpShutdown},
      {"other_unreplied", SessionState::kOtherUnreplied},
      {"other_replied", SessionState::kOtherReplied},
  }};
  const Section s = root.section("sessions");
  s.read_integer("max", engine.table.max_sessions);
  s.read_integer("max_sources", engine.table.max_sources);
  s.read_integer("max_per_source", engine.limits.max_per_source);
  s.read_integer("max_half_open", engine.limits.max_half_open);
  s.read_choice("table_full", {"forward", "drop"}, engine.table_full);
  const Section timeouts = s.section("timeouts");
  for (const auto& [name, state] : kTimeouts)
    timeouts.read_ticks(name, engine.timeouts[static_cast<std::size_t>(state)]);
  const Section tcp = root.section("tcp");
  tcp.read_choice("window", {"strict", "loose", "off"}, engine.tcp.window);
  tcp.read("midstream", engine.tcp.allow_midstream);
}

void bind_packets(const Section& root, engine::EngineConfig& engine) {
  const Section s = root.section("packets");
  engine::Pass options = engine::Pass::kForward;
  s.read_choice("ipv4_options", {"forward", "drop"}, options);
  engine.parse.drop_ipv4_options = options == engine::Pass::kDrop;
  s.read("verify_checksums", engine.parse.verify_checksums);
  unsigned judge = 0;
  s.read_choice("judge", {"outer", "inner"}, judge);
  engine.parse.judge_inner = judge == 1;
  s.read_integer("max_vlan_tags", engine.parse.max_vlan_tags);
  s.read_integer("max_mpls_labels", engine.parse.max_mpls_labels);
  s.read_integer("max_extension_headers", engine.parse.max_extension_headers);
  s.read_integer("max_tunnels", engine.parse.max_tunnels);
  s.read_integer("vxlan_port", engine.parse.vxlan_port);
  s.read_integer("gtpu_port", engine.parse.gtpu_port);
  s.read_choice("non_ip", {"forward", "drop"}, engine.non_ip);
  const Section f = root.section("fragments");
  f.read_integer("max_datagrams", engine.fragments.max_datagrams);
  f.read_integer("max_held", engine.fragments.max_held);
  f.read_integer("max_fragments", engine.fragments.max_fragments);
  f.read_ticks("timeout_v4", engine.fragments.timeout_v4);
  f.read_ticks("timeout_v6", engine.fragments.timeout_v6);
}

}  // namespace

void bind_engine(const Binding& binding, LoadedConfig& config) {
  const Section root(&binding.tree.root);
  bind_workers(binding, root, config.engine);
  bind_ports(binding, root, config.engine);
  bind_wires(binding, root, config.engine);
  bind_sessions(root, config.engine);
  bind_packets(root, config.engine);
  const Section events = root.section("events");
  events.read_integer("drop_events_per_second", config.engine.drop_events_per_second);
  events.read_integer("ring_records", config.engine.event_ring_records);
  root.section("drops").read_integer("ring_packets", config.engine.drop_ring_packets);
  root.read_integer("rejects_per_second", config.engine.reject_per_second);
}

void bind_settings(const Binding& binding, LoadedConfig& config) {
  const Section root(&binding.tree.root);
  root.read("name", config.name);
  root.read("state_directory", config.state_directory);
  root.section("api").read("socket", config.api.socket);
  const Section events = root.section("events");
  if (const Section s = events.section("file")) {
    EventFileSettings file;
    s.read("path", file.path);
    s.read_size("rotate_size", file.rotate_size);
    s.read_nanos("rotate_interval", file.rotate_interval);
    s.read_integer("keep", file.keep);
    file.types = s.texts("types");
    config.events.file = std::move(file);
  }
  if (const Section s = events.section("syslog")) {
    EventSyslogSettings syslog;
    s.read("target", syslog.target);
    s.read_integer("facility", syslog.facility);
    syslog.types = s.texts("types");
    if (!syslog.target.starts_with('/') && syslog.target.rfind(':') == std::string::npos)
      binding.error(s.get("target")->place, "events.syslog.target",
                    fmt::format("\"{}\" is neither a path nor HOST:PORT", syslog.target),
                    "write it like /dev/log or \"192.0.2.5:514\"");
    config.events.syslog = std::move(syslog);
  }
  events.read_nanos("stats_interval", config.events.stats_interval);
  events.read("community_id", config.events.community_id);
}

}  // namespace merlon::control
