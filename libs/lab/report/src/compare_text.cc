// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>

#include "format.h"
#include "merlon/lab_report/compare.h"
#include "text_table.h"
#include "words.h"

namespace merlon::lab {
namespace {

using report::Colour;
using report::printable;

Colour colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return Colour::kGood;
    case Verdict::kWorse:
      return Colour::kBad;
    case Verdict::kUnclear:
      return Colour::kWarn;
    case Verdict::kSame:
      break;
  }
  return Colour::kNone;
}

class Writer {
 public:
  Writer(const Comparison& comparison, const TerminalOptions& options)
      : comparison_(comparison), options_(options), width_(std::max(40U, options.width)) {}

  std::string make() {
    for (const RunComparison& run : comparison_.runs) {
      line(printable(comparison_.base_id) + " → " + printable(run.id));
      differences(run);
      if (run.is_refused) {
        line(say({"refused: these runs are not comparable, see above; --force compares them all "
                  "the same",
                  "отказ: эти прогоны несравнимы, см. выше; --force сравнит всё равно"}),
             Colour::kBad);
        continue;
      }
      rows(run);
      partners(run);
    }
    if (!comparison_.is_refused())
      line(fmt::format("{} {}, {} {}, {} {}, {} {}", comparison_.count(Verdict::kWorse),
                       title(Verdict::kWorse), comparison_.count(Verdict::kBetter),
                       title(Verdict::kBetter), comparison_.count(Verdict::kSame),
                       title(Verdict::kSame), comparison_.count(Verdict::kUnclear),
                       title(Verdict::kUnclear)));
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string say(const Text& text) const {
    return printable(report::in_language(text, options_.language));
  }
  [[nodiscard]] std::string title(Verdict verdict) const {
    return say(report::verdict_title(verdict));
  }
  void line(const std::string& text, Colour colour = Colour::kNone) {
    out_.append(report::coloured(text, colour, options_.has_colour)).append("\n");
  }

  void differences(const RunComparison& run) {
    for (const Difference& d : run.differences)
      line(fmt::format("  {} {}: {} → {}", d.is_blocking ? "!" : "·",
                       say(report::word_title(d.field)), printable(d.base.empty() ? "–" : d.base),
                       printable(d.value.empty() ? "–" : d.value)),
           d.is_blocking ? Colour::kBad : Colour::kSoft);
  }

  void rows(const RunComparison& run) {
    report::TextTable table;
    table.head = {say({"row", "строка"}),
                  say({"metric", "показатель"}),
                  printable(comparison_.base_id),
                  printable(run.id),
                  say({"ratio", "отношение"}),
                  say({"95 %", "95 %"}),
                  "n",
                  say({"verdict", "вердикт"})};
    for (const RowChange& row : run.rows)
      for (const MetricChange& m : row.metrics)
        table.rows.push_back(
            {{say(row.title)},
             {say(report::value_info(m.name).title)},
             {report::quantity(m.base, report::value_info(m.name).unit), Colour::kNone, true},
             {report::quantity(m.value, report::value_info(m.name).unit), Colour::kNone, true},
             {has_ratio(m) ? report::ratio_text(m.ratio) : "–", Colour::kNone, true},
             {has_ratio(m)
                  ? report::ratio_text(m.interval.low) + " … " + report::ratio_text(m.interval.high)
                  : "–",
              Colour::kNone, true},
             {fmt::format("{}/{}", m.base_count, m.value_count), Colour::kNone, true},
             {title(m.verdict), colour_of(m.verdict)}});
    if (table.rows.empty())
      line(say({"no row of one is a row of the other", "ни одна строка не совпадает"}),
           Colour::kWarn);
    else
      out_.append(report::render_text_table(table, width_, options_.has_colour));
    if (!run.rows.empty() && !run.rows.front().metrics.empty())
      line(say({"A/A noise ", "шум A/A "}) +
               report::quantity(run.rows.front().metrics.front().noise, report::Unit::kRatio),
           Colour::kSoft);
  }

  void partner(const Text& where, const Unpaired& row) {
    const std::string apart = row.apart.en.empty() ? "" : " (" + say(row.apart) + ")";
    line(say(where) + say(row.title) + apart, Colour::kSoft);
  }

  void partners(const RunComparison& run) {
    for (const Unpaired& row : run.only_in_base)
      partner({"only in the base: ", "только в основе: "}, row);
    for (const Unpaired& row : run.only_in_other)
      partner({"only in the other: ", "только в другом: "}, row);
  }

  const Comparison& comparison_;
  const TerminalOptions& options_;
  unsigned width_;
  std::string out_;
};

}  // namespace

std::string render_comparison(const Comparison& comparison, const TerminalOptions& options) {
  return Writer(comparison, options).make();
}

}  // namespace merlon::lab
