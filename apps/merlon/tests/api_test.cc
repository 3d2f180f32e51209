// SPDX-License-Identifier: Apache-2.0
// From the words of a command line to a fake daemon and back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command.h"
#include "fake_runtime.h"
#include "merlon/control/api_server.h"

namespace merlon::cli {
namespace {

using control::test::FakeRuntime;
using nlohmann::json;

class Cli : public ::testing::Test {
 protected:
  Cli() {
    folder_ =
        std::filesystem::temp_directory_path() / ("merlon-cli-api-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    socket_ = (folder_ / "api.sock").string();
    add_routes(router_, runtime_);
    control::ApiServerOptions options;
    options.socket_path = socket_;
    server_ = std::make_unique<control::ApiServer>(options, router_);
    const auto started = server_->start();
    EXPECT_TRUE(started);
  }
  ~Cli() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  int merlon(std::vector<std::string> words) {
    data_.clear();
    messages_.clear();
    words.insert(words.end(), {"--socket", socket_});
    const Output output{[this](std::string_view text) {
                          data_ += text;
                          return data_.size() < stop_after_;
                        },
                        [this](std::string_view line) { messages_ += std::string(line) + "\n"; },
                        false};
    return run(words, output);
  }
  std::string file(const char* name, const char* text) {
    const auto path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

  std::filesystem::path folder_;
  std::string socket_, data_, messages_;
  std::size_t stop_after_ = ~std::size_t{0};
  FakeRuntime runtime_;
  control::ApiRouter router_;
  std::unique_ptr<control::ApiServer> server_;
};

TEST_F(Cli, ShowsTables) {
  EXPECT_EQ(merlon({"show", "pools"}), kDone);
  EXPECT_EQ(data_,
            "POOL      USED  LIMIT    USED  PEAK  FAILURES  MEMORY\n"
            "sessions   250  1.00k  25.0 %   300         0  128 kB\n");
  EXPECT_EQ(messages_, "");
  EXPECT_EQ(merlon({"show", "policy", "--columns", "rule,hits", "--sort", "-hits", "--no-headers"}),
            kDone);
  EXPECT_EQ(data_, "no-telnet  9\nweb-out    7\n");
  EXPECT_EQ(merlon({"show", "drops", "-o", "csv", "--columns", "reason,packets"}), kDone);
  EXPECT_EQ(data_, "reason,packets\npolicy_deny,9\n");
  EXPECT_EQ(merlon({"show", "workers", "-o", "json"}), kDone);
  EXPECT_EQ(json::parse(data_)[0]["busy_ratio"], 0.125);
  EXPECT_EQ(merlon({"show", "ports", "--columns", "prot"}), kUsage);
  EXPECT_EQ(messages_, "merlon: error: no column \"prot\" in ports (did you mean \"port\"?)\n");
}

TEST_F(Cli, ShowsSessionsAsFilteredAndLimited) {
  EXPECT_EQ(merlon({"show", "sessions", "state=denied", "-o", "jsonl"}), kDone);
  EXPECT_EQ(std::count(data_.begin(), data_.end(), '\n'), 2);
  EXPECT_EQ(json::parse(data_.substr(0, data_.find('\n')))["rule"], "no-telnet");
  EXPECT_EQ(merlon({"show", "sessions", "--limit", "1", "--columns", "id,source,age,idle"}), kDone);
  EXPECT_EQ(data_, "ID  SOURCE          AGE  IDLE\n 0  10.0.0.0:40000   5s   0ms\n");
  EXPECT_EQ(
      merlon({"show", "sessions", "--sort", "-id", "--limit", "1", "-ocsv", "--columns", "id"}),
      kDone);
  EXPECT_EQ(data_, "id\n3\n");
  EXPECT_EQ(merlon({"show", "sessions", "zone=lam"}), kUsage);
  EXPECT_EQ(messages_, "merlon: error: no zone \"lam\" (did you mean \"lan\"?)\n");
}

TEST_F(Cli, AReaderThatLeavesEndsALongListQuietly) {
  runtime_.session_count = 1'000'000;
  stop_after_ = 1000;
  for (const char* format : {"table", "json", "jsonl", "csv"}) {
    EXPECT_EQ(merlon({"show", "sessions", "-o", format}), kDone) << format;
    EXPECT_EQ(messages_, "") << format;
    EXPECT_LT(data_.size(), 1'000'000U) << format;
  }
}

TEST_F(Cli, ClearExplainStatus) {
  EXPECT_EQ(merlon({"clear", "sessions", "port=23"}), kDone);
  EXPECT_EQ(messages_, "2 sessions ended\n");
  EXPECT_TRUE(runtime_.calls.at(0).starts_with("clear port=23 by uid "));
  EXPECT_EQ(merlon({"explain", "packet", "lan", "10.0.0.5:40000", "192.0.2.9:23", "tcp"}), kDone);
  EXPECT_TRUE(data_.ends_with("verdict   DROP  policy_deny\n")) << data_;
  EXPECT_EQ(merlon({"explain", "session", "99"}), kFailed);
  EXPECT_EQ(messages_, "merlon: error: no session 99\n");
  EXPECT_EQ(merlon({"show", "status"}), kDone);
  EXPECT_NE(data_.find("configuration  revision 41\n"), std::string::npos);
  EXPECT_NE(data_.find("up             2h4m\n"), std::string::npos);
  EXPECT_EQ(merlon({"version"}), kDone);
  EXPECT_NE(data_.find("daemon 0.1.0 (abc1234)\n"), std::string::npos);
  EXPECT_EQ(merlon({"version", "-o", "json"}), kDone);
  EXPECT_EQ(json::parse(data_)["daemon"], "0.1.0");
}

TEST_F(Cli, DroppedPackets) {
  EXPECT_EQ(merlon({"show", "drops", "--packets", "--columns", "reason,source,destination,rule"}),
            kDone);
  EXPECT_EQ(data_,
            "REASON       SOURCE          DESTINATION   RULE\n"
            "policy_deny  10.0.0.5:40000  192.0.2.9:23  no-telnet\n");
  const std::string path = (folder_ / "d.pcap").string();
  EXPECT_EQ(merlon({"show", "drops", "--pcap", path, "--reason", "policy_deny"}), kDone);
  EXPECT_EQ(std::filesystem::file_size(path), 44U);
  EXPECT_EQ(merlon({"show", "drops", "--packets", "--reason", "policy_dny"}), kUsage);
}

TEST_F(Cli, LifeCycleWithItsExitCodes) {
  const std::string path = file("c.yaml", "version: 1\ninclude: z.yaml\n");
  file("z.yaml", "zones: {}\n");
  EXPECT_EQ(merlon({"config", "check", path}), kDone);
  EXPECT_EQ(messages_, path + ": no errors, no warnings\n");
  EXPECT_EQ(runtime_.calls.at(0), "check " + path + ":27," + (folder_ / "z.yaml").string() + ":10");
  runtime_.check_answer.errors = {
      {base::Errc::kUnknownKey, "unknown key \"x\"", {path, 1, 1, 2}, "", ""}};
  EXPECT_EQ(merlon({"config", "check", path}), kCheckFailed);
  EXPECT_NE(messages_.find(path + ":1:1: error: unknown key \"x\""), std::string::npos)
      << messages_;
  EXPECT_EQ(data_, "");
  runtime_.commit_answer.report.emplace();
  runtime_.commit_answer.report->revision = 42;
  runtime_.commit_answer.report->previous = 41;
  EXPECT_EQ(
      merlon({"config", "commit", path, "--confirm", "5", "--comment", "why", "--author", "ada"}),
      kDone);
  EXPECT_NE(data_.find("revision 42 is running (before: 41)"), std::string::npos);
  EXPECT_NE(runtime_.calls.back().find("author=ada comment=why base=0 confirm=300"),
            std::string::npos);
  EXPECT_EQ(merlon({"config", "commit", path, "--base", "40"}), kConflict);
  EXPECT_EQ(merlon({"config", "confirm"}), kDone);
  EXPECT_EQ(messages_, "revision 42 is confirmed\n");
  EXPECT_EQ(merlon({"config", "rollback", "40"}), kDone);
  EXPECT_EQ(merlon({"config", "history", "-o", "csv", "--columns", "revision,running,comment"}),
            kDone);
  EXPECT_EQ(data_, "revision,running,comment\n41,running,open https\n40,,\n");
  EXPECT_EQ(merlon({"show", "config"}), kDone);
  EXPECT_EQ(data_, "version: 1\n");
  EXPECT_EQ(merlon({"config", "show", "--canonical"}), kDone);
  EXPECT_EQ(data_, "version: 1\nname: fw1\n");
  EXPECT_EQ(merlon({"config", "diff", "/nonexistent.yaml"}), kFailed);
}

TEST_F(Cli, EditWritesTheCandidateAndChecksIt) {
  ::setenv("VISUAL", "echo 'name: new' >>", 1);
  const std::string path = (folder_ / "edit.yaml").string();
  EXPECT_EQ(merlon({"config", "edit", path}), kDone) << messages_;
  EXPECT_EQ(runtime_.calls.back(), "check " + path + ":21");
  EXPECT_EQ(merlon({"config", "edit", path}), kDone);
  EXPECT_EQ(runtime_.calls.back(), "check " + path + ":31");
  ::setenv("VISUAL", "false", 1);
  EXPECT_EQ(merlon({"config", "edit", path}), kFailed);
  ::unsetenv("VISUAL");
}

// Fields of a line of CSV.
std::size_t field_count(const std::string& line) {
  std::size_t count = 1;
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == ',' && !is_quoted) ++count;
  }
  return count;
}

TEST_F(Cli, EveryAnswerComesInEveryFormat) {
  const std::string path = file("c.yaml", "version: 1\n");
  runtime_.commit_answer.report.emplace();
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{"show", "ports"},
        {"show", "workers"},
        {"show", "sessions"},
        {"show", "policy"},
        {"show", "drops"},
        {"show", "drops", "--packets"},
        {"show", "pools"},
        {"show", "config"},
        {"show", "status"},
        {"config", "history"},
        {"config", "show"},
        {"config", "check", path},
        {"config", "diff", path},
        {"config", "commit", path},
        {"config", "confirm"},
        {"config", "rollback", "40"},
        {"clear", "sessions", "port=23"},
        {"explain", "packet", "lan", "10.0.0.5:40000", "192.0.2.9:23", "tcp"}}) {
    SCOPED_TRACE(testing::PrintToString(words));
    const auto as = [&](const char* format) {
      Words all = words;
      all.insert(all.end(), {"-o", format});
      return merlon(all);
    };
    EXPECT_EQ(as("table"), kDone);
    EXPECT_FALSE(data_.empty() && messages_.empty());
    EXPECT_EQ(as("json"), kDone);
    EXPECT_FALSE(json::parse(data_, nullptr, false).is_discarded()) << data_;
    EXPECT_EQ(as("jsonl"), kDone);
    std::istringstream lines(data_);
    unsigned count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      EXPECT_TRUE(json::parse(line, nullptr, false).is_object()) << line;
    EXPECT_GE(count, 1U);
    EXPECT_EQ(as("csv"), kDone);
    std::istringstream rows(data_);
    std::string head, row;
    ASSERT_TRUE(std::getline(rows, head) && std::getline(rows, row)) << data_;
    const bool is_plain = data_.find("\n\"") == std::string::npos &&
                          data_.find("version: 1") == std::string::npos;  // no lines in cells
    if (is_plain) {
      EXPECT_EQ(field_count(row), field_count(head)) << data_;
    }
    const std::size_t asked = runtime_.calls.size();
    EXPECT_EQ(as("xml"), kUsage);
    EXPECT_EQ(runtime_.calls.size(), asked);  // nothing was done before the complaint
  }
  EXPECT_EQ(merlon({"show", "status", "-o", "csv", "--columns", "name,config_revision"}), kUsage);
  EXPECT_EQ(merlon({"watch", "--once", "-o", "csv"}), kUsage);
}

