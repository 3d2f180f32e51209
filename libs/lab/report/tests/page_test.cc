// SPDX-License-Identifier: Apache-2.0
// What a reader meets on the page: words of their language, honest spreads and counts, lines left
// out of a drawing that are told.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "chart.h"
#include "html_check.h"
#include "merlon/lab_report/compare.h"
#include "merlon/lab_report/report.h"
#include "merlon/lab_report/terminal.h"
#include "sample_run.h"

namespace merlon::lab {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string section(const std::string& html, const std::string& id) {
  const std::size_t from = html.find("<section id=\"" + id + "\"");
  return from == std::string::npos ? "" : html.substr(from, html.find("</section>", from) - from);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// English words that stay as they are in Russian texts: names, terms, units, ids.
const std::set<std::string>& terms() {
  static const std::set<std::string> all{
      "merlon",  "nftables", "testpmd",  "ovs",     "kernel",   "linux",       "bridge",
      "debian",  "udp",      "kpps",     "mpps",    "gbit",     "mbit",        "kvm",
      "clock",   "compare",  "wire",     "tap",     "amd",      "mitigation",  "retpolines",
      "core",    "backlog",  "openflow", "search",  "rates",    "sizes",       "locality",
      "missing", "reset",    "kill",     "loss",    "latency",  "budget",      "goodput",
      "ttfb",    "ttlb",     "steal",    "softirq", "datapath", "openvswitch", "install",
      "apt",     "get",      "meltdown", "spectre", "imix",     "emix",        "merlond",
      "normal",  "vswitchd", "auto",     "english", "seconds",  "open",        "vswitch"};
  return all;
}

// Lower-case Latin words of four letters and more that stand alone: no ids, paths, names.
std::vector<std::string> english_words(const std::string& text) {
  std::vector<std::string> out;
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ||
           c == '/' || c == '&' || c == ';' || (static_cast<unsigned char>(c) & 0x80) != 0;
  };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_part(text[end])) ++end;
    std::string word = text.substr(i, end - i);
    const bool is_word = word.size() >= 4 && std::all_of(word.begin(), word.end(), [](char c) {
                           return c >= 'a' && c <= 'z';
                         });
    if (is_word && terms().count(word) == 0) out.push_back(word);
    i = std::max(end, i + 1);
  }
  return out;
}

std::set<std::string> english_on_russian_page(const std::string& html) {
  std::set<std::string> out;
  for (const HtmlElement& e : check_html(html).elements) {
    const auto lang = e.attributes.find("lang");
    if (e.name == "script" || e.name == "style" || e.name == "pre" || e.name == "code" ||
        e.name == "html")
      continue;
    if (lang == e.attributes.end() || lang->second != "en")
      for (const std::string& word : english_words(e.text))
        out.insert(word + " in <" + e.name + ">");
    const auto tip = e.attributes.find("data-ru");
    if (tip == e.attributes.end()) continue;
    for (const std::string& word : english_words(tip->second)) out.insert(word + " in a tip");
  }
  return out;
}

TEST(Page, RussianReadersMeetNoEnglishWords) {
  EXPECT_THAT(english_on_russian_page(render_report(sample_run())), testing::IsEmpty());
}

TEST(Page, RussianReadersOfComparisonsMeetNoEnglishWords) {
  lab::Run other = sample_run(2, 0.6);
  other.environment.cores = 4;
  other.environment.versions["nft"] = "1.0.9";
  const auto c = compare({sample_run(), other}, {.is_forced = true});
  ASSERT_TRUE(c.ok());
  EXPECT_THAT(english_on_russian_page(render_comparison_html(*c)), testing::IsEmpty());
}

