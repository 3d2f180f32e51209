// SPDX-License-Identifier: Apache-2.0
// Figures of the policy room as JSON lines: {name, unit, value, spread, ...}. Look-ups are timed
// per pass over a shuffled trace; the value is the median of the passes, spread is (max - min) /
// median.
//   policy_bench [--classbench DIR] [--passes N] [--only NAME]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "merlon/base/time.h"
#include "merlon/policy/analysis.h"
#include "merlon/policy/compile.h"
#include "merlon/policy/service.h"

namespace merlon::policy {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

struct Options {
  std::string classbench = "../shared/data/classbench";
  std::string only;
  unsigned passes = 7;
};

struct Sample {
  double median = 0, spread = 0;
};
Sample summarise(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Sample s;
  s.median = values[values.size() / 2];
  s.spread = s.median > 0 ? (values.back() - values.front()) / s.median : 0;
  return s;
}

void report(const std::string& name, const char* unit, const Sample& s,
            const std::string& more = {}) {
  fmt::print("{{\"name\": \"{}\", \"unit\": \"{}\", \"value\": {:.4g}, \"spread\": {:.2f}{}}}\n",
             name, unit, s.median, s.spread, more);
  std::fflush(stdout);
}

struct Set {
  PolicyModel model;
  std::vector<Query> trace;
};

// One ClassBench line: @src dst sport : sport dport : dport proto/mask flags/mask. Flags are not
// looked at.
bool read_rule(const std::string& line, Rule& rule, Query& corner) {
  char source[64], destination[64];
  unsigned s0 = 0, s1 = 0, d0 = 0, d1 = 0, protocol = 0, mask = 0;
  if (std::sscanf(line.c_str(), "@%63s %63s %u : %u %u : %u %x/%x", source, destination, &s0, &s1,
                  &d0, &d1, &protocol, &mask) != 8)
    return false;
  rule.sources.push_back({source, false, {}});
  rule.destinations.push_back({destination, false, {}});
  const bool has_range = mask != 0 && has_ports(static_cast<std::uint8_t>(protocol));
  if (mask != 0 && !has_range)
    rule.services.push_back({fmt::format("proto/{}", protocol), false, {}});
  else if (mask != 0)
    rule.services.push_back(
        {fmt::format("{}/{}-{}:{}-{}", protocol == 6 ? "tcp" : "udp", s0, s1, d0, d1), false, {}});
  corner.source = base::parse_address_range(source)->first;
  corner.destination = base::parse_address_range(destination)->first;
  corner.source_port = static_cast<std::uint16_t>(s0);
  corner.destination_port = static_cast<std::uint16_t>(d0);
  corner.protocol = static_cast<std::uint8_t>(mask != 0 ? protocol : 6);
  return true;
}

// Nine packets in ten are aimed into a random rule, the rest are anywhere.
std::vector<Query> make_trace(const std::vector<Query>& corners, const PolicyModel& model,
                              std::size_t n, std::mt19937_64& random) {
  std::vector<Query> trace;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = random() % corners.size();
    Query q = corners[r];
    const auto inside = [&](const Name& text, const base::IpAddress& low) {
      const auto range = base::parse_address_range(text.text);
      const std::uint64_t width =
          std::uint64_t{range->last.v4_value()} - range->first.v4_value() + 1;
      return base::IpAddress::v4(low.v4_value() + static_cast<std::uint32_t>(random() % width));
    };
    q.source = inside(model.rules[r].sources[0], q.source);
    q.destination = inside(model.rules[r].destinations[0], q.destination);
    if (random() % 10 == 0)
      q.destination = base::IpAddress::v4(static_cast<std::uint32_t>(random()));
    if (q.source_port == 0) q.source_port = static_cast<std::uint16_t>(1024 + random() % 60000);
    if (q.destination_port == 0) q.destination_port = static_cast<std::uint16_t>(random());
    trace.push_back(q);
  }
  return trace;
}

Set load(const std::string& path, std::mt19937_64& random) {
  Set set;
  std::vector<Query> corners;
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    Rule rule;
    Query corner;
    if (!read_rule(line, rule, corner)) continue;
    rule.id = fmt::format("r{}", set.model.rules.size());
    rule.action = Action::kPermit;
    set.model.rules.push_back(std::move(rule));
    corners.push_back(corner);
  }
  if (!corners.empty()) set.trace = make_trace(corners, set.model, 100'000, random);
  return set;
}

volatile std::uint32_t sink;

