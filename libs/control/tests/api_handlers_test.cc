// SPDX-License-Identifier: Apache-2.0
// Routes over a fake daemon, without a socket.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fake_runtime.h"
#include "merlon/client/packet_words.h"
#include "merlon/control/api_router.h"

namespace merlon::control {
namespace {

using nlohmann::json;

class ApiRoutes : public ::testing::Test {
 protected:
  ApiRoutes() { add_routes(router_, runtime_); }

  ApiAnswer ask(const std::string& method, const std::string& target, const std::string& body = {},
                const std::string& if_match = {}) {
    ApiRequest request;
    request.method = method;
    request.body = body;
    request.if_match = if_match;
    request.peer = "uid 7";
    if (auto done = set_target(request, target); !done) return ApiAnswer::error(done.error());
    return router_.dispatch(request);
  }
  static json document(const ApiAnswer& answer) {
    return json::parse(std::get<ApiText>(answer.content).body);
  }
  // Status, message and hint of a refusal.
  std::string refusal(const std::string& method, const std::string& target,
                      const std::string& body = {}) {
    const ApiAnswer answer = ask(method, target, body);
    const json error = document(answer).at("error");
    return std::to_string(answer.status) + " " + error.value("message", "") + " | " +
           error.value("hint", "");
  }
  std::vector<client::Row> all_rows(const std::string& target) {
    ApiAnswer answer = ask("GET", target);
    std::vector<client::Row> all, batch;
    auto& stream = std::get<ApiTableStream>(answer.content);
    while (stream.source(batch)) all.insert(all.end(), batch.begin(), batch.end());
    return all;
  }

