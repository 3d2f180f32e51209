// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "merlon/base/make_error.h"
#include "merlon/lab_host/file.h"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace merlon::lab {
namespace {

using Clock = std::chrono::steady_clock;

int open_pidfd(int pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

int send_signal(int pidfd, int signal) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

bool wait_readable(int fd, std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd p{fd, POLLIN, 0};
    const int n = ::poll(&p, 1, static_cast<int>(std::max<long>(0, left.count())));
    if (n > 0) return true;
    if (n == 0 && left.count() <= 0) return false;
    if (n < 0 && errno != EINTR) return false;
  }
}

// All that the child needs, made before the fork: it may call async-signal-safe functions only.
struct ChildPlan {
  std::string path;
  std::vector<char*> argv, environment;
  std::vector<std::string> variables;
  std::string folder;
  cpu_set_t cores{};
  bool has_cores = false;
  int output = -1, input = -1, go = -1, exec_error = -1;
};

void plan_environment(const ProcessSpec& spec, ChildPlan& plan) {
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view text(*e);
    const auto is_replaced = [&](const auto& pair) {
      return text.substr(0, text.find('=')) == pair.first;
    };
    bool is_ours = true;
    for (const auto& pair : spec.environment) is_ours = is_ours && !is_replaced(pair);
    if (is_ours) plan.variables.emplace_back(text);
  }
  for (const auto& [name, value] : spec.environment)
    plan.variables.push_back(fmt::format("{}={}", name, value));
  for (std::string& v : plan.variables) plan.environment.push_back(v.data());
  plan.environment.push_back(nullptr);
}

[[noreturn]] void fail_child(const ChildPlan& plan) {
  const int problem = errno;
  static_cast<void>(!::write(plan.exec_error, &problem, sizeof problem));
  ::_exit(127);
}

[[noreturn]] void become(const ChildPlan& plan) {
  ::setpgid(0, 0);
  // Not before the parent has written our id down; an end without a byte means that it died.
  char go = 0;
  if (::read(plan.go, &go, 1) != 1) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  if (plan.has_cores && ::sched_setaffinity(0, sizeof plan.cores, &plan.cores) != 0)
    fail_child(plan);
  if (!plan.folder.empty() && ::chdir(plan.folder.c_str()) != 0) fail_child(plan);
  ::dup2(plan.input, 0);
  ::dup2(plan.output, 1);
  ::dup2(plan.output, 2);
  ::execve(plan.path.c_str(), plan.argv.data(), plan.environment.data());
  fail_child(plan);
}

void close_all(std::initializer_list<int> fds) {
  for (const int fd : fds) {
    if (fd >= 0) ::close(fd);
  }
}

// Ends of the sockets and pipes between us and the child; what is still open goes with the scope.
struct Channels {
  Channels() = default;
  ~Channels() { close_all({output, input[0], input[1], go[0], go[1], error[0], error[1]}); }
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;
  bool open(const std::string& log) {
    output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return output >= 0 && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) == 0 &&
           ::pipe2(go.data(), O_CLOEXEC) == 0 && ::pipe2(error.data(), O_CLOEXEC) == 0;
  }
  static int release(int& fd) { return std::exchange(fd, -1); }

  int output = -1;
  std::array<int, 2> input{-1, -1}, go{-1, -1}, error{-1, -1};
};

void make_plan(const ProcessSpec& spec, const Argv& argv, const Channels& channels,
               ChildPlan& plan) {
  plan.path = find_program(argv[0]);
  for (const std::string& word : argv) plan.argv.push_back(const_cast<char*>(word.c_str()));
  plan.argv.push_back(nullptr);
  plan_environment(spec, plan);
  plan.folder = spec.folder;
  CPU_ZERO(&plan.cores);
  for (const int core : spec.cores) CPU_SET(static_cast<unsigned>(core), &plan.cores);
  plan.has_cores = !spec.cores.empty();
  plan.output = channels.output;
  plan.input = channels.input[0];
  plan.go = channels.go[0];
  plan.exec_error = channels.error[1];
}

}  // namespace