// A row's own medians of what its trials have are no figures beside the trials' values.
TEST(Page, ComparisonsTakeTrialsBeforeTheirMedians) {
  lab::Run run = sample_run();
  for (Row& row : run.rows)
    if (row.suite == "rates") row.kpis["intended_p99_us"] = 10;
  const auto c = compare({run, run});
  ASSERT_TRUE(c.ok());
  for (const RowChange& row : c->runs[0].rows)
    for (const MetricChange& m : row.metrics) EXPECT_NE(m.name, "intended_p99_us");
}

TEST(Page, RowsOfOneTitleThatAreNoPairSayWhy) {
  lab::Run other = sample_run();
  other.rows[0].duration_s = 0.3;
  const auto c = compare({sample_run(), other});
  ASSERT_TRUE(c.ok());
  ASSERT_EQ(c->runs[0].only_in_base.size(), 1u);
  EXPECT_EQ(c->runs[0].only_in_base[0].apart.en, "trials of 1\u00a0s");
  EXPECT_EQ(c->runs[0].only_in_other[0].apart.ru, "испытания по 0.3\u00a0s");
  EXPECT_THAT(render_comparison(*c), HasSubstr("(trials of 0.3"));
  EXPECT_THAT(english_on_russian_page(render_comparison_html(*c)), testing::IsEmpty());
}

TEST(Page, OfNothingThereIsNoRatio) {
  MetricChange m;
  EXPECT_FALSE(has_ratio(m));  // 0 and 0
  m.base = 160;
  m.value = -420;  // a cost by subtraction
  EXPECT_FALSE(has_ratio(m));
  m.value = 0;
  EXPECT_TRUE(has_ratio(m));
}

report::Chart lines(std::size_t n) {
  report::Chart chart;
  chart.id = "x";
  chart.title = {"x", "x"};
  for (std::size_t i = 0; i < n; ++i) {
    report::Series s;
    s.name = {fmt::format("line {}", i), fmt::format("линия {}", i)};
    for (double x : {1.0, 2.0}) {
      report::Point p;
      p.x = x;
      p.y = static_cast<double>(i + 1);
      s.points.push_back(p);
    }
    chart.series.push_back(std::move(s));
  }
  return chart;
}

TEST(Page, LinesThatAreNotDrawnAreInTheFigures) {
  report::Chart chart = lines(22);
  chart.series.back().is_limit = true;
  std::string html;
  append_chart(chart, html);
  EXPECT_EQ(count(html, "<path class=\"line\""), 17u);  // 16, and the limit
  EXPECT_THAT(html, HasSubstr("16 of 21 lines are drawn"));
  EXPECT_THAT(html, HasSubstr("16 из 21"));
  const std::string figures = html.substr(html.find("<details class=\"figures\">"));
  for (int i = 0; i < 22; ++i) EXPECT_THAT(figures, HasSubstr(fmt::format(">line {}<", i)));
  std::string few;
  append_chart(lines(16), few);
  EXPECT_THAT(few, Not(HasSubstr("are drawn")));
}

TEST(Page, BarsThatAreNotDrawnAreInTheFigures) {
  report::Chart chart = lines(1);
  chart.kind = report::ChartKind::kBars;
  chart.series[0].points.clear();
  for (std::size_t i = 0; i < report::kMaxBars + 5; ++i) {
    chart.categories.push_back({fmt::format("device {}", i), fmt::format("устройство {}", i)});
    report::Point p;
    p.x = static_cast<double>(i);
    p.y = 1;
    chart.series[0].points.push_back(p);
  }
  std::string html;
  append_chart(chart, html);
  EXPECT_EQ(count(html, "<rect class=\"bar\" x=\""), report::kMaxBars + 1);  // one in the legend
  EXPECT_THAT(html,
              HasSubstr(fmt::format("{} of {} groups", report::kMaxBars, report::kMaxBars + 5)));
  EXPECT_THAT(html, HasSubstr(fmt::format(">device {}<", report::kMaxBars + 4)));
}

