// SPDX-License-Identifier: Apache-2.0
// Look-ups and updates on ClassBench sets (Taylor and Turner, 2007), checked against a linear scan
// that shares no code with the classifier: it reads the addresses and ports from the file's text by
// itself.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "merlon/policy/compile.h"
#include "options.h"
#include "rig.h"

namespace merlon::perf {
namespace {

using Clock = std::chrono::steady_clock;

// A line of a set: @source destination low : high low : high protocol/mask flags/mask. TCP flags
// are not looked at.
struct Line {
  std::uint32_t source = 0, source_bits = 0, destination = 0, destination_bits = 0;
  unsigned source_low = 0, source_high = 0, low = 0, high = 0, protocol = 0;
  bool has_protocol = false;

  [[nodiscard]] bool has_ports() const { return has_protocol && (protocol == 6 || protocol == 17); }
  [[nodiscard]] bool matches(const policy::Query& q) const {
    const auto in = [](const base::IpAddress& a, std::uint32_t prefix, std::uint32_t bits) {
      return bits == 0 || ((a.v4_value() ^ prefix) >> (32 - bits)) == 0;
    };
    if (!in(q.source, source, source_bits) || !in(q.destination, destination, destination_bits))
      return false;
    if (has_protocol && q.protocol != protocol) return false;
    return !has_ports() || (q.source_port >= source_low && q.source_port <= source_high &&
                            q.destination_port >= low && q.destination_port <= high);
  }
};

std::uint32_t address_of(const unsigned (&parts)[4]) {
  return parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3];
}

bool read_line(const std::string& text, Line& line) {
  unsigned s[4], d[4], mask = 0;
  if (std::sscanf(text.c_str(), "@%u.%u.%u.%u/%u %u.%u.%u.%u/%u %u : %u %u : %u %x/%x", &s[0],
                  &s[1], &s[2], &s[3], &line.source_bits, &d[0], &d[1], &d[2], &d[3],
                  &line.destination_bits, &line.source_low, &line.source_high, &line.low,
                  &line.high, &line.protocol, &mask) != 16)
    return false;
  line.source = address_of(s);
  line.destination = address_of(d);
  line.has_protocol = mask != 0;
  return true;
}

policy::Rule rule_of(const Line& line, std::size_t n) {
  policy::Rule r;
  r.id = fmt::format("r{}", n);
  r.action = policy::Action::kPermit;
  const auto prefix = [](std::uint32_t address, std::uint32_t bits) {
    return policy::Name{.text =
                            fmt::format("{}/{}", base::IpAddress::v4(address).to_string(), bits)};
  };
  r.sources.push_back(prefix(line.source, line.source_bits));
  r.destinations.push_back(prefix(line.destination, line.destination_bits));
  if (line.has_ports()) {
    r.services.push_back(
        {.text = fmt::format("{}/{}-{}:{}-{}", line.protocol == 6 ? "tcp" : "udp", line.source_low,
                             line.source_high, line.low, line.high)});
  } else if (line.has_protocol) {
    r.services.push_back({.text = fmt::format("proto/{}", line.protocol)});
  }
  return r;
}

struct Set {
  std::vector<Line> lines;
  policy::PolicyModel model;
  std::vector<policy::Query> trace;
};

// Nine packets of ten aim into a random rule, the tenth has a random destination.
policy::Query aim(const Line& l, std::mt19937_64& random) {
  const auto inside = [&random](std::uint32_t prefix, std::uint32_t bits) {
    const std::uint64_t width = std::uint64_t{1} << (32 - bits);
    return base::IpAddress::v4(prefix + static_cast<std::uint32_t>(random() % width));
  };
  const auto between = [&random](unsigned low, unsigned high) {
    return static_cast<std::uint16_t>(low + random() % (high - low + 1));
  };
  policy::Query q;
  q.source = inside(l.source, l.source_bits);
  q.destination = random() % 10 == 0 ? inside(0, 0) : inside(l.destination, l.destination_bits);
  q.protocol = static_cast<std::uint8_t>(l.has_protocol ? l.protocol : 6);
  if (q.protocol != 6 && q.protocol != 17) return q;
  q.source_port = l.has_ports() ? between(l.source_low, l.source_high) : between(1024, 65'535);
  q.destination_port = l.has_ports() ? between(l.low, l.high) : between(0, 65'535);
  return q;
}

Set read_set(const std::filesystem::path& path, std::mt19937_64& random) {
  Set set;
  std::ifstream in(path);
  std::string text;
  while (std::getline(in, text)) {
    Line line;
    if (!read_line(text, line)) continue;
    set.model.rules.push_back(rule_of(line, set.lines.size()));
    set.lines.push_back(line);
  }
  if (set.lines.empty()) fail("no rules in " + path.string());
  for (unsigned i = 0; i < 100'000; ++i)
    set.trace.push_back(aim(set.lines[random() % set.lines.size()], random));
  return set;
}

// Answers of a sample that differ from the first line that matches.
unsigned count_errors(const Set& set, const policy::Snapshot& snapshot) {
  unsigned errors = 0;
  for (std::size_t i = 0; i < 2'000; ++i) {
    const policy::Query& q = set.trace[i * 47 % set.trace.size()];
    const auto line = std::ranges::find_if(set.lines, [&q](const Line& l) { return l.matches(q); });
    const policy::SlotInfo* found = snapshot.slot(snapshot.decide(q, 0).rule);
    const std::string expected =
        line == set.lines.end() ? "default" : fmt::format("r{}", line - set.lines.begin());
    errors += found == nullptr || found->id != expected ? 1U : 0U;
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

}  // namespace

int run_classifier(const Options& o) {
  pin_this_thread(1);
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(o.text("--classbench"), none))
    if (entry.path().extension() == ".rules") files.push_back(entry.path());
  if (files.empty()) fail("no *.rules in " + o.text("--classbench"));
  std::ranges::sort(files);
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
