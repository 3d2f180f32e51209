// SPDX-License-Identifier: Apache-2.0
// All trials as one table that can be sorted and filtered, and each row's set-up with its commands.
#include <fmt/core.h>

#include <algorithm>

#include "html.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

constexpr std::size_t kOpenTrials = 60;  // more stay folded, and out of a print

std::string value_cell(const TrialResult& t, std::string_view name, double scale = 1) {
  const auto value = trial_value(t, name);
  return number_cell(value ? escape(digits(*value * scale)) : "");
}

std::vector<std::string> trial_cells(const TrialResult& t) {
  const FrameCounts& f = t.frames;
  std::string id = fmt::format("<a href=\"#trials\" data-trials=\"{}\">{}</a>", escape(t.spec.id),
                               escape(t.spec.id));
  if (t.spec.is_warm_up) id += " <small>" + both({"warm-up", "разогрев"}) + "</small>";
  const bool has_frames = f.offered != 0;
  std::string loss = has_frames ? escape(digits(t.loss_ratio * 100)) : "";
  if (has_frames && f.lost == 0 && t.loss_ratio == 0)
    loss +=
        fmt::format(" <small>(&lt; {})</small>", escape(digits(zero_event_bound(f.offered) * 100)));
  return {id,
          escape(t.spec.row),
          value_cell(t, "intended_pps"),
          value_cell(t, "offered_pps"),
          value_cell(t, "received_pps"),
          number_cell(loss),
          number_cell(grouped(f.lost)),
          number_cell(grouped(f.duplicated)),
          number_cell(grouped(f.reordered)),
          number_cell(grouped(f.corrupted)),
          value_cell(t, "latency_p50_us"),
          value_cell(t, "latency_p99_us"),
          value_cell(t, "latency_p999_us"),
          number_cell(t.latency_actual.count() == 0 ? "" : grouped(t.latency_actual.count())),
          value_cell(t, "lateness_p99_us"),
          value_cell(t, "packets_per_cpu_s"),
          value_cell(t, "cycles_per_packet"),
          number_cell(escape(digits(t.spec.duration_s))),
          stamp_badge(t.stamp)};
}

std::string sort_head(const Text& title, bool is_number) {
  const std::string button =
      fmt::format("<button type=\"button\" class=\"sort\">{}</button>", both(title));
  return is_number ? number_cell(button) : button;
}

void append_filter(std::string& out) {
  out.append("<p class=\"filter\"><label>")
      .append(both({"Filter", "Отбор"}))
      .append(" <input type=\"search\" id=\"trial-filter\"/></label>");
  for (const Stamp stamp :
       {Stamp::kClean, Stamp::kTesterLimited, Stamp::kContaminated, Stamp::kFailed})
    out.append(
        fmt::format(" <label><input type=\"checkbox\" class=\"stamp-filter\" value=\"{}\" "
                    "checked=\"checked\"/> {}"
                    "</label>",
                    stamp_name(stamp), stamp_badge(stamp)));
  out.append(" <output id=\"trial-count\"></output></p>\n");
}

}  // namespace

