// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device under test: an engine with one wire between two ports, live workers pinned to cores,
// configuration as the daemon would have it. Or, as the limit, the same ports with a loop between
// them that does nothing else. control-only.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "merlon/engine/engine.h"
#include "merlon/policy/compile.h"
#include "traffic.h"

namespace merlon::perf {

struct RigSettings {
  // Empty: synthetic traffic. Else a capture that net_pcap repeats without end.
  std::string capture;
  TrafficSettings::Kind kind = TrafficSettings::Kind::kKnown;
  std::uint64_t flows = 1024;
  std::size_t rules = 0;
  std::uint32_t max_sessions = 262'144;
  unsigned workers = 1;
  std::vector<unsigned> cores{1};
  bool is_io_only = false;
  bool keeps_sessions = false;  // time-outs of an hour, so that a pause ends no session
  bool checks_order = false;
};

struct Reading {
  std::uint64_t tsc = 0;
  std::uint64_t packets = 0;     // that left
  std::uint64_t busy_nanos = 0;  // for which the workers really had their cores, all together
  std::uint64_t received = 0, dropped = 0, created = 0, sessions = 0;
};

class Rig {
 public:
  // Opens ports, compiles the policy, starts the workers and waits until every known conversation
  // has its session. Ends the program with a message when anything fails.
  explicit Rig(const RigSettings& settings);
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  [[nodiscard]] Reading read() const;
  [[nodiscard]] engine::Engine& engine() noexcept { return *engine_; }
  [[nodiscard]] policy::RuleSlots& slots() noexcept { return slots_; }
  // Seconds for which a worker had its core between two readings: what other programs took is left
  // out, and all rates are by these seconds.
  [[nodiscard]] double busy_seconds(const Reading& from, const Reading& to) const;

  // Compiles and publishes; `model` must have the ports of blocks_then_allow().
  engine::PublishReport publish(const policy::PolicyModel& model,
                                std::shared_ptr<const policy::Snapshot> policy);

 private:
  std::vector<std::unique_ptr<io::Port>> synthetic_ports() const;
  std::vector<std::unique_ptr<io::Port>> device_ports() const;
  void start_engine(std::vector<std::unique_ptr<io::Port>> ports);
  void start_io(std::vector<std::unique_ptr<io::Port>> ports);
  void warm_up() const;
  void find_threads();

  const RigSettings settings_;
  engine::EngineConfig config_;
  policy::RuleSlots slots_;
  std::unique_ptr<engine::Engine> engine_;
  // io only
  std::vector<std::unique_ptr<io::Port>> ports_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> moved_{0};
  std::thread io_thread_;
  std::vector<int> thread_ids_;  // of the kernel
};

[[noreturn]] void fail(const std::string& message);
void sleep_seconds(double seconds);
void pin_this_thread(unsigned core);

}  // namespace merlon::perf
