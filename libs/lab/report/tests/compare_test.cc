// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "html_check.h"
#include "merlon/lab_report/baseline.h"
#include "sample_run.h"

namespace merlon::lab {
namespace {

using base::Errc;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Compare, NeedsTwoRuns) {
  const auto c = compare({sample_run()});
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.error().code, Errc::kInvalidValue);
}

TEST(Compare, ARunIsTheSameAsItself) {
  const auto c = compare({sample_run(), sample_run()});
  ASSERT_TRUE(c.ok()) << c.error().to_string();
  EXPECT_EQ(c->exit_code(), 0);
  EXPECT_EQ(c->count(Verdict::kBetter), 0u);
  EXPECT_EQ(c->count(Verdict::kWorse), 0u);
  EXPECT_GT(c->count(Verdict::kSame), 5u);
  EXPECT_THAT(c->runs[0].differences, IsEmpty());
}

// Another seed is the same laboratory on another day.
TEST(Compare, NoiseIsNoChange) {
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    const auto c = compare({sample_run(1), sample_run(seed)});
    ASSERT_TRUE(c.ok());
    EXPECT_EQ(c->count(Verdict::kWorse), 0u) << seed;
    EXPECT_EQ(c->count(Verdict::kBetter), 0u) << seed;
    EXPECT_EQ(c->exit_code(), 0) << seed;
  }
}

TEST(Compare, AFasterDeviceIsBetterAndASlowerOneWorse) {
  const auto faster = compare({sample_run(1), sample_run(2, 1.5)});
  ASSERT_TRUE(faster.ok());
  EXPECT_GT(faster->count(Verdict::kBetter), 0u);
  const auto slower = compare({sample_run(1), sample_run(2, 0.6)});
  ASSERT_TRUE(slower.ok());
  EXPECT_GT(slower->count(Verdict::kWorse), 0u);
  EXPECT_EQ(slower->exit_code(), 1);
  // Only what became slower is blamed.
  for (const RowChange& row : slower->runs[0].rows)
    for (const MetricChange& m : row.metrics)
      if (m.verdict == Verdict::kWorse) {
        EXPECT_THAT(row.key, HasSubstr("merlon")) << m.name;
      }
}

TEST(Compare, RefusesAnotherKernelUnlessForced) {
  lab::Run other = sample_run();
  other.environment.kernel = "9.9.9-other";
  const auto refused = compare({sample_run(), other});
  ASSERT_TRUE(refused.ok());
  EXPECT_TRUE(refused->is_refused());
  EXPECT_EQ(refused->exit_code(), 5);
  EXPECT_THAT(refused->runs[0].rows, IsEmpty());
  ASSERT_FALSE(refused->runs[0].differences.empty());
  EXPECT_EQ(refused->runs[0].differences[0].field, "kernel");
  const std::string text = render_comparison(*refused);
  EXPECT_THAT(text, HasSubstr("9.9.9-other"));
  EXPECT_THAT(text, HasSubstr("--force"));

  const auto forced = compare({sample_run(), other}, {.is_forced = true});
  ASSERT_TRUE(forced.ok());
  EXPECT_FALSE(forced->is_refused());
  EXPECT_FALSE(forced->runs[0].rows.empty());
  EXPECT_THAT(render_comparison(*forced), HasSubstr("9.9.9-other"));
}

TEST(Compare, NamesRowsWithoutAPartner) {
  lab::Run other = sample_run();
  ASSERT_FALSE(other.rows.empty());
  other.rows[0].device.rules += 12'345;
  const auto c = compare({sample_run(), other});
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->runs[0].only_in_base.size(), 1u);
  EXPECT_EQ(c->runs[0].only_in_other.size(), 1u);
}

TEST(Compare, PageIsSoundWithHostileTexts) {
  lab::Run other = sample_run(2, 0.5);
  other.id = "<script>alert(1)</script>";
  for (Row& row : other.rows) row.title.en = "\"><img src=x onerror=alert(1)>";
  const auto c = compare({sample_run(), other});
  ASSERT_TRUE(c.ok());
  const HtmlDocument doc = check_html(render_comparison_html(*c));
  EXPECT_THAT(doc.problems, IsEmpty());
  for (const HtmlElement& e : doc.elements) EXPECT_NE(e.name, "img");
}

class Baseline : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("merlon-baseline-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(Baseline, IsSavedAndChecked) {
  const auto path = save_baseline(folder_, sample_run());
  ASSERT_TRUE(path.ok()) << path.error().to_string();
  EXPECT_EQ(*path, baseline_path(folder_, sample_run()));
  const auto same = check_baseline(folder_, sample_run(2));
  ASSERT_TRUE(same.ok()) << same.error().to_string();
  EXPECT_EQ(same->exit_code(), 0);
  const auto slower = check_baseline(folder_, sample_run(2, 0.5));
  ASSERT_TRUE(slower.ok());
  EXPECT_EQ(slower->exit_code(), 1);
  // A change is allowed for by whoever says what matters.
  const auto lenient = check_baseline(folder_, sample_run(2, 0.5), {.practical = 20});
  ASSERT_TRUE(lenient.ok());
  EXPECT_LT(lenient->count(Verdict::kWorse), slower->count(Verdict::kWorse));
}

TEST_F(Baseline, IsOfOnePlanAndMachine) {
  ASSERT_TRUE(save_baseline(folder_, sample_run()).ok());
  lab::Run other = sample_run();
  other.environment.machine = "elsewhere";
  const auto missing = check_baseline(folder_, other);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
  EXPECT_THAT(missing.error().hint, HasSubstr("baseline save"));
}

TEST_F(Baseline, AreListedWithWhatCantBeRead) {
  EXPECT_EQ(list_baselines(folder_).error().code, Errc::kNotFound);
  ASSERT_TRUE(save_baseline(folder_, sample_run()).ok());
  std::ofstream(folder_ / "zzz.json") << "{}";
  const auto list = list_baselines(folder_);
  ASSERT_TRUE(list.ok()) << list.error().to_string();
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ(list->at(0).path, baseline_path(folder_, sample_run()));
  EXPECT_EQ(list->at(0).plan, sample_run().plan);
  EXPECT_GT(list->at(0).row_count, 0u);
  EXPECT_FALSE(list->at(0).error.has_value());
  EXPECT_TRUE(list->at(1).error.has_value());
}

TEST_F(Baseline, HalfARunIsNone) {
  lab::Run run = sample_run();
  run.is_partial = true;
  const auto refused = save_baseline(folder_, run);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kRefused);
}

TEST_F(Baseline, DamagedFilesAreNamed) {
  const auto path = save_baseline(folder_, sample_run());
  ASSERT_TRUE(path.ok());
  std::ifstream in(*path);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("[1,2]"), text.substr(0, text.size() / 2),
        std::string("{\"rows\": 7}"), std::string(100'000, '[')}) {
    std::ofstream(*path, std::ios::trunc) << bad;
    const auto checked = check_baseline(folder_, sample_run());
    ASSERT_FALSE(checked.ok()) << bad.substr(0, 40);
    EXPECT_THAT(checked.error().message, HasSubstr(*path));
  }
}

}  // namespace
}  // namespace merlon::lab
