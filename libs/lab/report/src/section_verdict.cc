// SPDX-License-Identifier: Apache-2.0
// What came out: sums, findings, one line per row.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "html.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab::report {

void open_section(std::string_view id, const Text& title, std::string& out) {
  out.append(fmt::format("<section id=\"{}\" aria-labelledby=\"{}-h\"><h2 id=\"{}-h\">{}</h2>\n",
                         id, id, id, both(title)));
}

void close_section(std::string& out) { out.append("</section>\n"); }

std::string row_link(const Row& row) {
  return fmt::format("<a href=\"#{}\" data-row=\"{}\">{}</a>", make_id("row-", row.id),
                     escape(row.id), both(title_of(row)));
}

std::string badge(std::string_view css, const Text& text) {
  return fmt::format("<span class=\"badge {}\">{}</span>", css, both(text));
}

std::string state_badge(RowState state) { return badge(state_name(state), state_title(state)); }
std::string stamp_badge(Stamp stamp) { return badge(stamp_name(stamp), stamp_title(stamp)); }
std::string verdict_badge(Verdict verdict) { return badge(word(verdict), verdict_title(verdict)); }
std::string irregular_badge() { return badge("irregular", {"irregular", "нерегулярно"}); }

std::string goal_text(const GoalResult& r) {
  std::string out =
      fmt::format("<b>{}</b> {}", escape(r.goal.name), escape(quantity(goal_value(r), Unit::kPps)));
  out.append(fmt::format(" <small>[{} … {}]</small>",
                         escape(r.lower_pps > 0 ? quantity(r.lower_pps, Unit::kPps) : "–"),
                         escape(r.upper_pps > 0 ? quantity(r.upper_pps, Unit::kPps) : "–")));
  return r.is_regular ? out : out + " " + irregular_badge();
}

