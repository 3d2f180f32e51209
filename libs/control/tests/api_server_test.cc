// SPDX-License-Identifier: Apache-2.0
// The real server on a Unix socket in a temporary folder, asked by the real client and by raw
// bytes.
#include "merlon/control/api_server.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "fake_runtime.h"
#include "merlon/client/http_client.h"

namespace merlon::control {
namespace {

using client::HttpHead;
using client::HttpRequest;

struct Reply {
  int status = 0;
  std::string body, problem;
  std::size_t largest_piece = 0;
};

class ApiServerTest : public ::testing::Test {
 protected:
  ApiServerTest() {
    static std::atomic<int> number{0};
    folder_ = std::filesystem::temp_directory_path() /
              ("merlon-api-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directories(folder_);
    options_.socket_path = (folder_ / "api.sock").string();
    add_routes(router_, runtime_);
  }
  ~ApiServerTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void start() {
    server_ = std::make_unique<ApiServer>(options_, router_);
    const auto started = server_->start();
    ASSERT_TRUE(started) << started.error().to_string();
  }

  Reply ask(HttpRequest request) {
    Reply reply;
    const auto head = client::http_send({.socket_path = options_.socket_path}, request,
                                        [&reply](const HttpHead&, std::string_view piece) {
                                          reply.body += piece;
                                          reply.largest_piece =
                                              std::max(reply.largest_piece, piece.size());
                                          return true;
                                        });
    if (head)
      reply.status = head->status;
    else
      reply.problem = head.error().message;
    return reply;
  }
  Reply get(const std::string& target, const std::string& accept = "application/json") {
    HttpRequest request{.target = target};
    request.headers.emplace_back("Accept", accept);
    return ask(request);
  }

  // A connection for raw bytes.
  int connect() {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, options_.socket_path.data(), options_.socket_path.size());
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static std::string read_all(int fd) {
    std::string out;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<std::size_t>(got));
    return out;
  }
  static void write_all(int fd, std::string_view text) {
    EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  std::filesystem::path folder_;
  test::FakeRuntime runtime_;
  ApiRouter router_;
  ApiServerOptions options_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(ApiServerTest, AnswersInEveryFormat) {
  start();
  const Reply json = get("/api/v1/pools");
  EXPECT_EQ(json.status, 200);
  EXPECT_EQ(nlohmann::json::parse(json.body)[0]["used"], 250);
  EXPECT_EQ(
      get("/api/v1/pools", "text/csv").body,
      "pool,used,limit,used_ratio,peak,failures,size_bytes\nsessions,250,1000,0.25,300,0,128000\n");
  EXPECT_EQ(
      nlohmann::json::parse(get("/api/v1/pools", "application/vnd.merlon.table+json").body)["kind"],
      "pools");
  EXPECT_EQ(get("/metrics").body, "merlon_drops_total{reason=\"policy_deny\"} 9\n");
  EXPECT_EQ(get("/api/v1/nothing").status, 404);
}

TEST_F(ApiServerTest, StreamsAMillionSessionsInSmallPieces) {
  runtime_.session_count = 1'000'000;
  start();
  std::uint64_t lines = 0, bytes = 0;
  std::string tail;
  const auto head = client::http_send(
      {.socket_path = options_.socket_path},
      {.target = "/api/v1/sessions?filter=port%3D443",
       .headers = {{"Accept", "application/jsonl"}}},
      [&](const HttpHead&, std::string_view piece) {
        lines += static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), '\n'));
        bytes += piece.size();
        tail = std::string(piece.substr(piece.size() - std::min<std::size_t>(piece.size(), 2)));
        return true;
      });
  ASSERT_TRUE(head);
  EXPECT_EQ(lines, 500'000U);
  EXPECT_EQ(tail, "}\n");
  EXPECT_GT(bytes, 100'000'000U);
}

TEST_F(ApiServerTest, LimitEndsAStreamEarly) {
  runtime_.session_count = 1'000'000;
  start();
  const Reply reply = get("/api/v1/sessions?limit=300");
  EXPECT_EQ(nlohmann::json::parse(reply.body).size(), 300U);
}

TEST_F(ApiServerTest, AReaderThatGoesAwayHarmsNobody) {
  runtime_.session_count = 1'000'000;
  start();
  const int fd = connect();
  write_all(fd, "GET /api/v1/sessions HTTP/1.1\r\nHost: x\r\n\r\n");
  char byte = 0;
  EXPECT_EQ(::read(fd, &byte, 1), 1);
  // While this reader holds its answer up, others get theirs.
  EXPECT_EQ(get("/api/v1/status").status, 200);
  ::close(fd);
  EXPECT_EQ(get("/api/v1/status").status, 200);
}

TEST_F(ApiServerTest, KeepsAConnectionForSeveralRequests) {
  start();
  const int fd = connect();
  write_all(fd,
            "GET /api/v1/rules/web-out HTTP/1.1\r\nHost: x\r\n\r\n"
            "GET /api/v1/sessions HTTP/1.1\r\nHost: x\r\nAccept: text/csv\r\n\r\n"
            "GET /api/v1/rules/no-telnet HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string all = read_all(fd);
  ::close(fd);
  EXPECT_NE(all.find("\"rule\": \"web-out\""), std::string::npos);
  EXPECT_NE(all.find("id,protocol,source"), std::string::npos);
  EXPECT_NE(all.find("\"rule\": \"no-telnet\""), std::string::npos);
}

TEST_F(ApiServerTest, BoundsAreAnsweredNotMet) {
  options_.max_body_bytes = 100;
  options_.max_slow_body_bytes = 10'000;
  start();
  HttpRequest large{.method = "POST", .target = "/api/v1/explain"};
  large.body = std::string(1000, ' ');
  EXPECT_EQ(ask(large).status, 413);
  // Configurations may be larger.
  large.target = "/api/v1/config/check";
  EXPECT_EQ(ask(large).status, 400);
  large.body = std::string(20'000, ' ');
  EXPECT_EQ(ask(large).status, 413);
  HttpRequest head{.target = "/api/v1/status"};
  head.headers.emplace_back("X", std::string(20'000, 'x'));
  EXPECT_EQ(ask(head).status, 431);
}

TEST_F(ApiServerTest, RefusesWhatIsNotHttp) {
  start();
  const int fd = connect();
  write_all(fd, "SSH-2.0-OpenSSH_9\r\n\r\n");
  const std::string answer = read_all(fd);
  ::close(fd);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
}

TEST_F(ApiServerTest, TooManyConnectionsAreTold) {
  options_.max_connections = 2;
  start();
  const int first = connect(), second = connect();
  // An answer without end on each.
  for (const int fd : {first, second}) {
    write_all(fd, "GET /api/v1/watch HTTP/1.1\r\nHost: x\r\n\r\n");
    char byte = 0;
    EXPECT_EQ(::read(fd, &byte, 1), 1);
  }
  EXPECT_EQ(get("/metrics").status, 503);
  ::close(first);
  ::close(second);
}

TEST_F(ApiServerTest, TheLongestSilentMakesRoom) {
  options_.max_connections = 3;
  start();
  const int watcher = connect(), silent = connect(), slow = connect();
  write_all(watcher, "GET /api/v1/watch HTTP/1.1\r\nHost: x\r\n\r\n");
  char byte = 0;
  EXPECT_EQ(::read(watcher, &byte, 1), 1);
  write_all(silent, "GET /metrics HT");
  write_all(slow, "POST /api/v1/explain HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{");
  while (server_->connection_count() < 3) ::sched_yield();
  EXPECT_EQ(get("/metrics").status, 200);
  EXPECT_EQ(::read(silent, &byte, 1), 0);  // ended
  while (server_->connection_count() > 2) ::sched_yield();
  write_all(slow, "\"a\":1  }");
  EXPECT_EQ(::read(slow, &byte, 1), 1);  // still served
  for (const int fd : {watcher, silent, slow}) ::close(fd);
}

TEST_F(ApiServerTest, ManySilentPeersKeepNobodyOut) {
  options_.max_connections = 8;
  start();
  std::vector<int> peers;
  for (unsigned i = 0; i < 200; ++i) {
    peers.push_back(connect());
    write_all(peers.back(), "G");
    if (i % 20 == 0) {
      EXPECT_EQ(get("/api/v1/status").status, 200) << i;
    }
  }
  EXPECT_EQ(get("/api/v1/status").status, 200);
  for (const int fd : peers) ::close(fd);
}

TEST_F(ApiServerTest, SlowRequestsDoNotHoldUpOthers) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_in = false, may_leave = false;
  router_.add({"POST", "/slow", "x", RouteCost::kSlow, {}, [&](const ApiRequest&) {
                 std::unique_lock lock(mutex);
                 is_in = true;
                 changed.notify_all();
                 changed.wait(lock, [&] { return may_leave; });
                 return ApiAnswer::json("done");
               }});
  options_.max_slow_requests = 1;
  start();
  Reply slow;
  std::thread other([&] { slow = ask({.method = "POST", .target = "/slow"}); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_in; });
  }
  EXPECT_EQ(get("/api/v1/status").status, 200);
  EXPECT_EQ(ask({.method = "POST", .target = "/api/v1/config/confirm"}).status, 503);
  {
    const std::lock_guard lock(mutex);
    may_leave = true;
    changed.notify_all();
  }
  other.join();
  EXPECT_EQ(slow.status, 200);
  EXPECT_EQ(slow.body, "\"done\"\n");
  EXPECT_EQ(ask({.method = "POST", .target = "/api/v1/config/confirm"}).status, 200);
}

TEST_F(ApiServerTest, ServerSentEventsComeUntilTheReaderStops) {
  start();
  int messages = 0;
  std::string text;
  const auto head = client::http_send(
      {.socket_path = options_.socket_path}, {.target = "/api/v1/watch?interval=100ms"},
      [&](const HttpHead& h, std::string_view piece) {
        EXPECT_EQ(h.headers.at("content-type"), "text/event-stream");
        text += piece;
        messages += piece.ends_with("\n\n") ? 1 : 0;
        return messages < 2;
      });
  ASSERT_TRUE(head);
  EXPECT_TRUE(text.starts_with("event: snapshot\ndata: {"));
}

TEST_F(ApiServerTest, StopEndsOpenStreams) {
  start();
  const int fd = connect();
  write_all(fd, "GET /api/v1/watch?interval=60s HTTP/1.1\r\nHost: x\r\n\r\n");
  // The head and the first event are two writes; stop() may come between them, so wait for the
  // event.
  std::string text;
  char byte = 0;
  while (text.find("snapshot") == std::string::npos && ::read(fd, &byte, 1) == 1) text += byte;
  EXPECT_NE(text.find("snapshot"), std::string::npos);
  server_->stop();
  read_all(fd);  // ends: the stream did
  ::close(fd);
  EXPECT_EQ(server_->connection_count(), 0U);
  EXPECT_FALSE(std::filesystem::exists(options_.socket_path));
  EXPECT_EQ(get("/metrics").problem, "no daemon answers on " + options_.socket_path);
}

TEST_F(ApiServerTest, SocketFileIsOursAlone) {
  start();
  struct stat info {};
  ASSERT_EQ(::stat(options_.socket_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0660U);
  ApiServer second(options_, router_);
  const auto refused = second.start();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Errc::kConflict);
  EXPECT_EQ(get("/metrics").status, 200);  // the first is unharmed
}

TEST_F(ApiServerTest, AStaleSocketIsReplacedAFileIsNot) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, options_.socket_path.data(), options_.socket_path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);  // as after kill -9
  start();
  EXPECT_EQ(get("/metrics").status, 200);
  server_.reset();
  std::ofstream(options_.socket_path) << "precious";
  ApiServer other(options_, router_);
  const auto refused = other.start();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Errc::kRefused);
  EXPECT_TRUE(std::filesystem::exists(options_.socket_path));
}

}  // namespace
}  // namespace merlon::control
