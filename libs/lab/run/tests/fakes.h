// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulated laboratory: devices with a known capacity, a tester that counts what they would pass,
// and time that passes only when something takes time. Deterministic: the same requests give the
// same results.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fake_device.h"
#include "merlon/lab_run/manager.h"

namespace merlon::lab {

// Forwards up to the capacity, loses the rest; 5 us of delay, 500 us when overloaded.
class FakeTester final : public Tester {
 public:
  FakeTester(World& world, FakeDevice& device) : world_(world), device_(device) {}
  [[nodiscard]] Endpoint& a() noexcept override { std::terminate(); }
  [[nodiscard]] Endpoint* b() noexcept override { return nullptr; }

  base::Result<TrialResult> run(const TrialSpec& spec, const std::atomic<bool>& stop,
                                const ProgressFn& progress) override {
    world_.log.push_back("trial " + spec.id);
    if (world_.stop_after > 0 && world_.trials == world_.stop_after && world_.stop != nullptr)
      *world_.stop = true;
    ++world_.trials;
    if (stop) return TrialResult{};
    device_.fake_topology().blocked_s = 0;
    const bool is_burst = spec.traffic.pacing == Pacing::kBurst;
    const bool is_most = spec.traffic.pacing == Pacing::kMaximum;
    const double intended = is_most ? world_.ceiling_pps : spec.rate_pps;
    const double burst_rate = is_burst ? world_.ceiling_pps : intended;
    const double offered = std::min(burst_rate, world_.ceiling_pps);
    for (double t = 0; t < spec.duration_s && progress; t += 0.1)
      progress(
          {t, static_cast<std::uint64_t>(offered * t), static_cast<std::uint64_t>(offered * t)});
    if (die_now()) device_.die();

    TrialResult r;
    r.spec = spec;
    r.sending_s = spec.duration_s;
    const double frames = std::floor(intended * spec.duration_s);
    r.frames.intended = static_cast<std::uint64_t>(frames);
    r.frames.offered =
        static_cast<std::uint64_t>(std::min(frames, is_burst ? frames : offered * spec.duration_s));
    double passed = static_cast<double>(r.frames.offered);  // whole frames
    if (is_burst) {
      // A queue of `buffer` frames that drains at the capacity while the burst comes in.
      const double longest = device_.buffer() / std::max(1e-9, 1 - device_.capacity() / burst_rate);
      passed = std::min(passed, std::max(longest, 0.0));
    } else {
      passed = std::min(passed, device_.capacity() * spec.duration_s);
    }
    passed -= std::min(passed, device_.fake_topology().blocked_s * intended);
    if (option(device_.spec(), "hangs", 0) > 0) passed = 0;
    passed = std::floor(passed);
    if (starve_now()) {
      r.frames = {};
      r.stamp = Stamp::kFailed;
      r.stamp_reasons = {"the sender's port took no frame"};
      world_.now += spec.duration_s + 0.3;
      return r;
    }
    r.frames.received = static_cast<std::uint64_t>(passed);
    r.frames.lost = r.frames.offered - r.frames.received;
    r.offered_pps = static_cast<double>(r.frames.offered) / spec.duration_s;
    r.received_pps = passed / spec.duration_s;
    r.loss_ratio = frames > 0 ? (frames - passed) / frames : 0;
    if (r.loss_ratio < 1e-6) r.loss_ratio = 0;
    const bool is_over = r.loss_ratio > 0;
    r.latency_actual.record(is_over ? 500'000 : 5'000,
                            std::max<std::uint64_t>(1, r.frames.received));
    r.latency_intended = r.latency_actual;
    r.total_cpu_s =
        passed * (device_.spec().driver == "null" ? 1e-6 : 2e-6 + 1e-8 * device_.spec().rules);
    r.total_cpu_s *= 1 + world_.cpu_noise * weather(spec.id);
    for (int ms = 0; ms < static_cast<int>(spec.duration_s * 1e3); ++ms) {
      const auto each = static_cast<std::uint32_t>(intended / 1e3);
      const double at = static_cast<double>(ms) / 1e3;
      const double third = spec.duration_s / 3;
      const bool is_out = at >= third && at < third + device_.fake_topology().blocked_s;
      r.timeline_offered.push_back(each);
      r.timeline_lost.push_back(is_out ? each : 0);
    }
    if (spec.traffic.pacing == Pacing::kSteps) lose_by_steps(r);
    world_.now += spec.duration_s + 0.3;
    return r;
  }

