// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "merlon/base/log.h"
#include "merlon/telemetry/event_sink.h"

namespace merlon::telemetry {
namespace {

namespace fs = std::filesystem;
constexpr base::Nanos kNow = 1787393472123456789;  // 2026-08-22T10:11:12.123456
constexpr base::Nanos kHour = 3600 * base::kNanosPerSecond;

class SinkTest : public testing::Test {
 protected:
  SinkTest() {
    char name[] = "/tmp/merlon-sink-XXXXXX";
    folder_ = ::mkdtemp(name);
    options_.path = path("eve.json");
    previous_level_ = base::log_level();
  }
  ~SinkTest() override {
    fs::remove_all(folder_);
    base::set_log_level(previous_level_);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string read(const std::string& file) {
    std::ostringstream s;
    s << std::ifstream(file, std::ios::binary).rdbuf();
    return s.str();
  }
  std::unique_ptr<EventSink> open() {
    auto sink = open_file_sink(options_);
    EXPECT_TRUE(sink.ok());
    return std::move(*sink);
  }

  std::string folder_;
  FileSinkOptions options_;
  base::LogLevel previous_level_;
};

using FileSink = SinkTest;
using SyslogSink = SinkTest;

TEST_F(FileSink, WritesInBlocks) {
  options_.block_size = 10;
  auto sink = open();
  sink->write("1234", Severity::kInfo, kNow);
  sink->write("5678", Severity::kInfo, kNow);
  EXPECT_EQ(read(options_.path), "");
  EXPECT_EQ(sink->status().written, 0U);
  sink->write("9", Severity::kInfo, kNow);  // does not fit with the first two
  EXPECT_EQ(read(options_.path), "1234\n5678\n");
  sink->flush(kNow);
  EXPECT_EQ(read(options_.path), "1234\n5678\n9\n");
  sink->write("a line longer than a block", Severity::kInfo, kNow);
  sink->flush(kNow);
  EXPECT_EQ(read(options_.path), "1234\n5678\n9\na line longer than a block\n");
  const SinkStatus s = sink->status();
  EXPECT_EQ(s.name, "eve");
  EXPECT_EQ(s.kind, "file");
  EXPECT_EQ(s.written, 4U);
  EXPECT_EQ(s.lost, 0U);
  EXPECT_EQ(s.bytes, 39U);
  EXPECT_FALSE(s.is_failing);
}

TEST_F(FileSink, AppendsOrTruncatesAtStart) {
  std::ofstream(options_.path) << "old\n";
  open()->write("new", Severity::kInfo, kNow);  // the destructor flushes
  EXPECT_EQ(read(options_.path), "old\nnew\n");
  options_.truncate = true;
  open()->write("fresh", Severity::kInfo, kNow);
  EXPECT_EQ(read(options_.path), "fresh\n");
}

TEST_F(FileSink, RotatesBySizeAndKeepsN) {
  options_.max_size = 10;
  options_.keep = 2;
  auto sink = open();
  for (const char* line : {"aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff", "gggg"})
    sink->write(line, Severity::kInfo, kNow);
  sink->flush(kNow);
  EXPECT_EQ(read(options_.path), "gggg\n");
  EXPECT_EQ(read(path("eve.json.1")), "eeee\nffff\n");
  EXPECT_EQ(read(path("eve.json.2")), "cccc\ndddd\n");
  EXPECT_FALSE(fs::exists(path("eve.json.3")));
  EXPECT_EQ(sink->status().written, 7U);
}

TEST_F(FileSink, CountsWhatIsInTheFileAlready) {
  std::ofstream(options_.path) << "12345678\n";
  options_.max_size = 10;
  auto sink = open();
  sink->write("x", Severity::kInfo, kNow);
  sink->flush(kNow);
  EXPECT_EQ(read(options_.path), "x\n");
  EXPECT_EQ(read(path("eve.json.1")), "12345678\n");
}

TEST_F(FileSink, KeepNoneDropsOldContent) {
  options_.max_size = 5;
  options_.keep = 0;
  auto sink = open();
  sink->write("aaaa", Severity::kInfo, kNow);
  sink->write("bbbb", Severity::kInfo, kNow);
  sink->flush(kNow);
  EXPECT_EQ(read(options_.path), "bbbb\n");
  EXPECT_FALSE(fs::exists(path("eve.json.1")));
}

TEST_F(FileSink, RotatesOnTheHour) {
  options_.rotate_interval = kHour;
  auto sink = open();
  sink->write("10:11", Severity::kInfo, kNow);
  sink->write("10:59", Severity::kInfo, kNow + 48 * 60 * base::kNanosPerSecond);
  sink->write("11:00", Severity::kInfo, kNow + 49 * 60 * base::kNanosPerSecond);
  sink->flush(kNow + kHour);
  EXPECT_EQ(read(path("eve.json.1")), "10:11\n10:59\n");
  EXPECT_EQ(read(options_.path), "11:00\n");
}

TEST_F(FileSink, ReopensOnRequest) {
  auto sink = open();
  sink->write("before", Severity::kInfo, kNow);
  fs::rename(options_.path, path("moved"));
  sink->request_reopen();
  sink->write("after", Severity::kInfo, kNow);
  sink->flush(kNow);
  EXPECT_EQ(read(path("moved")), "before\n");
  EXPECT_EQ(read(options_.path), "after\n");
}

TEST_F(FileSink, ReopenThatFailsKeepsTheOldFile) {
  fs::create_directory(path("d"));
  options_.path = path("d/eve.json");
  auto sink = open();
  fs::rename(path("d"), path("e"));
  sink->request_reopen();
  sink->write("line", Severity::kInfo, kNow);
  EXPECT_TRUE(sink->status().is_failing);
  sink->flush(kNow);
  EXPECT_EQ(read(path("e/eve.json")), "line\n");
  EXPECT_EQ(sink->status().lost, 0U);
}

TEST_F(FileSink, OpenErrorHasAReason) {
  options_.path = path("no/such/folder/eve.json");
  const auto sink = open_file_sink(options_);
  ASSERT_FALSE(sink.ok());
  EXPECT_EQ(sink.error().code, base::Errc::kIo);
  EXPECT_NE(sink.error().message.find(options_.path), std::string::npos);
  EXPECT_FALSE(sink.error().hint.empty());
}

TEST_F(FileSink, FullDeviceLosesAndCounts) {
  options_.path = "/dev/full";
  auto sink = open();
  sink->write("a", Severity::kInfo, kNow);
  sink->write("b", Severity::kInfo, kNow);
  sink->flush(kNow);
  sink->write("c", Severity::kInfo, kNow);
  sink->flush(kNow);
  EXPECT_EQ(sink->status().written, 0U);
  EXPECT_EQ(sink->status().lost, 3U);
  EXPECT_TRUE(sink->status().is_failing);
}

// A limit on the file's size stands for a full disk: the kernel takes a part of the block, then
// refuses.
TEST_F(FileSink, FullDiskLeavesWholeLinesAndRecovers) {
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  auto sink = open();
  const rlimit tight{12, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  for (const char* line : {"aaaa", "bbbb", "cccc", "dddd"})
    sink->write(line, Severity::kInfo, kNow);
  sink->flush(kNow);
  const std::string during = read(options_.path);
  const SinkStatus failing = sink->status();
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, old_handler);
  sink->write("eeee", Severity::kInfo, kNow);
  sink->flush(kNow);

  EXPECT_EQ(during, "aaaa\nbbbb\n");
  EXPECT_TRUE(failing.is_failing);
  EXPECT_EQ(failing.written, 2U);
  EXPECT_EQ(failing.lost, 2U);
  EXPECT_EQ(failing.bytes, 10U);
  EXPECT_EQ(read(options_.path), "aaaa\nbbbb\neeee\n");
  EXPECT_FALSE(sink->status().is_failing);
  EXPECT_EQ(sink->status().written, 3U);
  EXPECT_EQ(sink->status().lost, 2U);
}

TEST_F(SyslogSink, MessageForm) {
  SyslogSinkOptions o;
  o.host = "fw 1";  // a blank would shift the fields
  o.app = "";
  std::string out;
  append_syslog_message(o, Severity::kWarning, kNow, R"({"a":1})", out);
  EXPECT_EQ(out, "<132>1 2026-08-22T10:11:12.123456Z fw1 - " + std::to_string(::getpid()) +
                     R"( eve - {"a":1})");
}

TEST_F(SyslogSink, RefusesNamesAndLongPaths) {
  SyslogSinkOptions o;
  o.transport = SyslogSinkOptions::Transport::kUdp;
  o.address = "collector.example";
  EXPECT_EQ(open_syslog_sink(o).error().code, base::Errc::kInvalidValue);
  o.transport = SyslogSinkOptions::Transport::kUnix;
  o.address = "/" + std::string(200, 'x');
  EXPECT_EQ(open_syslog_sink(o).error().code, base::Errc::kInvalidValue);
  o.address = "/dev/log";
  o.facility = 24;
  EXPECT_EQ(open_syslog_sink(o).error().code, base::Errc::kInvalidValue);
}

int bind_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}
int bind_loopback(int type, std::uint16_t& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, type, 0);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}
std::string receive(int fd) {
  std::string text(70'000, '\0');
  const ssize_t n = ::recv(fd, text.data(), text.size(), 0);
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

TEST_F(SyslogSink, UnixSocketComesAndGoes) {
  SyslogSinkOptions o;
  o.address = path("log");
  auto sink = open_syslog_sink(o);
  ASSERT_TRUE(sink.ok());
  (*sink)->write("lost", Severity::kInfo, kNow);
  EXPECT_EQ((*sink)->status().lost, 1U);
  EXPECT_TRUE((*sink)->status().is_failing);

  const int fd = bind_unix(o.address);
  (*sink)->write("one", Severity::kInfo, kNow);
  const std::string message = receive(fd);
  EXPECT_TRUE(message.starts_with("<134>1 2026-08-22T10:11:12.123456Z - merlon "));
  EXPECT_TRUE(message.ends_with(" eve - one"));
  ::close(fd);
  ::unlink(o.address.c_str());

  const int again = bind_unix(o.address);  // the log daemon was restarted
  (*sink)->write("two", Severity::kInfo, kNow);
  EXPECT_TRUE(receive(again).ends_with(" eve - two"));
  ::close(again);
  const SinkStatus s = (*sink)->status();
  EXPECT_EQ(s.written, 2U);
  EXPECT_EQ(s.lost, 1U);
  EXPECT_EQ(s.bytes, 2 * message.size());
  EXPECT_FALSE(s.is_failing);
}

TEST_F(SyslogSink, Udp) {
  SyslogSinkOptions o;
  o.transport = SyslogSinkOptions::Transport::kUdp;
  o.address = "127.0.0.1";
  const int fd = bind_loopback(SOCK_DGRAM, o.port);
  auto sink = open_syslog_sink(o);
  ASSERT_TRUE(sink.ok());
  (*sink)->write("x", Severity::kNotice, kNow);
  EXPECT_TRUE(receive(fd).starts_with("<133>1 "));
  (*sink)->write(std::string(70'000, 'y'), Severity::kInfo, kNow);  // more than a datagram holds
  EXPECT_EQ((*sink)->status().written, 1U);
  EXPECT_EQ((*sink)->status().lost, 1U);
  ::close(fd);
}

TEST_F(SyslogSink, TcpCountsOctetsAndReconnects) {
  SyslogSinkOptions o;
  o.transport = SyslogSinkOptions::Transport::kTcp;
  o.address = "127.0.0.1";
  o.buffer_size = 200;
  const int listener = bind_loopback(SOCK_STREAM, o.port);
  auto sink = open_syslog_sink(o);
  ASSERT_TRUE(sink.ok());
  (*sink)->write("refused", Severity::kInfo, kNow);  // nobody listens yet; told at the first send
  (*sink)->flush(kNow);
  (*sink)->flush(kNow);
  EXPECT_EQ((*sink)->status().lost, 1U);

  ASSERT_EQ(::listen(listener, 1), 0);
  (*sink)->write("too soon", Severity::kInfo, kNow + 1);
  EXPECT_EQ((*sink)->status().lost, 2U);
  const base::Nanos later = kNow + base::kNanosPerSecond;
  (*sink)->write("one", Severity::kInfo, later);
  const int fd = ::accept(listener, nullptr, nullptr);
  (*sink)->write("two", Severity::kInfo, later);
  (*sink)->write(std::string(200, 'z'), Severity::kInfo, later);  // beyond the buffer
  (*sink)->flush(later);
  std::string one, two;
  append_syslog_message(o, Severity::kInfo, later, "one", one);
  append_syslog_message(o, Severity::kInfo, later, "two", two);
  EXPECT_EQ(receive(fd),
            std::to_string(one.size()) + " " + one + std::to_string(two.size()) + " " + two);
  EXPECT_EQ((*sink)->status().written, 2U);
  EXPECT_EQ((*sink)->status().lost, 3U);
  EXPECT_FALSE((*sink)->status().is_failing);
  ::close(fd);
  ::close(listener);
}

}  // namespace
}  // namespace merlon::telemetry
