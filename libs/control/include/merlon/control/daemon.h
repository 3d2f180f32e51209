// SPDX-License-Identifier: Apache-2.0
#pragma once
// The daemon as a whole: configuration from the store or the start file, engine, event writer, API,
// and the loop that keeps them going until a signal comes. control-only; one per process.
//
// Signals: TERM and INT end it in order; HUP reopens the event files. Readiness and stopping are
// told to systemd when NOTIFY_SOCKET is set.
#include <string>

#include "merlon/base/result.h"
#include "merlon/control/config_load.h"
#include "merlon/control/ports.h"

namespace merlon::control {

struct DaemonOptions {
  std::string config_file;      // start file
  std::string state_directory;  // overrides the configuration's; empty: as configured
  std::string socket;           // overrides api.socket
  PortOptions ports;
};

// Runs until told to stop. Findings of a start file that can't be used go to stderr with their
// places; the last valid revision is taken then. Returns the process's exit code.
int run_daemon(const DaemonOptions& options);

}  // namespace merlon::control