Sample time_single(const Snapshot& s, const std::vector<Query>& trace, unsigned passes) {
  std::vector<double> values;
  for (unsigned p = 0; p < passes; ++p) {
    const auto t = Clock::now();
    std::uint32_t sum = 0;
    for (const Query& q : trace) sum += s.decide(q, 0).rule;
    sink = sum;
    values.push_back(seconds_since(t) * 1e9 / static_cast<double>(trace.size()));
  }
  return summarise(values);
}

Sample time_bulk(const Snapshot& s, const std::vector<Query>& trace, unsigned passes) {
  std::vector<double> values;
  std::vector<Decision> out(64);
  for (unsigned p = 0; p < passes; ++p) {
    const auto t = Clock::now();
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < trace.size(); i += 64) {
      s.decide_bulk(&trace[i], out.data(), std::min<std::size_t>(64, trace.size() - i), 0);
      sum += out[0].rule;
    }
    sink = sum;
    values.push_back(seconds_since(t) * 1e9 / static_cast<double>(trace.size()));
  }
  return summarise(values);
}

void report_set(const std::string& name, const Set& set, const Options& options) {
  RuleSlots slots;
  std::vector<double> build;
  CompileResult r;
  for (unsigned i = 0; i < 5; ++i) {
    r = compile(set.model, slots);
    if (!r.errors.empty()) {
      fmt::print(stderr, "{}: {}\n", name, r.errors.front().to_string());
      return;
    }
    build.push_back(r.stats.seconds * 1e3);
  }
  const SnapshotSize size = r.snapshot->size();
  report(name + "_lookup", "ns", time_single(*r.snapshot, set.trace, options.passes),
         fmt::format(", \"rules\": {}, \"rows\": {}, \"classes\": {}", size.rules, size.rows,
                     size.classes));
  report(name + "_lookup_bulk", "ns", time_bulk(*r.snapshot, set.trace, options.passes));
  report(
      name + "_build", "ms", summarise(build),
      fmt::format(", \"bytes\": {}, \"estimated_bytes\": {}", size.bytes, r.stats.estimated_bytes));
}

bool is_wanted(const Options& o, const std::string& name) {
  return o.only.empty() || name.find(o.only) != std::string::npos;
}

void run_classbench(const Options& options) {
  std::mt19937_64 random(1);
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& e : std::filesystem::directory_iterator(options.classbench, none))
    if (e.path().extension() == ".rules") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  for (const auto& f : files) {
    const std::string name = f.stem().string();
    if (is_wanted(options, name)) report_set(name, load(f, random), options);
  }
}

// n host blocks that no packet meets, then one rule that lets everything pass.
Set host_blocks(std::size_t n, std::mt19937_64& random) {
  Set set;
  for (std::size_t i = 0; i < n; ++i) {
    Rule r;
    r.id = fmt::format("block-{}", i);
    const auto a =
        base::IpAddress::v4(0xc6120000U + static_cast<std::uint32_t>(random() % 0x20000));
    r.sources.push_back({a.to_string(), false, {}});
    set.model.rules.push_back(std::move(r));
  }
  Rule allow;
  allow.id = "allow";
  allow.action = Action::kPermit;
  set.model.rules.push_back(std::move(allow));
  for (std::size_t i = 0; i < 100'000; ++i) {
    Query q;
    q.source = base::IpAddress::v4(0x0a000000U + static_cast<std::uint32_t>(random() & 0xffffff));
    q.destination =
        base::IpAddress::v4(0x0b000000U + static_cast<std::uint32_t>(random() & 0xffffff));
    q.protocol = 17;
    q.source_port = static_cast<std::uint16_t>(random());
    q.destination_port = 53;
    set.trace.push_back(q);
  }
  return set;
}

void run_scaling(const Options& options) {
  std::mt19937_64 random(2);
  for (const std::size_t n :
       std::initializer_list<std::size_t>{0, 100, 1000, 4000, 10'000, 100'000}) {
    const std::string name = fmt::format("rule_scaling_{}", n);
    if (is_wanted(options, name)) report_set(name, host_blocks(n, random), options);
  }
}

