// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a run has made on this host (namespaces, processes, files), written down before it is made,
// so that it can be taken away even after the laboratory was killed with SIGKILL. A folder per run:
//
//   /run/merlon-lab/<run>/owner             "PID START" of the laboratory
//                        /namespaces/<name>
//                        /processes/<pid>   "PID START NAME"
//                        /<device>/...      configurations, sockets and logs of devices
//
// A process is named by its id and its start time, which no later process shares: a run is taken
// away only when its owner has gone, and only its own processes are killed. control-only, one
// thread at a time; cost: files in memory.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::lab {

// A process that no other one can be taken for.
struct ProcessIdentity {
  int pid = 0;
  std::uint64_t start_ticks = 0;  // since boot, field 22 of /proc/<pid>/stat
};
ProcessIdentity this_process();
// Zombies have gone: they run no more.
bool is_running(const ProcessIdentity& process);
// The identity of a process that runs now; start_ticks 0 when there is none.
ProcessIdentity identify_process(int pid);

class RunRegistry {
 public:
  // The registry of a run of this process: the same one for the same id, made when it is not there.
  // Takes away first what a dead owner of that id left. kConflict when another living process owns
  // the id, kInvalidValue for an id that is not 1 to 48 letters, digits, "-", "_" or ".".
  static base::Result<std::shared_ptr<RunRegistry>> open(const std::string& run_id);
  ~RunRegistry();  // takes away what is still there, and the folder
  RunRegistry(const RunRegistry&) = delete;
  RunRegistry& operator=(const RunRegistry&) = delete;

  [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  // A name for a namespace of that role: "mlab-<run>-<role>"; a number follows when it is taken.
  [[nodiscard]] std::string namespace_name(std::string_view role) const;

  base::Result<void> add_namespace(const std::string& name);
  void forget_namespace(const std::string& name) noexcept;
  base::Result<void> add_process(int pid, const std::string& name);
  void forget_process(int pid) noexcept;
  // A fresh folder in the run's own: "<name>-<number>".
  base::Result<std::string> make_folder(const std::string& name);
  void remove_folder(const std::string& path) noexcept;

 private:
  RunRegistry(std::string run_id, std::string folder);

  std::string run_id_, folder_;
  unsigned next_folder_ = 1;
};

// Where the runs' folders are: $MERLON_LAB_RUN_DIR or /run/merlon-lab.
std::string runs_folder();
// Takes away what runs without a living owner left behind. Returns what was removed, one line each.
std::vector<std::string> remove_dead_runs();

}  // namespace merlon::lab
