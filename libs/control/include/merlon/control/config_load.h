// SPDX-License-Identifier: Apache-2.0
#pragma once
// Configuration text to configuration values. Strict: every key is declared in schema.h, every
// error of all files is reported at once with its place, and nothing is guessed. control-only;
// about 3 s per 100,000 rules, a fraction of it where each is one plain line.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/control/config_source.h"
#include "merlon/engine/config.h"
#include "merlon/policy/model.h"

namespace merlon::control {

class ConfigTree;  // the text's checked tree, for diff and show; see config_diff.h

// events.file: one JSON line per event.
struct EventFileSettings {
  std::string path = "/var/log/merlon/eve.json";
  std::uint64_t rotate_size = 0;    // bytes; 0: never by size
  base::Nanos rotate_interval = 0;  // 0: never by time
  std::uint32_t keep = 10;          // rotated files kept
  std::vector<std::string> types;   // flow policy drop stats config; empty: all
};

// events.syslog: RFC 5424 over UDP or a Unix datagram socket.
struct EventSyslogSettings {
  std::string target = "/dev/log";  // a path, or "HOST:PORT" for UDP
  std::uint8_t facility = 16;       // RFC 5424 section 6.2.1; 16 is local0
  std::vector<std::string> types;   // empty: all
};

struct EventSettings {
  std::optional<EventFileSettings> file;
  std::optional<EventSyslogSettings> syslog;
  base::Nanos stats_interval = 10 * base::kNanosPerSecond;  // 0: no stats events
  bool community_id = false;
};

struct ApiSettings {
  std::string socket = "/run/merlon/api.sock";
};

// One valid configuration. Plain values, copied and kept freely.
struct LoadedConfig {
  std::string name;  // of this firewall, in events and in `show status`
  engine::EngineConfig engine;
  policy::PolicyModel
      policy;  // not compiled: names of objects in rules are resolved by policy::compile()
  EventSettings events;
  ApiSettings api;
  std::string state_directory = "/var/lib/merlon";
  Bundle bundle;  // the texts it was read from
  std::shared_ptr<const ConfigTree> tree;
  std::uint64_t revision =
      0;  // its number in the store, set by Lifecycle before apply(); 0 outside of one
};

struct LoadResult {
  std::optional<LoadedConfig> config;  // nothing when there is any error
  base::Errors errors;                 // in order of file and line
  base::Errors warnings;
  Bundle bundle;  // what was read, for excerpts; also when loading failed
  // The policy as far as it could be read, when there are errors but the tree was readable: lets
  // the caller add the compiler's errors, so that all come at once.
  std::optional<policy::PolicyModel> draft;
  // The configuration's or, when there are errors but the tree was readable, what it says of this
  // key: the last valid revision lies there. Empty: nothing was readable.
  std::string state_directory;
};

// Reads `name` and what it includes.
[[nodiscard]] LoadResult load(const std::string& name, FileProvider& files);
// Reads from the file system.
[[nodiscard]] LoadResult load_file(const std::string& path);
// Reads a stored or received configuration; includes are looked up inside the bundle only.
[[nodiscard]] LoadResult load_bundle(const Bundle& bundle);

// The defaults: what an empty configuration would give, without ports and rules.
[[nodiscard]] LoadedConfig default_config();

}  // namespace merlon::control
