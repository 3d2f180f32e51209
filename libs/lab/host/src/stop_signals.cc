// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>

namespace merlon::lab {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
std::atomic<bool> is_stopped{false};
std::array<struct sigaction, kSignals.size()> former;

void on_signal(int signal) {
  if (is_stopped.exchange(true)) ::_exit(128 + signal);
}

}  // namespace

StopSignals::StopSignals() {
  is_stopped = false;
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &former[i]);
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &former[i], nullptr);
}

const std::atomic<bool>& StopSignals::flag() const noexcept { return is_stopped; }

}  // namespace merlon::lab
