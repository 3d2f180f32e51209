// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/accounting.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "merlon/lab_host/file.h"

namespace merlon::lab {
namespace {

namespace fs = std::filesystem;

constexpr int kKernelParent = 2;  // kthreadd

double ticks() { return static_cast<double>(::sysconf(_SC_CLK_TCK)); }

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

double own_seconds() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> all;
  std::error_code problem;
  for (fs::directory_iterator it(folder, problem), end; !problem && it != end;
       it.increment(problem)) {
    if (const auto n = parse_count(it->path().filename().string()))
      all.push_back(static_cast<int>(*n));
  }
  return all;
}

// "name:   123 kB" of /proc/<pid>/status.
std::uint64_t status_field(std::string_view status, std::string_view name) {
  for (const std::string_view line : split(status, '\n')) {
    if (!line.starts_with(name)) continue;
    const auto words = split_words(line.substr(name.size()));
    return words.empty() ? 0 : parse_count(words[0]).value_or(0);
  }
  return 0;
}

std::string decimal(double value, int places) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

std::string percent(double share) { return decimal(share * 100, 1); }

}  // namespace

std::vector<CoreTimes> parse_core_times(std::string_view stat, double ticks_per_second) {
  std::vector<CoreTimes> cores;
  for (const std::string_view line : split(stat, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 9 || !words[0].starts_with("cpu") || words[0].size() == 3) continue;
    const auto core = parse_count(words[0].substr(3));
    if (!core) continue;
    const auto time = [&](std::size_t i) {
      return static_cast<double>(parse_count(words[i]).value_or(0)) / ticks_per_second;
    };
    // user nice system idle iowait irq softirq steal
    cores.push_back({static_cast<unsigned>(*core), time(1) + time(2) + time(3) + time(6) + time(7),
                     time(7), time(8)});
  }
  return cores;
}

std::optional<TaskStat> parse_task_stat(std::string_view stat, double ticks_per_second) {
  const std::size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  const auto words = split_words(stat.substr(close + 1));
  if (words.size() < 37) return std::nullopt;  // state is field 3, processor field 39
  const auto number = [&](std::size_t field) { return parse_count(words[field - 3]).value_or(0); };
  TaskStat task;
  task.name = std::string(stat.substr(open + 1, close - open - 1));
  task.parent = static_cast<int>(number(4));
  task.user = static_cast<double>(number(14)) / ticks_per_second;
  task.system = static_cast<double>(number(15)) / ticks_per_second;
  task.start_ticks = number(22);
  task.core = static_cast<int>(number(39));
  return task;
}

Accounting::Accounting(std::vector<int> device_processes)
    : device_(std::move(device_processes)), begin_(take(device_)) {}

Accounting::Picture Accounting::take(const std::vector<int>& device_processes) {
  Picture p;
  p.at = std::chrono::steady_clock::now();
  p.laboratory_s = own_seconds();
  const double hz = ticks();
  if (const auto stat = read_file("/proc/stat")) p.cores = parse_core_times(*stat, hz);
  const auto read_task = [&](const std::string& folder) -> std::optional<Task> {
    const auto text = read_file(folder + "/stat");
    const auto stat = text ? parse_task_stat(*text, hz) : std::nullopt;
    if (!stat) return std::nullopt;
    Task task;
    task.stat = *stat;
    task.run_s = stat->user + stat->system;
    return task;
  };
  for (const int pid : device_processes) {
    const std::string folder = "/proc/" + std::to_string(pid);
    const auto process = read_task(folder);
    if (!process) continue;
    for (const int tid : numbers_in(folder + "/task")) {
      const std::string thread = folder + "/task/" + std::to_string(tid);
      auto task = read_task(thread);
      if (!task) continue;
      task->process = process->stat.name;
      const std::string schedstat = read_line(thread + "/schedstat");
      const auto words = split_words(schedstat);
      if (!words.empty())
        task->run_s = static_cast<double>(parse_count(words[0]).value_or(0)) / 1e9;
      const std::string status = read_file(thread + "/status").value_or("");
      task->voluntary = status_field(status, "voluntary_ctxt_switches:");
      task->involuntary = status_field(status, "nonvoluntary_ctxt_switches:");
      task->rss_mib = static_cast<double>(status_field(status, "VmRSS:")) / 1024;
      p.device[tid] = std::move(*task);
    }
  }
  const int self = static_cast<int>(::getpid());
  for (const int pid : numbers_in("/proc")) {
    const bool is_device =
        std::find(device_processes.begin(), device_processes.end(), pid) != device_processes.end();
    if (pid == self || is_device) continue;
    auto task = read_task("/proc/" + std::to_string(pid));
    if (!task) continue;
    const bool is_kernel = pid == kKernelParent || task->stat.parent == kKernelParent;
    (is_kernel ? p.kernel : p.others)[pid] = std::move(*task);
  }
  return p;
}

