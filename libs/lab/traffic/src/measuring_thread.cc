// SPDX-License-Identifier: Apache-2.0
#include "measuring_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include <fstream>
#include <optional>
#include <string>

#if defined(MERLON_WITH_DPDK)
#include "merlon/io/dpdk.h"
#endif

namespace merlon::lab {
namespace {

// A wake-up takes 50 to 150 us on a virtual machine: frames nearer than this are waited for awake.
constexpr base::Nanos kAwake = 300'000, kWakeBefore = 200'000;
constexpr base::Nanos kReceiverSleep = 100'000;
constexpr unsigned kIdleTurns = 256;

void sleep_for(base::Nanos time) noexcept {
  const timespec t{static_cast<time_t>(time / base::kNanosPerSecond),
                   static_cast<long>(time % base::kNanosPerSecond)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

void pause_core() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

double seconds(const timeval& t) noexcept {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

// Resident memory of this process, MiB.
double resident_mib() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  in >> total >> resident;
  return static_cast<double>(resident) * 4096 / (1024.0 * 1024.0);
}

// Pins, names and counts the calling thread while it lives.
class Visit {
 public:
  Visit(const char* name, const ThreadPlace& place, ThreadReport& report)
      : name_(name), report_(report) {
    pthread_setname_np(pthread_self(), name);
    prctl(PR_SET_TIMERSLACK, 1UL);
    if (place.core >= 0) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(static_cast<unsigned>(place.core), &set);
      report.is_pinned = pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
    }
#if defined(MERLON_WITH_DPDK)
    if (place.is_dpdk) dpdk_.emplace();
#endif
    getrusage(RUSAGE_THREAD, &before_);
  }
  ~Visit() {
    rusage after{};
    getrusage(RUSAGE_THREAD, &after);
    ProcessUse& u = report_.use;
    u.name = name_;
    u.role = "tester";
    u.user_s = seconds(after.ru_utime) - seconds(before_.ru_utime);
    u.system_s = seconds(after.ru_stime) - seconds(before_.ru_stime);
    u.rss_mib = resident_mib();
    u.voluntary_switches = static_cast<std::uint64_t>(after.ru_nvcsw - before_.ru_nvcsw);
    u.involuntary_switches = static_cast<std::uint64_t>(after.ru_nivcsw - before_.ru_nivcsw);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  const char* name_;
  ThreadReport& report_;
  rusage before_{};
#if defined(MERLON_WITH_DPDK)
  std::optional<io::DpdkThread> dpdk_;
#endif
};

}  // namespace

void run_sender(Sender& sender, const Clock& clock, const ThreadPlace& place,
                const std::atomic<bool>& stop, ThreadReport& report) {
  const Visit visit("lab-sender", place, report);
  GapWatch gap(clock);
  base::Nanos in_port = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    const base::Nanos next = sender.turn();
    gap.look(sender.use().port_time - in_port);
    in_port = sender.use().port_time;
    if (next == Sender::kNever) break;
    const base::Nanos wait = next - clock.now();
    if (wait > kAwake) {
      sleep_for(std::min(wait - kWakeBefore, base::kNanosPerSecond / 10));
      gap.skip();
    } else if (wait > 0) {
      pause_core();
    }
  }
  report.longest_gap = gap.longest();
}

void run_receiver(Receiver& receiver, const Clock& clock, const ThreadPlace& place, bool may_sleep,
                  const std::atomic<bool>& stop, ThreadReport& report) {
  const Visit visit("lab-receiver", place, report);
  GapWatch gap(clock);
  unsigned idle = 0;
  while (!stop.load(std::memory_order_acquire)) {
    if (receiver.turn() > 0) {
      idle = 0;
    } else if (may_sleep) {
      gap.look();
      sleep_for(kReceiverSleep);
      gap.skip();
      continue;
    } else if (++idle % kIdleTurns == 0) {
      sched_yield();  // a device may need this core
    } else {
      pause_core();
    }
    gap.look();
  }
  report.longest_gap = gap.longest();
}

}  // namespace merlon::lab
