// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "merlon/lab_host/capability.h"
#include "merlon/lab_host/command.h"
#include "merlon/lab_host/file.h"
#include "merlon/lab_host/net_namespace.h"
#include "merlon/lab_host/process.h"
#include "merlon/lab_host/run_registry.h"
#include "merlon/lab_host/stop_signals.h"
#include "merlon/lab_host/unix_http.h"

namespace merlon::lab {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Runs have a folder of their own, so that tests meet neither each other nor a laboratory at work.
class HostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "lab-host-" + std::to_string(::getpid()) + "-" +
            std::to_string(++number_);
    ::setenv("MERLON_LAB_RUN_DIR", root_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("MERLON_LAB_RUN_DIR");
    std::error_code problem;
    std::filesystem::remove_all(root_, problem);
  }
  static std::string run_id(const std::string& name) {
    return "h" + std::to_string(::getpid()) + name;
  }
  static ProcessSpec sleeper() {
    ProcessSpec spec;
    spec.name = "sleeper";
    spec.argv = {"sleep", "60"};
    return spec;
  }

  std::string root_;
  static inline unsigned number_ = 0;
};

TEST(Command, GivesOutputAndExitCode) {
  const auto done = run_to_end({"sh", "-c", "cat; echo bad >&2; exit 3"}, "text in");
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->out, "text in");
  EXPECT_EQ(done->err, "bad\n");
  EXPECT_EQ(done->exit_code, 3);
  const auto failed = run_command({"sh", "-c", "echo no such thing >&2; exit 1"});
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("no such thing"));
}

TEST(Command, LargeInputAndOutputDoNotBlockEachOther) {
  const std::string text(3'000'000, 'x');
  const auto done = run_to_end({"cat"}, text);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->out, text);
}

TEST(Command, ProgramThatDoesNotReadItsInputIsNoTrouble) {
  const auto done = run_to_end({"true"}, std::string(1'000'000, 'x'));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->exit_code, 0);
}

TEST(Command, HangingProgramIsKilledWithItsChildren) {
  const auto done = run_to_end({"sh", "-c", "sleep 60 & wait"}, {}, std::chrono::milliseconds(50));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, base::Errc::kTimeout);
}

TEST(Command, MissingProgramIsNotFound) {
  const auto done = run_to_end({"no-such-program-here"});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, base::Errc::kNotFound);
}

TEST(Command, ShellTextCanBePasted) {
  EXPECT_EQ(shell_text({"ip", "link", "a b", "it's", ""}), "ip link 'a b' 'it'\\''s' ''");
  const Argv words{"printf", "%s|", "a b", "$HOME", "it's", "*"};
  const auto said = run_to_end({"sh", "-c", shell_text(words)});
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->out, "a b|$HOME|it's|*|");
}

TEST_F(HostTest, ANamespaceTakesAllThatIsInItAlong) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: " << probe_root().reason.en;
  auto registry = RunRegistry::open(run_id("along"));
  ASSERT_TRUE(registry.ok());
  std::vector<std::string> commands;
  auto space = NetNamespace::create(*registry, "sut", commands);
  ASSERT_TRUE(space.ok()) << space.error().message;
  // A daemon that nobody wrote down.
  const auto said = run_to_end({"ip", "netns", "exec", (*space)->name(), "sh", "-c",
                                "setsid sleep 61 >/dev/null 2>&1 & echo $!"});
  ASSERT_TRUE(said.ok());
  const auto pid = parse_count(trim(said->out));
  ASSERT_TRUE(pid.has_value()) << said->out;
  const ProcessIdentity daemon = identify_process(static_cast<int>(*pid));
  ASSERT_TRUE(is_running(daemon));
  space->reset();
  EXPECT_FALSE(is_running(daemon));
}

TEST_F(HostTest, ProcessIsStartedWatchedAndEnded) {
  auto registry = RunRegistry::open(run_id("p"));
  ASSERT_TRUE(registry.ok()) << registry.error().to_string();
  auto process = Process::start(*registry, sleeper());
  ASSERT_TRUE(process.ok()) << process.error().to_string();
  const std::string record =
      (*registry)->folder() + "/processes/" + std::to_string((*process)->pid());
  EXPECT_TRUE(std::filesystem::exists(record));
  EXPECT_TRUE((*process)->is_running());
  EXPECT_FALSE((*process)->wait(std::chrono::milliseconds(1)).has_value());
  EXPECT_EQ((*process)->terminate(std::chrono::seconds(10)), 128 + SIGTERM);
  EXPECT_FALSE((*process)->is_running());
  EXPECT_FALSE(std::filesystem::exists(record));
}

