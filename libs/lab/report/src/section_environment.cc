// SPDX-License-Identifier: Apache-2.0
// The honesty box: machine, calibration before and after, noise, stamps, and what is missing and
// why.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "html.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

using Pairs = std::vector<std::pair<Text, std::string>>;  // values are markup

void append_pairs(const Pairs& pairs, std::string& out) {
  out.append("<dl>");
  for (const auto& [name, value] : pairs)
    if (!value.empty())
      out.append("<dt>").append(both(name)).append("</dt><dd>").append(value).append("</dd>\n");
  out.append("</dl>\n");
}

void append_map(const Text& title, const std::map<std::string, std::string>& values,
                std::string& out) {
  if (values.empty()) return;
  out.append("<details><summary>")
      .append(both(title))
      .append(fmt::format(" ({})", values.size()))
      .append("</summary>");
  Pairs pairs;
  for (const auto& [name, value] : values) pairs.push_back({word_title(name), escape(value)});
  append_pairs(pairs, out);
  out.append("</details>\n");
}

Text grade_meaning(std::string_view grade) {
  if (grade == "A")
    return {"quiet: small differences can be believed", "тихо: малым разницам можно верить"};
  if (grade == "B") return {"slightly noisy", "слегка шумно"};
  if (grade == "C")
    return {"noisy: only clear differences count", "шумно: важны только явные разницы"};
  if (grade == "D")
    return {"very noisy: orders of magnitude only", "очень шумно: верить только порядкам величин"};
  return {};
}

void append_calibrations(const Run& run, std::string& out) {
  out.append("<h3>")
      .append(both({"Null path (the tester alone)", "Прямой путь (только тестер)"}))
      .append("</h3>\n");
  if (run.calibrations.empty()) {
    out.append("<p class=\"warning\">")
        .append(both({"Not calibrated: nobody knows what the tester itself can do.",
                      "Калибровки нет: неизвестно, на что способен сам тестер."}))
        .append("</p>\n");
    return;
  }
  Table table;
  table.caption = {"Calibration of the null path", "Калибровка прямого пути"};
  table.head = {both({"when", "когда"}), number_cell(both({"ceiling", "предел"})),
                number_cell(both({"latency p50", "задержка p50"})),
                number_cell(both({"latency p99", "задержка p99"})),
                number_cell(both({"CPU per packet", "CPU на пакет"}))};
  for (const Calibration& c : run.calibrations) {
    table.rows.push_back({both(word_title(c.when)),
                          number_cell(escape(quantity(c.ceiling_pps, Unit::kPps))),
                          number_cell(escape(quantity(c.latency_p50_ns, Unit::kNanoseconds))),
                          number_cell(escape(quantity(c.latency_p99_ns, Unit::kNanoseconds))),
                          number_cell(escape(quantity(c.cpu_s_per_packet, Unit::kSeconds)))});
  }
  append_table(table, out);
  const Calibration &first = run.calibrations.front(), &last = run.calibrations.back();
  if (run.calibrations.size() > 1 && first.ceiling_pps > 0 && last.ceiling_pps > 0) {
    const double drift = last.ceiling_pps / first.ceiling_pps - 1;
    const bool is_large = std::fabs(drift) > 0.1;
    const std::string figure = fmt::format("{:+.1f}\u00a0%", drift * 100);
    out.append(fmt::format("<p{}>", is_large ? " class=\"warning\"" : ""))
        .append(both({"The ceiling drifted by " + figure + " over the run" +
                          (is_large ? ": rows measured at its ends are hardly comparable." : "."),
                      "За прогон предел сместился на " + figure +
                          (is_large ? ": строки из начала и конца едва ли сравнимы." : ".")}))
        .append("</p>\n");
  }
}