void append_trials(const RunIndex& index, std::string& out) {
  const Run& run = index.run();
  open_section("trials", {"Trials", "Испытания"}, out);
  if (run.trials.empty()) {
    out.append("<p class=\"empty\">")
        .append(both({"No trial was run.", "Испытаний не было."}))
        .append("</p>\n");
    close_section(out);
    return;
  }
  out.append(fmt::format("<details{}><summary>{}</summary>\n",
                         run.trials.size() <= kOpenTrials ? " open=\"open\"" : "",
                         both(counted(run.trials.size(), kTrials))));
  append_filter(out);
  Table table;
  table.id = "trial-table";
  table.css = "trials";
  table.caption = {
      "Every trial as measured. Rates in frames per second, loss in per cent, times in "
      "microseconds, "
      "durations in seconds.",
      "Каждое испытание как измерено. Скорости в кадрах в секунду, потери в процентах, времена в "
      "микросекундах, длительности в секундах."};
  table.head = {sort_head({"trial", "испытание"}, false),
                sort_head({"row", "строка"}, false),
                sort_head({"intended", "задано"}, true),
                sort_head({"offered", "подано"}, true),
                sort_head({"received", "принято"}, true),
                sort_head({"loss, %", "потери, %"}, true),
                sort_head({"lost", "потеряно"}, true),
                sort_head({"dup", "дубли"}, true),
                sort_head({"reord", "порядок"}, true),
                sort_head({"corrupt", "порча"}, true),
                sort_head({"p50", "p50"}, true),
                sort_head({"p99", "p99"}, true),
                sort_head({"p99.9", "p99.9"}, true),
                sort_head({"n", "n"}, true),
                sort_head({"late p99", "опозд. p99"}, true),
                sort_head({"pkt/CPU·s", "пак./CPU·с"}, true),
                sort_head({"cycles", "такты"}, true),
                sort_head({"s", "с"}, true),
                sort_head({"stamp", "отметка"}, false)};
  for (const TrialResult& t : run.trials) {
    table.rows.push_back(trial_cells(t));
    table.row_attributes.push_back(
        fmt::format("class=\"{}{}\"", stamp_name(t.stamp), t.spec.is_warm_up ? " warm" : ""));
  }
  append_table(table, out);
  out.append("</details>\n");
  close_section(out);
}

namespace {

void append_text(const Text& title, const std::string& text, std::string& out) {
  if (text.empty()) return;
  out.append("<h4>")
      .append(both(title))
      .append("</h4><pre>")
      .append(escape(text))
      .append("</pre>\n");
}

void append_row(const RunIndex& index, const Row& row, std::string& out) {
  out.append(fmt::format(
      "<details class=\"row\" id=\"{}\"><summary>{} <small>{}</small> {}</summary>\n",
      make_id("row-", row.id), both(title_of(row)), escape(row.id), state_badge(row.state)));
  out.append("<p>").append(both(device_label(row.device)));
  for (const Text& fact : {word_title(row.device.topology), traffic_label(row.traffic)})
    if (!fact.en.empty()) out.append("; ").append(both(fact));
  if (!row.suite.empty()) out.append("; <code>").append(escape(row.suite)).append("</code>");
  if (row.load_s > 0)
    out.append("; ")
        .append(both({"rules loaded in ", "правила загружены за "}))
        .append(escape(quantity(row.load_s, Unit::kSeconds)));
  out.append("</p>\n");
  if (!row.reason.en.empty()) out.append("<p>").append(both(row.reason)).append("</p>\n");
  if (!row.state_reason.en.empty())
    out.append("<p class=\"warning\">").append(both(told(row.state_reason))).append("</p>\n");
  for (const GoalResult& r : row.results)
    out.append(fmt::format("<p>{}, {}; {}</p>\n", goal_text(r), both(sentence(r.why)),
                           both(counted(r.trials.size(), kTrials))));
  std::string commands;
  for (const std::string& c : row.commands) commands.append(c).append("\n");
  append_text({"Commands", "Команды"}, commands, out);
  append_text({"Configuration", "Конфигурация"}, row.device_config, out);
  if (!index.trials(row.id).empty())
    out.append(fmt::format("<p><a href=\"#trials\" data-row=\"{}\">{}</a></p>\n", escape(row.id),
                           both({"Its trials", "Её испытания"})));
  out.append("</details>\n");
}

}  // namespace

void append_configurations(const RunIndex& index, std::string& out) {
  const Run& run = index.run();
  open_section("configuration", {"Configurations and commands", "Конфигурации и команды"}, out);
  if (!run.command.empty()) append_text({"The whole run", "Весь прогон"}, run.command, out);
  for (const Row& row : run.rows)
    if (index.row(row.id) == &row)
      append_row(index, row, out);  // a second row of one id has no place of its own
  close_section(out);
}

}  // namespace merlon::lab::report
