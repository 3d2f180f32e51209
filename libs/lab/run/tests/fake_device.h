// SPDX-License-Identifier: Apache-2.0
#pragma once
// The simulated laboratory's world and its devices, which know how much they pass and count it.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "merlon/lab_run/manager.h"

namespace merlon::lab {

class FakeDevice;

struct World {
  FakeDevice* up = nullptr;  // started last
  double now = 1'000'000;
  double ceiling_pps = 1'000'000;
  unsigned trials = 0;      // run so far
  unsigned stop_after = 0;  // trials; 0: never
  std::atomic<bool>* stop = nullptr;
  unsigned contaminated_from = 0;             // trials; 0: never
  double cpu_noise = 0;                       // of a trial's CPU time, drawn from its id
  std::vector<std::string> log;               // starts, stops, trials
  std::map<std::string, std::string> absent;  // driver -> why
  std::map<std::string, int> alive;           // devices that exist and were started
};

inline double option(const DeviceSpec& spec, const char* name, double otherwise) {
  const auto found = spec.options.find(name);
  return found == spec.options.end() ? otherwise : std::stod(found->second);
}

class FakeTopology final : public Topology {
 public:
  explicit FakeTopology(World& world) : world_(world) {}
  [[nodiscard]] EndpointSpec generator() const override { return {}; }
  [[nodiscard]] EndpointSpec sink() const override { return {}; }
  [[nodiscard]] std::string device_namespace() const override { return "sut"; }
  [[nodiscard]] std::vector<std::string> device_ports() const override { return {"s0", "s1"}; }
  [[nodiscard]] std::vector<std::string> chain() const override { return {"gen", "fake", "snk"}; }
  [[nodiscard]] const std::vector<std::string>& commands() const override { return commands_; }
  base::Result<void> flap(double seconds) override {
    blocked_s += seconds + 0.05;
    world_.now += seconds;
    return {};
  }
  double blocked_s = 0;  // of the trial that runs

 private:
  World& world_;
  std::vector<std::string> commands_;
};

class FakeDevice final : public Device {
 public:
  FakeDevice(World& world, DeviceSpec spec)
      : world_(world), spec_(std::move(spec)), topology_(world) {}
  ~FakeDevice() override { static_cast<void>(stop().ok()); }
  [[nodiscard]] std::optional<Absence> probe() const override {
    const auto found = world_.absent.find(spec_.driver);
    if (found == world_.absent.end()) return std::nullopt;
    return Absence{{found->second, found->second}};
  }
  base::Result<void> start(const std::string& run_id) override {
    if (spec_.options.contains("fails_to_start"))
      return base::Error{base::Errc::kIo, "the fake does not start", {}, "ask the test", {}};
    world_.now += 1;
    world_.log.push_back("start " + spec_.driver + " " + run_id);
    ++world_.alive[spec_.driver];
    is_up_ = is_alive_ = true;
    world_.up = this;
    return {};
  }
  base::Result<double> load_rules(const RuleSet& rules) override {
    rules_ = rules;
    world_.now += 0.1;
    topology_.blocked_s += option(spec_, "commit_blocks", 0);
    return 0.1;
  }
  base::Result<void> stop() override {
    if (is_up_) --world_.alive[spec_.driver];
    if (is_up_) world_.log.push_back("stop " + spec_.driver);
    is_up_ = is_alive_ = false;
    return {};
  }
  base::Result<void> kill() override {
    is_alive_ = false;
    return {};
  }
  base::Result<void> restart() override {
    is_alive_ = true;
    world_.now += 0.3;
    topology_.blocked_s += 0.3;
    return {};
  }
  [[nodiscard]] bool is_alive() const override { return is_alive_; }
  [[nodiscard]] std::vector<LayerCounter> counters() const override { return {}; }
  [[nodiscard]] std::vector<int> processes() const override { return {}; }
  [[nodiscard]] Topology& topology() override { return topology_; }
  [[nodiscard]] std::string configuration() const override { return "fake"; }
  [[nodiscard]] const std::vector<std::string>& commands() const override { return commands_; }
  [[nodiscard]] std::string version() const override { return "1"; }

  // What the tester's simulation asks.
  [[nodiscard]] double capacity() const { return option(spec_, "capacity", 1e9); }
  [[nodiscard]] double buffer() const { return option(spec_, "buffer", 100); }
  void die() { is_alive_ = false; }
  [[nodiscard]] const DeviceSpec& spec() const { return spec_; }
  FakeTopology& fake_topology() { return topology_; }
  [[nodiscard]] const RuleSet& rules() const { return rules_; }

 private:
  World& world_;
  DeviceSpec spec_;
  FakeTopology topology_;
  RuleSet rules_;
  std::vector<std::string> commands_{"fake up"};
  bool is_up_ = false, is_alive_ = false;
};

}  // namespace merlon::lab
