// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/message.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace merlon::lab::tcp {
namespace {

base::ByteSpan bytes(std::string_view s) {
  return {reinterpret_cast<const base::Byte*>(s.data()), s.size()};
}

struct Read {
  HeadResult result;
  HeadState state{};
  std::size_t used = 0;
};

Read request(std::string_view text) {
  Read r{HeadResult::kMore};
  r.result = read_request(r.state, bytes(text), r.used);
  return r;
}
Read response(std::string_view text) {
  Read r{HeadResult::kMore};
  r.result = read_response(r.state, bytes(text), r.used);
  return r;
}

TEST(Head, ReadsARequestAsCurlSendsIt) {
  const std::string text =
      "GET /o/16384 HTTP/1.1\r\nHost: 10.10.0.1\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n";
  const Read r = request(text + "GET /next");
  EXPECT_EQ(r.result, HeadResult::kDone);
  EXPECT_EQ(r.used, text.size());
  EXPECT_EQ(r.state.number, 16'384U);
  EXPECT_EQ(r.state.flags, HeadState::kHasNumber);
}

TEST(Head, GivesTheSameInPiecesOfAnySize) {
  const std::string text =
      "HTTP/1.0 200 OK\r\nServer: SimpleHTTP/0.6 Python/3.11.2\r\nCONTENT-LENGTH: "
      "4096\r\nconnection: Close\r\n\r\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    HeadState s{};
    HeadResult r = HeadResult::kMore;
    std::size_t total = 0;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      std::size_t used = 0;
      ASSERT_EQ(r, HeadResult::kMore);
      r = read_response(s, bytes(std::string_view(text).substr(at, piece)), used);
      total += used;
    }
    EXPECT_EQ(r, HeadResult::kDone);
    EXPECT_EQ(total, text.size());
    EXPECT_EQ(s.status, 200);
    EXPECT_EQ(s.number, 4096U);
    EXPECT_EQ(s.flags, HeadState::kHasNumber | HeadState::kHasLength | HeadState::kCloses |
                           HeadState::kIsOldVersion);
  }
}

TEST(Head, KeepsTheObjectsNumberFromAContentLength) {
  const Read r =
      request("GET /o/7 HTTP/1.1\r\nContent-Length: 99\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(r.result, HeadResult::kDone);
  EXPECT_EQ(r.state.number, 7U);
  EXPECT_EQ(r.state.flags, HeadState::kHasNumber | HeadState::kKeepsAlive);
}

TEST(Head, OtherPathsHaveNoNumber) {
  for (const char* path : {"/", "/o/", "/o/12x", "/p/12", "/o/12/3"}) {
    const Read r = request(std::string("GET ") + path + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(r.result, HeadResult::kDone) << path;
    EXPECT_EQ(r.state.flags & HeadState::kHasNumber, 0) << path;
    EXPECT_EQ(r.state.number, 0U) << path;
  }
}

TEST(Head, NamesThatOnlyBeginAlikeAreSkipped) {
  const Read r = response(
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent: 5\r\nConnect: close\r\nTransfer: "
      "chunked\r\n"
      "Content-Length:12\r\n\r\n");
  EXPECT_EQ(r.result, HeadResult::kDone);
  EXPECT_EQ(r.state.number, 12U);
  EXPECT_EQ(r.state.flags, HeadState::kHasNumber | HeadState::kHasLength);
}

TEST(Head, RefusesWhatIsNotAHead) {
  EXPECT_EQ(request("POST / HTTP/1.1\r\n\r\n").result, HeadResult::kBad);
  EXPECT_EQ(request("GET / SPDY/3\r\n\r\n").result, HeadResult::kBad);
  EXPECT_EQ(request("GET /o/99999999999 HTTP/1.1\r\n\r\n").result, HeadResult::kBad);
  EXPECT_EQ(request("GET /\r\n\r\n").result, HeadResult::kBad);
  EXPECT_EQ(response("HTTP/1.1 2x0 OK\r\n\r\n").result, HeadResult::kBad);
  EXPECT_EQ(response("SSH-2.0-OpenSSH\r\n").result, HeadResult::kBad);
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n").result, HeadResult::kBad);
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nContent-Length: 4294967297\r\n\r\n").result,
            HeadResult::kBad);
  EXPECT_EQ(request("GET / HTTP/1.1\r\nX: " + std::string(kMaxHeadSize, 'a')).result,
            HeadResult::kBad);
}

TEST(MessageBook, WritesAnyPieceOfAMessageAlike) {
  const MessageBook book({1024, 65'536, 131'072}, true);
  for (unsigned object = 0; object < 3; ++object) {
    const std::uint8_t m = book.answer(book.request(object, false));
    std::vector<base::Byte> whole(book.length(m));
    book.write(m, 0, book.length(m), whole.data());
    EXPECT_EQ(whole.size(), book.head(m).size() + book.body(m));
    for (std::uint32_t size : {1U, 7U, 536U, 1460U}) {
      std::vector<base::Byte> piece(size);
      for (std::uint32_t from = 0; from + size <= whole.size(); from += 997) {
        book.write(m, from, size, piece.data());
        ASSERT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + from));
      }
    }
    const base::ByteSpan body = base::ByteSpan(whole).subspan(book.head(m).size());
    EXPECT_TRUE(book.is_body(0, body));
    EXPECT_TRUE(book.is_body(100, body.subspan(100)));
    EXPECT_FALSE(book.is_body(101, body.subspan(100)));
    whole.back() ^= 1;
    EXPECT_FALSE(book.is_body(0, body));
  }
}

TEST(MessageBook, ReadsItsOwnHeads) {
  const MessageBook book({1024, 4096}, true);
  for (unsigned object = 0; object < 2; ++object) {
    for (const bool closes : {false, true}) {
      const std::uint8_t m = book.request(object, closes);
      HeadState s{};
      std::size_t used = 0;
      ASSERT_EQ(read_request(s, book.head(m), used), HeadResult::kDone);
      EXPECT_EQ(book.response(s.number, (s.flags & HeadState::kCloses) != 0), book.answer(m));
      EXPECT_EQ(book.request_of(book.answer(m)), m);
      s = {};
      ASSERT_EQ(read_response(s, book.head(book.answer(m)), used), HeadResult::kDone);
      EXPECT_EQ(s.status, 200);
      EXPECT_EQ(s.number, book.body(book.answer(m)));
    }
  }
  HeadState s{};
  std::size_t used = 0;
  ASSERT_EQ(read_response(s, book.head(book.response(5, false)), used), HeadResult::kDone);
  EXPECT_EQ(s.status, 404);
}

}  // namespace
}  // namespace merlon::lab::tcp
