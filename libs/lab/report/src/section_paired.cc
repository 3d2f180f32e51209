// SPDX-License-Identifier: Apache-2.0
// Pairs: two devices measured in turn, told as a ratio with its interval beside the noise of equal
// things.
#include <fmt/core.h>

#include <cmath>

#include "chart.h"
#include "html.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

std::string side_cell(const RunIndex& index, const std::string& id) {
  const Row* row = index.row(id);
  return row == nullptr ? escape(id) : row_link(*row);
}

std::string share(double value) { return escape(quantity(value, Unit::kRatio)); }

std::string pairs_cell(const PairedOutcome& o) {
  std::string out = grouped(std::uint64_t{o.pair_count});
  if (o.dropped_count != 0)
    out += " <small>" +
           both(joined(same("+ " + grouped(std::uint64_t{o.dropped_count}) + " "),
                       {"left out", "не учтено"})) +
           "</small>";
  return number_cell(out);
}

// Fewer neighbours of one side tell nothing about the noise.
constexpr std::uint32_t kLeastSamePairs = 3;

bool is_noise_known(const PairedOutcome& o) {
  return o.same_pair_count >= kLeastSamePairs && std::isfinite(o.noise);
}

void append_outcome(const RunIndex& index, const Row& row, const PairedOutcome& o, Table& table) {
  const ValueInfo info = value_info(o.figure);
  const Text ways = o.is_higher_better ? Text{"more is better", "больше — лучше"}
                                       : Text{"less is better", "меньше — лучше"};
  table.rows.push_back(
      {side_cell(index, row.id), side_cell(index, row.against),
       both(info.title) + " <small>(" + both(ways) + ")</small>",
       number_cell(escape(quantity(o.a, info.unit))), number_cell(escape(quantity(o.b, info.unit))),
       number_cell(fmt::format("<b>{}</b> <small>[{} … {}]</small>", escape(ratio_text(o.ratio)),
                               escape(ratio_text(o.low)), escape(ratio_text(o.high)))),
       number_cell(is_noise_known(o) ? "±\u00a0" + share(o.noise) : "–"), pairs_cell(o),
       verdict_badge(verdict_of(o.verdict))});
}

Point pair_point(const PairedTrials& pair) {
  Point p;
  p.y = pair.ratio;
  p.trials = pair.a + " " + pair.b;
  return p;
}

RatioLine ratio_line(const RunIndex& index, const Row& row, const PairedOutcome& o) {
  RatioLine line;
  const Row* other = index.row(row.against);
  line.name = title_of(row);
  line.detail = joined(same("→ "), other == nullptr ? same(row.against) : title_of(*other));
  line.figure = value_info(o.figure).title;
  line.verdict = verdict_of(o.verdict);
  line.noise = is_noise_known(o) ? o.noise : 0;
  line.point.y = o.ratio;
  line.point.low = o.low;
  line.point.high = o.high;
  line.point.samples = o.pair_count;
  line.point.row = row.id;
  line.point.note = verdict_title(line.verdict);
  for (const PairedTrials& pair : o.pairs) line.values.push_back(pair_point(pair));
  return line;
}

}  // namespace

void append_paired(const RunIndex& index, std::string& out) {
  Table table;
  table.caption = {"Pairs measured in turn, A B B A", "Пары, измеренные поочерёдно, A B B A"};
  table.head = {"A",
                "B",
                both({"figure", "показатель"}),
                number_cell("A"),
                number_cell("B"),
                number_cell(both({"B/A, 95 %", "B/A, 95 %"})),
                number_cell(both({"A/A noise", "шум A/A"})),
                number_cell(both({"pairs", "пар"})),
                both({"B against A", "B против A"})};
  Chart chart;
  chart.id = "paired-ratios";
  chart.kind = ChartKind::kRatios;
  chart.title = {"B/A with its 95 % interval and the noise of equal things",
                 "B/A с 95 % интервалом и шумом одинаковых"};
  chart.y_title = {"B/A", "B/A"};
  chart.note = {
      "Grey: where ratios of equal things lie. Small dots: single pairs. Outside the grey "
      "with the whole interval: a difference.",
      "Серое: где лежат отношения одинаковых. Точки: отдельные пары. Весь интервал вне "
      "серого: различие."};
  std::string sentences;
  for (const Row& row : index.run().rows)
    for (const PairedOutcome& o : row.paired) {
      append_outcome(index, row, o, table);
      chart.ratios.push_back(ratio_line(index, row, o));
      sentences.append("<li><b>").append(both(sides(index, row))).append("</b>: ");
      sentences.append(both(o.sentence));
      if (!o.ended.en.empty())
        sentences.append(" <small>· ").append(both(o.ended)).append("</small>");
      sentences.append("</li>\n");
    }
  if (table.rows.empty()) return;
  open_section("paired", {"A against B", "A против B"}, out);
  append_table(table, out);
  append_chart(chart, out);
  out.append("<ul>").append(sentences).append("</ul>\n");
  close_section(out);
}

}  // namespace merlon::lab::report