 private:
  // The first so many trials on the device find the tester without a processor.
  bool starve_now() {
    return starved_[device_.spec().driver]++ <
           static_cast<unsigned>(option(device_.spec(), "starves", 0));
  }
  // What is above the capacity; after a step down everything for the option "dazed_ms".
  void lose_by_steps(TrialResult& r) const {
    const auto& steps = r.spec.traffic.steps;
    double begin = 0, dazed_until = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double end = begin + steps[i].share * r.spec.duration_s * 1e3;
      const double per_ms = r.spec.rate_pps * steps[i].factor / 1e3;
      const double over = std::max(0.0, per_ms - device_.capacity() / 1e3);
      for (double ms = std::round(begin); ms < std::round(end); ms += 1)
        r.timeline_lost[static_cast<std::size_t>(ms)] =
            static_cast<std::uint32_t>(std::ceil(ms < dazed_until ? per_ms : over));
      if (over > 0) dazed_until = std::round(end) + option(device_.spec(), "dazed_ms", 0);
      begin = end;
    }
  }
  // -1 to 1.
  static double weather(const std::string& id) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : id) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    h ^= h >> 29;
    return static_cast<double>(h % 2001) / 1000 - 1;
  }
  bool die_now() {
    const double at = option(device_.spec(), "dies_at", 0);
    return at > 0 && ++runs_[device_.spec().driver] >= static_cast<unsigned>(at) &&
           deaths_[device_.spec().driver]++ <
               static_cast<unsigned>(option(device_.spec(), "deaths", 1));
  }

  World& world_;
  FakeDevice& device_;

 public:
  // Over all testers of a test; reset by the fixture.
  inline static std::map<std::string, unsigned> runs_, deaths_, starved_;
};

class FakeAccountant final : public Accountant {
 public:
  explicit FakeAccountant(World& world) : world_(world) {}
  void begin(const std::vector<int>&) override {}
  void end(TrialResult& result) override {
    if (world_.contaminated_from == 0 || world_.trials < world_.contaminated_from) return;
    result.stamp = std::max(result.stamp, Stamp::kContaminated);
    result.stamp_reasons.emplace_back("somebody else");
  }

 private:
  World& world_;
};

class FakeServices final : public Services {
 public:
  explicit FakeServices(World& world) : world_(world) {
    FakeTester::runs_.clear(), FakeTester::deaths_.clear(), FakeTester::starved_.clear();
  }
  double now() override { return world_.now; }
  void sleep(double seconds) override { world_.now += seconds; }
  Environment environment() override {
    Environment e;
    e.machine = "simulated";
    e.tsc_hz = 2e9;
    return e;
  }
  std::vector<std::string> clean() override { return {}; }
  base::Result<std::unique_ptr<Device>> device(const DeviceSpec& spec) override {
    if (spec.driver == "unknown")
      return base::Error{base::Errc::kInvalidValue, "there is no driver \"unknown\"", {}, "", {}};
    return std::unique_ptr<Device>(std::make_unique<FakeDevice>(world_, spec));
  }
  base::Result<std::unique_ptr<Tester>> tester(Topology&) override {
    return std::unique_ptr<Tester>(std::make_unique<FakeTester>(world_, *world_.up));
  }
  std::unique_ptr<Accountant> accountant() override {
    return std::make_unique<FakeAccountant>(world_);
  }
  LossPlace locate(const std::vector<LayerCounter>&, const std::vector<LayerCounter>&,
                   std::uint64_t lost) override {
    return {{}, {lost > 0 ? "in the fake" : "", ""}};
  }
  std::optional<Absence> missing(const DeviceSpec&, const std::string& function) override {
    if (!missing_functions) return std::nullopt;
    return Absence{{"not available in this build: " + function, "нет в этой сборке: " + function}};
  }
  base::Result<TrialResult> connections(Topology&, const TcpRequest& request, const TrialSpec& spec,
                                        const std::atomic<bool>&, const ProgressFn&) override {
    world_.log.push_back("trial " + spec.id);
    ++world_.trials;
    TrialResult r;
    r.spec = spec;
    const double rate = std::min(request.connections_per_s, connection_capacity);
    r.kpis["attempted"] = request.connections_per_s * request.sustain_s;
    r.kpis["failed"] = std::max(0.0, (request.connections_per_s - rate) * request.sustain_s);
    r.kpis["connections_per_s"] = rate;
    r.kpis["offered_connections_per_s"] = request.connections_per_s;
    r.kpis["completed"] = rate * request.sustain_s;
    r.total_cpu_s = rate * request.sustain_s * (world_.up->spec().driver == "null" ? 1e-5 : 3e-5);
    r.sending_s = request.sustain_s;
    world_.now += spec.duration_s + 0.5;
    return r;
  }
  std::shared_ptr<void> hog(unsigned) override { return nullptr; }

  bool missing_functions = true;
  double connection_capacity = 12'000;

 private:
  World& world_;
};

}  // namespace merlon::lab
