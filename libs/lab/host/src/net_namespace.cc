// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/net_namespace.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "merlon/base/check.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_host/file.h"
#include "merlon/lab_host/process.h"

namespace merlon::lab {
namespace {

std::string path_of(const std::string& name) { return "/run/netns/" + name; }

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

base::Error namespace_error(const std::string& name) {
  if (errno == ENOENT) return make_error(base::Errc::kNotFound, "no network namespace " + name);
  if (errno == EPERM || errno == EACCES) {
    return make_error(base::Errc::kRefused, "not allowed to enter the network namespace " + name,
                      "run it as root");
  }
  return base::system_error("can't enter the network namespace " + name);
}

ifreq request_for(const std::string& interface) {
  ifreq request{};
  std::copy_n(interface.begin(), std::min<std::size_t>(interface.size(), IFNAMSIZ - 1),
              request.ifr_name);
  return request;
}

base::Result<void> run_logged(const Argv& argv, std::vector<std::string>& commands) {
  commands.push_back(shell_text(argv));
  const auto done = run_command(argv);
  if (!done.ok()) return done.error();
  return {};
}

// Processes whose first thread is in the namespace; never our own.
std::vector<ProcessIdentity> processes_in(const std::string& name) {
  struct stat wanted {};
  std::vector<ProcessIdentity> out;
  if (::stat(path_of(name).c_str(), &wanted) != 0) return out;
  std::error_code problem;
  for (std::filesystem::directory_iterator it("/proc", problem), end; !problem && it != end;
       it.increment(problem)) {
    const auto pid = parse_count(it->path().filename().string());
    struct stat here {};
    if (!pid || static_cast<int>(*pid) == ::getpid() ||
        ::stat((it->path() / "ns/net").c_str(), &here) != 0)
      continue;
    if (here.st_ino == wanted.st_ino && here.st_dev == wanted.st_dev)
      out.push_back(identify_process(static_cast<int>(*pid)));
  }
  return out;
}

// What is killed may have forked meanwhile.
void empty_namespace(const std::string& name) {
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<ProcessIdentity> found = processes_in(name);
    if (found.empty()) return;
    for (const ProcessIdentity& process : found) static_cast<void>(kill_process(process));
  }
}

// /proc/sys/net belongs to the namespace of the thread that opens it.
base::Result<void> write_sysctl(const std::string& net_namespace, const std::string& key,
                                const std::string& value) {
  return in_namespace(net_namespace, [&]() -> base::Result<void> {
    const Fd file(::open(("/proc/sys/net/" + key).c_str(), O_WRONLY | O_CLOEXEC));
    // A kernel without IPv6 has nothing to switch off.
    if (file.get() < 0 && errno == ENOENT) return {};
    if (file.get() < 0 || ::write(file.get(), value.data(), value.size()) < 0) {
      return base::system_error("can't set " + key + " in " + net_namespace);
    }
    return {};
  });
}

}  // namespace

base::Result<void> in_namespace(const std::string& name,
                                const std::function<base::Result<void>()>& fn) {
  if (name.empty()) return fn();
  const Fd home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (home.get() < 0) return base::system_error("can't open our own network namespace");
  const Fd there(::open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC));
  if (there.get() < 0 || ::setns(there.get(), CLONE_NEWNET) != 0) return namespace_error(name);
  base::Result<void> result = fn();
  MERLON_CHECK(::setns(home.get(), CLONE_NEWNET) == 0);
  return result;
}

bool has_namespace(const std::string& name) { return ::access(path_of(name).c_str(), F_OK) == 0; }

base::Result<void> delete_namespace(const std::string& name) {
  if (!has_namespace(name)) {
    return make_error(base::Errc::kNotFound, "no network namespace " + name);
  }
  empty_namespace(name);
  const auto done = run_command({"ip", "netns", "del", name});
  if (!done.ok()) return done.error();
  return {};
}

InterfaceTable parse_net_dev(const std::string& text) {
  InterfaceTable table;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto words = split_words(line.substr(colon + 1));
    if (words.size() < 12) continue;
    const auto number = [&](std::size_t i) { return parse_count(words[i]).value_or(0); };
    table[std::string(trim(line.substr(0, colon)))] = {number(1), number(2),  number(3),
                                                       number(9), number(10), number(11)};
  }
  return table;
}

