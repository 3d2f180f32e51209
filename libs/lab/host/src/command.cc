// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>

#include "merlon/base/make_error.h"
#include "merlon/lab_host/file.h"

namespace merlon::lab {
namespace {

using Clock = std::chrono::steady_clock;

// Both ends of a pipe, closed with the scope.
struct Pipe {
  Pipe() { is_open = ::pipe2(ends.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(unsigned i) {
    if (ends[i] >= 0) ::close(ends[i]);
    ends[i] = -1;
  }

  std::array<int, 2> ends{-1, -1};
  bool is_open = false;
};

struct Streams {
  Pipe in, out, err, exec;  // exec: errno of a failed exec; closed by a successful one
  [[nodiscard]] bool is_open() const {
    return in.is_open && out.is_open && err.is_open && exec.is_open;
  }
};

// In the child, between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(const char* path, char* const* argv, const Streams& s) {
  ::setpgid(0, 0);
  ::dup2(s.in.ends[0], 0);
  ::dup2(s.out.ends[1], 1);
  ::dup2(s.err.ends[1], 2);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execv(path, argv);
  const int problem = errno;
  static_cast<void>(!::write(s.exec.ends[1], &problem, sizeof problem));
  ::_exit(127);
}

// Keeps SIGPIPE of this thread away while a program that may have stopped reading is written to.
class NoSigpipe {
 public:
  NoSigpipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec now{0, 0};
    while (::sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// Reads what is there; closes its end at the end of the stream.
void take(Pipe& pipe, std::string& into) {
  char piece[16 * 1024];
  const ssize_t n = ::read(pipe.ends[0], piece, sizeof piece);
  if (n > 0) {
    const std::size_t room = kMaxCommandOutput - std::min(kMaxCommandOutput, into.size());
    into.append(piece, std::min(room, static_cast<std::size_t>(n)));
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    pipe.close_end(0);
  }
}

void give(Pipe& pipe, std::string_view& input) {
  if (!input.empty()) {
    const ssize_t n = ::write(pipe.ends[1], input.data(), input.size());
    if (n > 0) input.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 && errno != EAGAIN && errno != EINTR) input = {};
  }
  if (input.empty()) pipe.close_end(1);
}

// Moves bytes until both outputs end; false when the time is over.
bool converse(Streams& s, std::string_view input, CommandOutput& output, Clock::time_point end) {
  const NoSigpipe guard;
  give(s.in, input);
  while (s.out.ends[0] >= 0 || s.err.ends[0] >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    std::array<pollfd, 3> polls{pollfd{s.out.ends[0], POLLIN, 0}, pollfd{s.err.ends[0], POLLIN, 0},
                                pollfd{s.in.ends[1], POLLOUT, 0}};
    if (::poll(polls.data(), polls.size(), static_cast<int>(left.count())) <= 0) continue;
    if (polls[0].revents != 0) take(s.out, output.out);
    if (polls[1].revents != 0) take(s.err, output.err);
    if (polls[2].revents != 0) give(s.in, input);
  }
  return true;
}

int wait_exit_code(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// First lines of what a failed program said, for an error message.
std::string first_lines(const CommandOutput& output) {
  std::string_view text = trim(output.err.empty() ? output.out : output.err);
  text = text.substr(0, std::min<std::size_t>(text.size(), 400));
  std::string line;
  for (const char c : text) line += c == '\n' ? ' ' : c;
  return line;
}

}  // namespace

base::Result<CommandOutput> run_to_end(const Argv& argv, std::string_view input,
                                       std::chrono::milliseconds timeout) {
  const std::string path = argv.empty() ? std::string() : find_program(argv[0]);
  if (path.empty()) {
    return make_error(
        base::Errc::kNotFound,
        "program " + (argv.empty() ? std::string("\"\"") : argv[0]) + " is not installed");
  }
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  Streams s;
  if (!s.is_open()) return base::system_error("can't make pipes for " + argv[0]);
  const pid_t pid = ::fork();
  if (pid < 0) return base::system_error("can't start " + argv[0]);
  if (pid == 0) become(path.c_str(), words.data(), s);
  ::setpgid(pid, pid);
  s.in.close_end(0);
  s.out.close_end(1);
  s.err.close_end(1);
  s.exec.close_end(1);
  for (const int fd : {s.in.ends[1], s.out.ends[0], s.err.ends[0]}) set_nonblocking(fd);
  CommandOutput output;
  const bool is_in_time = converse(s, input, output, Clock::now() + timeout);
  if (!is_in_time) ::kill(-pid, SIGKILL);
  output.exit_code = wait_exit_code(pid);
  int problem = 0;
  if (::read(s.exec.ends[0], &problem, sizeof problem) == ssize_t{sizeof problem}) {
    errno = problem;
    return base::system_error("can't run " + path);
  }
  if (!is_in_time) {
    return make_error(base::Errc::kTimeout, shell_text(argv) + " did not end within " +
                                                std::to_string(timeout.count()) + " ms");
  }
  return output;
}

base::Result<std::string> run_command(const Argv& argv, std::string_view input,
                                      std::chrono::milliseconds timeout) {
  auto output = run_to_end(argv, input, timeout);
  if (!output.ok()) return output.error();
  if (output->exit_code == 0) return std::move(output->out);
  return make_error(base::Errc::kIo, shell_text(argv) + " failed with exit code " +
                                         std::to_string(output->exit_code) + ": " +
                                         first_lines(*output));
}

std::string find_program(std::string_view name) {
  if (name.empty()) return {};
  if (name.find('/') != std::string_view::npos) {
    return ::access(std::string(name).c_str(), X_OK) == 0 ? std::string(name) : std::string();
  }
  const char* path = std::getenv("PATH");
  const std::string folders =
      std::string(path != nullptr ? path : "") + ":/usr/sbin:/sbin:/usr/bin:/bin";
  for (const std::string_view folder : split(folders, ':')) {
    if (folder.empty()) continue;
    std::string candidate = std::string(folder) + "/" + std::string(name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::string shell_text(const Argv& argv) {
  std::string text;
  for (const std::string& word : argv) {
    if (!text.empty()) text += ' ';
    bool is_plain = !word.empty();
    for (const char c : word) {
      const auto letter = static_cast<unsigned char>(c);
      is_plain = is_plain && (std::isalnum(letter) != 0 ||
                              std::string_view("-_./:=,+@%").find(c) != std::string_view::npos);
    }
    if (is_plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
    text += '\'';
  }
  return text;
}

Argv operator+(Argv left, const Argv& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace merlon::lab
