// SPDX-License-Identifier: Apache-2.0
// Look-ups and updates on ClassBench sets: their cost, and whether every answer is that of a linear
// scan.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "classbench.h"
#include "options.h"
#include "rig.h"

namespace merlon::perf {
namespace {

using Clock = std::chrono::steady_clock;

struct Set : ClassSet {
  std::vector<policy::Query> trace;
};

Set read_set(const std::filesystem::path& path, std::mt19937_64& random) {
  Set set{{read_class_set(path)}, {}};
  for (unsigned i = 0; i < 100'000; ++i)
    set.trace.push_back(aim(set.lines[random() % set.lines.size()], random));
  return set;
}

std::string id_of(const policy::Snapshot& snapshot, std::uint32_t slot) {
  const policy::SlotInfo* found = snapshot.slot(slot);
  return found == nullptr ? "" : found->id;
}

// Answers of a sample that differ from the first line that matches.
unsigned count_errors(const Set& set, const policy::Snapshot& snapshot) {
  unsigned errors = 0;
  for (std::size_t i = 0; i < 2'000; ++i) {
    const policy::Query& q = set.trace[i * 47 % set.trace.size()];
    errors += id_of(snapshot, snapshot.decide(q, 0).rule) != set.scan(q) ? 1U : 0U;
  }
  return errors;
}

volatile std::uint32_t g_sink;

double lookup_nanos(const policy::Snapshot& snapshot, const std::vector<policy::Query>& trace) {
  const auto start = Clock::now();
  std::uint32_t sum = 0;
  for (const policy::Query& q : trace) sum += snapshot.decide(q, 0).rule;
  g_sink = sum;
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
         static_cast<double>(trace.size());
}

double bulk_nanos(const policy::Snapshot& snapshot, const std::vector<policy::Query>& trace) {
  std::array<policy::Decision, packet::Burst::kCapacity> decisions;
  const auto start = Clock::now();
  for (std::size_t i = 0; i < trace.size(); i += decisions.size())
    snapshot.decide_bulk(&trace[i], decisions.data(), std::min(decisions.size(), trace.size() - i),
                         0);
  g_sink = decisions[0].rule;
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
         static_cast<double>(trace.size());
}

struct UpdateCost {
  double median = 0;         // of one change, microseconds
  double with_rebuilds = 0;  // all changes by their number, the full build of every 33rd included
};

// One rule's destination moved, 330 times.
UpdateCost update_cost(const Set& set, policy::RuleSlots& slots, std::mt19937_64& random) {
  policy::CompileResult compiled = policy::compile(set.model, slots);
  std::unique_ptr<policy::Snapshot> current = std::move(compiled.snapshot);
  std::vector<double> each;
  const auto start = Clock::now();
  for (unsigned k = 0; k < 330; ++k) {
    policy::RuleChange change;
    change.rule = set.model.rules[random() % set.model.rules.size()];
    change.rule.destinations.assign(1, {.text = fmt::format("203.0.113.{}", k % 256)});
    const auto t = Clock::now();
    auto next = policy::apply(*current, slots, {&change, 1});
    each.push_back(std::chrono::duration<double, std::micro>(Clock::now() - t).count());
    if (!next) fail(next.error().to_string());
    current = *std::move(next);
  }
  const double all = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  std::ranges::sort(each);
  return {.median = each[each.size() / 2], .with_rebuilds = all / static_cast<double>(each.size())};
}

// Every answer of decide() and decide_bulk() that is not the scan's; the first is told.
std::uint64_t disagreements(const std::string& name, const ClassSet& set,
                            const policy::Snapshot& snapshot,
                            const std::vector<policy::Query>& queries) {
  std::vector<policy::Decision> bulk(queries.size());
  snapshot.decide_bulk(queries.data(), bulk.data(), queries.size(), 0);
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const policy::Query& q = queries[i];
    const std::string want = set.scan(q);
    const std::string one = id_of(snapshot, snapshot.decide(q, 0).rule);
    const std::string many = id_of(snapshot, bulk[i].rule);
    if (one == want && many == want) continue;
    if (wrong++ == 0)
      fmt::print("{}: {}:{} > {}:{} protocol {}: alone {}, in bulk {}, by the scan {}\n", name,
                 q.source.to_string(), q.source_port, q.destination.to_string(), q.destination_port,
                 q.protocol, one, many, want);
  }
  return wrong;
}

// Moves rules elsewhere one by one, past the point where the image is built anew, in set and
// snapshot alike.
std::unique_ptr<policy::Snapshot> move_rules(ClassSet& set, const policy::Snapshot& snapshot,
                                             policy::RuleSlots& slots, std::mt19937_64& random) {
  std::unique_ptr<policy::Snapshot> moved;
  for (unsigned k = 0; k < 40; ++k) {
    const std::size_t n = random() % set.lines.size();
    set.lines[n].destination = 0xcb007100U + k;
    set.lines[n].destination_bits = 32;
    set.model.rules[n] = rule_of(set.lines[n], n);
    const policy::RuleChange change{.rule = set.model.rules[n]};
    auto next = policy::apply(moved ? *moved : snapshot, slots, {&change, 1});
    if (!next) fail(next.error().to_string());
    moved = *std::move(next);
  }
  return moved;
}

std::uint64_t check_set(const std::filesystem::path& file, std::uint64_t packets) {
  std::mt19937_64 random(2);
  ClassSet set = read_class_set(file);
  policy::RuleSlots slots;
  const policy::CompileResult compiled = policy::compile(set.model, slots);
  if (compiled.snapshot == nullptr) fail(compiled.errors.front().to_string());
  std::vector<policy::Query> queries;
  const std::size_t most_corners = packets / 2;
  for (std::size_t n = 0; n < set.lines.size() && queries.size() < most_corners; ++n)
    add_corners(set.lines[random() % set.lines.size()], queries);
  while (queries.size() < packets)
    queries.push_back(aim(set.lines[random() % set.lines.size()], random));
  const std::string name = file.stem().string();
  std::uint64_t wrong = disagreements(name, set, *compiled.snapshot, queries);
  const auto moved = move_rules(set, *compiled.snapshot, slots, random);
  queries.resize(packets / 10);
  for (unsigned k = 0; k < 40; ++k) {
    queries.push_back(queries[k]);
    queries.back().destination = base::IpAddress::v4(0xcb007100U + k);
  }
  wrong += disagreements(name + " with 40 rules moved", set, *moved, queries);
  return wrong;
}

}  // namespace

int run_equality(const Options& o) {
  const auto files = class_files(o.text("--classbench"));
  if (files.empty()) fail("no *.rules in " + o.text("--classbench"));
  unsigned bad = 0;
  for (const auto& file : files) {
    const std::uint64_t wrong = check_set(file, o.number("--packets"));
    if (wrong != 0)
      fmt::print("{}: {} answers differ from the linear scan\n", file.stem().string(), wrong);
    bad += wrong != 0 ? 1U : 0U;
  }
  fmt::print("{} passed, {} failed\n", files.size() - bad, bad);
  return bad == 0 ? 0 : 1;
}

int run_classifier(const Options& o) {
  pin_this_thread(1);
  const auto files = class_files(o.text("--classbench"));
  if (files.empty()) fail("no *.rules in " + o.text("--classbench"));
  std::mt19937_64 random(1);
  unsigned errors = 0;
  for (const auto& file : files) {
    const Set set = read_set(file, random);
    policy::RuleSlots slots;
    const policy::CompileResult compiled = policy::compile(set.model, slots);
    if (compiled.snapshot == nullptr) fail(compiled.errors.front().to_string());
    const unsigned wrong = count_errors(set, *compiled.snapshot);
    errors += wrong;
    for (std::uint64_t run = 0; run < o.number("--runs"); ++run) {
      const UpdateCost update = update_cost(set, slots, random);
      fmt::print(
          "{{\"set\": \"{}\", \"rules\": {}, \"nanoseconds\": {:.2f}, \"bulk_nanoseconds\": "
          "{:.2f}, "
          "\"update_microseconds\": {:.3f}, \"update_with_rebuilds_microseconds\": {:.1f}, "
          "\"build_milliseconds\": {:.2f}, \"bytes\": {}, \"wrong\": {}}}\n",
          file.stem().string(), set.lines.size(), lookup_nanos(*compiled.snapshot, set.trace),
          bulk_nanos(*compiled.snapshot, set.trace), update.median, update.with_rebuilds,
          compiled.stats.seconds * 1e3, compiled.stats.bytes, wrong);
    }
  }
  return errors == 0 ? 0 : 1;
}

}  // namespace merlon::perf