TEST_F(Cli, CommitTellsThatThereAreWarnings) {
  const std::string path = file("c.yaml", "version: 1\n");
  runtime_.commit_answer.report.emplace();
  runtime_.commit_answer.report->warnings = {
      {base::Errc::kInvalidValue, "rule \"b\" never decides", {path, 1, 1, 2}, "", ""}};
  EXPECT_EQ(merlon({"config", "commit", path}), kDone);
  EXPECT_EQ(messages_, "1 warning: merlon config check " + path + " shows it\n");
}

TEST_F(Cli, WatchOnce) {
  EXPECT_EQ(merlon({"watch", "--once", "-o", "json"}), kDone);
  EXPECT_EQ(json::parse(data_)["status"]["name"], "fw1");
  EXPECT_EQ(merlon({"watch", "--once"}), kDone);
  EXPECT_NE(data_.find("no-telnet  drop"), std::string::npos) << data_;
  EXPECT_EQ(data_.find('\x1b'), std::string::npos);
}

TEST_F(Cli, CompletionAsksTheDaemon) {
  EXPECT_EQ(run(std::vector<std::string>{"__complete", "--socket", socket_, "show", "sessions",
                                         "rule=no-t"},
                Output{[this](std::string_view text) {
                         data_ += text;
                         return true;
                       },
                       [](std::string_view) {}, false}),
            kDone);
  EXPECT_EQ(data_, "rule=no-telnet\n");
}

}  // namespace
}  // namespace merlon::cli