void Accounting::account(const std::map<int, Task>& before, const std::map<int, Task>& after,
                         const char* role, Usage& usage) {
  const bool is_device = std::string_view(role) == "device";
  for (const auto& [id, now] : after) {
    const auto found = before.find(id);
    // A thread of the same id and another start is another thread.
    const bool is_known =
        found != before.end() && found->second.stat.start_ticks == now.stat.start_ticks;
    const Task then = is_known ? found->second : Task{};
    const double run = std::max(0.0, now.run_s - then.run_s);
    if (!is_device && run <= 0) continue;
    const double user_ticks = now.stat.user - then.stat.user,
                 system_ticks = now.stat.system - then.stat.system;
    const double both = user_ticks + system_ticks;
    ProcessUse use;
    use.name = now.process.empty() || now.process == now.stat.name
                   ? now.stat.name
                   : now.process + "/" + now.stat.name;
    use.role = role;
    // The exact time, parted as the ticks are.
    use.user_s = both > 0 ? run * user_ticks / both : 0;
    use.system_s = run - use.user_s;
    use.rss_mib = now.rss_mib;
    use.voluntary_switches = now.voluntary - then.voluntary;
    use.involuntary_switches = now.involuntary - then.involuntary;
    (is_device ? usage.device_s : usage.kernel_s) += run;
    usage.processes.push_back(std::move(use));
  }
}

void Accounting::share_others(const Picture& before, const Picture& after, Usage& usage) {
  std::vector<std::pair<double, std::string>> busiest;
  double seen = 0;
  for (const auto& [pid, now] : after.others) {
    const auto found = before.others.find(pid);
    const bool is_known =
        found != before.others.end() && found->second.stat.start_ticks == now.stat.start_ticks;
    const double run = now.run_s - (is_known ? found->second.run_s : 0);
    if (run <= 0) continue;
    seen += run;
    busiest.emplace_back(run, now.stat.name);
    for (CoreUse& core : usage.cores) {
      if (core.core == static_cast<unsigned>(now.stat.core)) core.other_s += run;
    }
  }
  double busy = 0;
  for (const CoreUse& core : usage.cores) busy += core.busy * usage.elapsed_s;
  // Two ticks a core are the clock's grain.
  const double grain = 2 / ticks() * static_cast<double>(usage.cores.size());
  const double unseen = busy - usage.device_s - usage.kernel_s - usage.laboratory_s - seen;
  usage.other_s = seen + (unseen > grain ? unseen : 0);
  for (CoreUse& core : usage.cores) {
    if (unseen > grain && busy > 0) core.other_s += unseen * core.busy * usage.elapsed_s / busy;
  }
  std::sort(busiest.rbegin(), busiest.rend());
  for (std::size_t i = 0; i < busiest.size() && i < 3; ++i) {
    usage.busiest_others.push_back(busiest[i].second + " " + decimal(busiest[i].first, 2) + " s");
  }
}

Usage Accounting::end() { return end(device_); }

Usage Accounting::end(const std::vector<int>& device_processes) {
  const Picture now = take(device_processes);
  Usage usage;
  usage.elapsed_s = std::chrono::duration<double>(now.at - begin_.at).count();
  usage.laboratory_s = now.laboratory_s - begin_.laboratory_s;
  for (const CoreTimes& after : now.cores) {
    for (const CoreTimes& before : begin_.cores) {
      if (before.core != after.core || usage.elapsed_s <= 0) continue;
      CoreUse core;
      core.core = after.core;
      const auto share = [&](double a, double b) {
        return std::clamp((a - b) / usage.elapsed_s, 0.0, 1.0);
      };
      core.busy = share(after.busy, before.busy);
      core.softirq = share(after.softirq, before.softirq);
      core.steal = share(after.steal, before.steal);
      usage.cores.push_back(core);
    }
  }
  account(begin_.device, now.device, "device", usage);
  account(begin_.kernel, now.kernel, "kernel", usage);
  share_others(begin_, now, usage);
  return usage;
}

std::vector<Text> contamination(const Usage& usage, const std::vector<int>& measuring,
                                const ContaminationLimits& limits) {
  std::vector<Text> reasons;
  double other = 0, time = 0;
  for (const CoreUse& core : usage.cores) {
    const bool is_measuring =
        measuring.empty() || std::find(measuring.begin(), measuring.end(),
                                       static_cast<int>(core.core)) != measuring.end();
    if (!is_measuring) continue;
    other += core.other_s;
    time += usage.elapsed_s;
    const std::string name = std::to_string(core.core);
    if (core.steal > limits.steal_share) {
      const std::string share = percent(core.steal);
      reasons.push_back({fmt::format("the host took {} % of core {} (steal)", share, name),
                         fmt::format("хост отнял {} % времени ядра {} (steal)", share, name)});
    }
    if (core.longest_gap_us > limits.gap_us) {
      const std::string gap = decimal(core.longest_gap_us / 1000, 1);
      reasons.push_back(
          {fmt::format("a measuring thread on core {} was kept from running for {} ms", name, gap),
           fmt::format("измеряющий поток на ядре {} не получал процессор {} мс", name, gap)});
    }
  }
  if (time > 0 && other / time > limits.other_share) {
    std::string who;
    for (const std::string& name : usage.busiest_others) who += (who.empty() ? ": " : ", ") + name;
    reasons.push_back(
        {"other processes used " + percent(other / time) + " % of the measuring cores" + who,
         "другие процессы заняли " + percent(other / time) + " % времени измеряющих ядер" + who});
  }
  return reasons;
}

}  // namespace merlon::lab
