// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who used the processor during a trial: the device, the laboratory, the kernel's threads, and
// everybody else. Read from /proc before and after; control-only. Cost: one to ten milliseconds
// each, outside of the trial.
//
// Times of the device's threads are in nanoseconds (schedstat), those of cores in the kernel's
// ticks of 10 ms. The time of others is what the cores were busy and none of us was, so that
// compilers that came and went in between are in it.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/lab_model/run.h"
#include "merlon/lab_model/trial.h"

namespace merlon::lab {

// A line "cpuN ..." of /proc/stat, in seconds.
struct CoreTimes {
  unsigned core = 0;
  double busy = 0, softirq = 0, steal = 0;  // busy: user, nice, system, irq, softirq
};
std::vector<CoreTimes> parse_core_times(std::string_view stat, double ticks_per_second);

// /proc/<pid>/stat or that of a thread.
struct TaskStat {
  std::string name;
  int parent = 0, core = 0;
  double user = 0, system = 0;  // seconds
  std::uint64_t start_ticks = 0;
};
std::optional<TaskStat> parse_task_stat(std::string_view stat, double ticks_per_second);

struct Usage {
  double elapsed_s = 0;
  std::vector<ProcessUse>
      processes;  // threads of the device, threads of the kernel; roles "device", "kernel"
  std::vector<CoreUse> cores;         // longest_gap_us is the measuring threads' own to fill
  double device_s = 0, kernel_s = 0;  // sums of the above
  double laboratory_s = 0;            // our own process, the measuring threads among it
  double other_s = 0;
  std::vector<std::string> busiest_others;  // "cc1plus 0.84 s", at most three that are still there
};

class Accounting {
 public:
  // Begins to account; the ids are the device's processes.
  explicit Accounting(std::vector<int> device_processes);
  // `device_processes`: those of now, when they have changed.
  [[nodiscard]] Usage end();
  [[nodiscard]] Usage end(const std::vector<int>& device_processes);

 private:
  struct Task {
    TaskStat stat;
    std::string process;  // name of the process that the thread belongs to
    double run_s = 0;     // by schedstat; by stat where there is none
    std::uint64_t voluntary = 0, involuntary = 0;
    double rss_mib = 0;
  };
  struct Picture {
    std::chrono::steady_clock::time_point at;
    std::vector<CoreTimes> cores;
    std::map<int, Task> device, kernel, others;  // threads, threads, processes
    double laboratory_s = 0;
  };
  static Picture take(const std::vector<int>& device_processes);
  static void account(const std::map<int, Task>& before, const std::map<int, Task>& after,
                      const char* role, Usage& usage);
  static void share_others(const Picture& before, const Picture& after, Usage& usage);

  std::vector<int> device_;
  Picture begin_;
};

struct ContaminationLimits {
  double other_share = 0.05;  // of the time of the measuring cores
  double steal_share = 0.02;
  double gap_us = 10'000;  // that a measuring thread was kept from running
};
// Why the trial is contaminated; empty: it is not. `measuring`: cores of sender, receiver and
// pinned device; empty: all.
std::vector<Text> contamination(const Usage& usage, const std::vector<int>& measuring,
                                const ContaminationLimits& limits = {});

}  // namespace merlon::lab
