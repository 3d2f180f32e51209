// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_model/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

#include "filled_run.h"
#include "merlon/lab_model/journal.h"
#include "schema_check.h"

namespace merlon::lab {
namespace {

using base::Errc;
using test::filled;
using Tree = nlohmann::json;
using LabRun = Run;  // ::testing::Test has a Run of its own

std::string text_of(const Tree& tree) { return tree.dump(); }
Tree filled_tree() { return Tree::parse(to_json(filled<Run>())); }

// Reads `tree` and gives the error; a test failure when there is none.
base::Error error_of(const Tree& tree) {
  const auto run = run_from_json(text_of(tree));
  EXPECT_FALSE(run.ok());
  return run.ok() ? base::Error{} : run.error();
}

TEST(LabJson, DeclaresEveryMember) {
  const auto check = [](const char* name, std::size_t members, std::size_t fields) {
    EXPECT_EQ(members, fields) << name << " has a member that fields.h lacks";
  };
#define MERLON_CHECK_MEMBERS(T) check(#T, test::member_count<T>(), test::field_count<T>())
  MERLON_CHECK_MEMBERS(Text);
  MERLON_CHECK_MEMBERS(FieldPattern);
  MERLON_CHECK_MEMBERS(RateStep);
  MERLON_CHECK_MEMBERS(TrafficSpec);
  MERLON_CHECK_MEMBERS(TrialSpec);
  MERLON_CHECK_MEMBERS(FrameCounts);
  MERLON_CHECK_MEMBERS(ProcessUse);
  MERLON_CHECK_MEMBERS(CoreUse);
  MERLON_CHECK_MEMBERS(LayerCounter);
  MERLON_CHECK_MEMBERS(TrialResult);
  MERLON_CHECK_MEMBERS(DeviceSpec);
  MERLON_CHECK_MEMBERS(Goal);
  MERLON_CHECK_MEMBERS(GoalResult);
  MERLON_CHECK_MEMBERS(PairedTrials);
  MERLON_CHECK_MEMBERS(PairedOutcome);
  MERLON_CHECK_MEMBERS(Row);
  MERLON_CHECK_MEMBERS(ChartSpec);
  MERLON_CHECK_MEMBERS(Finding);
  MERLON_CHECK_MEMBERS(Environment);
  MERLON_CHECK_MEMBERS(Calibration);
  MERLON_CHECK_MEMBERS(LabRun);
  MERLON_CHECK_MEMBERS(JournalDecision);
  MERLON_CHECK_MEMBERS(RowSetupRecord);
#undef MERLON_CHECK_MEMBERS
}

TEST(LabJson, GivesBackEveryField) {
  const std::string text = to_json(filled<LabRun>());
  const auto run = run_from_json(text);
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  EXPECT_EQ(to_json(*run), text);
  EXPECT_NE(text, to_json(LabRun{}));
  EXPECT_EQ(run->trials.size(), 2U);
  EXPECT_EQ(run->trials[1].latency_actual.percentile(0.5),
            filled<LabRun>().trials[1].latency_actual.percentile(0.5));
}

TEST(LabJson, GivesBackAnEmptyRun) {
  const auto run = run_from_json(to_json(LabRun{}));
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  EXPECT_EQ(to_json(*run), to_json(LabRun{}));
}

TEST(LabJson, HasOneTrialPerLine) {
  std::istringstream text(to_json(filled<LabRun>()));
  unsigned lines = 0;
  for (std::string line; std::getline(text, line);)
    lines += line.find("\"latency_intended\"") != std::string::npos;
  EXPECT_EQ(lines, 2U);
}

TEST(LabJson, KeepsTheWholeSeed) {
  LabRun run;
  run.seed = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(run_from_json(to_json(run))->seed, run.seed);
}

TEST(LabJson, WritesUnknownFiguresAsNull) {
  LabRun run;
  run.trials.emplace_back().loss_ratio = std::nan("");
  run.trials.back().kpis["rate"] = std::numeric_limits<double>::infinity();
  const std::string text = to_json(run);
  EXPECT_NE(text.find("\"loss_ratio\":null"), std::string::npos);
  const auto back = run_from_json(text);
  ASSERT_TRUE(back.ok()) << back.error().to_string();
  EXPECT_TRUE(std::isnan(back->trials[0].loss_ratio));
  EXPECT_TRUE(std::isnan(back->trials[0].kpis.at("rate")));
}

TEST(LabJson, ReplacesBytesThatAreNoText) {
  LabRun run;
  run.rows.emplace_back().device_config = "a\xff b";
  const auto back = run_from_json(to_json(run));
  ASSERT_TRUE(back.ok()) << back.error().to_string();
  EXPECT_EQ(back->rows[0].device_config, "a\xEF\xBF\xBD b");
}

TEST(LabJson, NamesTheFieldThatIsWrong) {
  struct Case {
    const char* pointer;
    Tree value;
    const char* path;
    const char* part;
  };
  const Case cases[] = {
      {"/trials/1/frames/lost", -1, "trials[1].frames.lost", "beyond 0 to"},
      {"/trials/1/frames/lost", 0.5, "trials[1].frames.lost",
       "wants a whole number, has a fraction"},
      {"/trials/0/stamp", "dirty", "trials[0].stamp", "unknown word \"dirty\""},
      {"/rows/0/state", 3, "rows[0].state", "has a whole number"},
      {"/rows/0/title", "x", "rows[0].title", "wants an object, has a text"},
      {"/rows/1/goals", Tree::object(), "rows[1].goals", "wants a list"},
      {"/rows/1/kpis/one", "1", "rows[1].kpis.one", "wants a number"},
      {"/environment/cores", 4294967296, "environment.cores", "beyond 0 to 4294967295"},
      {"/is_partial", 0, "is_partial", "wants true or false"},
      {"/plan", nullptr, "plan", "wants a text, has null"},
      {"/trials/0/timeline_lost/1", Tree(-3), "trials[0].timeline_lost[1]", "beyond"},
  };
  for (const Case& c : cases) {
    Tree tree = filled_tree();
    tree[Tree::json_pointer(c.pointer)] = c.value;
    const base::Error error = error_of(tree);
    EXPECT_EQ(error.path, c.path);
    EXPECT_EQ(error.code, Errc::kInvalidValue) << c.pointer;
    EXPECT_NE(error.message.find(c.part), std::string::npos) << error.message;
  }
}

TEST(LabJson, MissesNoField) {
  Tree tree = filled_tree();
  tree["rows"][1]["device"].erase("mode");
  const base::Error error = error_of(tree);
  EXPECT_EQ(error.message, "rows[1].device.mode is missing");
}

TEST(LabJson, PassesOverUnknownFieldsOfANewerMinorOnly) {
  Tree tree = filled_tree();
  tree["trials"][0]["frames"]["losst"] = 1;
  EXPECT_EQ(error_of(tree).code, Errc::kUnknownKey);
  EXPECT_EQ(error_of(tree).path, "trials[0].frames.losst");
  tree["schema_minor"] = kSchemaMinor + 1;
  EXPECT_TRUE(run_from_json(text_of(tree)).ok());
}

TEST(LabJson, ReadsFilesOfAnOlderMinor) {
  Tree tree = filled_tree();
  for (Tree& row : tree["rows"])
    for (const char* field : {"against", "compared", "paired"}) row.erase(field);
  EXPECT_FALSE(run_from_json(text_of(tree)).ok());
  tree["schema_minor"] = 0;
  const auto run = run_from_json(text_of(tree));
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  EXPECT_TRUE(run->rows[0].paired.empty());
}

TEST(LabJson, RefusesOtherSchemasAndVersions) {
  Tree tree = filled_tree();
  tree["schema_version"] = LabRun::kSchemaVersion + 1;
  EXPECT_EQ(error_of(tree).code, Errc::kUnsupported);
  EXPECT_FALSE(error_of(tree).hint.empty());
  tree["schema_version"] = LabRun::kSchemaVersion;
  tree["schema"] = "eve";
  EXPECT_EQ(error_of(tree).code, Errc::kUnsupported);
  EXPECT_EQ(error_of(Tree::array()).code, Errc::kInvalidValue);
  EXPECT_EQ(error_of(Tree::object()).message, "schema is missing");
}

TEST(LabJson, RefusesWhatIsNoJsonWithItsPlace) {
  const auto run = run_from_json("{\n  \"schema\": }");
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().where.line, 2U);
  EXPECT_EQ(run.error().where.column, 13U);
  EXPECT_FALSE(run_from_json("").ok());
  EXPECT_FALSE(run_from_json("{} {}").ok());
  EXPECT_FALSE(run_from_json("{\"schema\": \"\xff\"}").ok());
  EXPECT_FALSE(run_from_json("{\"schema\": 1e999}").ok());
}

TEST(LabJson, RefusesMembersThatOccurTwice) {
  const auto run = run_from_json(R"({"schema": "a", "b": {"c": 1, "c": 2}})");
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Errc::kDuplicate);
}

