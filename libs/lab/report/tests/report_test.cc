// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "chart_parts.h"
#include "html_check.h"
#include "run_charts.h"
#include "sample_run.h"

namespace merlon::lab {
namespace {

using nlohmann::json;
using testing::IsEmpty;

bool has_class(const HtmlElement& e, const std::string& word) {
  const auto found = e.attributes.find("class");
  return found != e.attributes.end() &&
         (" " + found->second + " ").find(" " + word + " ") != std::string::npos;
}

std::size_t count_class(const HtmlDocument& doc, const std::string& word) {
  return static_cast<std::size_t>(
      std::count_if(doc.elements.begin(), doc.elements.end(),
                    [&](const HtmlElement& e) { return has_class(e, word); }));
}

json data_of(const HtmlDocument& doc) { return json::parse(doc.by_id("run-data")->text); }

TEST(HtmlCheck, FindsWhatItIsFor) {
  const std::string start = "<!DOCTYPE html>";
  EXPECT_THAT(check_html(start + "<p>a &amp; b</p>").problems, IsEmpty());
  for (const char* bad :
       {"<p>", "<p></b>", "<p a=1></p>", "<p>a & b</p>", "<p id=\"x\"></p><p id=\"x\"></p>",
        "<div/>", "<a href=\"http://x\"></a>", "<p onclick=\"x\"></p>",
        "<svg><line x1=\"nan\"/></svg>", "<a href=\"#nowhere\"></a>", "<p>a > b</p>"})
    EXPECT_FALSE(check_html(start + bad).problems.empty()) << bad;
}

TEST(Report, SampleIsSoundAndInOrder) {
  const HtmlDocument doc = check_html(render_report(sample_run()));
  EXPECT_THAT(doc.problems, IsEmpty());
  std::vector<std::string> sections;
  for (const HtmlElement& e : doc.elements)
    if (e.name == "section") sections.push_back(e.attributes.at("id"));
  EXPECT_THAT(sections,
              testing::ElementsAre("verdict", "environment", "topology", "charts", "sizes", "loss",
                                   "latency", "cpu", "rules", "rule-costs", "repeats", "trials",
                                   "configuration", "standards"));
}

TEST(Report, EveryTextIsThereInBothLanguages) {
  const HtmlDocument doc = check_html(render_report(sample_run()));
  std::size_t english = 0, russian = 0;
  for (const HtmlElement& e : doc.elements) {
    const auto lang = e.attributes.find("lang");
    if (lang == e.attributes.end() || e.name == "html") continue;
    (lang->second == "en" ? english : russian) += 1;
  }
  EXPECT_EQ(english, russian);
  EXPECT_GT(english, 300u);
  const HtmlDocument ru = check_html(render_report(sample_run(), {Language::kRussian}));
  EXPECT_EQ(ru.elements.front().attributes.at("data-lang"), "ru");
}

TEST(Report, SameRunGivesSameBytes) {
  EXPECT_EQ(render_report(sample_run()), render_report(sample_run()));
}

TEST(Report, EmptyRunIsSound) {
  const HtmlDocument doc = check_html(render_report(lab::Run{}));
  EXPECT_THAT(doc.problems, IsEmpty());
  EXPECT_NE(doc.by_id("verdict"), nullptr);
  EXPECT_EQ(data_of(doc)["rows"].size(), 0u);
}

TEST(Report, PartialRunSaysSo) {
  lab::Run run = sample_run();
  run.is_partial = true;
  run.partial_reason = {"stopped by the user", "остановлен пользователем"};
  run.trials.resize(7);
  run.calibrations.clear();
  const std::string html = render_report(run);
  EXPECT_THAT(check_html(html).problems, IsEmpty());
  EXPECT_NE(html.find("stopped by the user"), std::string::npos);
  EXPECT_NE(html.find("Not calibrated"), std::string::npos);
}

TEST(Report, HugeRunKeepsEveryTrial) {
  const lab::Run run = huge_run(5000);
  const std::string html = render_report(run);
  const HtmlDocument doc = check_html(html);
  EXPECT_THAT(doc.problems, IsEmpty());
  EXPECT_EQ(data_of(doc)["trials"].size(), 5000u);
  EXPECT_LT(html.size(), std::size_t{24} << 20);
}

// Texts come from files of strangers and from devices: whatever they hold stays text.
TEST(Report, HostileTextsStayTexts) {
  const std::string evil =
      "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\xff\x01";
  lab::Run run = sample_run();
  run.id = run.plan = run.command = evil;
  run.title = run.question = {evil, evil + "ru"};
  run.environment.cpu = run.environment.noise_grade = evil;
  run.environment.versions[evil] = evil;
  for (Row& row : run.rows) {
    row.title = row.state_reason = row.reason = {evil, evil + "ru"};
    row.device.driver += evil;
    row.device.mode = row.device.place = row.device.topology = row.device_config = evil;
    row.traffic.sizes = row.traffic.protocol = evil;
    row.commands = row.chain = {evil, evil};
    row.kpis[evil] = 1;
    for (GoalResult& r : row.results) r.goal.name = r.why = evil;
  }
  run.rows[0].id = evil;
  for (TrialResult& t : run.trials) {
    if (t.spec.row == "search.r0") t.spec.row = evil;
    t.spec.id += evil;
    t.stamp_reasons = t.commands = {evil};
    t.loss_sentence_en = t.loss_sentence_ru = evil;
    t.kpis[evil] = 1;
    for (LayerCounter& c : t.layers) c.layer = c.counter = evil;
    for (ProcessUse& p : t.processes) p.name = p.role = evil;
  }
  for (ChartSpec& c : run.charts)
    c.id = c.series = evil, c.title = c.x_title = c.y_title = {evil, evil};
  for (Finding& f : run.findings) f.state = evil, f.claim = f.evidence = {evil, evil};
  const HtmlDocument doc = check_html(render_report(run));
  EXPECT_THAT(doc.problems, IsEmpty());
  EXPECT_EQ(doc.count("img"), 0u);
  EXPECT_EQ(doc.count("script"), 2u);
  EXPECT_EQ(data_of(doc)["trials"].size(), run.trials.size());
}

TEST(Report, NumbersThatAreNoneLeaveTheDrawingsFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  lab::Run run = sample_run();
  double bad[] = {nan, inf, -inf, 1e308, -1e308, 1e-320};
  std::size_t i = 0;
  const auto next = [&] { return bad[i++ % 6]; };
  for (TrialResult& t : run.trials) {
    t.offered_pps = next();
    t.received_pps = next();
    t.loss_ratio = next();
    t.packets_per_cpu_s = next();
    t.cycles_per_packet = next();
    t.spec.rate_pps = next();
    t.started = next();
    t.sending_s = next();
    for (CoreUse& c : t.cores) c.busy = next();
  }
  for (Row& row : run.rows) {
    for (auto& [name, value] : row.kpis) value = next();
    for (auto& [name, value] : row.parameters) value = next();
    for (GoalResult& r : row.results)
      r.conditional_pps = next(), r.lower_pps = next(), r.upper_pps = next();
    row.rate_pps = next();
    row.load_s = next();
  }
  for (Calibration& c : run.calibrations) c.ceiling_pps = next(), c.latency_p50_ns = next();
  run.started = next();
  run.finished = next();
  run.environment.noise_ratio = next();
  const HtmlDocument doc = check_html(render_report(run));
  EXPECT_THAT(doc.problems, IsEmpty());
  EXPECT_NO_THROW(data_of(doc));
}

TEST(Report, EveryPointOpensTrialsThatAreThere) {
  const lab::Run run = sample_run();
  const HtmlDocument doc = check_html(render_report(run));
  const json data = data_of(doc);
  std::size_t points = 0;
  for (const HtmlElement& e : doc.elements) {
    if (!has_class(e, "pt")) continue;
    ++points;
    const auto row = e.attributes.find("data-row"), trials = e.attributes.find("data-trials");
    ASSERT_TRUE(row != e.attributes.end() || trials != e.attributes.end());
    if (row != e.attributes.end()) {
      EXPECT_TRUE(data["rows"].contains(row->second)) << row->second;
    }
    if (trials == e.attributes.end()) continue;
    std::istringstream ids(trials->second);
    for (std::string id; ids >> id;) EXPECT_TRUE(data["trials"].contains(id)) << id;
    EXPECT_FALSE(e.attributes.at("data-en").empty());
  }
  EXPECT_GT(points, 150u);
}

TEST(Report, DoubtfulPointsAreHollowAndZeroLossIsABound) {
  lab::Run run = sample_run();
  run.charts.clear();
  const HtmlDocument doubtful = check_html(render_report(run));
  EXPECT_GT(count_class(doubtful, "hollow"), 0u);
  EXPECT_GT(count_class(doubtful, "bound"), 0u);
  for (TrialResult& t : run.trials) t.stamp = Stamp::kClean;
  for (Row& row : run.rows)
    for (GoalResult& r : row.results) r.is_regular = true;
  const HtmlDocument clean = check_html(render_report(run));
  EXPECT_EQ(count_class(clean, "hollow"), 0u);
  EXPECT_EQ(count_class(clean, "irregular"), 0u);
}

TEST(Report, HandshakesHaveATableWhereThereIsTls) {
  lab::Run run = sample_run();
  EXPECT_EQ(render_report(run).find("7.6 to 7.9"), std::string::npos);
  for (Row& row : run.rows)
    if (row.suite == "rfc9411.rate") {
      row.suite = "rfc9411.https_rate";
      row.kpis["handshakes_per_s"] = 1234;
      row.kpis["tls_handshake_p99_ms"] = 5.25;
    }
  const std::string html = render_report(run);
  EXPECT_THAT(check_html(html).problems, IsEmpty());
  const std::size_t table = html.find("RFC 9411, 7.6 to 7.9: TLS handshakes");
  ASSERT_NE(table, std::string::npos);
  const std::string text = html.substr(table, html.find("</table>", table) - table);
  EXPECT_NE(text.find("handshakes/s"), std::string::npos);
  EXPECT_NE(text.find("рукопожатий/с"), std::string::npos);
  EXPECT_NE(text.find("5.25"), std::string::npos);
}

TEST(Report, FindingsUnderDisturbanceSaySo) {
  lab::Run run = sample_run();
  run.findings[0].state = "disturbed";
  const std::string html = render_report(run);
  const HtmlDocument doc = check_html(html);
  EXPECT_THAT(doc.problems, IsEmpty());
  EXPECT_EQ(count_class(doc, "disturbed"), 2U);  // the badge, and the sum above the findings
  EXPECT_NE(html.find("told under disturbance"), std::string::npos);
  EXPECT_NE(html.find("под помехами"), std::string::npos);
}

TEST(Report, ReasonsThatDifferInFiguresAreToldOnce) {
  lab::Run run = sample_run();
  for (TrialResult& t : run.trials) t.stamp_reasons.clear();
  for (std::size_t i = 0; i < 4; ++i) {
    run.trials[i].stamp = Stamp::kContaminated;
    run.trials[i].stamp_reasons = {"others used " + std::to_string(i) + "0.5 % of core 1: cc1plus"};
  }
  const std::string html = render_report(run);
  const std::size_t box = html.find("id=\"environment\""), end = html.find("</section>", box);
  const std::string text = html.substr(box, end - box);
  EXPECT_NE(text.find("4 × "), std::string::npos);
  EXPECT_NE(text.find("others used 00.5 %"), std::string::npos);
  EXPECT_EQ(text.find("others used 10.5 %"), std::string::npos);
}

TEST(Report, SixteenSeriesLookDifferent) {
  std::set<std::string> looks;
  for (std::size_t i = 0; i < 16; ++i) {
    std::string look = report::series_class(i);
    report::append_marker(i, 0, 0, false, look);
    EXPECT_TRUE(looks.insert(look).second) << i;
  }
}

TEST(Report, RuleOfThePolicyLetsOneScriptRun) {
  const HtmlDocument doc = check_html(render_report(sample_run()));
  std::string policy;
  for (const HtmlElement& e : doc.elements)
    if (e.attributes.count("http-equiv") != 0) policy = e.attributes.at("content");
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("script-src 'sha256-"), std::string::npos);
}

TEST(Report, WritesWholeFilesOrNone) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("lab_report_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "report.html").string();
  ASSERT_TRUE(write_report(lab::Run{}, path));
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text, render_report(lab::Run{}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  const auto failed = write_report(lab::Run{}, (folder / "none" / "report.html").string());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, base::Errc::kNotFound);
  std::filesystem::remove_all(folder);
}

TEST(Report, KnowsItsLanguages) {
  EXPECT_EQ(*parse_language("ru"), Language::kRussian);
  EXPECT_EQ(parse_language("de").error().code, base::Errc::kInvalidValue);
}

namespace blocks {

using report::find_knee;
using report::merge_loads;
using report::percentile_curve;
using report::Point;

Point at(double x, double y) {
  Point p;
  p.x = x;
  p.y = y;
  return p;
}

TEST(Blocks, KneeLiesWhereLossPassesOnePercent) {
  const std::vector<Point> points{at(100, 0), at(200, 0.002), at(400, 0.2), at(800, 0.6)};
  EXPECT_NEAR(*find_knee(points, "loss_ratio"), std::sqrt(200.0 * 400), 1e-9);
  EXPECT_FALSE(find_knee({at(1, 0), at(2, 0), at(3, 0.001)}, "loss_ratio"));
}

TEST(Blocks, KneeOfLatencyIsThreeTimesTheLowest) {
  EXPECT_NEAR(*find_knee({at(100, 10), at(200, 12), at(400, 50)}, "latency_p99_us"),
              std::sqrt(200.0 * 400), 1e-9);
  EXPECT_FALSE(find_knee({at(100, 10), at(200, 12), at(400, 29)}, "latency_p99_us"));
}

TEST(Blocks, TrialsOfOneLoadAreMergedAndWarmUpsLeftOut) {
  std::vector<TrialResult> trials(4);
  for (std::size_t i = 0; i < 4; ++i) {
    trials[i].spec.id = "t" + std::to_string(i);
    trials[i].offered_pps = i < 3 ? 1000 + static_cast<double>(i) : 2000;
    trials[i].frames.offered = 1000;
    trials[i].frames.received = 1000;
  }
  trials[1].loss_ratio = 0.5;
  trials[2].spec.is_warm_up = true;
  const auto points =
      merge_loads({&trials[0], &trials[1], &trials[2], &trials[3]}, "offered_pps", "loss_ratio");
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].y, 0.25);
  EXPECT_EQ(*points[0].high, 0.5);
  EXPECT_EQ(points[0].trials, "t0 t1");
  EXPECT_TRUE(points[1].is_bound);
  EXPECT_EQ(points[1].y, 0.003);
}

