// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_report/baseline.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "compare_digests.h"
#include "files.h"

namespace merlon::lab {
namespace {

constexpr std::size_t kMaxSize = std::size_t{64} << 20;

// A file name from a plan's or a machine's name, which may hold anything.
std::string safe(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    out.push_back(is_plain ? c : '_');
    if (out.size() == 48) break;
  }
  return out.empty() ? "unnamed" : out;
}

}  // namespace

std::string baseline_path(const std::string& folder, const Run& run) {
  const Environment& e = run.environment;
  // Names that become alike, and machines of one name with another processor, are told apart by a
  // hash.
  std::uint64_t hash = 14695981039346656037ULL;
  for (const std::string& part : {run.plan, e.machine, e.cpu, std::to_string(e.cores)})
    for (const char c : part + '\n')
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return (std::filesystem::path(folder) /
          fmt::format("{}@{}-{:08x}.json", safe(run.plan), safe(e.machine), hash & 0xffffffff))
      .string();
}

base::Result<std::string> save_baseline(const std::string& folder, const Run& run) {
  if (run.is_partial)
    return base::Error{base::Errc::kRefused,
                       "a partial run is no baseline",
                       {},
                       "finish it first: merlon lab run --resume DIR",
                       {}};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return base::Error{
        base::Errc::kIo, fmt::format("can't make {}: {}", folder, error.message()), {}, {}, {}};
  const std::string path = baseline_path(folder, run);
  if (auto written = report::write_file(path, report::digest_json(report::digest(run))); !written)
    return written.error();
  return path;
}

namespace {

StoredBaseline stored(const std::string& path) {
  StoredBaseline out;
  out.path = path;
  const auto text = report::read_file(path, kMaxSize);
  const auto kept =
      text ? report::digest_from_json(*text) : base::Result<report::Digest>(text.error());
  if (!kept) {
    out.error = kept.error();
    return out;
  }
  const auto word = [&](const char* name) {
    const auto found = kept->environment.find(name);
    return found == kept->environment.end() ? std::string() : found->second;
  };
  out.plan = kept->plan;
  out.run = kept->id;
  out.machine = word("machine");
  out.cpu = word("cpu");
  out.started = kept->started;
  out.row_count = kept->rows.size();
  return out;
}

}  // namespace

base::Result<std::vector<StoredBaseline>> list_baselines(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  if (error)
    return base::Error{base::Errc::kNotFound,
                       fmt::format("can't read {}: {}", folder, error.message()),
                       {},
                       "save a baseline with: merlon lab baseline save DIR",
                       {}};
  std::sort(paths.begin(), paths.end());
  std::vector<StoredBaseline> out;
  for (const std::string& path : paths) out.push_back(stored(path));
  return out;
}

base::Result<Comparison> check_baseline(const std::string& folder, const Run& run,
                                        const CompareOptions& options) {
  const std::string path = baseline_path(folder, run);
  const auto text = report::read_file(path, kMaxSize);
  if (!text) {
    base::Error error = text.error();
    if (error.code == base::Errc::kNotFound) error.hint = "save one with: merlon lab baseline save";
    return error;
  }
  auto base = report::digest_from_json(*text);
  if (!base) {
    base::Error error = base.error();
    error.message = path + ": " + error.message;
    return error;
  }
  Comparison out;
  out.base_id = base->id;
  out.title = base->title;
  out.runs.push_back(report::compare_digests(*base, report::digest(run), options));
  return out;
}

}  // namespace merlon::lab
