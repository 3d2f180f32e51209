// SPDX-License-Identifier: Apache-2.0
// The measuring program behind ./dev bench. Each command drives the real worker loop with a
// compiled policy and prints JSON lines; tests/perf/bench.py puts them beside limits and peers.
// docs/benchmarks.md explains the figures.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "allocations.h"
#include "merlon/base/log.h"
#include "options.h"

namespace {

using merlon::perf::Options;

constexpr const char* kUsage =
    "merlon_perf COMMAND [--name value]...\n"
    "  live         carries traffic until standard input ends; `go SECONDS` there measures\n"
    "  scaling      cost of a first packet behind 0 to 100,000 rules\n"
    "  commit       policies published under traffic\n"
    "  classifier   look-ups and updates on ClassBench sets\n"
    "  equality     ClassBench sets against a linear scan, --packets each; exit code 1 when they "
    "differ\n"
    "  allocations  allocations of workers; exit code 1 when there are any\n"
    "  instructions carries --packets and says how many; for callgrind\n"
    "  memory       bytes a session\n";

bool parse(int argc, char** argv, Options& options) {
  options.values = {
      {"--capture", ""}, {"--traffic", "known"},    {"--flows", "1024"},
      {"--rules", "0"},  {"--sessions", "0"},       {"--workers", "1"},
      {"--cores", "1"},  {"--way", "engine"},       {"--seconds", "1"},

      {"--runs", "5"},   {"--packets", "10000000"}, {"--classbench", "../shared/data/classbench"}};
  for (int i = 2; i < argc; i += 2) {
    if (!options.values.contains(argv[i]) || i + 1 == argc) return false;
    options.values[argv[i]] = argv[i + 1];
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace merlon::perf;
  exempt_this_thread();
  merlon::base::set_log_level(merlon::base::LogLevel::kWarning);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const struct {
    const char* name;
    int (*run)(const Options&);
  } commands[] = {{"live", run_live},
                  {"scaling", run_scaling},
                  {"commit", run_commit},
                  {"classifier", run_classifier},
                  {"equality", run_equality},
                  {"allocations", run_allocations},
                  {"instructions", run_instructions},
                  {"memory", run_memory}};
  Options options;
  if (argc >= 2 && parse(argc, argv, options))
    for (const auto& c : commands)
      if (std::strcmp(argv[1], c.name) == 0) return c.run(options);
  fmt::print(stderr, "{}", kUsage);
  return 2;
}