base::Result<std::unique_ptr<Process>> Process::start(const std::shared_ptr<RunRegistry>& registry,
                                                      const ProcessSpec& spec) {
  if (spec.argv.empty() || find_program(spec.argv[0]).empty()) {
    return make_error(
        base::Errc::kNotFound,
        "program " + (spec.argv.empty() ? spec.name : spec.argv[0]) + " is not installed");
  }
  // `ip netns exec` enters, mounts /sys for the namespace and becomes the program: the id stays the
  // same.
  const Argv argv = spec.net_namespace.empty()
                        ? spec.argv
                        : Argv{"ip", "netns", "exec", spec.net_namespace} + spec.argv;
  Channels channels;
  if (!channels.open(spec.log_file.empty() ? "/dev/null" : spec.log_file)) {
    return base::system_error("can't open the log or the pipes of " + spec.name);
  }
  ChildPlan plan;
  make_plan(spec, argv, channels, plan);
  const pid_t pid = ::fork();
  if (pid < 0) return base::system_error("can't start " + spec.name);
  if (pid == 0) {
    ::close(channels.go[1]);
    become(plan);
  }
  ::close(Channels::release(channels.error[1]));
  std::unique_ptr<Process> process(new Process());
  process->registry_ = registry;
  process->name_ = spec.name;
  process->log_file_ = spec.log_file;
  process->input_ = Channels::release(channels.input[1]);
  process->pid_ = pid;
  process->pidfd_ = open_pidfd(pid);
  Argv shown = argv;
  for (const auto& [name, value] : spec.environment)
    shown.insert(shown.begin(), fmt::format("{}={}", name, value));
  process->command_ = shell_text(shown);
  const auto noted = registry ? registry->add_process(pid, spec.name) : base::Result<void>{};
  if (!noted.ok()) return noted.error();
  static_cast<void>(!::write(channels.go[1], "g", 1));
  int problem = 0;
  if (::read(channels.error[0], &problem, sizeof problem) == ssize_t{sizeof problem}) {
    errno = problem;
    return base::system_error("can't start " + spec.name);
  }
  return process;
}

Process::~Process() {
  kill();
  close_all({input_, pidfd_});
}

bool Process::is_running() { return !wait(std::chrono::milliseconds(0)).has_value(); }

std::optional<int> Process::wait(std::chrono::milliseconds timeout) {
  if (exit_code_) return exit_code_;
  if (pidfd_ >= 0 && !wait_readable(pidfd_, timeout)) return std::nullopt;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (registry_) registry_->forget_process(pid_);
  return exit_code_;
}

int Process::terminate(std::chrono::milliseconds patience) {
  if (is_running()) {
    // Its group is named by its id, which nobody else gets before it is waited for.
    ::kill(-pid_, SIGTERM);
    if (!wait(patience)) kill();
  }
  return *exit_code_;
}

void Process::kill() {
  if (exit_code_) return;
  ::kill(-pid_, SIGKILL);
  wait(std::chrono::hours(1));
}

std::string Process::log_tail(std::size_t bytes) const {
  const auto log = log_file_.empty() ? std::nullopt : read_file(log_file_);
  if (!log) return {};
  const std::string_view text = trim(*log);
  return std::string(text.substr(text.size() - std::min(bytes, text.size())));
}

bool Process::write_input(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(input_, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool kill_process(const ProcessIdentity& process) {
  // The pidfd first, the look at its start time after: it then names what was looked at.
  const int fd = open_pidfd(process.pid);
  if (fd < 0) return false;
  const bool is_meant = is_running(process);
  const bool is_gone =
      is_meant && send_signal(fd, SIGKILL) == 0 && wait_readable(fd, std::chrono::seconds(2));
  ::close(fd);
  return is_gone;
}

}  // namespace merlon::lab