  test::FakeRuntime runtime_;
  ApiRouter router_;
};

TEST_F(ApiRoutes, ListsHaveARowPerThing) {
  const auto ports = std::get<client::Table>(ask("GET", "/api/v1/ports").content);
  EXPECT_EQ(ports.kind, "ports");
  ASSERT_EQ(ports.rows.size(), 1U);
  EXPECT_EQ(ports.rows[0].size(), ports.columns.size());
  EXPECT_EQ(ports.rows[0][0], client::Value("p0"));
  EXPECT_EQ(ports.columns[7].name, "rx_packets");
  EXPECT_EQ(ports.rows[0][7], client::Value(std::uint64_t{1'234'567}));
  for (const char* path :
       {"workers", "policy", "drops", "drops/packets", "pools", "config/history"}) {
    const auto table = std::get<client::Table>(ask("GET", std::string("/api/v1/") + path).content);
    ASSERT_FALSE(table.rows.empty()) << path;
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << path;
  }
}

TEST_F(ApiRoutes, RulesShowTheirPlaceAndReason) {
  const json rule = document(ask("GET", "/api/v1/rules/no-telnet"));
  EXPECT_EQ(rule["hits"], 9);
  EXPECT_EQ(rule["where"], "policy.yaml:18:5");
  EXPECT_EQ(rule["reason"], "clear text login");
  EXPECT_EQ(rule["last_hit"], nullptr);
  EXPECT_EQ(document(ask("GET", "/api/v1/rules/web-out"))["last_hit"],
            "2026-08-22T10:11:12.123456+0000");
  EXPECT_EQ(refusal("GET", "/api/v1/rules/no-telnt"),
            "404 no rule \"no-telnt\" | did you mean \"no-telnet\"?");
}

TEST_F(ApiRoutes, SessionsAreFilteredInBatches) {
  runtime_.session_count = 1000;
  EXPECT_EQ(all_rows("/api/v1/sessions").size(), 1000U);
  const auto denied = all_rows("/api/v1/sessions?filter=state%3Ddenied+port%3D23+older%3D5s");
  ASSERT_EQ(denied.size(), 500U);
  EXPECT_EQ(denied[0][0], client::Value(std::uint64_t{1}));
  EXPECT_EQ(denied[0][2], client::Value("10.0.0.1:40000"));
  EXPECT_EQ(all_rows("/api/v1/sessions?filter=src%3D10.0.0.7").size(), 1U);
  EXPECT_EQ(all_rows("/api/v1/sessions?filter=older%3D6s").size(), 0U);
}

TEST_F(ApiRoutes, FiltersWithUnknownNamesAreRefused) {
  EXPECT_EQ(refusal("GET", "/api/v1/sessions?filter=state%3Destablishd"),
            "400 no session state \"establishd\" | did you mean \"established\"?");
  EXPECT_EQ(refusal("GET", "/api/v1/sessions?filter=zone%3Dlam"),
            "400 no zone \"lam\" | did you mean \"lan\"?");
  EXPECT_EQ(refusal("GET", "/api/v1/sessions?filter=rule%3Dx"), "400 no rule \"x\" | ");
  EXPECT_EQ(refusal("GET", "/api/v1/sessions?filter=prt%3D1"),
            "400 unknown key \"prt\" in a session filter (column 1) | did you mean \"port\"?");
  EXPECT_EQ(ask("GET", "/api/v1/sessions?filter=rule%3Ddefault").status, 200);
}

TEST_F(ApiRoutes, ClearingNeedsAFilterOrAll) {
  EXPECT_EQ(refusal("DELETE", "/api/v1/sessions"),
            "400 a filter is needed to clear sessions | all=true clears every session");
  EXPECT_TRUE(runtime_.calls.empty());
  EXPECT_EQ(document(ask("DELETE", "/api/v1/sessions?filter=port%3D23"))["cleared"], 2);
  EXPECT_EQ(document(ask("DELETE", "/api/v1/sessions?all=true"))["cleared"], 2);
  EXPECT_EQ(runtime_.calls,
            (std::vector<std::string>{"clear port=23 by uid 7", "clear  by uid 7"}));
}

TEST_F(ApiRoutes, UnknownThingsAreNamed) {
  EXPECT_EQ(refusal("GET", "/api/v1/prots"),
            "404 there is no /api/v1/prots | did you mean \"/api/v1/ports\"?");
  EXPECT_EQ(refusal("GET", "/api/v1/drops?x=1"),
            "400 GET /api/v1/drops knows no query word \"x\" | ");
  EXPECT_EQ(
      refusal("GET", "/api/v1/drops/packets?reson=x"),
      "400 GET /api/v1/drops/packets knows no query word \"reson\" | did you mean \"reason\"?");
  EXPECT_EQ(refusal("GET", "/api/v1/drops/packets?reason=policy_dny"),
            "400 no drop reason \"policy_dny\" | did you mean \"policy_deny\"?");
  const ApiAnswer wrong = ask("PUT", "/api/v1/ports");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at(0), (std::pair<std::string, std::string>("Allow", "GET")));
  EXPECT_EQ(refusal("GET", "/a%zz"), "400 \"%\" in an address needs two hexadecimal digits | ");
}

TEST_F(ApiRoutes, DroppedPacketsAsACapture) {
  const ApiAnswer answer = ask("GET", "/api/v1/drops/packets?format=pcap&reason=policy_deny");
  const std::string& bytes = std::get<ApiText>(answer.content).body;
  ASSERT_EQ(bytes.size(), 24U + 16 + 4);
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data(), 4);
  EXPECT_EQ(word, 0xa1b23c4dU);
  std::memcpy(&word, bytes.data() + 24, 4);
  EXPECT_EQ(word, 1787393472U);
  std::memcpy(&word, bytes.data() + 28, 4);
  EXPECT_EQ(word, 123456789U);
  std::memcpy(&word, bytes.data() + 36, 4);
  EXPECT_EQ(word, 60U);
  EXPECT_EQ(bytes.substr(40), "\x01\x02\x03\x04");
}

