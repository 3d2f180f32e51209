// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api.h"
#include "verbs.h"

namespace merlon::cli {
namespace {

using Words = std::vector<std::string>;

TEST(Include, FindsNamesInEveryForm) {
  EXPECT_EQ(included_files("version: 1\ninclude: zones.yaml  # why\nzones: {}\n"),
            (Words{"zones.yaml"}));
  EXPECT_EQ(included_files("include: [a.yaml, \"b c.yaml\", 'd.yaml']\n"),
            (Words{"a.yaml", "b c.yaml", "d.yaml"}));
  EXPECT_EQ(included_files("include:\n  - a.yaml\n\n  # no\n  - b.yaml\nzones:\n  - c.yaml\n"),
            (Words{"a.yaml", "b.yaml"}));
  EXPECT_EQ(included_files("x:\n  include: no.yaml\n"), Words{});
}

TEST(Candidate, CollectsIncludesUnderTheLoadersNames) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("merlon-cli-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "sub");
  const auto write = [&folder](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
  };
  write("main.yaml", "include: [sub/a.yaml, missing.yaml]\n");
  write("sub/a.yaml", "include: ../b.yaml\n");
  write("b.yaml", "include: main.yaml\n");
  const auto files = read_candidate((folder / "main.yaml").string());
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 3U);
  EXPECT_EQ((*files)[0].name, (folder / "main.yaml").string());
  EXPECT_EQ((*files)[1].name, (folder / "sub/a.yaml").string());
  EXPECT_EQ((*files)[2].name, (folder / "b.yaml").string());
  EXPECT_FALSE(read_candidate((folder / "none.yaml").string()));
  EXPECT_FALSE(read_candidate(folder.string()));
  std::filesystem::remove_all(folder);
}

TEST(Texts, Diff) {
  const auto answer = nlohmann::json::parse(R"({"running":41,"text":"+ rule web-out\n",
    "effect":{"examined":340,"dropped":12,"kept":3,"changed_rule":0,
              "per_rule":[{"rule":"old","dropped":12},{"rule":"x","dropped":0}]},
    "restart_keys":["workers.count"]})");
  EXPECT_EQ(diff_text(answer),
            "+ rule web-out\n12 of 340 live sessions would be dropped, 3 kept\n  rule old: 12\n"
            "take effect at the next start only: workers.count\n");
  EXPECT_EQ(diff_text(nlohmann::json::parse(R"({"running":41,"text":""})")),
            "no difference from the running configuration (revision 41)\n");
}

TEST(Texts, Commit) {
  const auto answer = nlohmann::json::parse(R"({"revision":42,"previous":41,"text":"- rule a\n",
    "blocked_ns":12345,
    "effect":{"examined":3,"dropped":1,"per_rule":[{"rule":"a","dropped":1}]},"confirm_deadline":"2026-08-22T10:11:12.123456+0000"})");
  EXPECT_EQ(commit_text(answer),
            "- rule a\n1 of 3 live sessions no longer permitted\n  rule a: 1\n"
            "revision 42 is running (before: 41); workers were held up for 12.3 us\n"
            "it is rolled back at 2026-08-22T10:11:12.123456+0000 unless you confirm: merlon "
            "config confirm\n");
  EXPECT_EQ(
      commit_text(nlohmann::json::parse(
          R"({"revision":2,"previous":1,"blocked_ns":0,"effect":{"examined":0,"dropped":0}})")),
      "revision 2 is running (before: 1); no worker was held up\n");
  EXPECT_EQ(diff_text(nlohmann::json::parse(
                R"({"text":"x","effect":{"examined":1000000,"partial":true,"dropped":7}})")),
            "x\n7 of the first 1000000 live sessions would be dropped\n");
  EXPECT_EQ(commit_text(nlohmann::json::parse(R"({"unchanged":true,"revision":41})")),
            "nothing to do: revision 41 is the same\n");
}

TEST(TableLines, AnySplitGivesTheSameRows) {
  const std::string text =
      "{\"kind\":\"x\",\"columns\":[{\"name\":\"a\",\"title\":\"A\",\"unit\":\"bytes\",\"align\":"
      "\"right\",\"wide\":true},"
      "{\"name\":\"b\"}]}\n[1,\"x\"]\n[-2,null]\n{\"end\":true,\"rows\":2}\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    TableLineReader reader;
    std::vector<client::Row> rows;
    reader.on_head = [](std::string_view kind, const std::vector<client::Column>& columns) {
      EXPECT_EQ(kind, "x");
      EXPECT_EQ(columns.at(0).unit, client::Unit::kBytes);
      EXPECT_TRUE(columns.at(0).is_wide);
      return base::Result<void>();
    };
    reader.on_row = [&rows](const client::Row& row) {
      rows.push_back(row);
      return true;
    };
    for (std::size_t i = 0; i < text.size(); i += step)
      ASSERT_TRUE(reader.feed(std::string_view(text).substr(i, step)));
    EXPECT_TRUE(reader.has_ended());
    EXPECT_EQ(rows, (std::vector<client::Row>{{std::uint64_t{1}, "x"},
                                              {std::int64_t{-2}, std::monostate{}}}));
  }
}

TEST(TableLines, RefusesWhatIsNotAList) {
  for (const char* text : {"[1]\n", "{\"columns\":3}\n", "{\"kind\":\"x\",\"columns\":[]}\n[1]\n",
                           "x\n", "{\"columns\":[{\"name\":\"a\"}]}\n{\"x\":1}\n",
                           "{\"columns\":[]}\n{\"end\":true}\n[]\n"}) {
    TableLineReader reader;
    reader.on_head = [](std::string_view, const std::vector<client::Column>&) {
      return base::Result<void>();
    };
    reader.on_row = [](const client::Row&) { return true; };
    EXPECT_FALSE(reader.feed(text)) << text;
  }
}

TEST(Watch, DrawsWithinTheTerminal) {
  nlohmann::json status{{"name", "fw1"},
                        {"state", "running"},
                        {"config_revision", 42},
                        {"sessions", 7},
                        {"session_limit", 1000}};
  WatchPicture p{};
  p.status = &status;
  p.ports = {"ports", {{"port", "PORT"}, {"link", "LINK"}}, {{"lan", "up"}, {"wan", "down"}}};
  p.drops = {"drops",
             {{"reason", "REASON"}, {"packets", "PACKETS", client::Unit::kCount}},
             {{"a", std::uint64_t{1}}, {"b", std::uint64_t{2000}}}};
  const std::string ports = watch_text(p, 1, 20, 24, false);
  EXPECT_NE(ports.find("lan   up"), std::string::npos) << ports;
  EXPECT_EQ(ports.substr(0, 20), "fw1  running  revisi");
  const std::string drops = watch_text(p, 4, 80, 24, false);
  EXPECT_LT(drops.find("b       2.00k"), drops.find("a       1")) << drops;
  EXPECT_NE(drops.find("[5 drops]"), std::string::npos);
  EXPECT_EQ(std::count(drops.begin(), drops.end(), '\n'), 6);
  const std::string low = watch_text(p, 4, 80, 4, false);
  EXPECT_EQ(std::count(low.begin(), low.end(), '\n'), 2);
}

}  // namespace
}  // namespace merlon::cli
