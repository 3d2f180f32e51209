// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/tester.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "measuring_thread.h"
#include "merlon/base/make_error.h"
#include "trial_setup.h"

namespace merlon::lab {
namespace {

constexpr base::Nanos kLead = 20'000'000;  // until both threads run
constexpr double kNanos = 1e9;
constexpr auto kProgressEvery = std::chrono::milliseconds(100);
constexpr auto kDrainLook = std::chrono::milliseconds(5);
constexpr double kMaxDrains = 10;  // a device that goes on for ever is not waited for

// Tells the control thread that the sender is done.
class Signal {
 public:
  void raise() {
    const std::lock_guard lock(mutex_);
    is_raised_ = true;
    changed_.notify_all();
  }
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return is_raised_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_raised_ = false;
};

class PortTester final : public Tester {
 public:
  PortTester(std::unique_ptr<Endpoint> a, std::unique_ptr<Endpoint> b, TesterSettings settings)
      : a_(std::move(a)),
        b_(std::move(b)),
        settings_(settings),
        trial_(static_cast<std::uint16_t>(std::random_device{}())) {}

  base::Result<TrialResult> run(const TrialSpec& spec, const std::atomic<bool>& stop,
                                const ProgressFn& progress) override;
  [[nodiscard]] Endpoint& a() noexcept override { return *a_; }
  [[nodiscard]] Endpoint* b() noexcept override { return b_.get(); }

 private:
  void measure(Trial& trial, const std::atomic<bool>& stop, const ProgressFn& progress);
  void drain(const Trial& trial, const Receiver& receiver, const Clock& clock) const;
  [[nodiscard]] bool is_dpdk() const { return a_->port().buffer_kind() == io::BufferKind::kDpdk; }

  std::unique_ptr<Endpoint> a_, b_;
  const TesterSettings settings_;
  std::uint16_t trial_;  // of the last trial
};

void PortTester::drain(const Trial& trial, const Receiver& receiver, const Clock& clock) const {
  const auto silence = static_cast<base::Nanos>(settings_.drain_s * kNanos);
  const base::Nanos start = clock.now();
  const auto limit = start + static_cast<base::Nanos>(kMaxDrains * settings_.drain_s * kNanos);
  while (clock.now() < limit) {
    const base::Nanos quiet_since = std::max(start, receiver.last_arrival());
    if (trial.is_all_received() || receiver.last_empty_look() - quiet_since >= silence) break;
    std::this_thread::sleep_for(kDrainLook);
  }
}

void PortTester::measure(Trial& trial, const std::atomic<bool>& stop, const ProgressFn& progress) {
  const Clock clock = Clock::start(kLead);
  Sender sender(clock, trial.time_shift, trial.grace);
  for (const Stream& s : trial.streams) sender.add(s);
  Receiver receiver(clock, trial.time_shift, trial.tag);
  bool may_sleep = true;
  for (const Ear& e : trial.ears) {
    receiver.add(e);
    may_sleep = may_sleep && e.has_kernel_stamps;
  }

  std::atomic<bool> is_over{false};
  Signal sent;
  std::thread receiving([&] {
    run_receiver(receiver, clock, {settings_.receiver_core, is_dpdk()}, may_sleep, is_over,
                 trial.receiver);
  });
  std::thread sending([&] {
    run_sender(sender, clock, {settings_.sender_core, is_dpdk()}, stop, trial.sender);
    sent.raise();
  });
  while (!sent.wait_for(kProgressEvery))
    if (progress) progress(trial.progress(clock));
  sending.join();
  drain(trial, receiver, clock);
  is_over.store(true, std::memory_order_release);
  receiving.join();
  trial.sender_use = sender.use();
  trial.receiver_use = receiver.use();
  trial.drift_ppm = clock.drift_ppm();
}

base::Result<TrialResult> PortTester::run(const TrialSpec& spec, const std::atomic<bool>& stop,
                                          const ProgressFn& progress) {
  const auto began = std::chrono::steady_clock::now();
  const double started =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  auto trial = Trial::create(spec, *a_, b_.get(), ++trial_);
  if (!trial.ok()) return trial.error();
  measure(**trial, stop, progress);
  TrialResult result = (*trial)->evaluate(settings_, stop.load());
  result.started = started;
  result.effective_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result;
}

}  // namespace

base::Result<bool> wait_for_path(Tester& tester, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  TrialSpec probe;
  probe.id = "path";
  probe.rate_pps = 200;
  probe.duration_s = 0.05;
  probe.is_warm_up = true;
  const std::atomic<bool> stop{false};
  do {
    const auto result = tester.run(probe, stop);
    if (!result.ok()) return result.error();
    if (result->frames.received > 0) return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

base::Result<std::unique_ptr<Tester>> Tester::create(std::unique_ptr<Endpoint> a,
                                                     std::unique_ptr<Endpoint> b,
                                                     const TesterSettings& settings) {
  if (a == nullptr) return base::invalid("a tester needs an endpoint that sends");
  if (!(settings.drain_s >= 0 && settings.drain_s <= 60))
    return base::invalid(fmt::format("drain_s {} is out of range", settings.drain_s),
                         "0 to 60 seconds");
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  for (const int core : {settings.sender_core, settings.receiver_core})
    if (core < -1 || core >= cores)
      return base::invalid(fmt::format("core {} is out of range", core),
                           fmt::format("-1 (not pinned) to {}", cores - 1));
  return std::unique_ptr<Tester>(
      std::make_unique<PortTester>(std::move(a), std::move(b), settings));
}

}  // namespace merlon::lab