TEST_F(ApiRoutes, ExplainPrintsTheWayOfThePacket) {
  const json answer =
      document(ask("POST", "/api/v1/explain",
                   R"({"words":["packet","lan","10.0.0.5:40000","192.0.2.9:23","tcp"]})"));
  EXPECT_EQ(
      client::explain_text(answer),
      "packet    lan 10.0.0.5:40000 192.0.2.9:23 tcp syn\n"
      "ingress   zone lan (port p0)\n"
      "session   none: would create\n"
      "policy    rule no-telnet  (policy.yaml:18:5)  action drop, reason \"clear text login\"\n"
      "          before it: 1 rule, 1 matched the zones, 0 matched fully but were inactive\n"
      "            web-out  (policy.yaml:12:5): service does not match\n"
      "verdict   DROP  policy_deny\n");
  EXPECT_EQ(answer["verdict"]["sentence"], "a policy rule with action drop matched");
  EXPECT_EQ(answer["policy"]["rule"], "no-telnet");
  EXPECT_EQ(refusal("POST", "/api/v1/explain", R"({"words":["packet","lan","x","y","tcp"]})")
                .substr(0, 3),
            "400");
  EXPECT_EQ(refusal("POST", "/api/v1/explain", R"({"words":["session","99"]})"),
            "404 no session 99 | ");
  EXPECT_EQ(refusal("POST", "/api/v1/explain", "[1").substr(0, 25), "400 the body is not JSON ");
  EXPECT_EQ(refusal("POST", "/api/v1/explain", std::string(40, '[')).substr(0, 3), "400");
}

TEST_F(ApiRoutes, CheckGivesFindingsWithTheirPlace) {
  runtime_.check_answer.errors = {{base::Errc::kUnknownKey,
                                   "unknown key \"acton\"",
                                   {"m.yaml", 2, 3, 8},
                                   "did you mean \"action\"?",
                                   ""}};
  runtime_.check_answer.bundle = Bundle{{{"m.yaml", "rules:\n  acton: drop\n"}}};
  const ApiAnswer answer =
      ask("POST", "/api/v1/config/check", R"({"files":[{"name":"m.yaml","text":"rules:\n"}]})");
  EXPECT_EQ(answer.status, 422);
  const json body = document(answer);
  EXPECT_EQ(body["error"]["line"], 2);
  EXPECT_EQ(body["error"]["end_column"], 8);
  EXPECT_EQ(body["errors"].size(), 1U);
  EXPECT_NE(body["text"].get<std::string>().find("nothing was changed (running: revision 41)"),
            std::string::npos);
  EXPECT_EQ(runtime_.calls, (std::vector<std::string>{"check m.yaml:7"}));
  runtime_.check_answer = {};
  EXPECT_EQ(
      ask("POST", "/api/v1/config/check", R"({"files":[{"name":"m.yaml","text":""}]})").status,
      200);
}

TEST_F(ApiRoutes, CommitPassesEverythingOn) {
  runtime_.commit_answer.report.emplace();
  runtime_.commit_answer.report->revision = 42;
  runtime_.commit_answer.report->previous = 41;
  runtime_.commit_answer.report->apply.blocked_ns = 1500;
  runtime_.commit_answer.report->confirm_deadline = 1787393472123456789;
  const json body =
      document(ask("POST", "/api/v1/config/commit",
                   R"({"files":[{"name":"m.yaml","text":"x"},{"name":"b.yaml","text":""}],
                                     "confirm_minutes":5,"comment":"why","author":"ada"})",
                   "\"41\""));
  EXPECT_EQ(body["revision"], 42);
  EXPECT_EQ(body["blocked_ns"], 1500);
  EXPECT_EQ(body["confirm_deadline"], "2026-08-22T10:11:12.123456+0000");
  EXPECT_EQ(runtime_.calls,
            (std::vector<std::string>{
                "commit m.yaml:1,b.yaml:0 author=ada comment=why base=41 confirm=300 peer=uid"}));
}

TEST_F(ApiRoutes, CommitOverAnotherRevisionIsAConflict) {
  EXPECT_EQ(refusal("POST", "/api/v1/config/commit",
                    R"({"files":[{"name":"m.yaml","text":"x"}],"base_revision":40})"),
            "409 revision 41 is running, not 40 | diff again");
}

TEST_F(ApiRoutes, WrongBodiesAreRefused) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{}", "400 \"files\" must be a list with at least one file"},
      {R"({"files":[]})", "400 \"files\" must be a list with at least one file"},
      {R"({"files":[{"name":1,"text":""}]})", "400 each of \"files\" needs \"name\" and \"text\""},
      {R"({"files":[{"name":"a","text":""}],"confirm_minutes":-1})",
       "400 \"confirm_minutes\" must be a number from 0 to 1440"},
      {R"({"files":[{"name":"a","text":""}],"comment":7})",
       "400 \"comment\" must be a text of at most 1000 bytes"},
      {"[]", "400 the body must be a JSON object"},
  };
  for (const auto& [body, message] : wrong)
    EXPECT_EQ(refusal("POST", "/api/v1/config/commit", body).substr(0, std::strlen(message)),
              message)
        << body;
  EXPECT_TRUE(runtime_.calls.empty());
}