// Reasons that differ in their figures only are one kind: its words up to a colon, without digits.
std::string reason_kind(std::string_view reason) {
  std::string kind(reason.substr(0, reason.find(':')));
  std::erase_if(kind, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return kind;
}

constexpr Noun kWarmUps{"warm-up", "warm-ups", "разогрев", "разогрева", "разогревов"};

void append_stamps(const Run& run, std::string& out) {
  std::array<std::uint64_t, 4> counts{};
  std::map<std::string, std::pair<std::uint64_t, std::string>> reasons;  // count, the first one
  std::uint64_t warm_ups = 0;
  for (const TrialResult& t : run.trials) {
    ++(t.spec.is_warm_up ? warm_ups : counts[static_cast<std::size_t>(t.stamp)]);
    if (!t.spec.is_warm_up && t.stamp != Stamp::kClean)
      for (const std::string& reason : t.stamp_reasons) {
        auto& [n, first] = reasons[reason_kind(reason)];
        if (n++ == 0) first = reason;
      }
  }
  out.append("<h3>")
      .append(both({"Stamps of the trials", "Отметки испытаний"}))
      .append("</h3>\n<ul class=\"sums\">");
  for (std::size_t i = 0; i < counts.size(); ++i)
    out.append(fmt::format("<li><b>{}</b> {}</li>", grouped(counts[i]),
                           stamp_badge(static_cast<Stamp>(i))));
  if (warm_ups != 0)
    out.append(fmt::format("<li><b>{}</b> {}</li>", grouped(warm_ups),
                           both(joined(noun(warm_ups, kWarmUps),
                                       {", measured and not used", ", измерено и не учтено"}))));
  out.append("</ul>\n");
  if (reasons.empty()) return;
  std::vector<std::pair<std::uint64_t, std::string>> sorted;
  for (const auto& [kind, reason] : reasons) sorted.push_back(reason);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kShown = 12;
  out.append("<ul>");
  for (std::size_t i = 0; i < std::min(kShown, sorted.size()); ++i)
    out.append(fmt::format("<li>{} × {}{}</li>", grouped(sorted[i].first),
                           sorted[i].first > 1 ? both({"such as: ", "например: "}) : "",
                           both(sentence(sorted[i].second))));
  if (sorted.size() > kShown)
    out.append("<li>")
        .append(both({fmt::format("and {} kinds more, see the trials", sorted.size() - kShown),
                      fmt::format("и ещё видов: {}, см. испытания", sorted.size() - kShown)}))
        .append("</li>");
  out.append("</ul>\n");
}

// Rows that were not done, together where the reason is the same.
struct Absent {
  Text why;
  std::vector<const Row*> rows;
};

std::vector<Absent> absent_rows(const Run& run) {
  std::vector<Absent> out;
  for (const Row& row : run.rows) {
    if (row.state == RowState::kDone) continue;
    const Text why = told(row.state_reason);
    const auto alike = std::find_if(out.begin(), out.end(), [&](const Absent& a) {
      return a.why.en == why.en && a.rows.front()->state == row.state;
    });
    if (alike == out.end())
      out.push_back({why, {&row}});
    else
      alike->rows.push_back(&row);
  }
  return out;
}

constexpr Noun kSearchResults{"search result", "search results", "результат поиска",
                              "результата поиска", "результатов поиска"};

void append_missing(const Run& run, std::string& out) {
  std::string list;
  for (const Absent& absent : absent_rows(run)) {
    list.append("<li>").append(state_badge(absent.rows.front()->state)).append(" ");
    if (!absent.why.en.empty()) list.append(both(absent.why)).append(": ");
    for (std::size_t i = 0; i < absent.rows.size(); ++i)
      list.append(i == 0 ? "" : " · ").append(row_link(*absent.rows[i]));
    list.append("</li>\n");
  }
  std::uint64_t irregular = 0;
  for (const Row& row : run.rows)
    for (const GoalResult& r : row.results) irregular += r.is_regular ? 0 : 1;
  if (irregular != 0)
    list.append("<li>")
        .append(irregular_badge())
        .append(" ")
        .append(both(
            joined(counted(irregular, kSearchResults),
                   {" without a bound or the stated width", " без границы или заявленной ширины"})))
        .append("</li>\n");
  if (list.empty()) return;
  out.append("<h3>")
      .append(both({"What is missing, and why", "Чего нет и почему"}))
      .append("</h3>\n<ul>");
  out.append(list).append("</ul>\n");
}

}  // namespace

void append_environment(const RunIndex& index, std::string& out) {
  const Run& run = index.run();
  const Environment& e = run.environment;
  open_section("environment", {"Environment and honesty", "Среда и честность"}, out);
  std::string noise;
  if (!e.noise_grade.empty()) {
    noise = fmt::format("<b>{}</b>", escape(e.noise_grade));
    if (e.noise_ratio > 0)
      noise += fmt::format(" (A/A {})", escape(quantity(e.noise_ratio, Unit::kRatio)));
    if (const Text meaning = grade_meaning(e.noise_grade); !meaning.en.empty())
      noise += ": " + both(meaning);
  }
  append_pairs(
      {{{"machine", "машина"}, escape(e.machine)},
       {{"processor", "процессор"},
        escape(e.cpu) + (e.cores != 0 ? fmt::format(", {} × CPU", e.cores) : std::string())},
       {{"memory", "память"}, e.memory_mib > 0 ? escape(quantity(e.memory_mib, Unit::kMib)) : ""},
       {{"virtualization", "виртуализация"}, escape(e.virtualization)},
       {{"kernel", "ядро"}, escape(e.kernel)},
       {{"distribution", "дистрибутив"}, escape(e.distribution)},
       {{"clock", "часы"},
        escape(e.clock_source) +
            (e.tsc_hz > 0 ? ", TSC " + escape(quantity(e.tsc_hz, Unit::kHertz)) : "")},
       {{"noise grade", "класс шума"}, noise}},
      out);
  append_map({"Versions", "Версии"}, e.versions, out);
  append_map({"Pinning", "Привязка к ядрам"}, e.pinning, out);
  append_map({"Mitigations of the processor's faults", "Меры против уязвимостей процессора"},
             e.mitigations, out);
  append_calibrations(run, out);
  append_stamps(run, out);
  append_missing(run, out);
  close_section(out);
}

}  // namespace merlon::lab::report
