// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/http_client.h"

#include <gtest/gtest.h>

namespace merlon::client {
namespace {

struct Outcome {
  std::string body, error;
  HttpHead head;
};

// Feeds in pieces of `step` bytes, then closes.
Outcome parse(const std::string& reply, std::size_t step) {
  Outcome out;
  HttpReplyParser parser([&out](const HttpHead&, std::string_view piece) {
    out.body += piece;
    return true;
  });
  for (std::size_t i = 0; i < reply.size(); i += step) {
    auto fed = parser.feed(std::string_view(reply).substr(i, step));
    if (!fed) {
      out.error = fed.error().message;
      return out;
    }
  }
  if (auto closed = parser.close(); !closed) out.error = closed.error().message;
  out.head = parser.head();
  return out;
}

const std::string kChunked =
    "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: 1\r\n\r\n";

TEST(HttpReply, AnySplitGivesTheSame) {
  for (std::size_t step = 1; step <= kChunked.size(); ++step) {
    const Outcome out = parse(kChunked, step);
    EXPECT_EQ(out.error, "") << step;
    EXPECT_EQ(out.body, "hello world") << step;
    EXPECT_EQ(out.head.status, 200);
    EXPECT_EQ(out.head.headers.at("content-type"), "a/b");
  }
}

TEST(HttpReply, LengthCloseAndInterim) {
  EXPECT_EQ(parse("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc", 7).body, "abc");
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\n\r\nuntil the end", 4).body, "until the end");
  const Outcome out =
      parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nX: y\r\n\r\n", 5);
  EXPECT_EQ(out.head.status, 204);
  EXPECT_EQ(out.error, "");
}

TEST(HttpReply, EveryCutIsNoticed) {
  for (std::size_t cut = 0; cut < kChunked.size(); ++cut)
    EXPECT_NE(parse(kChunked.substr(0, cut), 8).error, "") << cut;
}

TEST(HttpReply, RefusesWhatIsNotHttpAndWhatIsTooLong) {
  EXPECT_EQ(parse("SSH-2.0-OpenSSH\r\n\r\n", 100).error, "the answer is not HTTP: no status line");
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 100).error,
            "the answer is not HTTP: a wrong content length");
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", 100).error,
            "the answer is not HTTP: an unknown transfer encoding");
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 100).error,
            "the answer is not HTTP: a wrong chunk size");
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 100).error,
            "the answer is not HTTP: a chunk is longer than its size");
  EXPECT_EQ(
      parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(2000, '1'), 64)
          .error,
      "the answer is not HTTP: a line is too long");
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'a'), 1000).error,
            "the answer is not HTTP: the head is too long");
}

TEST(HttpReply, SinkMayStop) {
  HttpReplyParser parser([](const HttpHead&, std::string_view) { return false; });
  EXPECT_TRUE(parser.feed(kChunked));
  EXPECT_TRUE(parser.is_stopped());
  EXPECT_TRUE(parser.close());
}

TEST(HttpSend, SaysThatNobodyListens) {
  const auto none = http_send({.socket_path = "/nonexistent/api.sock"}, {}, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, base::Errc::kNotFound);
  EXPECT_EQ(none.error().message, "no daemon answers on /nonexistent/api.sock");
  EXPECT_EQ(http_send({.socket_path = std::string(200, 'x')}, {}, {}).error().code,
            base::Errc::kInvalidValue);
}

}  // namespace
}  // namespace merlon::client