TEST_F(ApiRoutes, ConfirmRollbackAndHistory) {
  EXPECT_EQ(document(ask("POST", "/api/v1/config/confirm", R"({"author":"ada"})"))["revision"], 42);
  runtime_.commit_answer.report.emplace();
  EXPECT_EQ(ask("POST", "/api/v1/config/rollback", R"({"revision":40,"comment":"bad"})").status,
            200);
  EXPECT_EQ(ask("POST", "/api/v1/config/rollback").status, 200);
  EXPECT_EQ(runtime_.calls,
            (std::vector<std::string>{"confirm author=ada", "rollback 40 comment=bad",
                                      "rollback 0 comment="}));
  EXPECT_EQ(document(ask("GET", "/api/v1/config"))["text"], "version: 1\n");
  EXPECT_EQ(refusal("GET", "/api/v1/config?revision=7"), "404 no revision 7 | ");
}

TEST_F(ApiRoutes, StreamsOfEvents) {
  ApiAnswer answer = ask("GET", "/api/v1/events?after=1");
  auto& stream = std::get<ApiEventStream>(answer.content);
  EXPECT_EQ(*stream.next(),
            "id: 2\ndata: {\"event_type\":\"flow\",\"n\":2}\n\n"
            "id: 3\ndata: {\"event_type\":\"flow\",\"n\":3}\n\n");
  EXPECT_EQ(*stream.next(), "");
  answer = ask("GET", "/api/v1/watch?interval=250ms");
  auto& watch = std::get<ApiEventStream>(answer.content);
  EXPECT_EQ(watch.interval, std::chrono::milliseconds(250));
  const std::string message = *watch.next();
  const json snapshot = json::parse(message.substr(message.find("data: ") + 6));
  EXPECT_EQ(snapshot["status"]["config_revision"], 41);
  EXPECT_EQ(snapshot["policy"][0]["rule"], "no-telnet");  // most hits first
  EXPECT_EQ(snapshot["drops"][0]["reason"], "policy_deny");
}

TEST_F(ApiRoutes, ExceptionsBecomeAnAnswer) {
  router_.add({"GET", "/boom", "x", RouteCost::kQuick, {}, [](const ApiRequest&) -> ApiAnswer {
                 throw std::runtime_error("secret");
               }});
  const ApiAnswer answer = ask("GET", "/boom");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(std::get<ApiText>(answer.content).body.find("secret"), std::string::npos);
}

TEST_F(ApiRoutes, ReferencePageIsTheOneInTheRepository) {
  const char* path = MERLON_SOURCE_DIR "/docs/reference/api.md";
  const std::string page = routes_markdown(router_);
  if (std::getenv("MERLON_WRITE_REFERENCE") != nullptr) std::ofstream(path) << page;
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), page) << "write it anew: MERLON_WRITE_REFERENCE=1 control_test";
  for (const Route& route : router_.routes()) EXPECT_FALSE(route.help.empty()) << route.pattern;
}

TEST_F(ApiRoutes, BodiesOfTooManyValuesAreRefused) {
  std::string body = "{\"files\":[";
  for (unsigned i = 0; i < 1'000'000; ++i) body += "{},";
  body += "{}]}";
  EXPECT_EQ(refusal("POST", "/api/v1/config/check", body),
            "400 the body has more than 1000 values | ");
  EXPECT_EQ(refusal("POST", "/api/v1/explain", "{\"a\":" + std::string(100'000, '[')),
            "400 the body is nested deeper than 16 | ");
  // A request with as many files as are allowed is none of these.
  json files = json::array();
  for (unsigned i = 0; i < 64; ++i)
    files.push_back({{"name", std::to_string(i)}, {"text", "version: 1\n"}});
  EXPECT_EQ(ask("POST", "/api/v1/config/check", json{{"files", files}}.dump()).status, 200);
}

}  // namespace
}  // namespace merlon::control