namespace {

constexpr std::size_t kMaxKpis = 4;

// Names that a suite's rows are judged by, most telling first; the rest is in the row's details.
constexpr auto kTelling = std::to_array<std::string_view>({"paired_ratio",
                                                           "max_cps",
                                                           "connections_per_s",
                                                           "transactions_per_s",
                                                           "goodput_bps",
                                                           "concurrent_max",
                                                           "cycles_per_connection",
                                                           "protected_ratio",
                                                           "recovery_ms",
                                                           "blocked_by_loss_ms",
                                                           "blocked_by_time_ms",
                                                           "monitored_pps",
                                                           "unseen_ratio",
                                                           "whole_pps",
                                                           "saturated_pps",
                                                           "starved_share",
                                                           "first_packet_p50_us",
                                                           "corrected_buffer_us",
                                                           "typical_latency_us",
                                                           "worst_latency_us",
                                                           "wrongly_passed",
                                                           "wrongly_dropped",
                                                           "coupled_loss_ratio",
                                                           "first_clean_percent",
                                                           "throughput_pps",
                                                           "received_pps",
                                                           "loss_ratio",
                                                           "failed_transaction_ratio",
                                                           "reset_ratio",
                                                           "ttfb_p99_ms",
                                                           "latency_p50_us",
                                                           "latency_p99_us"});

std::string spread_text(const RunIndex& index, const Row& row, const std::string& name) {
  const auto point = row_value(index, row, name);
  const auto spread = row.spreads.find(name);
  if (spread == row.spreads.end() || !(spread->second >= 0.001)) return "";
  if (spread->second <= kEvenSpread)
    return fmt::format(" <small>±\u00a0{:.1f}\u00a0%</small>", spread->second * 50);
  if (!point || !point->low || !point->high) return "";
  const Unit unit = value_info(name).unit;
  return " <small>[" + escape(quantity(*point->low, unit)) + " … " +
         escape(quantity(*point->high, unit)) + "]</small>";
}

std::string kpi_text(const RunIndex& index, const Row& row, const std::string& name, double value) {
  const ValueInfo info = value_info(name);
  return both(info.title) + " <b>" + escape(quantity(value, info.unit)) + "</b>" +
         spread_text(index, row, name);
}

std::string result_cell(const RunIndex& index, const Row& row) {
  if (row.state != RowState::kDone && row.results.empty()) {
    const Text reason = row.state_reason.en.empty() ? same("–") : told(row.state_reason);
    if (row.kpis.empty()) return both(reason);
  }
  std::vector<std::string> parts;
  for (const GoalResult& r : row.results) parts.push_back(goal_text(r));
  const auto trials = speaking(index.trials(row.id));
  for (const std::string_view name : kTelling) {
    if (parts.size() >= kMaxKpis + row.results.size()) break;
    if (!has_one_load(row) && (name == "received_pps" || name == "loss_ratio")) continue;
    if (name == "loss_ratio" && !trials.empty()) {
      parts.push_back(both(value_info(name).title) + " <b>" + escape(row_loss_text(index, row)) +
                      "</b>");
      continue;
    }
    const auto kpi = row.kpis.find(std::string(name));
    if (kpi != row.kpis.end()) {
      parts.push_back(kpi_text(index, row, kpi->first, kpi->second));
    } else if (row.results.empty()) {
      if (const auto point = row_value(index, row, name))
        parts.push_back(kpi_text(index, row, std::string(name), point->y));
    }
  }
  std::string out;
  for (const std::string& p : parts)
    out.append("<span class=\"kpi\">").append(p).append("</span> ");
  if (out.empty()) out = "–";
  if (trials.size() == 1 && row.results.empty())
    out.append("<small class=\"kpi\">")
        .append(both({"one trial", "одно испытание"}))
        .append("</small> ");
  // A row that was done may have something to say of it: whose limit its result is.
  if (!row.state_reason.en.empty())
    out.append("<small class=\"why\">").append(both(told(row.state_reason))).append("</small>");
  return out;
}

// A small bar: how near to what the tester can do at all.
std::string ceiling_cell(const RunIndex& index, const Row& row) {
  const auto point = row_value(index, row, rate_figure(row));
  if (!point || index.ceiling_pps() <= 0) return std::string(1, kNumber);
  const double share = point->y / index.ceiling_pps();
  if (!std::isfinite(share)) return std::string(1, kNumber);
  return number_cell(
      fmt::format("{:.1f}\u00a0% <span class=\"meter\" aria-hidden=\"true\"><span "
                  "style=\"width:{:.0f}%\"></span></span>",
                  std::clamp(share * 100, -1e6, 1e6), std::clamp(share * 100, 0.0, 100.0)));
}

std::string stamps_cell(const RunIndex& index, const Row& row) {
  std::array<unsigned, 4> counts{};
  for (const TrialResult* t : index.trials(row.id))
    if (!t->spec.is_warm_up) ++counts[static_cast<std::size_t>(t->stamp)];
  std::string out;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0)
      out.append(fmt::format("<span class=\"stamps\">{} {}</span> ", counts[i],
                             stamp_badge(static_cast<Stamp>(i))));
  return out;
}

constexpr std::array<std::pair<std::string_view, Noun>, 5> kFindingSums{
    {{"reproduced",
      {"finding reproduced", "findings reproduced", "вывод воспроизведён", "вывода воспроизведены",
       "выводов воспроизведены"}},
     {"differs",
      {"finding differs", "findings differ", "вывод расходится", "вывода расходятся",
       "выводов расходятся"}},
     {"pass",
      {"limit kept", "limits kept", "предел соблюдён", "предела соблюдены", "пределов соблюдены"}},
     {"disturbed",
      {"finding told under disturbance", "findings told under disturbance", "вывод под помехами",
       "вывода под помехами", "выводов под помехами"}},
     {"fail",
      {"limit broken", "limits broken", "предел нарушен", "предела нарушены",
       "пределов нарушены"}}}};

