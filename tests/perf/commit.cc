// SPDX-License-Identifier: Apache-2.0
// Commits while a worker carries traffic at full rate: how long from the model to the moment when
// every worker decides by the new policy, how long a packet can have waited, and whether any was
// lost or overtaken.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "options.h"
#include "rig.h"
#include "rules.h"

namespace merlon::perf {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

class Committer {
 public:
  explicit Committer(Rig& rig) : rig_(rig) {}

  // Incremental: starts from the policy published last. Else everything is built anew.
  void commit(const char* what, const policy::PolicyModel& model, bool is_incremental) {
    const Reading before = rig_.read();
    const auto start = Clock::now();
    auto compiled =
        policy::compile(model, rig_.slots(), {}, is_incremental ? current_.get() : nullptr);
    if (compiled.snapshot == nullptr) fail(compiled.errors.front().to_string());
    if (is_incremental && !compiled.stats.is_incremental)
      fail("the commit of one rule was a full build");
    std::shared_ptr<const policy::Snapshot> policy = std::move(compiled.snapshot);
    const engine::PublishReport report = rig_.publish(model, policy);
    const double took = milliseconds_since(start);
    current_ = std::move(policy);
    if (!report.all_passed) fail("a worker did not take the new policy");
    const Reading after = rig_.read();
    fmt::print(
        "{{\"what\": \"{}\", \"milliseconds\": {:.3f}, \"compile_milliseconds\": {:.3f}, "
        "\"blocked_microseconds\": {:.2f}, \"pps\": {:.0f}}}\n",
        what, took, compiled.stats.seconds * 1e3, static_cast<double>(report.blocked_nanos) / 1e3,
        static_cast<double>(after.packets - before.packets) / rig_.busy_seconds(before, after));
  }

 private:
  Rig& rig_;
  std::shared_ptr<const policy::Snapshot> current_;
};

// Another address in one rule.
void edit(policy::PolicyModel& model, std::uint64_t run) {
  policy::Rule& r = model.rules[4 * ((run * 997) % (model.rules.size() / 4))];
  r.sources.assign(1, {.text = fmt::format("198.51.100.{}", 1 + run % 250)});
}

}  // namespace

int run_commit(const Options& o) {
  pin_this_thread(0);
  RigSettings settings;
  settings.flows = 65'536;
  settings.keeps_sessions = settings.checks_order = true;
  Rig rig(settings);
  Committer committer(rig);
  const std::uint64_t runs = o.number("--runs");
  // The larger policy last: rules keep their numbers for the life of a process, and 100,000 of them
  // would weigh on every later commit.
  policy::PolicyModel model = blocks_then_allow(10'000);
  for (std::uint64_t run = 0; run < runs; ++run) {
    // Rules change each time, or there would be nothing to build.
    edit(model, 2 * run);
    committer.commit("10k", model, false);
    sleep_seconds(0.2);
    edit(model, 2 * run + 1);
    committer.commit("one_in_10k", model, true);
    sleep_seconds(0.2);
  }
  model = blocks_then_allow(100'000);
  for (std::uint64_t run = 0; run < runs; ++run) {
    edit(model, run);
    committer.commit("100k", model, false);
    sleep_seconds(0.2);
  }
  rig.engine().stop();
  const Reading end = rig.read();
  const io::PortCounters left = rig.engine().port(0).counters(),
                         right = rig.engine().port(1).counters();
  fmt::print(
      "{{\"sent\": {}, \"arrived\": {}, \"dropped\": {}, \"lost\": {}, \"out_of_order\": {}}}\n",
      left.rx_packets, right.tx_packets, end.dropped,
      static_cast<std::int64_t>(left.rx_packets) - static_cast<std::int64_t>(right.tx_packets),
      right.tx_errors);
  return 0;
}

}  // namespace merlon::perf
