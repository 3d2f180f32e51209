// SPDX-License-Identifier: Apache-2.0
// Carrying traffic: rates on demand, first-packet cost over policies, allocations, memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>

#include "allocations.h"
#include "options.h"
#include "rig.h"
#include "rules.h"

namespace merlon::perf {
namespace {

using Kind = TrafficSettings::Kind;

Kind kind_of(const std::string& name) {
  if (name == "known") return Kind::kKnown;
  if (name == "new") return Kind::kNew;
  if (name == "connections") return Kind::kConnections;
  if (name == "mixed") return Kind::kMixed;
  fail("--traffic is known, new, connections or mixed");
}

RigSettings settings_of(const Options& o) {
  RigSettings s;
  s.capture = o.text("--capture");
  s.kind = kind_of(o.text("--traffic"));
  s.flows = o.number("--flows");
  s.rules = o.number("--rules");
  s.workers = static_cast<unsigned>(o.number("--workers"));
  // One worker on core 1, two on 1 and 0: core 0 also runs what measures.
  s.cores = s.workers == 1 ? std::vector<unsigned>{static_cast<unsigned>(o.number("--cores"))}
                           : std::vector<unsigned>{1, 0};
  if (s.workers > 2) fail("--workers is 1 or 2");
  s.is_io_only = o.text("--way") == "io";
  s.keeps_sessions = s.kind == Kind::kKnown;
  const std::uint64_t sessions = o.number("--sessions");
  if (sessions != 0) {
    s.max_sessions = static_cast<std::uint32_t>(sessions);
  } else if (s.kind == Kind::kKnown) {
    // Twice the conversations, as one would configure; the daemon's default is the least.
    s.max_sessions =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(s.max_sessions, 2 * s.flows));
  }
  return s;
}

void print_window(const Rig& rig, const Reading& from, const Reading& to) {
  const double frequency = base::TscClock::frequency();
  const double wall = static_cast<double>(to.tsc - from.tsc) / frequency;
  const double seconds = rig.busy_seconds(from, to);
  const auto packets = static_cast<double>(to.packets - from.packets);
  const auto created = static_cast<double>(to.created - from.created);
  fmt::print(
      "{{\"share\": {:.4f}, \"pps\": {:.0f}, \"cycles_per_packet\": {:.1f}, "
      "\"created_per_second\": {:.0f}, \"cycles_per_created\": {:.1f}, \"dropped\": {}, "
      "\"sessions\": {}}}\n",
      seconds / wall, packets / seconds, seconds * frequency / std::max(1.0, packets),
      created / seconds, seconds * frequency / std::max(1.0, created), to.dropped - from.dropped,
      to.sessions);
}

// Until `packets` more have come in.
Reading carry(const Rig& rig, const Reading& from, std::uint64_t packets) {
  for (;;) {
    sleep_seconds(0.01);
    const Reading now = rig.read();
    if (now.received - from.received >= packets) return now;
  }
}

}  // namespace

int run_live(const Options& o) {
  pin_this_thread(0);
  Rig rig(settings_of(o));
  fmt::print("ready\n");
  std::string word;
  double seconds = 0;
  while (std::cin >> word >> seconds) {
    // After a pause caches are cold and time-outs are due.
    sleep_seconds(0.3);
    const Reading from = rig.read();
    sleep_seconds(seconds);
    print_window(rig, from, rig.read());
  }
  return 0;
}

int run_scaling(const Options& o) {
  static constexpr std::array<std::size_t, 6> kRules = {0, 100, 1'000, 4'000, 10'000, 100'000};
  pin_this_thread(0);
  RigSettings settings = settings_of(o);
  settings.kind = Kind::kNew;
  Rig rig(settings);
  std::vector<policy::PolicyModel> models;
  std::vector<std::shared_ptr<const policy::Snapshot>> policies;
  for (const std::size_t n : kRules) {
    models.push_back(blocks_then_allow(n));
    auto compiled = policy::compile(models.back(), rig.slots());
    if (compiled.snapshot == nullptr) fail(compiled.errors.front().to_string());
    policies.emplace_back(std::move(compiled.snapshot));
  }
  for (std::uint64_t run = 0; run < o.number("--runs"); ++run) {
    for (std::size_t k = 0; k < kRules.size(); ++k) {
      rig.publish(models[k], policies[k]);
      sleep_seconds(0.1);
      const Reading from = rig.read();
      sleep_seconds(o.real("--seconds"));
      const Reading to = rig.read();
      const double cycles = rig.busy_seconds(from, to) * base::TscClock::frequency();
      fmt::print(
          "{{\"rules\": {}, \"cycles_per_created\": {:.1f}, \"dropped\": {}}}\n", kRules[k],
          cycles / static_cast<double>(std::max<std::uint64_t>(1, to.created - from.created)),
          to.dropped - from.dropped);
    }
  }
  return 0;
}

int run_allocations(const Options& o) {
  RigSettings settings = settings_of(o);
  settings.kind = Kind::kMixed;
  settings.flows = std::max<std::uint64_t>(settings.flows, 16'384);
  Rig rig(settings);
  const Reading from = rig.read();
  const std::uint64_t before = allocation_count();
  const Reading to = carry(rig, from, o.number("--packets"));
  const std::uint64_t allocations = allocation_count() - before;
  const bool has_all_kinds = to.dropped > from.dropped && to.created > from.created;
  fmt::print(
      "{{\"allocations\": {}, \"packets\": {}, \"created\": {}, \"dropped\": {}, \"counted\": "
      "{}}}\n",
      allocations, to.received - from.received, to.created - from.created,
      to.dropped - from.dropped, counts_allocations());
  return allocations == 0 && has_all_kinds ? 0 : 1;
}

int run_instructions(const Options& o) {
  RigSettings settings = settings_of(o);
  settings.keeps_sessions = true;
  Rig rig(settings);
  carry(rig, rig.read(), o.number("--packets"));
  rig.engine().stop();
  fmt::print("{{\"packets\": {}}}\n", rig.read().received);
  return 0;
}

int run_memory(const Options& o) {
  const RigSettings s = settings_of(o);
  flow::TableOptions options;
  options.max_sessions = s.max_sessions;
  const double all = static_cast<double>(flow::SessionTable::memory_for(options));
  options.max_sources = 0;
  const double sessions_only = static_cast<double>(flow::SessionTable::memory_for(options));
  fmt::print(
      "{{\"max_sessions\": {}, \"bytes_per_session\": {:.1f}, \"bytes_per_session_with_sources\": "
      "{:.1f}}}\n",
      s.max_sessions, sessions_only / s.max_sessions, all / s.max_sessions);
  return 0;
}

}  // namespace merlon::perf