InterfaceTable interface_counters(const std::string& net_namespace) {
  InterfaceTable table;
  static_cast<void>(in_namespace(net_namespace, [&]() -> base::Result<void> {
    const auto text = read_file("/proc/thread-self/net/dev");
    if (text) table = parse_net_dev(*text);
    return {};
  }));
  return table;
}

NetNamespace::NetNamespace(std::shared_ptr<RunRegistry> registry, std::string name)
    : registry_(std::move(registry)), name_(std::move(name)) {}

NetNamespace::~NetNamespace() {
  static_cast<void>(delete_namespace(name_));
  registry_->forget_namespace(name_);
}

base::Result<std::unique_ptr<NetNamespace>> NetNamespace::create(
    std::shared_ptr<RunRegistry> registry, const std::string& role,
    std::vector<std::string>& commands) {
  const std::string name = registry->namespace_name(role);
  if (auto noted = registry->add_namespace(name); !noted.ok()) return noted.error();
  if (auto made = run_logged({"ip", "netns", "add", name}, commands); !made.ok()) {
    registry->forget_namespace(name);
    return made.error();
  }
  std::unique_ptr<NetNamespace> made(new NetNamespace(std::move(registry), name));
  for (const char* scope : {"all", "default"}) {
    const std::string key = std::string("ipv6/conf/") + scope + "/disable_ipv6";
    if (auto set = write_sysctl(name, key, "1"); !set.ok()) return set.error();
  }
  commands.push_back("ip netns exec " + name +
                     " sysctl -qw net.ipv6.conf.all.disable_ipv6=1 "
                     "net.ipv6.conf.default.disable_ipv6=1");
  if (auto up = run_logged({"ip", "-n", name, "link", "set", "lo", "up"}, commands); !up.ok()) {
    return up.error();
  }
  return made;
}

base::Result<void> switch_offloads_off(const LinkEnd& end) {
  constexpr std::array<std::uint32_t, 6> kOffloads{ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO,
                                                   ETHTOOL_SGRO,    ETHTOOL_SSG,  ETHTOOL_SRXCSUM};
  return in_namespace(end.net_namespace, [&]() -> base::Result<void> {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) return base::system_error("can't open a socket");
    for (const std::uint32_t offload : kOffloads) {
      ethtool_value value{offload, 0};
      ifreq request = request_for(end.interface);
      request.ifr_data = reinterpret_cast<char*>(&value);
      if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0 && errno != EOPNOTSUPP &&
          errno != EINVAL) {
        return base::system_error("can't switch the off-loads of " + end.interface + " off");
      }
    }
    return {};
  });
}

base::Result<void> set_link(const LinkEnd& end, bool up) {
  return in_namespace(end.net_namespace, [&]() -> base::Result<void> {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request = request_for(end.interface);
    bool is_done = socket.get() >= 0 && ::ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0;
    if (is_done) {
      const int flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
      request.ifr_flags = static_cast<short>(flags);
      is_done = ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
    }
    if (is_done) return {};
    return base::system_error("can't set " + end.interface + (up ? " up" : " down"));
  });
}

base::Result<void> make_veth(const LinkEnd& left, const LinkEnd& right, unsigned mtu,
                             std::vector<std::string>& commands) {
  const std::string size = std::to_string(mtu);
  const Argv add{
      "ip",   "link", "add",  left.interface,  "netns", left.net_namespace,  "mtu", size, "type",
      "veth", "peer", "name", right.interface, "netns", right.net_namespace, "mtu", size};
  if (auto made = run_logged(add, commands); !made.ok()) return made.error();
  for (const LinkEnd& end : {left, right}) {
    if (auto off = switch_offloads_off(end); !off.ok()) return off.error();
    commands.push_back("ip netns exec " + end.net_namespace + " ethtool -K " + end.interface +
                       " tx off rx off tso off gso off gro off sg off");
    const Argv up{"ip",          "-n", end.net_namespace, "link", "set",
                  end.interface, "up", "promisc",         "on"};
    if (auto done = run_logged(up, commands); !done.ok()) return done.error();
  }
  return {};
}

}  // namespace merlon::lab
