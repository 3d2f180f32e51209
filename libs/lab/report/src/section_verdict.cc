// SPDX-License-Identifier: Apache-2.0
// What came out: one line per row, and the findings' sum above it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "html.h"
#include "sections.h"

namespace merlon::lab::report {

void open_section(std::string_view id, const Text& title, std::string& out) {
  out.append(fmt::format("<section id=\"{}\" aria-labelledby=\"{}-h\"><h2 id=\"{}-h\">{}</h2>\n",
                         id, id, id, both(title)));
}

void close_section(std::string& out) { out.append("</section>\n"); }

std::string row_link(const Row& row) {
  return fmt::format("<a href=\"#{}\" data-row=\"{}\">{}</a>", make_id("row-", row.id),
                     escape(row.id), both(row.title.en.empty() ? Text{row.id, row.id} : row.title));
}

std::string state_badge(RowState state) {
  return fmt::format("<span class=\"badge {}\">{}</span>", state_name(state),
                     both(state_title(state)));
}

std::string stamp_badge(Stamp stamp) {
  return fmt::format("<span class=\"badge {}\">{}</span>", stamp_name(stamp),
                     both(stamp_title(stamp)));
}

namespace {

constexpr std::size_t kMaxKpis = 4;

// Names that a suite's rows are judged by, most telling first; the rest is in the row's details.
constexpr auto kTelling = std::to_array<std::string_view>({"max_cps",
                                                           "connections_per_s",
                                                           "transactions_per_s",
                                                           "goodput_bps",
                                                           "concurrent_max",
                                                           "cycles_per_connection",
                                                           "protected_ratio",
                                                           "blocked_by_loss_ms",
                                                           "blocked_by_time_ms",
                                                           "whole_pps",
                                                           "saturated_pps",
                                                           "starved_ratio",
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

std::string goal_text(const GoalResult& r) {
  std::string out = fmt::format("<b>{}</b> {}", escape(r.goal.name),
                                escape(quantity(r.conditional_pps, Unit::kPps)));
  out.append(fmt::format(" <small>[{} … {}]</small>",
                         escape(r.lower_pps > 0 ? quantity(r.lower_pps, Unit::kPps) : "–"),
                         escape(r.upper_pps > 0 ? quantity(r.upper_pps, Unit::kPps) : "–")));
  if (!r.is_regular)
    out.append(" <span class=\"badge irregular\">")
        .append(both({"irregular", "нерегулярно"}))
        .append("</span>");
  return out;
}

std::string kpi_text(const Row& row, const std::string& name, double value) {
  const ValueInfo info = value_info(name);
  std::string out = both(info.title) + " <b>" + escape(quantity(value, info.unit)) + "</b>";
  const auto spread = row.spreads.find(name);
  if (spread != row.spreads.end() && spread->second >= 0.001)
    out.append(fmt::format(" <small>±{:.1f}\u00a0%</small>", spread->second * 50));
  return out;
}

// Frames and losses of the trials that speak for the row, for a loss with its bound.
std::string loss_of(const std::vector<const TrialResult*>& trials) {
  std::uint64_t lost = 0, offered = 0;
  for (const TrialResult* t : trials) {
    lost += t->frames.lost;
    offered += t->frames.offered;
  }
  return loss_text(lost, offered);
}

std::string result_cell(const RunIndex& index, const Row& row) {
  if (row.state != RowState::kDone && row.results.empty()) {
    const Text reason = row.state_reason.en.empty() ? Text{"–", "–"} : row.state_reason;
    if (row.kpis.empty()) return both(reason);
  }
  std::vector<std::string> parts;
  for (const GoalResult& r : row.results) parts.push_back(goal_text(r));
  const auto trials = speaking(index.trials(row.id));
  for (const std::string_view name : kTelling) {
    if (parts.size() >= kMaxKpis + row.results.size()) break;
    if (!row.results.empty() && (name == "received_pps" || name == "loss_ratio")) continue;
    if (name == "loss_ratio" && !trials.empty()) {
      parts.push_back(both(value_info(name).title) + " <b>" + escape(loss_of(trials)) + "</b>");
      continue;
    }
    const auto kpi = row.kpis.find(std::string(name));
    if (kpi != row.kpis.end()) {
      parts.push_back(kpi_text(row, kpi->first, kpi->second));
    } else if (row.results.empty()) {
      if (const auto point = row_value(index, row, name))
        parts.push_back(kpi_text(row, std::string(name), point->y));
    }
  }
  std::string out;
  for (const std::string& p : parts)
    out.append("<span class=\"kpi\">").append(p).append("</span> ");
  return out.empty() ? "–" : out;
}

// A small bar: how near to what the tester can do at all.
std::string ceiling_cell(const RunIndex& index, const Row& row) {
  auto point = row_value(index, row, row.results.empty() ? "received_pps" : "throughput_pps");
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
  for (const TrialResult* t : index.trials(row.id)) ++counts[static_cast<std::size_t>(t->stamp)];
  std::string out;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0)
      out.append(fmt::format("{} {} ", counts[i], stamp_badge(static_cast<Stamp>(i))));
  return out;
}

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
  out.append(fmt::format("<li><b>{}</b> {}</li>", grouped(std::uint64_t{run.trials.size()}),
                         both({"trials", "испытаний"})));
  for (const auto& [state, title] : std::initializer_list<std::pair<std::string_view, Text>>{
           {"reproduced", {"findings reproduced", "выводов воспроизведено"}},
           {"differs", {"findings differ", "выводов расходится"}},
           {"pass", {"limits kept", "пределов соблюдено"}},
           {"fail", {"limits broken", "пределов нарушено"}}}) {
    const auto n = std::count_if(run.findings.begin(), run.findings.end(),
                                 [&](const Finding& f) { return f.state == state; });
    if (n != 0)
      out.append(fmt::format("<li class=\"{}\"><b>{}</b> {}</li>", state, n, both(title)));
  }
  out.append("</ul>\n");
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
  if (run.rows.empty()) {
    out.append("<p class=\"empty\">")
        .append(both({"The run has no rows.", "В прогоне нет строк."}))
        .append("</p>\n");
    close_section(out);
    return;
  }
  Table table;
  table.caption = {"Rows of the plan with their results", "Строки плана и их результаты"};
  table.head = {both({"row", "строка"}),
                both({"device", "устройство"}),
                both({"traffic", "трафик"}),
                both({"result", "результат"}),
                number_cell(both({"of the ceiling", "от предела"})),
                both({"trials", "испытания"}),
                both({"state", "состояние"})};
  for (const Row& row : run.rows) {
    std::string name = row_link(row);
    if (!row.parent.empty())
      name.append(" <small>")
          .append(both({"added: ", "добавлена: "}))
          .append(both(row.reason))
          .append("</small>");
    table.rows.push_back({name, escape(device_label(row.device)),
                          escape(traffic_label(row.traffic)), result_cell(index, row),
                          ceiling_cell(index, row), stamps_cell(index, row),
                          state_badge(row.state)});
    table.row_attributes.push_back(fmt::format("class=\"{}\"", state_name(row.state)));
  }
  append_table(table, out);
  close_section(out);
}

}  // namespace merlon::lab::report