void append_sums(const RunIndex& index, std::string& out) {
  const Run& run = index.run();
  const auto rows_in = [&](RowState state) {
    return std::count_if(run.rows.begin(), run.rows.end(),
                         [&](const Row& r) { return r.state == state; });
  };
  out.append("<ul class=\"sums\">");
  for (const RowState state : {RowState::kDone, RowState::kSkipped, RowState::kFailed,
                               RowState::kUnavailable, RowState::kPending}) {
    const auto n = rows_in(state);
    if (n != 0) out.append(fmt::format("<li><b>{}</b> {}</li>", n, state_badge(state)));
  }
  const auto add = [&](std::string_view css, std::uint64_t n, const Noun& of) {
    if (n != 0)
      out.append(
          fmt::format("<li class=\"{}\"><b>{}</b> {}</li>", css, grouped(n), both(noun(n, of))));
  };
  add("trials-sum", run.trials.size(), kTrials);
  for (const auto& [state, of] : kFindingSums)
    add(state,
        static_cast<std::uint64_t>(
            std::count_if(run.findings.begin(), run.findings.end(),
                          [&, name = state](const Finding& f) { return f.state == name; })),
        of);
  out.append("</ul>\n");
}

// The plan's question is answered by its findings, so they come before the rows.
void append_findings(const Run& run, std::string& out) {
  if (run.findings.empty()) return;
  out.append("<h3 id=\"findings\">").append(both({"Findings", "Выводы"})).append("</h3>\n");
  Table table;
  table.css = "prose";
  table.caption = {"Claims checked on this run", "Утверждения, проверенные на этом прогоне"};
  table.head = {both({"claim", "утверждение"}), both({"state", "состояние"}),
                both({"evidence", "основание"})};
  for (const Finding& f : run.findings) {
    const bool is_known = finding_title(f.state).ru != f.state;
    const std::string css = !is_known                    ? "pending"
                            : f.state == "not_available" ? "unavailable"
                                                         : f.state;
    table.rows.push_back({both(f.claim), badge(css, finding_title(f.state)), both(f.evidence)});
  }
  append_table(table, out);
  out.append("<h3>").append(both({"Rows", "Строки"})).append("</h3>\n");
}

void append_rows(const RunIndex& index, std::string& out) {
  Table table;
  table.caption = {"Rows of the plan with their results", "Строки плана и их результаты"};
  table.head = {both({"row", "строка"}),
                both({"device", "устройство"}),
                both({"traffic", "трафик"}),
                both({"result", "результат"}),
                number_cell(both({"of the ceiling", "от предела"})),
                both({"trials", "испытания"}),
                both({"state", "состояние"})};
  for (const Row& row : index.run().rows) {
    std::string name = row_link(row);
    if (!row.parent.empty() && row.suite != "paired")
      name.append(" <small>")
          .append(both({"added: ", "добавлена: "}))
          .append(both(row.reason))
          .append("</small>");
    table.rows.push_back({name, both(index.device_name(row)), both(traffic_label(row.traffic)),
                          result_cell(index, row), ceiling_cell(index, row),
                          stamps_cell(index, row), state_badge(row.state)});
    table.row_attributes.push_back(fmt::format("class=\"{}\"", state_name(row.state)));
  }
  append_table(table, out);
}

}  // namespace

void append_verdict(const RunIndex& index, std::string& out) {
  const Run& run = index.run();
  open_section("verdict", {"Verdict", "Итог"}, out);
  if (run.is_partial) {
    out.append("<p class=\"warning\" role=\"note\"><b>")
        .append(both({"This run is partial.", "Прогон неполный."}))
        .append("</b> ")
        .append(both(run.partial_reason))
        .append("</p>\n");
  }
  append_sums(index, out);
  append_findings(run, out);
  if (run.rows.empty()) {
    out.append("<p class=\"empty\">")
        .append(both({"The run has no rows.", "В прогоне нет строк."}))
        .append("</p>\n");
    close_section(out);
    return;
  }
  append_rows(index, out);
  close_section(out);
}

}  // namespace merlon::lab::report
