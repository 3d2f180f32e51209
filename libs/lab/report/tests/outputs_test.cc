// SPDX-License-Identifier: Apache-2.0
// What leaves a run beside the report: trials.csv and the terminal's summary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "merlon/lab_report/csv.h"
#include "merlon/lab_report/terminal.h"
#include "sample_run.h"

namespace merlon::lab {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// A reader of RFC 4180 and nothing more; false in `ok` for text that is none.
std::vector<std::vector<std::string>> read_csv(const std::string& text, bool& ok) {
  std::vector<std::vector<std::string>> lines(1);
  lines.back().emplace_back();
  bool is_quoted = false;
  ok = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& field = lines.back().back();
    if (is_quoted) {
      if (c != '"')
        field += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += text[++i];
      else
        is_quoted = false;
    } else if (c == '"') {
      ok = ok && field.empty();
      is_quoted = true;
    } else if (c == ',') {
      lines.back().emplace_back();
    } else if (c == '\r') {
      ok = ok && i + 1 < text.size() && text[i + 1] == '\n';
      ++i;
      lines.emplace_back();
      lines.back().emplace_back();
    } else {
      ok = ok && c != '\n';
      field += c;
    }
  }
  ok = ok && !is_quoted && lines.back().size() == 1 && lines.back().back().empty();
  lines.pop_back();
  return lines;
}

TEST(Csv, HasALinePerTrialAndAllColumns) {
  const lab::Run run = sample_run();
  bool ok = false;
  const auto lines = read_csv(trials_csv(run), ok);
  ASSERT_TRUE(ok);
  ASSERT_EQ(lines.size(), run.trials.size() + 1);
  EXPECT_EQ(lines[0], trial_columns());
  for (const auto& line : lines) EXPECT_THAT(line, SizeIs(trial_columns().size()));
  EXPECT_EQ(lines[1][0], run.trials[0].spec.id);
  EXPECT_EQ(lines[1][1], run.trials[0].spec.row);
}

TEST(Csv, HostileTextsStayInTheirFields) {
  lab::Run run = sample_run();
  run.trials.resize(1);
  run.trials[0].spec.id = "=cmd|' /C calc'!A1";
  run.trials[0].spec.traffic.sizes = "64,\"1518\"\r\nx";
  bool ok = false;
  const auto lines = read_csv(trials_csv(run), ok);
  ASSERT_TRUE(ok);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1][0], "'=cmd|' /C calc'!A1");
  EXPECT_THAT(lines[1], testing::Contains("64,\"1518\"\r\nx"));
}

TEST(Csv, OfAnEmptyRunIsItsHead) {
  bool ok = false;
  EXPECT_THAT(read_csv(trials_csv(lab::Run{}), ok), SizeIs(1));
  EXPECT_TRUE(ok);
}

TEST(Summary, NamesRowsStampsAndFindings) {
  const lab::Run run = sample_run();
  const std::string text = render_summary(run);
  for (const Finding& f : run.findings) EXPECT_THAT(text, HasSubstr(f.claim.en.substr(0, 20)));
  EXPECT_THAT(text, HasSubstr("contaminated"));
  EXPECT_THAT(text, HasSubstr("null path before"));
  EXPECT_THAT(render_summary(run, {.language = Language::kRussian}),
              HasSubstr(run.findings.front().claim.ru.substr(0, 10)));
}

// A median over different loads is nobody's rate.
TEST(Summary, RowsOfManyLoadsAreToldByTheirOwnFigure) {
  for (const char* name : {"monitored_pps", "whole_pps"}) {
    lab::Run run = sample_run();
    run.rows.resize(1);
    run.rows.front().results.clear();
    run.rows.front().kpis = {{name, 366'500}, {"received_pps", 593}};
    const std::string text = render_summary(run, {.width = 200});
    EXPECT_THAT(text, HasSubstr("366.5\u00a0kpps")) << name;
    EXPECT_THAT(text, Not(HasSubstr("593"))) << name;
    EXPECT_THAT(render_report(run), HasSubstr("366.5\u00a0kpps")) << name;
  }
}

TEST(Summary, HasNoColoursUnlessAsked) {
  const lab::Run run = sample_run();
  EXPECT_THAT(render_summary(run), Not(HasSubstr("\x1b")));
  EXPECT_THAT(render_summary(run, {.has_colour = true}), HasSubstr("\x1b["));
}

// Characters, not bytes; texts of findings may wrap where they like, tables may not be wider.
std::size_t widest_table_line(const std::string& text) {
  std::size_t most = 0, at = 0;
  bool is_table = false;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.starts_with("row ")) is_table = true;
    if (line.empty()) is_table = false;
    std::size_t width = 0;
    for (const char c : line) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
    if (is_table) most = std::max(most, width);
    at = end + 1;
  }
  return most;
}

TEST(Summary, KeepsWithinTheWidth) {
  const lab::Run run = sample_run();
  for (const unsigned width : {60U, 80U, 100U, 160U}) {
    const std::size_t widest = widest_table_line(render_summary(run, {.width = width}));
    EXPECT_GT(widest, 20u);
    EXPECT_LE(widest, width);
  }
}

}  // namespace
}  // namespace merlon::lab
