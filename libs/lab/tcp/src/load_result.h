// SPDX-License-Identifier: Apache-2.0
#pragma once
// From counters to a TrialResult. control-only.
#include "merlon/lab_tcp/client.h"
#include "merlon/lab_tcp/flood.h"
#include "merlon/lab_tcp/server.h"

namespace merlon::lab::tcp {

// What the measuring loop saw of itself.
struct LoopUse {
  double elapsed_s = 0;
  std::uint64_t busy_ticks = 0, ticks = 0;  // TSC, in turns with work and in all
  std::uint64_t longest_gap_ticks = 0;      // between two turns
};

struct LoadParts {
  const TcpLoadSpec& spec;
  const Client* client;  // either may be null
  const Server* server;
  const Flood* flood;
  LoopUse use;
};

// Fills frames, kpis, series, histograms and the stamp.
void fill_result(const LoadParts& parts, TrialResult& result);

}  // namespace merlon::lab::tcp