// The name of a reference stands above the bars, never on one.
TEST(Page, NamesOfCeilingsTouchNoBar) {
  report::Chart chart = lines(1);
  chart.kind = report::ChartKind::kBars;
  chart.categories = {{"a", "а"}, {"b", "б"}, {"c", "в"}};
  chart.references = {{{"ceiling", "предел"}, 1.5}};
  std::string html;
  append_chart(chart, html);
  double first_bar = 1e9;
  std::vector<double> names;
  for (const HtmlElement& e : check_html("<!DOCTYPE html><body>" + html + "</body>").elements) {
    const auto css = e.attributes.find("class");
    if (css == e.attributes.end() || e.attributes.count("y") == 0) continue;
    if (e.name == "text" && css->second == "reference")
      names.push_back(std::stod(e.attributes.at("y")));
    if (e.name == "rect" && css->second == "bar" && e.attributes.at("height") == "16")
      first_bar = std::min(first_bar, std::stod(e.attributes.at("y")));
  }
  ASSERT_EQ(names.size(), 2u);
  for (const double y : names) EXPECT_LT(y + 3, first_bar);
}

TEST(Page, WideSpreadsAreRanges) {
  lab::Run run = sample_run();
  for (Row& row : run.rows)
    if (row.spreads.count("received_pps") != 0) row.spreads["received_pps"] = 0.02;
  const std::string narrow = section(render_report(run), "verdict");
  EXPECT_THAT(narrow, HasSubstr("±\u00a01.0\u00a0%"));
  for (Row& row : run.rows)
    if (row.spreads.count("received_pps") != 0) row.spreads["received_pps"] = 1.4;
  const std::string wide = section(render_report(run), "verdict");
  EXPECT_THAT(wide, Not(HasSubstr("±")));
  EXPECT_THAT(wide, HasSubstr("</b> <small>["));
}

TEST(Page, FiguresOfOneTrialSaySo) {
  lab::Run run = sample_run();
  std::erase_if(run.trials, [](const TrialResult& t) {
    return t.spec.row == "rates.r0" && t.spec.id != "rates.r0.t1";
  });
  std::erase_if(run.rows, [](const Row& r) { return r.id != "rates.r0"; });
  run.rows[0].spreads.clear();
  EXPECT_THAT(section(render_report(run), "verdict"), HasSubstr(">одно испытание<"));
}

// A row may be done and have reached the tester's limit, not the device's.
TEST(Page, ReasonsOfRowsThatAreDoneAreTold) {
  lab::Run run = sample_run();
  run.rows[0].state_reason = {"the tester could not do more", "тестер больше не может"};
  const std::string html = section(render_report(run), "verdict");
  EXPECT_THAT(html, HasSubstr("the tester could not do more"));
  EXPECT_THAT(html, HasSubstr("тестер больше не может"));
}

// Rows of one label that stand elsewhere are other lines, not more points of one.
TEST(Page, DevicesElsewhereHaveLinesOfTheirOwn) {
  lab::Run run = sample_run();
  std::erase_if(run.rows, [](const Row& r) { return r.id != "search.r1"; });
  Row behind = run.rows[0];
  behind.id = "behind";
  behind.device.topology = "chain3";
  run.rows.push_back(behind);
  for (std::size_t i = 0, n = run.trials.size(); i < n; ++i) {
    TrialResult t = run.trials[i];
    if (t.spec.row != "search.r1") continue;
    t.spec.row = "behind";
    t.spec.id = "behind." + t.spec.id;
    run.trials.push_back(t);
  }
  const std::string loss = section(render_report(run), "loss");
  EXPECT_EQ(count(loss, "<path class=\"line\""), 2u);
  EXPECT_THAT(loss, HasSubstr("мост Linux, за двумя мостами"));
}