TEST(LabJson, BoundsSizeAndDepth) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(run_from_json(deep).error().code, Errc::kCapacity);
  ReadLimits limits;
  limits.text_size = 10;
  EXPECT_EQ(run_from_json("{          }", limits).error().code, Errc::kCapacity);
  // Brackets in texts are no depth.
  LabRun run;
  run.command = deep + "\\\"";
  EXPECT_TRUE(run_from_json(to_json(run)).ok());
}

TEST(LabJson, RefusesHistogramsThatNoRunWrites) {
  const Tree good = {{"minimum", 5}, {"maximum", 200}, {"buckets", {{5, 2}, {201, 1}}}};
  const auto with = [](const Tree& histogram) {
    Tree tree = filled_tree();
    tree["trials"][0]["lateness"] = histogram;
    return tree;
  };
  ASSERT_TRUE(run_from_json(text_of(with(good))).ok());
  const auto change = [&good](const char* pointer, const Tree& value) {
    Tree changed = good;
    changed[Tree::json_pointer(pointer)] = value;
    return changed;
  };
  const Tree bad[] = {change("/minimum", 6),
                      change("/maximum", 202),
                      change("/maximum", 199),
                      change("/buckets/1/0", 200),
                      change("/buckets/0/1", 0),
                      change("/buckets/0/1", std::numeric_limits<std::uint64_t>::max()),
                      change("/buckets/0", {5}),
                      change("/buckets/0", {5, 1, 1}),
                      change("/buckets/0", {201, 1}),
                      change("/buckets", Tree::array()),
                      change("/buckets/0/0", std::numeric_limits<std::uint64_t>::max())};
  for (const Tree& histogram : bad) {
    const base::Error error = error_of(with(histogram));
    EXPECT_EQ(error.path.substr(0, 18), "trials[0].lateness") << histogram.dump();
  }
}

