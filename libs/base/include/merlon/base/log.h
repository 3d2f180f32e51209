// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program's own log, for control threads; the packet path never logs. Lines go to stderr as
// logfmt:
//   2026-08-22T10:11:12.123456+0000 info port: link up port=wan speed_mbps=10000
// An area that writes more than 50 lines of one level in a second is cut off; the count is told
// after it.
#include <fmt/core.h>

#include <string>
#include <string_view>

namespace merlon::base {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

void set_log_level(LogLevel level) noexcept;
LogLevel log_level() noexcept;
// Writes one line; `area` names the room or subject ("port", "config").
void log_line(LogLevel level, std::string_view area, std::string_view message);

template <class... Args>
void log(LogLevel level, std::string_view area, fmt::format_string<Args...> format,
         Args&&... args) {
  if (level < log_level()) return;
  log_line(level, area, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace merlon::base