TEST(Blocks, CleanTrialsSpeakWhereThereAreAny) {
  std::vector<TrialResult> trials(2);
  for (TrialResult& t : trials) t.frames.offered = 10, t.offered_pps = 100;
  trials[0].loss_ratio = 0.9;
  trials[0].stamp = Stamp::kContaminated;
  const auto points = merge_loads({&trials[0], &trials[1]}, "offered_pps", "loss_ratio");
  ASSERT_EQ(points.size(), 1u);
  EXPECT_TRUE(points[0].is_bound);
  EXPECT_FALSE(points[0].is_hollow);
}

RC_GTEST_PROP(Blocks, PercentileCurvesAscendAndEndAtTheMaximum,
              (std::vector<std::uint32_t> values)) {
  RC_PRE(!values.empty());
  Histogram h;
  for (const std::uint32_t v : values) h.record(v);
  const auto curve = percentile_curve(h, 20);
  RC_ASSERT(curve.size() <= 22u);
  RC_ASSERT(curve.front().x == 1);
  RC_ASSERT(curve.back().y == static_cast<double>(h.maximum()) / 1e3);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    RC_ASSERT(curve[i].x >= curve[i - 1].x);
    RC_ASSERT(curve[i].y >= curve[i - 1].y);
    RC_ASSERT(curve[i].x <= static_cast<double>(values.size()));
  }
}

}  // namespace blocks

}  // namespace
}  // namespace merlon::lab
