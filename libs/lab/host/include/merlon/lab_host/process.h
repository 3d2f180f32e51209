// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program that runs beside the laboratory: a switch, a firewall, a server. Started without a
// shell, in a namespace and on cores of choice, with a log file, in a process group of its own
// (Ctrl-C of the terminal does not reach it), known to the run's registry before its first
// instruction. Ended by its own id only, never by a name. control-only.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_host/command.h"
#include "merlon/lab_host/run_registry.h"

namespace merlon::lab {

struct ProcessSpec {
  std::string name;  // for reports: "ovs-vswitchd"
  Argv argv;
  std::string net_namespace;  // empty: ours
  std::string log_file;       // its standard output and error, appended; empty: thrown away
  std::vector<int> cores;     // that it may run on; empty: all
  std::vector<std::pair<std::string, std::string>> environment;  // beside ours
  std::string folder;                                            // working directory; empty: ours
};

class Process {
 public:
  // kNotFound when the program is not there, kIo when it can't be started.
  static base::Result<std::unique_ptr<Process>> start(const std::shared_ptr<RunRegistry>& registry,
                                                      const ProcessSpec& spec);
  ~Process();  // kills it
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] int pid() const noexcept { return pid_; }
  // Readable when the process has ended.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_; }
  [[nodiscard]] bool is_running();
  // Exit code, 128 + signal when a signal ended it; nothing while it runs at the end of the time.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  // SIGTERM, then after `patience` SIGKILL; gives the exit code.
  int terminate(std::chrono::milliseconds patience);
  void kill();  // SIGKILL, and waits for its end
  // Last lines of the log, for error messages.
  [[nodiscard]] std::string log_tail(std::size_t bytes = 600) const;
  // The command, ready to paste.
  [[nodiscard]] const std::string& command() const noexcept { return command_; }
  // What it writes to its standard input, for programs that are told things there (testpmd). False
  // when it is closed.
  bool write_input(std::string_view text);

 private:
  Process() = default;

  std::shared_ptr<RunRegistry> registry_;
  std::string name_, command_, log_file_;
  int pid_ = -1, pidfd_ = -1, input_ = -1;
  std::optional<int> exit_code_;
};

// Kills a process that is not our child, if it is still the one meant, and waits up to two seconds
// for its end. True when it was there and has gone.
bool kill_process(const ProcessIdentity& process);

}  // namespace merlon::lab