// A chart of rows that all stand at one place has no need of its name.
TEST(Page, ChartsCallDevicesByWhatTellsThemApartThere) {
  lab::Run run = sample_run();
  std::erase_if(run.rows, [](const Row& r) { return r.id != "search.r1"; });
  Row behind = run.rows[0];
  behind.id = "behind.r1";
  behind.device.topology = "chain3";
  run.rows.push_back(behind);
  ChartSpec all;
  all.kind = "bars";
  all.x = "device";
  all.y = "ndr_pps";
  ChartSpec some = all;
  some.rows = "search.";
  run.charts = {all};
  EXPECT_THAT(section(render_report(run), "charts"), HasSubstr("Linux bridge, behind two bridges"));
  run.charts = {some};
  EXPECT_THAT(section(render_report(run), "charts"), HasSubstr(">Linux bridge<"));
  EXPECT_THAT(section(render_report(run), "charts"), Not(HasSubstr("Linux bridge, ")));
}

TEST(Page, DevicesAreOneLineAlongAnAxisOfRules) {
  lab::Run run = sample_run();
  ChartSpec spec;
  spec.kind = "lines";
  spec.x = "rules";
  spec.y = "ndr_pps";
  spec.series = "device";
  spec.rows = "search.";
  run.charts = {spec};
  const std::string chart = section(render_report(run), "charts");
  // nftables in a row and in a set, Merlon; the others have one number of rules.
  EXPECT_EQ(count(chart, "<path class=\"line\""), 3u);
}

TEST(Page, RatesThatWereFixedAreNoThroughput) {
  lab::Run run = sample_run();
  for (Row& row : run.rows) row.results.clear();
  EXPECT_THAT(section(render_report(run), "rules"), Not(HasSubstr("число правил")));
  for (TrialResult& t : run.trials) t.spec.traffic.pacing = Pacing::kMaximum;
  EXPECT_THAT(section(render_report(run), "rules"), HasSubstr("число правил"));
}

TEST(Page, LatencyIsToldAtSharesOfThePdr) {
  const std::string latency = section(render_report(sample_run()), "latency");
  EXPECT_THAT(latency, HasSubstr("@ 50\u00a0% PDR"));
  EXPECT_THAT(latency, HasSubstr("@ 90\u00a0% PDR"));
  EXPECT_THAT(latency, Not(HasSubstr("@ 10\u00a0% PDR")));  // no trial lies near that
  lab::Run run = sample_run();
  for (Row& row : run.rows) row.results.clear();
  EXPECT_THAT(section(render_report(run), "latency"), Not(HasSubstr("PDR")));
}

