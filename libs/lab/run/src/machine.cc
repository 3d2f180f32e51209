// SPDX-License-Identifier: Apache-2.0
// The machine's own services: real devices, testers and clocks.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "merlon/lab_device/loss.h"
#include "merlon/lab_host/accounting.h"
#include "merlon/lab_host/command.h"
#include "merlon/lab_host/environment.h"
#include "merlon/lab_run/services.h"
#include "merlon/lab_tcp/tcp_load.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

constexpr int kSenderCore = 0, kReceiverCore = 1;

// A child that does nothing but use its core; it goes with its handle, and with us whatever
// happens.
std::shared_ptr<void> make_hog(unsigned core) {
  const pid_t child = ::fork();
  if (child < 0) return nullptr;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
    for (volatile unsigned long turns = 0;;) turns = turns + 1;
  }
  return {std::malloc(1), [child](void* handle) {
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
            std::free(handle);
          }};
}

int core_or_any(int core) {
  return std::thread::hardware_concurrency() > static_cast<unsigned>(core) ? core : -1;
}

}  // namespace

}  // namespace merlon::lab
