// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/run_registry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>

#include "merlon/base/make_error.h"
#include "merlon/lab_host/file.h"
#include "merlon/lab_host/net_namespace.h"
#include "merlon/lab_host/process.h"

namespace merlon::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRunId = 48;  // socket paths in the folder must stay below 108 bytes

// Holds all starts and clean-ups on this host apart: a folder is never seen half made.
class HostLock {
 public:
  explicit HostLock(const std::string& root)
      : fd_(::open((root + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ >= 0) ::flock(fd_, LOCK_EX);
  }
  ~HostLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  HostLock(const HostLock&) = delete;
  HostLock& operator=(const HostLock&) = delete;

 private:
  int fd_;
};

std::mutex& mutex() {
  static std::mutex m;
  return m;
}

std::map<std::string, std::weak_ptr<RunRegistry>>& open_runs() {
  static std::map<std::string, std::weak_ptr<RunRegistry>> runs;
  return runs;
}

bool is_run_id(const std::string& id) {
  return !id.empty() && id.size() <= kMaxRunId && id[0] != '.' &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

std::string identity_text(const ProcessIdentity& p) {
  return std::to_string(p.pid) + " " + std::to_string(p.start_ticks);
}

std::optional<ProcessIdentity> read_identity(const std::string& path) {
  const std::string line = read_line(path);
  const auto words = split_words(line);
  if (words.size() < 2) return std::nullopt;
  const auto pid = parse_count(words[0]);
  const auto start = parse_count(words[1]);
  if (!pid || !start || *pid == 0 || *pid > 0x7fff'ffff) return std::nullopt;
  return ProcessIdentity{static_cast<int>(*pid), *start};
}

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator it(folder, problem), end; !problem && it != end;
       it.increment(problem)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Processes first: a namespace lives on while one is in it.
void remove_run(const std::string& folder, std::vector<std::string>& removed) {
  for (const std::string& name : entries(folder + "/processes")) {
    const auto process = read_identity(fmt::format("{}/processes/{}", folder, name));
    if (process && kill_process(*process)) removed.push_back("process " + name);
  }
  for (const std::string& name : entries(folder + "/namespaces")) {
    if (delete_namespace(name).ok()) removed.push_back("namespace " + name);
  }
  std::error_code problem;
  if (fs::remove_all(folder, problem) > 0 && !problem) removed.push_back("folder " + folder);
}

base::Result<void> make_folders(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    std::error_code problem;
    fs::create_directories(path, problem);
    if (problem) {
      return make_error(base::Errc::kIo, "can't make " + path + ": " + problem.message(),
                        "run it as root, or choose another folder with MERLON_LAB_RUN_DIR");
    }
  }
  return {};
}

}  // namespace

ProcessIdentity this_process() { return identify_process(static_cast<int>(::getpid())); }

ProcessIdentity identify_process(int pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat) return {pid, 0};
  const std::size_t name_end = stat->rfind(')');  // the name may hold blanks and brackets
  if (name_end == std::string::npos) return {pid, 0};
  const auto words = split_words(std::string_view(*stat).substr(name_end + 1));
  // The state is field 3, the start time field 22.
  if (words.size() < 20 || words[0] == "Z" || words[0] == "X") return {pid, 0};
  return {pid, parse_count(words[19]).value_or(0)};
}

bool is_running(const ProcessIdentity& process) {
  return process.start_ticks != 0 &&
         identify_process(process.pid).start_ticks == process.start_ticks;
}

std::string runs_folder() {
  const char* chosen = std::getenv("MERLON_LAB_RUN_DIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/run/merlon-lab";
}

RunRegistry::RunRegistry(std::string run_id, std::string folder)
    : run_id_(std::move(run_id)), folder_(std::move(folder)) {}

RunRegistry::~RunRegistry() {
  const HostLock lock(runs_folder());
  std::vector<std::string> removed;
  remove_run(folder_, removed);
}

base::Result<std::shared_ptr<RunRegistry>> RunRegistry::open(const std::string& run_id) {
  if (!is_run_id(run_id)) {
    return make_error(base::Errc::kInvalidValue, "\"" + run_id + "\" can't be the id of a run",
                      "use 1 to 48 letters, digits, \"-\", \"_\" and \".\"");
  }
  const std::lock_guard guard(mutex());
  const std::string root = runs_folder();
  std::string folder = root + "/" + run_id;
  if (auto open = open_runs()[folder].lock()) return open;
  if (auto made = make_folders({root}); !made.ok()) return made.error();
  const HostLock lock(root);
  if (const auto owner = read_identity(folder + "/owner"); owner && is_running(*owner)) {
    const bool is_ours = owner->pid == ::getpid();
    if (!is_ours) {
      return make_error(base::Errc::kConflict,
                        "run " + run_id + " belongs to process " + std::to_string(owner->pid),
                        "wait for its end or choose another id");
    }
  }
  std::vector<std::string> removed;
  remove_run(folder, removed);
  if (auto made = make_folders({folder + "/namespaces", folder + "/processes"}); !made.ok())
    return made.error();
  if (auto written = write_file(folder + "/owner", identity_text(this_process()) + "\n");
      !written.ok()) {
    return written.error();
  }
  std::shared_ptr<RunRegistry> registry(new RunRegistry(run_id, folder));
  open_runs()[folder] = registry;
  return registry;
}

std::string RunRegistry::namespace_name(std::string_view role) const {
  const std::string first = "mlab-" + run_id_ + "-" + std::string(role);
  std::string name = first;
  for (unsigned i = 2; fs::exists(folder_ + "/namespaces/" + name); ++i) {
    name = first + std::to_string(i);
  }
  return name;
}

base::Result<void> RunRegistry::add_namespace(const std::string& name) {
  return write_file(folder_ + "/namespaces/" + name, "");
}

void RunRegistry::forget_namespace(const std::string& name) noexcept {
  ::unlink((folder_ + "/namespaces/" + name).c_str());
}

base::Result<void> RunRegistry::add_process(int pid, const std::string& name) {
  return write_file(folder_ + "/processes/" + std::to_string(pid),
                    identity_text(identify_process(pid)) + " " + name + "\n");
}

void RunRegistry::forget_process(int pid) noexcept {
  ::unlink((folder_ + "/processes/" + std::to_string(pid)).c_str());
}

base::Result<std::string> RunRegistry::make_folder(const std::string& name) {
  std::string path = folder_ + "/" + name + "-" + std::to_string(next_folder_++);
  if (::mkdir(path.c_str(), 0755) == 0) return path;
  return base::system_error("can't make " + path);
}

void RunRegistry::remove_folder(const std::string& path) noexcept {
  if (!path.starts_with(folder_ + "/")) return;
  std::error_code problem;
  fs::remove_all(path, problem);
}

std::vector<std::string> remove_dead_runs() {
  std::vector<std::string> removed;
  const std::string root = runs_folder();
  std::error_code problem;
  if (!fs::is_directory(root, problem)) return removed;
  const HostLock lock(root);
  for (const std::string& name : entries(root)) {
    const std::string folder = fmt::format("{}/{}", root, name);
    if (!fs::is_directory(folder, problem)) continue;
    const auto owner = read_identity(folder + "/owner");
    if (owner && is_running(*owner)) continue;
    remove_run(folder, removed);
  }
  return removed;
}

}  // namespace merlon::lab