TEST_F(HostTest, ProcessThatIgnoresSigtermIsKilled) {
  auto registry = RunRegistry::open(run_id("i"));
  ASSERT_TRUE(registry.ok());
  ProcessSpec spec = sleeper();
  spec.log_file = root_ + "-log";
  spec.argv = {"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"};
  auto process = Process::start(*registry, spec);
  ASSERT_TRUE(process.ok());
  while ((*process)->log_tail() != "ready") {
    ASSERT_FALSE((*process)->wait(std::chrono::milliseconds(5)).has_value());
  }
  EXPECT_EQ((*process)->terminate(std::chrono::milliseconds(50)), 128 + SIGKILL);
  ::unlink(spec.log_file.c_str());
}

TEST_F(HostTest, ProcessGetsEnvironmentFolderAndInput) {
  auto registry = RunRegistry::open(run_id("e"));
  ASSERT_TRUE(registry.ok());
  ProcessSpec spec;
  spec.name = "reader";
  spec.argv = {"sh", "-c", "read word; echo \"$WORD $word $PWD\""};
  spec.environment = {{"WORD", "given"}};
  spec.folder = "/";
  spec.log_file = root_ + "-log";
  auto process = Process::start(*registry, spec);
  ASSERT_TRUE(process.ok());
  EXPECT_TRUE((*process)->write_input("told\n"));
  EXPECT_EQ((*process)->wait(std::chrono::seconds(10)), 0);
  EXPECT_EQ((*process)->log_tail(), "given told /");
  ::unlink(spec.log_file.c_str());
}

TEST_F(HostTest, IdOfARunIsChecked) {
  for (const char* id : {"", "..", "a/b", "a b"}) EXPECT_FALSE(RunRegistry::open(id).ok()) << id;
  EXPECT_FALSE(RunRegistry::open(std::string(49, 'x')).ok());
}

TEST_F(HostTest, RunOfALivingProcessIsLeftAlone) {
  const std::string id = run_id("other");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    auto theirs = RunRegistry::open(id);
    static_cast<void>(!::write(ready[1], theirs.ok() ? "y" : "n", 1));
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_THAT(remove_dead_runs(), IsEmpty());
  const auto refused = RunRegistry::open(id);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Errc::kConflict);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_THAT(remove_dead_runs(), Contains("folder " + root_ + "/" + id));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(HostTest, KilledLaboratoryIsCleanedUpAfter) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: " << probe_root().reason.en;
  const std::string id = run_id("dead");
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t lab = ::fork();
  if (lab == 0) {
    auto registry = RunRegistry::open(id);
    std::vector<std::string> commands;
    auto space = NetNamespace::create(*registry, "sut", commands);
    ProcessSpec spec = sleeper();
    spec.net_namespace = (*space)->name();
    auto process = Process::start(*registry, spec);
    const int pid = process.ok() ? (*process)->pid() : 0;
    static_cast<void>(!::write(told[1], &pid, sizeof pid));
    ::pause();
    ::_exit(0);
  }
  int pid = 0;
  ASSERT_EQ(::read(told[0], &pid, sizeof pid), ssize_t{sizeof pid});
  ASSERT_GT(pid, 0);
  ::kill(lab, SIGKILL);
  ::waitpid(lab, nullptr, 0);
  const ProcessIdentity left = identify_process(pid);
  EXPECT_TRUE(is_running(left));
  EXPECT_TRUE(has_namespace("mlab-" + id + "-sut"));
  const auto removed = remove_dead_runs();
  EXPECT_THAT(removed, Contains("process " + std::to_string(pid)));
  EXPECT_THAT(removed, Contains("namespace mlab-" + id + "-sut"));
  EXPECT_FALSE(is_running(left));
  EXPECT_FALSE(has_namespace("mlab-" + id + "-sut"));
  EXPECT_THAT(remove_dead_runs(), IsEmpty());
  ::close(told[0]);
  ::close(told[1]);
}

TEST_F(HostTest, ProcessOfTheSameIdButAnotherStartIsNotKilled) {
  auto registry = RunRegistry::open(run_id("same"));
  ASSERT_TRUE(registry.ok());
  auto process = Process::start(*registry, sleeper());
  ASSERT_TRUE(process.ok());
  ProcessIdentity wrong = identify_process((*process)->pid());
  ASSERT_NE(wrong.start_ticks, 0U);
  wrong.start_ticks += 1;
  EXPECT_FALSE(kill_process(wrong));
  EXPECT_TRUE((*process)->is_running());
}

