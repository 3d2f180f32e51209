// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a replay came to, as summary.json and as text. Numbers only: no time of day, no path of this
// machine other than the captures' names as given, so that two runs write the same bytes.
#include <map>
#include <string>
#include <vector>

#include "merlon/control/runtime.h"
#include "merlon/engine/replay.h"

namespace merlon::control {

class ReplaySummary {
 public:
  void add_capture(const std::string& path, const io::CaptureReader& reader);
  // After the engine has stopped.
  void take(const engine::ReplayFeed& feed, Runtime& runtime);

  [[nodiscard]] bool has_errors() const noexcept { return has_errors_; }
  [[nodiscard]] std::string to_text(const std::string& directory) const;
  base::Result<void> write(const std::string& path) const;

 private:
  struct Capture {
    std::string path, error;
    std::uint64_t packets = 0, bytes = 0;
  };
  struct Hit {
    std::string rule, action;
    std::uint64_t sessions = 0, packets = 0, bytes = 0;
  };

  std::vector<Capture> captures_;
  std::vector<Hit> hits_;
  telemetry::CounterTotals totals_{};
  base::Nanos first_ = 0, last_ = 0;
  std::uint64_t packets_ = 0, unsupported_ = 0, peak_sessions_ = 0;
  unsigned rules_ = 0;
  bool has_errors_ = false;
};

}  // namespace merlon::control
