// SPDX-License-Identifier: Apache-2.0
#pragma once
// From counters to a TrialResult. control-only.
#include "merlon/lab_tcp/client.h"
#include "merlon/lab_tcp/flood.h"
#include "merlon/lab_tcp/server.h"
#include "turn_account.h"

namespace merlon::lab::tcp {

struct LoadParts {
  const TcpLoadSpec& spec;
  const Client* client;  // either may be null
  const Server* server;
  const Flood* flood;
  LoopUse use;
  double tls_memory_per_end = 0;  // bytes; 0 without TLS
};

// Fills frames, kpis, series, histograms and the stamp.
void fill_result(const LoadParts& parts, TrialResult& result);

}  // namespace merlon::lab::tcp
