// SPDX-License-Identifier: Apache-2.0
// merlon_cases: runs text cases. docs/test-cases.md says how they are written.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "case_run.h"
#include "merlon/base/log.h"

namespace {

namespace fs = std::filesystem;
using merlon::cases::CaseResult;
using merlon::cases::CaseRun;

struct Options {
  std::vector<std::string> names;  // parts of case names; none: all
  std::string root = MERLON_CASES_DIR;
  unsigned workers = 1;
  bool is_list = false, is_verbose = false;
};

constexpr const char* kUsage =
    "usage: merlon_cases [--workers N] [--root DIR] [--list] [--verbose] [NAME...]\n"
    "  NAME   a part of a case's path below the root, such as tcp/ or rst\n";

std::optional<Options> read_options(int argc, char** argv) {
  Options o;
  for (int n = 1; n < argc; ++n) {
    const std::string_view word = argv[n];
    const bool has_next = n + 1 < argc;
    if (word == "--list") {
      o.is_list = true;
    } else if (word == "--verbose") {
      o.is_verbose = true;
    } else if (word == "--workers" && has_next) {
      const std::string_view value = argv[++n];
      std::from_chars(value.data(), value.data() + value.size(), o.workers);
      if (o.workers == 0 || o.workers > 16) return std::nullopt;
    } else if (word == "--root" && has_next) {
      o.root = argv[++n];
    } else if (word.starts_with('-')) {
      return std::nullopt;
    } else {
      o.names.emplace_back(word);
    }
  }
  return o;
}

std::vector<std::string> find_cases(const Options& o) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(o.root)) {
    if (entry.path().filename() != "case.txt") continue;
    const std::string name = fs::relative(entry.path().parent_path(), o.root).string();
    if (name.starts_with("runner/")) continue;  // cases that have to fail
    const bool is_wanted =
        o.names.empty() || std::ranges::any_of(o.names, [&](const std::string& part) {
          return name.find(part) != std::string::npos;
        });
    if (is_wanted) found.push_back(name);
  }
  std::ranges::sort(found);
  return found;
}

// Drop reasons of which no case speaks, but for those in `without-case.txt`, each with why ("NAME:
// why").
std::vector<std::string> uncovered(const Options& o, const std::set<std::string>& named) {
  std::set<std::string> excused;
  std::vector<std::string> out;
  std::ifstream list(o.root + "/without-case.txt");
  for (std::string line; std::getline(list, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.starts_with('#')) continue;
    excused.insert(line.substr(0, colon));
    if (named.contains(line.substr(0, colon)))
      out.push_back(fmt::format("without-case.txt: {} has a case now, take the line out",
                                line.substr(0, colon)));
  }
  for (unsigned r = 1; r < merlon::base::kDropReasonCount; ++r) {
    const std::string name(
        merlon::base::drop_reason_name(static_cast<merlon::base::DropReason>(r)));
    if (!named.contains(name) && !excused.contains(name))
      out.push_back(fmt::format("no case names the drop reason {}", name));
  }
  return out;
}

struct Totals {
  unsigned passed = 0, failed = 0, skipped = 0;
};

void print_result(const std::string& name, const CaseResult& result, bool is_verbose) {
  if (!result.failures.empty()) {
    fmt::print("FAILED {}\n", name);
    for (const std::string& f : result.failures) fmt::print("  {}\n", f);
  } else if (is_verbose) {
    fmt::print("{} {}\n", result.is_skipped ? "skipped" : "passed", name);
  }
}

// A case of what is known to be missing counts as skipped as long as it fails.
void settle_gap(const std::string& name, CaseResult& result) {
  if (result.failures.empty()) {
    result.failures.emplace_back("the gap is closed: take its line out of case.txt");
    return;
  }
  fmt::print("gap {}: {}\n", name, result.gap);
  result.failures.clear();
  result.is_skipped = true;
}

int run_all(const Options& o, const std::string& scratch) {
  Totals totals;
  std::set<std::string> named;
  const std::vector<std::string> all = find_cases(o);
  for (const std::string& name : all) {
    CaseResult result =
        CaseRun(o.root + "/" + name, {.workers = o.workers, .scratch = scratch}).run();
    named.merge(result.reasons);
    if (!result.gap.empty()) settle_gap(name, result);
    print_result(name, result, o.is_verbose);
    ++(!result.failures.empty() ? totals.failed
       : result.is_skipped      ? totals.skipped
                                : totals.passed);
  }
  if (o.names.empty() && o.workers == 1)
    for (const std::string& what : uncovered(o, named)) {
      fmt::print("FAILED coverage\n  {}\n", what);
      ++totals.failed;
    }
  fmt::print("{} passed, {} failed", totals.passed, totals.failed);
  if (totals.skipped != 0) fmt::print(", {} skipped", totals.skipped);
  fmt::print("\n");
  return totals.failed == 0 && !all.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = read_options(argc, argv);
  if (!options) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (options->is_list) {
    for (const std::string& name : find_cases(*options)) fmt::print("{}\n", name);
    return 0;
  }
  merlon::base::set_log_level(merlon::base::LogLevel::kError);
  std::error_code ignored;
  const fs::path memory = "/dev/shm";
  const fs::path base = fs::is_directory(memory, ignored) ? memory : fs::temp_directory_path();
  const fs::path scratch = base / fmt::format("merlon-cases-{}", getpid());
  fs::create_directories(scratch);
  const int code = run_all(*options, scratch.string());
  fs::remove_all(scratch, ignored);
  return code;
}
