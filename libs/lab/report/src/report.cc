// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_report/report.h"

#include <fmt/core.h>

#include "files.h"
#include "html.h"
#include "page.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab {

base::Result<Language> parse_language(std::string_view name) {
  if (name == "en") return Language::kEnglish;
  if (name == "ru") return Language::kRussian;
  return base::Error{base::Errc::kInvalidValue,
                     fmt::format("unknown language \"{}\"", name),
                     {},
                     "en and ru are known",
                     {}};
}

namespace {

using report::both;

void append_header(const Run& run, std::string& out) {
  out.append("<header>");
  report::append_switches(out);
  out.append("<h1>").append(both(report::title_of(run))).append("</h1>\n");
  if (!run.question.en.empty())
    out.append("<p class=\"question\">").append(both(run.question)).append("</p>\n");
  std::string facts = report::escape(run.plan) + " · " + report::escape(run.id) + " · " +
                      report::escape(report::utc_time(run.started));
  if (run.finished > run.started)
    facts += " · " + report::escape(report::duration_text(run.finished - run.started));
  if (run.budget_s > 0)
    facts +=
        " · " + both({"budget ", "бюджет "}) + report::escape(report::duration_text(run.budget_s));
  facts += fmt::format(" · {} {}", both({"seed", "зерно"}), run.seed);
  out.append("<p class=\"facts\">").append(facts).append("</p></header>\n");
}

}  // namespace

std::string render_report(const Run& run, const ReportOptions& options) {
  const report::RunIndex index(run);
  std::string body;
  body.reserve(run.trials.size() * 2048 + 65536);
  append_header(run, body);
  const std::size_t nav_at = body.size();
  body.append("<main>\n");
  report::append_verdict(index, body);
  report::append_paired(index, body);
  report::append_environment(index, body);
  report::append_topologies(index, body);
  report::append_charts(index, body);
  report::append_trials(index, body);
  report::append_configurations(index, body);
  report::append_standards(index, body);
  body.append("</main>\n");
  body.insert(nav_at, report::navigation(body));
  const Text title = report::title_of(run);
  return report::page(title, options.language, body, report::detail_json(index));
}

base::Result<void> write_report(const Run& run, const std::string& path,
                                const ReportOptions& options) {
  return report::write_file(path, render_report(run, options));
}

}  // namespace merlon::lab
