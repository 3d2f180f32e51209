// SPDX-License-Identifier: Apache-2.0
#include "background.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace merlon::control {

void leave_cores(std::span<const unsigned> worker_cores) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (worker_cores.empty() || ::sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (const unsigned core : worker_cores)
    if (core < CPU_SETSIZE) CPU_CLR(core, &set);
  if (CPU_COUNT(&set) != 0) ::sched_setaffinity(0, sizeof set, &set);
}

void yield_to_workers() noexcept {
  constexpr int kNice = 10;  // a tenth of the weight of nice 0
  // On Linux each thread has a value of its own.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
}

}  // namespace merlon::control