TEST(Page, RowsThatAreMissingForOneReasonAreToldTogether) {
  lab::Run run = sample_run();
  for (std::size_t i = 0; i < 3; ++i) {
    run.rows[i].state = RowState::kSkipped;
    run.rows[i].state_reason = {"time was up", "время вышло"};
  }
  const std::string html = section(render_report(run), "environment");
  EXPECT_EQ(count(html, ">time was up<"), 1u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_THAT(html, HasSubstr("data-row=\"" + run.rows[i].id + "\""));
}

TEST(Page, WarmUpsAreNoTrialsOfARow) {
  lab::Run run = sample_run();
  run.rows.resize(1);
  run.rows[0].results.clear();
  std::erase_if(run.trials, [&](const TrialResult& t) { return t.spec.row != run.rows[0].id; });
  for (TrialResult& t : run.trials) t.stamp = Stamp::kClean, t.stamp_reasons.clear();
  ASSERT_EQ(run.trials.size(), 11u);  // one is a warm-up
  EXPECT_THAT(section(render_report(run), "verdict"), HasSubstr("10 <span class=\"badge clean\">"));
  EXPECT_THAT(render_summary(run), HasSubstr("10\u00a0trials: 10 clean"));
}

TEST(Page, OneIsNotMany) {
  lab::Run run = sample_run();
  run.findings.resize(1);
  run.trials.resize(1);
  const std::string html = section(render_report(run), "verdict");
  EXPECT_THAT(html, HasSubstr("finding reproduced"));
  EXPECT_THAT(html, Not(HasSubstr("findings reproduced")));
  EXPECT_THAT(html, HasSubstr("вывод воспроизведён"));
  EXPECT_THAT(html, HasSubstr(">испытание<"));
}

// Costs of rules compare rows that differ in rules only.
TEST(Page, RuleCostsDontMixWays) {
  lab::Run run = sample_run();
  std::erase_if(run.rows,
                [](const Row& r) { return r.device.driver != "nftables" || r.suite != "search"; });
  EXPECT_FALSE(section(render_report(run), "rule-costs").empty());
  unsigned n = 0;
  for (Row& row : run.rows) row.device.topology = fmt::format("path{}", ++n);
  EXPECT_TRUE(section(render_report(run), "rule-costs").empty());
}

PairedOutcome outcome(const std::string& verdict, double ratio) {
  PairedOutcome o;
  o.figure = "packets_per_cpu_s";
  o.a = 400e3;
  o.b = o.a * ratio;
  o.ratio = ratio;
  o.low = ratio * 0.98;
  o.high = ratio * 1.02;
  o.noise = 0.03;
  o.limit = 0.03;
  o.pair_count = 8;
  o.same_pair_count = 7;
  o.dropped_count = 2;
  o.verdict = verdict;
  o.sentence = {"B is " + verdict, "B: решение"};
  o.ended = {"narrow enough", "достаточно узко"};
  o.pairs = {{"search.r1.t1", "search.r2.t1", ratio}};
  return o;
}

TEST(Page, PairsAreToldWithIntervalAndNoise) {
  lab::Run run = sample_run();
  EXPECT_EQ(section(render_report(run), "paired"), "");
  for (const auto& [row, verdict, ratio] : {std::tuple{1, "worse", 0.71},
                                            {3, "better", 1.2},
                                            {5, "same", 1.003},
                                            {7, "undecided", 0.9}}) {
    Row& a = run.rows[static_cast<std::size_t>(row)];
    a.suite = "paired";
    a.against = run.rows[static_cast<std::size_t>(row) + 1].id;
    a.paired = {outcome(verdict, ratio)};
  }
  run.rows[7].paired[0].same_pair_count = 2;  // of two neighbours nobody knows the noise
  const std::string html = render_report(run);
  EXPECT_THAT(check_html(html).problems, testing::IsEmpty());
  const std::string part = section(html, "paired");
  EXPECT_THAT(part, HasSubstr("<b>0.710</b> <small>[0.696 … 0.724]</small>"));
  EXPECT_EQ(count(part, "<rect class=\"noise\""), 3u);
  EXPECT_EQ(count(part, "±\u00a03\u00a0%"), 3u);
  for (const char* verdict : {"better", "worse", "same", "unclear"}) {
    EXPECT_THAT(part, HasSubstr(fmt::format("class=\"badge {}\"", verdict)));
    EXPECT_THAT(part, HasSubstr(fmt::format("<g class=\"verdict-{}\">", verdict)));
  }
  EXPECT_THAT(part, HasSubstr("data-trials=\"search.r1.t1 search.r2.t1\""));
  EXPECT_THAT(part, HasSubstr("B: решение"));
  EXPECT_THAT(english_on_russian_page(html), testing::IsEmpty());
  EXPECT_THAT(render_summary(run), HasSubstr("[worse] "));
}

TEST(Page, DamagedPairsAreDrawnAllTheSame) {
  lab::Run run = sample_run();
  Row& a = run.rows[1];
  a.against = "nobody";
  a.paired = {outcome("worse", -1), outcome("x", 1e300), outcome("", 0)};
  a.paired[2].low = std::numeric_limits<double>::quiet_NaN();
  a.paired[2].noise = std::numeric_limits<double>::infinity();
  EXPECT_THAT(check_html(render_report(run)).problems, testing::IsEmpty());
}

}  // namespace
}  // namespace merlon::lab