TEST_F(HostTest, CablesCarryCountAndLeaveTheThreadAtHome) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: " << probe_root().reason.en;
  auto registry = RunRegistry::open(run_id("veth"));
  ASSERT_TRUE(registry.ok());
  std::vector<std::string> commands;
  auto a = NetNamespace::create(*registry, "a", commands);
  auto b = NetNamespace::create(*registry, "b", commands);
  ASSERT_TRUE(a.ok() && b.ok());
  const auto home = std::filesystem::read_symlink("/proc/thread-self/ns/net");
  const auto made = make_veth({(*a)->name(), "x0"}, {(*b)->name(), "x1"}, 1400, commands);
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  EXPECT_EQ(std::filesystem::read_symlink("/proc/thread-self/ns/net"), home);
  EXPECT_THAT(interface_counters((*b)->name()), Contains(::testing::Key("x1")));
  const auto shown = run_command({"ip", "-n", (*b)->name(), "-d", "link", "show", "x1"});
  ASSERT_TRUE(shown.ok());
  EXPECT_THAT(*shown, HasSubstr("mtu 1400"));
  EXPECT_THAT(*shown, HasSubstr("PROMISC"));
  EXPECT_FALSE(make_veth({(*a)->name(), "x0"}, {(*b)->name(), "x2"}, 1500, commands).ok());
  EXPECT_EQ(in_namespace("mlab-none", [] { return base::Result<void>{}; }).error().code,
            base::Errc::kNotFound);
}

TEST_F(HostTest, FullDiskIsAnErrorWithAHint) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: " << probe_root().reason.en;
  std::filesystem::create_directories(root_);
  ASSERT_EQ(::mount("tmpfs", root_.c_str(), "tmpfs", 0, "size=64k"), 0);
  const auto written = write_file(root_ + "/large", std::string(1'000'000, 'x'));
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr("No space left"));
  EXPECT_THAT(written.error().hint, HasSubstr("MERLON_LAB_RUN_DIR"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/large"));
  ::umount(root_.c_str());
}

TEST(NetDev, IsRead) {
  const auto table = parse_net_dev(
      "Inter-|   Receive |  Transmit\n face |bytes packets errs drop fifo frame compressed "
      "multicast|bytes ...\n"
      "    lo: 100 2 0 0 0 0 0 0 100 2 0 0 0 0 0 0\n  s0:64 1 5 6 0 0 0 0 128 2 7 8 0 0 0 "
      "0\nbroken: 1 2\n");
  ASSERT_THAT(table, SizeIs(2));
  const InterfaceCounters& s0 = table.at("s0");
  EXPECT_EQ(s0.rx_packets, 1U);
  EXPECT_EQ(s0.rx_errors, 5U);
  EXPECT_EQ(s0.rx_dropped, 6U);
  EXPECT_EQ(s0.tx_packets, 2U);
  EXPECT_EQ(s0.tx_dropped, 8U);
}

TEST(HttpAnswer, IsReadInEachForm) {
  const auto plain = parse_http_answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->body, "abc");
  const auto chunked = parse_http_answer(
      "HTTP/1.1 422 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\n");
  ASSERT_TRUE(chunked.ok());
  EXPECT_EQ(chunked->status, 422);
  EXPECT_EQ(chunked->body, "abcde");
  EXPECT_EQ(parse_http_answer("HTTP/1.0 200 OK\r\n\r\nto the end")->body, "to the end");
}

TEST(HttpAnswer, RefusesWhatIsBroken) {
  for (const char* text :
       {"", "HTTP/1.1 200 OK\r\n", "SSH-2.0\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    EXPECT_FALSE(parse_http_answer(text).ok()) << text;
  }
}

TEST_F(HostTest, NobodyBehindASocketIsNotFound) {
  const auto answer = http_request(root_ + "-none.sock", "GET", "/");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, base::Errc::kNotFound);
}

TEST(Capability, ReasonsNameWhatMends) {
  const Capability program = probe_program("no-such-program", "the-package");
  EXPECT_FALSE(program.is_there);
  EXPECT_THAT(program.reason.en, HasSubstr("apt-get install the-package"));
  EXPECT_THAT(program.reason.ru, HasSubstr("apt-get install the-package"));
  EXPECT_TRUE(probe_program("sh", "dash").is_there);
  const std::string sys = ::testing::TempDir() + "lab-sys-" + std::to_string(::getpid());
  std::filesystem::create_directories(sys + "/kernel/mm/hugepages/hugepages-2048kB");
  ASSERT_TRUE(
      write_file(sys + "/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "10\n").ok());
  EXPECT_EQ(free_huge_mib(sys), 20U);
  EXPECT_TRUE(probe_huge_pages(20, sys).is_there);
  EXPECT_THAT(probe_huge_pages(512, sys).reason.en,
              HasSubstr("echo 256 >/proc/sys/vm/nr_hugepages"));
  std::filesystem::remove_all(sys);
}

TEST(StopSignals, FirstSignalSetsTheFlag) {
  const StopSignals signals;
  EXPECT_FALSE(signals.flag().load());
  ::raise(SIGINT);
  EXPECT_TRUE(signals.flag().load());
}

}  // namespace
}  // namespace merlon::lab
