// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/log.h"

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>

#include "merlon/base/time.h"

namespace merlon::base {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

// Per area and level: lines of the current second and how many were kept back.
struct Budget {
  Nanos second = 0;
  unsigned lines = 0;
  unsigned suppressed = 0;
};
constexpr unsigned kLinesPerSecond = 50;

const char* level_name(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

}  // namespace

void set_log_level(LogLevel level) noexcept { g_level.store(level, std::memory_order_relaxed); }
LogLevel log_level() noexcept { return g_level.load(std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view area, std::string_view message) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, LogLevel>, Budget> budgets;
  const Nanos now = wall_clock_now();
  const std::lock_guard lock(mutex);
  Budget& b = budgets[{std::string(area), level}];
  if (now / kNanosPerSecond != b.second) {
    if (b.suppressed != 0)
      std::fputs(fmt::format("{} {} {}: {} more lines like the last were kept back\n",
                             format_timestamp(now), level_name(level), area, b.suppressed)
                     .c_str(),
                 stderr);
    b = {.second = now / kNanosPerSecond, .lines = 0, .suppressed = 0};
  }
  if (b.lines == kLinesPerSecond) {
    ++b.suppressed;
    return;
  }
  ++b.lines;
  std::fputs(fmt::format("{} {} {}: {}\n", format_timestamp(now), level_name(level), area, message)
                 .c_str(),
             stderr);
}

}  // namespace merlon::base
