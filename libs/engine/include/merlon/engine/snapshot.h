// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled, immutable form of a configuration revision that the packet cores read. published:
// control builds one, workers borrow it for a turn. Everything here may change with a commit; what
// takes effect at start only (ports, workers, table sizes) is not here.
#include <cstdint>
#include <memory>
#include <vector>

#include "merlon/engine/config.h"
#include "merlon/policy/snapshot.h"

namespace merlon::engine {

struct EngineSnapshot {
  // Rises by one with every publication, also with those that a schedule's edge causes; sessions
  // store it, and a session with another value asks policy again.
  std::uint32_t generation = 0;
  std::uint32_t revision = 0;  // of the configuration, as history shows it; 0 outside the daemon
  std::shared_ptr<const policy::Snapshot> policy;
  packet::ParseOptions parse{};
  std::vector<std::uint16_t> domains;    // session domain by port number (packet/flow_key.h)
  std::vector<std::uint8_t> fails_open;  // by port number: its wire forwards what can't be judged
  flow::Timeouts timeouts{};
  flow::TcpOptions tcp{};
  flow::SessionLimits limits{};
  Pass non_ip = Pass::kForward;
  Pass table_full = Pass::kDrop;
  bool judges_zones = false;         // zones are configured: a packet without one is dropped
  bool counts_sources = false;       // a limit per source is configured
  bool has_midstream_rules = false;  // some rule overrides the engine's mid-stream setting
};

// The parts of `config` and `model` that a snapshot carries beside the compiled policy.
EngineSnapshot make_snapshot(const EngineConfig& config, const policy::PolicyModel& model,
                             std::shared_ptr<const policy::Snapshot> policy);

}  // namespace merlon::engine