// 100,000 rules of many kinds: hosts, networks and ports drawn apart, zones not used.
void run_diverse(const Options& options) {
  if (!is_wanted(options, "diverse_100k")) return;
  std::mt19937_64 random(3);
  Set set;
  std::vector<Query> corners;
  for (std::size_t i = 0; i < 100'000; ++i) {
    const auto prefix = [&] {
      static constexpr unsigned kLengths[] = {32, 32, 32, 28, 24, 24, 22, 20, 16, 16, 12, 8};
      const unsigned bits = kLengths[random() % 12];
      const std::uint32_t pool = static_cast<std::uint32_t>(random() % 4096) * 0x000f1235U;
      const std::uint32_t a = (pool + static_cast<std::uint32_t>(random() % 512)) &
                              static_cast<std::uint32_t>(~std::uint64_t{0} << (32 - bits));
      return fmt::format("{}/{}", base::IpAddress::v4(a).to_string(), bits);
    };
    const unsigned port = static_cast<unsigned>(random() % 2000);
    const std::string line =
        fmt::format("@{} {} 0 : 65535 {} : {} 0x{:02x}/0xFF", prefix(), prefix(), port,
                    random() % 4 == 0 ? port + 100 : port, random() % 2 ? 6 : 17);
    Rule rule;
    Query corner;
    if (!read_rule(line, rule, corner)) continue;
    rule.id = fmt::format("r{}", i);
    set.model.rules.push_back(std::move(rule));
    corners.push_back(corner);
  }
  set.trace = make_trace(corners, set.model, 200'000, random);
  report_set("diverse_100k", set, options);
}

// One rule replaced in place, without its model and as a commit of the whole model.
void run_update(const Options& options) {
  for (const std::size_t n : {std::size_t{10'000}, std::size_t{100'000}}) {
    if (!is_wanted(options, fmt::format("update_{}", n))) continue;
    std::mt19937_64 random(4);
    Set set = host_blocks(n, random);
    RuleSlots slots;
    std::unique_ptr<Snapshot> current = compile(set.model, slots).snapshot;
    std::vector<double> one, amortised, commit;
    for (unsigned p = 0; p < 11; ++p) {
      const auto start = Clock::now();
      constexpr unsigned kChanges = 330;
      std::vector<double> each;
      for (unsigned k = 0; k < kChanges; ++k) {
        RuleChange change;
        change.rule = set.model.rules[random() % n];
        change.rule.sources[0].text = fmt::format("10.1.{}.{}", k % 250, p);
        const auto t = Clock::now();
        auto next = apply(*current, slots, {&change, 1});
        each.push_back(seconds_since(t) * 1e6);
        current = *std::move(next);
      }
      amortised.push_back(seconds_since(start) * 1e6 / kChanges);
      one.push_back(summarise(each).median);
    }
    report(fmt::format("update_{}_one_rule", n), "us", summarise(one));
    report(fmt::format("update_{}_amortised", n), "us", summarise(amortised));
    current = compile(set.model, slots).snapshot;
    for (unsigned p = 0; p < 11; ++p) {
      set.model.rules[random() % n].action = Action::kReject;
      const auto t = Clock::now();
      auto next = compile(set.model, slots, {}, current.get());
      commit.push_back(seconds_since(t) * 1e3);
      if (!next.stats.is_incremental) fmt::print(stderr, "commit was not incremental\n");
      current = std::move(next.snapshot);
    }
    report(fmt::format("update_{}_commit_one_rule", n), "ms", summarise(commit));
  }
}

void run_analysis(const Options& options) {
  std::mt19937_64 random(5);
  for (const char* name : {"acl1_10k", "fw1_10k", "ipc1_10k"}) {
    const std::string label = fmt::format("analysis_{}", name);
    if (!is_wanted(options, label)) continue;
    const Set set = load(fmt::format("{}/{}.rules", options.classbench, name), random);
    if (set.model.rules.empty()) continue;
    RuleSlots slots;
    const CompileResult r = compile(set.model, slots);
    std::vector<double> times;
    Analysis a;
    for (unsigned p = 0; p < 5; ++p) {
      const auto t = Clock::now();
      a = analyse(*r.snapshot, 0);
      times.push_back(seconds_since(t) * 1e3);
    }
    report(label, "ms", summarise(times),
           fmt::format(", \"findings\": {}, \"complete\": {}", a.findings.size(), a.is_complete));
  }
}

}  // namespace
}  // namespace merlon::policy

int main(int argc, char** argv) {
  merlon::policy::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--classbench") == 0) options.classbench = argv[i + 1];
    if (std::strcmp(argv[i], "--only") == 0) options.only = argv[i + 1];
    if (std::strcmp(argv[i], "--passes") == 0)
      options.passes = static_cast<unsigned>(std::max(1, std::atoi(argv[i + 1])));
  }
  merlon::policy::run_classbench(options);
  merlon::policy::run_scaling(options);
  merlon::policy::run_diverse(options);
  merlon::policy::run_update(options);
  merlon::policy::run_analysis(options);
  return 0;
}
