// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/config_load.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fstream>

#include "config_value.h"
#include "merlon/control/config_diff.h"
#include "merlon/control/config_print.h"
#include "merlon/control/schema.h"

namespace merlon::control {
namespace {

using flow::SessionState;

const std::string kRoot = MERLON_SOURCE_DIR;

LoadedConfig good(const std::string& text) {
  LoadResult result = load_bundle(Bundle::of(text, "m.yaml"));
  EXPECT_TRUE(result.config.has_value())
      << format_findings(result.errors, result.warnings, result.bundle);
  return result.config ? std::move(*result.config) : LoadedConfig{};
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

constexpr const char* kFull = R"(version: 1
name: edge-1
state_directory: /tmp/state
workers: {count: 2, cores: [4, 6]}
ports:
  lan: {pci: "0000:8a:00.1", driver: vfio-pci, mtu: 9000, rx_queues: 3, rx_descriptors: 512, tx_descriptors: 256}
  wan: {interface: wan.100, promiscuous: false}
  tap0: {pcap: {read: a.pcap, write: b.pcap}}
wires:
  w: {ports: [wan, lan], follow_link: false, fail_open: true}
taps: tap0
zones:
  lan: {ports: [lan], vlans: [10, 20]}
  net: {ports: tap0, networks: [10.0.0.0/8, "2001:db8::/32"]}
objects:
  addresses:
    web: [192.0.2.1, 192.0.2.8-192.0.2.9, db, "!old"]
    db: {ranges: 10.0.0.0/24, members: [web], except: old, tags: [a, b], with_tags: c}
    old: 192.0.2.200
  services:
    s: [tcp/443, other]
  schedules:
    day: {utc_offset: "-05:30", windows: [{days: [mon, sun], from: "22:00", to: "06:30", not_before: 2026-01-01, not_after: 2026-01-02T00:00:00+01:00}]}
policy:
  default: reject
  default_log: both
  rules:
    - {id: one, action: drop, from: any, source: [any], service: tcp/1}
    - id: two
      category: emergency
      enabled: false
      from: lan
      to: ["!net", lan]
      source: web
      destination: [db, 192.0.2.0/24]
      service: [s]
      applied_to: wan
      schedule: "!day"
      action: permit
      log: start
      on_change: kill
      max_sessions: 5
      max_sessions_per_source: 6
      midstream: false
      expires: 2030-01-01
      owner: ann
      ticket: T-1
      description: "two words"
      reason: because
      tags: [x, y]
sessions: {max: 5000, max_sources: 7, max_per_source: 8, max_half_open: 9, table_full: forward, timeouts: {tcp_established: 1h, icmp_query: 250ms}}
tcp: {window: loose, midstream: true}
packets: {ipv4_options: drop, verify_checksums: true, judge: inner, max_vlan_tags: 3, max_mpls_labels: 4, max_extension_headers: 5, max_tunnels: 6, non_ip: drop, vxlan_port: 1, gtpu_port: 2}
fragments: {max_datagrams: 100, max_held: 101, max_fragments: 50, timeout_v4: 10s, timeout_v6: 11s}
events:
  file: {path: e.json, rotate_size: 64MiB, rotate_interval: 1h, keep: 3, types: [flow]}
  syslog: {target: "192.0.2.5:514", facility: 3, types: [policy, drop]}
  stats_interval: 1m
  community_id: true
  drop_events_per_second: 11
  ring_records: 2048
drops: {ring_packets: 12}
rejects_per_second: 13
api: {socket: /tmp/s}
)";

TEST(ConfigLoad, EveryKeyReachesItsValue) {
  const LoadedConfig c = good(kFull);
  const engine::EngineConfig& e = c.engine;
  EXPECT_EQ(c.name, "edge-1");
  EXPECT_EQ(c.state_directory, "/tmp/state");
  EXPECT_EQ(e.workers, 2U);
  EXPECT_EQ(e.worker_cores, (std::vector<unsigned>{4, 6}));
  ASSERT_EQ(e.ports.size(), 3U);
  EXPECT_EQ(e.ports[0].type, engine::PortConfig::Type::kPci);
  EXPECT_EQ(e.ports[0].pci_address, "0000:8a:00.1");
  EXPECT_EQ(e.ports[0].uio_driver, "vfio-pci");
  EXPECT_EQ(e.ports[0].mtu, 9000);
  EXPECT_EQ(e.ports[0].rx_queues, 3);
  EXPECT_EQ(e.ports[0].rx_descriptors, 512);
  EXPECT_EQ(e.ports[0].tx_descriptors, 256);
  EXPECT_TRUE(e.ports[0].promiscuous);
  EXPECT_EQ(e.ports[1].type, engine::PortConfig::Type::kInterface);
  EXPECT_EQ(e.ports[1].interface, "wan.100");
  EXPECT_FALSE(e.ports[1].promiscuous);
  EXPECT_EQ(e.ports[2].type, engine::PortConfig::Type::kPcap);
  EXPECT_EQ(e.ports[2].read_file + e.ports[2].write_file, "a.pcapb.pcap");
  ASSERT_EQ(e.wires.size(), 1U);
  EXPECT_EQ(e.wires[0].port_a, 1);
  EXPECT_EQ(e.wires[0].port_b, 0);
  EXPECT_FALSE(e.wires[0].follow_link);
  EXPECT_TRUE(e.wires[0].fail_open);
  EXPECT_EQ(e.taps, (std::vector<std::uint16_t>{2}));
  EXPECT_EQ(e.table.max_sessions, 5000U);
  EXPECT_EQ(e.table.max_sources, 7U);
  EXPECT_EQ(e.limits.max_per_source, 8U);
  EXPECT_EQ(e.limits.max_half_open, 9U);
  EXPECT_EQ(e.table_full, engine::Pass::kForward);
  EXPECT_EQ(e.timeouts[static_cast<std::size_t>(SessionState::kEstablished)], 3'600'000U);
  EXPECT_EQ(e.timeouts[static_cast<std::size_t>(SessionState::kIcmpQuery)], 250U);
  EXPECT_EQ(e.tcp.window, flow::WindowCheck::kLoose);
  EXPECT_TRUE(e.tcp.allow_midstream);
  EXPECT_TRUE(e.parse.drop_ipv4_options && e.parse.verify_checksums && e.parse.judge_inner);
  EXPECT_EQ(e.parse.max_vlan_tags * 1000 + e.parse.max_mpls_labels * 100 +
                e.parse.max_extension_headers * 10 + e.parse.max_tunnels,
            3456);
  EXPECT_EQ(e.parse.vxlan_port + e.parse.gtpu_port, 3);
  EXPECT_EQ(e.non_ip, engine::Pass::kDrop);
  EXPECT_EQ(e.fragments.max_datagrams, 100U);
  EXPECT_EQ(e.fragments.max_held, 101U);
  EXPECT_EQ(e.fragments.max_fragments, 50);
  EXPECT_EQ(e.fragments.timeout_v4, 10'000U);
  EXPECT_EQ(e.fragments.timeout_v6, 11'000U);
  EXPECT_EQ(e.drop_events_per_second, 11U);
  EXPECT_EQ(e.event_ring_records, 2048U);
  EXPECT_EQ(e.drop_ring_packets, 12U);
  EXPECT_EQ(e.reject_per_second, 13U);
  EXPECT_EQ(c.api.socket, "/tmp/s");
  ASSERT_TRUE(c.events.file && c.events.syslog);
  EXPECT_EQ(c.events.file->path, "e.json");
  EXPECT_EQ(c.events.file->rotate_size, 64U << 20);
  EXPECT_EQ(c.events.file->rotate_interval, 3600 * base::kNanosPerSecond);
  EXPECT_EQ(c.events.file->keep, 3U);
  EXPECT_EQ(c.events.file->types, (std::vector<std::string>{"flow"}));
  EXPECT_EQ(c.events.syslog->target, "192.0.2.5:514");
  EXPECT_EQ(c.events.syslog->facility, 3);
  EXPECT_EQ(c.events.stats_interval, 60 * base::kNanosPerSecond);
  EXPECT_TRUE(c.events.community_id);
}

TEST(ConfigLoad, PolicyIsWhatIsWritten) {
  const policy::PolicyModel p = good(kFull).policy;
  EXPECT_EQ(p.default_action, base::Action::kReject);
  EXPECT_EQ(p.default_log, policy::LogMode::kBoth);
  EXPECT_EQ(p.ports, (std::vector<std::string>{"lan", "wan", "tap0"}));
  ASSERT_EQ(p.zones.size(), 2U);
  EXPECT_EQ(p.zones[0].vlans, (std::vector<std::uint16_t>{10, 20}));
  EXPECT_EQ(p.zones[1].networks.at(1).to_string(), "2001:db8::/32");
  ASSERT_EQ(p.addresses.size(), 3U);
  EXPECT_EQ(p.addresses[0].ranges.at(1).to_string(), "192.0.2.8/31");
  EXPECT_EQ(p.addresses[0].members.at(0).text, "db");
  EXPECT_TRUE(p.addresses[0].members.at(1).negated);
  EXPECT_EQ(p.addresses[0].members.at(1).text, "old");
  EXPECT_TRUE(p.addresses[1].members.at(1).negated);
  EXPECT_EQ(p.addresses[1].with_tags.at(0).text, "c");
  ASSERT_EQ(p.services.size(), 1U);
  EXPECT_EQ(p.services[0].terms.at(0).destination_ports.at(0).first, 443);
  EXPECT_EQ(p.services[0].members.at(0).text, "other");
  ASSERT_EQ(p.schedules.size(), 1U);
  EXPECT_EQ(p.schedules[0].utc_offset_minutes, -330);
  EXPECT_EQ(p.schedules[0].windows.at(0).weekdays, 0x41);
  EXPECT_EQ(p.schedules[0].windows[0].from_minute, 22U * 60);
  EXPECT_EQ(p.schedules[0].windows[0].to_minute, 390U);
  EXPECT_EQ(p.schedules[0].windows[0].not_before, 1'767'225'600 * base::kNanosPerSecond);
  EXPECT_EQ(p.schedules[0].windows[0].not_after,
            (1'767'225'600 + 23 * 3600) * base::kNanosPerSecond);
  ASSERT_EQ(p.rules.size(), 2U);
  EXPECT_TRUE(p.rules[0].from_zones.empty() && p.rules[0].sources.empty());
  EXPECT_EQ(p.rules[0].where.line, 28U);
  const policy::Rule& r = p.rules[1];
  EXPECT_EQ(r.category, policy::Category::kEmergency);
  EXPECT_FALSE(r.is_enabled);
  EXPECT_TRUE(r.to_zones.at(0).negated);
  EXPECT_EQ(r.to_zones[0].where.column, 12U);
  EXPECT_EQ(r.destinations.at(1).text, "192.0.2.0/24");
  EXPECT_EQ(r.applied_to.at(0).text, "wan");
  EXPECT_TRUE(r.schedule && r.schedule->negated);
  EXPECT_EQ(r.action, base::Action::kPermit);
  EXPECT_EQ(r.log, policy::LogMode::kStart);
  EXPECT_EQ(r.on_change, policy::OnChange::kKill);
  EXPECT_EQ(r.max_sessions * 10 + r.max_sessions_per_source, 56U);
  EXPECT_EQ(r.allow_midstream, false);
  EXPECT_EQ(r.expires, 1'893'456'000 * base::kNanosPerSecond);
  EXPECT_EQ(r.owner + r.ticket + r.description + r.reason, "annT-1two wordsbecause");
  EXPECT_EQ(r.tags, (std::vector<std::string>{"x", "y"}));
}

// What the schema says is the default, is the default.
TEST(ConfigLoad, DeclaredDefaultsAreTheRealOnes) {
  const LoadedConfig written = good(canonical_text(
      good("version: 1\nevents: {file: {}, syslog: {}}\nports: {a: {device: x}}\ntaps: a\n")));
  const LoadedConfig absent =
      good("version: 1\nevents: {file: {}, syslog: {}}\nports: {a: {device: x}}\ntaps: a\n");
  const engine::EngineConfig &w = written.engine, &a = absent.engine;
  EXPECT_EQ(w.workers, a.workers);
  EXPECT_EQ(w.timeouts, a.timeouts);
  EXPECT_EQ(w.table.max_sessions, a.table.max_sessions);
  EXPECT_EQ(w.table.max_sources, a.table.max_sources);
  EXPECT_EQ(w.table_full, a.table_full);
  EXPECT_EQ(w.non_ip, a.non_ip);
  EXPECT_EQ(w.tcp.window, a.tcp.window);
  EXPECT_EQ(w.tcp.allow_midstream, a.tcp.allow_midstream);
  EXPECT_EQ(w.parse.drop_ipv4_options, a.parse.drop_ipv4_options);
  EXPECT_EQ(w.parse.max_vlan_tags, a.parse.max_vlan_tags);
  EXPECT_EQ(w.parse.max_mpls_labels, a.parse.max_mpls_labels);
  EXPECT_EQ(w.parse.max_extension_headers, a.parse.max_extension_headers);
  EXPECT_EQ(w.parse.max_tunnels, a.parse.max_tunnels);
  EXPECT_EQ(w.parse.vxlan_port, a.parse.vxlan_port);
  EXPECT_EQ(w.parse.gtpu_port, a.parse.gtpu_port);
  EXPECT_EQ(w.fragments.max_datagrams, a.fragments.max_datagrams);
  EXPECT_EQ(w.fragments.max_held, a.fragments.max_held);
  EXPECT_EQ(w.fragments.max_fragments, a.fragments.max_fragments);
  EXPECT_EQ(w.fragments.timeout_v4, a.fragments.timeout_v4);
  EXPECT_EQ(w.fragments.timeout_v6, a.fragments.timeout_v6);
  EXPECT_EQ(w.drop_events_per_second, a.drop_events_per_second);
  EXPECT_EQ(w.drop_ring_packets, a.drop_ring_packets);
  EXPECT_EQ(w.event_ring_records, a.event_ring_records);
  EXPECT_EQ(w.reject_per_second, a.reject_per_second);
  EXPECT_EQ(w.ports.at(0).rx_descriptors, a.ports.at(0).rx_descriptors);
  EXPECT_EQ(w.ports[0].tx_descriptors, a.ports[0].tx_descriptors);
  EXPECT_EQ(w.ports[0].promiscuous, a.ports[0].promiscuous);
  EXPECT_EQ(written.api.socket, absent.api.socket);
  EXPECT_EQ(written.state_directory, absent.state_directory);
  EXPECT_EQ(written.name, absent.name);
  EXPECT_EQ(written.events.stats_interval, absent.events.stats_interval);
  EXPECT_EQ(written.events.community_id, absent.events.community_id);
  EXPECT_EQ(written.events.file->path, absent.events.file->path);
  EXPECT_EQ(written.events.file->keep, absent.events.file->keep);
  EXPECT_EQ(written.events.syslog->target, absent.events.syslog->target);
  EXPECT_EQ(written.events.syslog->facility, absent.events.syslog->facility);
}

TEST(ConfigLoad, ExamplesLoadWithoutAWarning) {
  for (const char* name :
       {"wire-firewall", "tap-monitor", "small-office", "vlan-trunk", "many-rules"}) {
    const LoadResult r = load_file(kRoot + "/examples/" + name + ".yaml");
    EXPECT_TRUE(r.config && r.warnings.empty()) << name << "\n"
                                                << format_findings(r.errors, r.warnings, r.bundle);
    if (!r.config) continue;
    EXPECT_FALSE(r.config->policy.rules.empty()) << name;
    // A stored revision of it reads the same.
    const LoadResult again = load_bundle(r.bundle);
    ASSERT_TRUE(again.config.has_value());
    EXPECT_TRUE(diff(*r.config, *again.config).empty());
    EXPECT_EQ(again.bundle, r.bundle);
  }
}

TEST(ConfigLoad, CanonicalTextReadsBackEqual) {
  const LoadedConfig c = good(kFull);
  const std::string text = canonical_text(c);
  const LoadedConfig again = good(text);
  EXPECT_EQ(format_changes(diff(c, again)), "");
  EXPECT_EQ(canonical_text(again), text);
}

TEST(ConfigDiff, EqualMeaningIsNoChange) {
  const LoadedConfig a = good(
      "version: 1\nsessions: {timeouts: {udp_stream: 120s}}\npolicy: {rules: [{id: r, from: lan, "
      "action: drop, log: none}]}\n"
      "objects: {addresses: {x: {ranges: 10.0.0.1, members: [y]}, y: [10.0.0.2]}}\n");
  const LoadedConfig b = good(
      "version: 1\n# comment\nzones: {}\nsessions: {timeouts: {udp_stream: 2m}, max: 262144}\n"
      "policy: {rules: [{action: drop, id: r, from: [lan], source: any}]}\n"
      "objects: {addresses: {x: [y, 10.0.0.1/32], y: 10.0.0.2-10.0.0.2}}\n");
  EXPECT_EQ(format_changes(diff(a, b)), "");
}

TEST(ConfigDiff, ShowsObjectsNotLines) {
  const LoadedConfig a = good(
      "version: 1\nworkers: {count: 1}\nports: {p: {device: x}, q: {device: y}}\nwires: {w: "
      "{ports: [p, q]}}\n"
      "zones: {lan: {ports: p}, dmz: {ports: q}}\nobjects: {services: {web: tcp/80}}\n"
      "policy: {rules: [{id: a, action: drop}, {id: b, action: drop}, {id: c, action: drop}, {id: "
      "d, action: drop}]}\n");
  const LoadedConfig b = good(
      "version: 1\nworkers: {count: 2}\nports: {p: {device: x}, q: {device: z}}\nwires: {w: "
      "{ports: [p, q]}}\n"
      "zones: {lan: {ports: p, vlans: [1, 2]}, wan: {ports: q}}\nobjects: {services: {web: "
      "[tcp/80, tcp/443]}}\n"
      "policy: {default: reject, rules: [{id: d, action: drop}, {id: a, action: drop, log: end}, "
      "{id: e, action: drop}, {id: c, action: permit}]}\n"
      "events: {file: {}}\n");
  EXPECT_EQ(format_changes(diff(a, b)),
            "~ workers.count: 1 → 2  (takes effect at restart)\n"
            "~ port q: device y → z  (takes effect at restart)\n"
            "- zone dmz\n"
            "~ zone lan: vlans (none) → [1, 2]\n"
            "+ zone wan\n"
            "~ service web: tcp/80 → [tcp/80, tcp/443]\n"
            "~ policy.default: drop → reject\n"
            "- rule b\n"
            "> rule d: moved to the front\n"
            "~ rule a: log none → end\n"
            "+ rule e\n"
            "~ rule c: action drop → permit\n"
            "+ events.file  (takes effect at restart)\n");
  EXPECT_EQ(diff(a, b)[9].path, "policy.rules[a].log");
  EXPECT_EQ(restart_keys(diff(a, b)),
            (std::vector<std::string>{"workers.count", "ports.q.device", "events.file"}));
}

// Any change of some bytes of a valid file gives a configuration or errors with places in the text.
TEST(ConfigProperty, MutationsGiveAConfigurationOrErrorsInPlace) {
  const std::string seeds[] = {kFull, slurp(kRoot + "/examples/small-office.yaml"),
                               slurp(kRoot + "/examples/wire-firewall.yaml")};
  const std::string pieces = std::string(" \n\t:-[]{},#&*!|>'\"%@`\\0123456789abcxyz\xc3\xa9", 46);
  const bool holds = rc::check([&] {
    std::string text = seeds[*rc::gen::inRange<std::size_t>(0, 3)];
    const int count = *rc::gen::inRange(1, 5);
    for (int i = 0; i < count; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const char c = pieces[*rc::gen::inRange<std::size_t>(0, pieces.size())];
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          text.insert(at, 1, c);
          break;
        case 1:
          text.erase(at, *rc::gen::inRange<std::size_t>(1, 30));
          break;
        case 2:
          text[at] = c;
          break;
        default:
          text.insert(at, text.substr(*rc::gen::inRange<std::size_t>(0, text.size()), 20));
          break;
      }
      if (text.empty()) text = "x";
    }
    const LoadResult r = load_bundle(Bundle::of(text, "m.yaml"));
    RC_ASSERT(r.config.has_value() == r.errors.empty());
    const auto lines = static_cast<unsigned>(std::count(text.begin(), text.end(), '\n')) + 1;
    for (const base::Error& e : r.errors) {
      RC_ASSERT(e.where.has_place());
      RC_ASSERT(e.where.file == "m.yaml");
      RC_ASSERT(e.where.line <= lines);
      RC_ASSERT(e.where.column >= 1U);
      RC_ASSERT(e.where.end_column > e.where.column);
      RC_ASSERT(!e.message.empty());
    }
    RC_ASSERT(!format_findings(r.errors, r.warnings, r.bundle).empty());
    if (r.config) RC_ASSERT(diff(*r.config, *r.config).empty());
  });
  EXPECT_TRUE(holds);
}

TEST(ConfigValue, DurationsReadBack) {
  EXPECT_EQ(*parse_duration("2h4m"), 7'440'000'000'000);
  EXPECT_EQ(*parse_duration("250ms"), 250'000'000);
  EXPECT_EQ(format_duration(7'440'000'000'000), "2h4m");
  EXPECT_TRUE(rc::check([](std::uint32_t ms) {
    const std::int64_t ns = std::int64_t{ms} * 1'000'000;
    RC_ASSERT(*parse_duration(format_duration(ns)) == ns);
    RC_ASSERT(*parse_size(format_size(ns)) == ns);
  }));
}

TEST(Schema, EveryKeyIsSound) {
  for (const Key& key : schema()) {
    EXPECT_FALSE(key.help.empty()) << key.path;
    EXPECT_TRUE(key.help.ends_with('.')) << key.path;
    EXPECT_EQ(find_key(key.path), &key);
    if (!key.is_list && !key.default_text.empty() && key.default_text.front() != '"') {
      EXPECT_TRUE(canonical_value(key, key.default_text, true).ok()) << key.path;
    }
    if (key.type == KeyType::kInteger || key.type == KeyType::kDuration ||
        key.type == KeyType::kSize) {
      EXPECT_LE(key.min, key.max) << key.path;
      EXPECT_NE(key.max, 0) << key.path;
    }
    EXPECT_EQ(key.type == KeyType::kChoice, !key.choices.empty()) << key.path;
  }
}

TEST(ConfigLoad, ABrokenFileStillNamesItsStateDirectory) {
  const auto directory = [](const std::string& text) {
    return load_bundle(Bundle::of(text, "m.yaml")).state_directory;
  };
  EXPECT_EQ(directory("version: 1\nstate_directory: /x\n"), "/x");
  EXPECT_EQ(directory("version: 1\nstate_directory: /x\nwrokers: {count: 1}\n"), "/x");
  EXPECT_EQ(directory("version: 1\nwrokers: {count: 1}\n"), default_config().state_directory);
  EXPECT_EQ(directory("version: 1\nstate_directory: /x\nports: {\n"), "");
}

TEST(Schema, PagesAreUpToDate) {
  EXPECT_EQ(configuration_reference(), slurp(kRoot + "/docs/reference/configuration.md"))
      << "run merlon-docgen-config docs/reference";
  EXPECT_EQ(json_schema(), slurp(kRoot + "/docs/reference/configuration.schema.json"));
}

TEST(Schema, ExplainsAndCompletes) {
  EXPECT_EQ(explain_key("ports.wan.mtu"),
            "ports.*.mtu\n"
            "  Largest IP packet; without it the port's setting is left as it is.\n"
            "  type         whole number\n"
            "  range        68 to 16000\n"
            "  unit         bytes\n"
            "  takes effect at restart\n"
            "  example      9000\n"
            "  since        0.1\n");
  EXPECT_EQ(explain_key("tcp.windw"), "unknown key \"tcp.windw\"; did you mean \"tcp.window\"?\n");
  EXPECT_EQ(complete_key("tcp."), (std::vector<std::string>{"tcp.window", "tcp.midstream"}));
  EXPECT_EQ(complete_key("w"), (std::vector<std::string>{"workers", "wires"}));
  EXPECT_NE(find_key("policy.rules[3].action"), nullptr);
  EXPECT_EQ(find_key("policy.rules[3].acton"), nullptr);
}

TEST(ConfigLoad, ATextOfNothingButErrorsIsNotToldWhole) {
  std::string unknown = "version: 1\n", repeated = unknown, rules = unknown + "policy:\n  rules:\n";
  for (unsigned i = 0; i < 20'000; ++i) {
    unknown += "key" + std::to_string(i) + ": 1\n";
    repeated += "name: a\n";
    rules += "    - {id: r" + std::to_string(i) + ", action: permt}\n";
  }
  for (const std::string& text : {unknown, repeated, rules}) {
    const LoadResult result = load_bundle(Bundle::of(text, "m.yaml"));
    EXPECT_FALSE(result.config);
    EXPECT_FALSE(result.draft);  // of which a part was not looked at
    ASSERT_EQ(result.errors.size(), 1001U);
    EXPECT_EQ(result.errors.back().message, "1000 errors; what comes after is not told");
  }
}

TEST(ConfigLoad, OpenBracketsAreBounded) {
  std::string text = "version: 1\nname: ";
  for (unsigned i = 0; i < 100'000; ++i) text += "{a: ";
  const LoadResult result = load_bundle(Bundle::of(text, "m.yaml"));
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].message, "more than 1000 brackets are open");
  EXPECT_EQ(result.errors[0].where.line, 2U);
  EXPECT_EQ(result.errors[0].where.column, 4007U);
}

}  // namespace
}  // namespace merlon::control