TEST(LabJson, TheSchemaDescribesWhatIsWritten) {
  const Tree schema = Tree::parse(result_schema());
  EXPECT_EQ(test::schema_errors(schema, filled_tree()), std::vector<std::string>{});
  EXPECT_EQ(test::schema_errors(schema, Tree::parse(to_json(LabRun{}))),
            std::vector<std::string>{});
  Tree tree = filled_tree();
  tree["trials"][0]["stamp"] = "dirty";
  tree["rows"][1]["more"] = 1;
  tree["rows"][0].erase("id");
  tree["trials"][0]["frames"]["lost"] = -1;
  tree["seed"] = "x";
  EXPECT_EQ(test::schema_errors(schema, tree).size(), 5U);
}

TEST(LabJson, TheSchemaPageIsCurrent) {
  std::ifstream file(std::string(MERLON_REFERENCE_DIR) + "/lab-result.schema.json");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), result_schema())
      << "run build/release/bin/merlon-lab-docgen docs/reference";
}

TEST(LabJson, FilesAreReplacedWhole) {
  const std::string path =
      ::testing::TempDir() + "/lab_json_" + std::to_string(::getpid()) + ".json";
  ASSERT_TRUE(write_run(path, filled<LabRun>()).ok());
  ASSERT_TRUE(write_run(path, LabRun{}).ok());
  const auto run = read_run(path);
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  EXPECT_TRUE(run->rows.empty());
  std::ofstream(path) << "{";
  EXPECT_EQ(read_run(path).error().where.file, path);
  std::remove(path.c_str());
  EXPECT_EQ(read_run(path).error().code, Errc::kNotFound);
  EXPECT_EQ(write_run("/proc/no/such/file", LabRun{}).error().code, Errc::kIo);
}

// Any single value of a result replaced by any other kind of value: an error or an equal meaning,
// never a crash.
RC_GTEST_PROP(LabJson, SurvivesAnyReplacedValue, ()) {
  const Tree flat = filled_tree().flatten();
  const auto index = *rc::gen::inRange<std::size_t>(0, flat.size());
  auto it = flat.begin();
  std::advance(it, static_cast<std::ptrdiff_t>(index));
  const Tree values[] = {nullptr,
                         true,
                         -1,
                         0,
                         1.5,
                         "word",
                         Tree::array(),
                         Tree::object(),
                         {1, 2},
                         1e300,
                         std::numeric_limits<std::uint64_t>::max()};
  Tree changed = flat;
  changed[it.key()] = values[*rc::gen::inRange<std::size_t>(0, std::size(values))];
  Tree tree;
  try {
    tree = changed.unflatten();
  } catch (const Tree::exception&) {
    RC_DISCARD("an empty container can't be unflattened");
  }
  const auto run = run_from_json(text_of(tree));
  if (run.ok())
    RC_ASSERT(run_from_json(to_json(*run)).ok());
  else
    RC_ASSERT(!run.error().message.empty());
}

}  // namespace
}  // namespace merlon::lab
