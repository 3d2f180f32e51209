// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_report/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "text_table.h"
#include "values.h"
#include "words.h"

namespace merlon::lab {
namespace {

using report::Colour;
using report::printable;
using report::TextCell;
using report::TextTable;

class Summary {
 public:
  Summary(const Run& run, const TerminalOptions& options)
      : index_(run), run_(run), options_(options), width_(std::max(40U, options.width)) {}

  std::string make() {
    head();
    table();
    honesty();
    missing();
    paired();
    findings();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string say(const Text& text) const {
    return printable(report::in_language(text, options_.language));
  }
  void line(const std::string& text, Colour colour = Colour::kNone) {
    out_.append(report::coloured(text, colour, options_.has_colour)).append("\n");
  }

  void head() {
    line(say(report::title_of(run_)));
    line(printable(run_.id) + "  " + report::utc_time(run_.started) +
             (run_.finished > run_.started
                  ? "  " + report::duration_text(run_.finished - run_.started)
                  : ""),
         Colour::kSoft);
    if (run_.is_partial)
      line(say({"PARTIAL: ", "НЕПОЛНЫЙ: "}) + say(run_.partial_reason), Colour::kWarn);
    out_.append("\n");
  }

  TextCell main_cell(const Row& row) {
    std::string text;
    bool is_regular = true;
    for (const GoalResult& r : row.results) {
      text += (text.empty() ? "" : "; ") + printable(r.goal.name) + " " +
              report::quantity(report::goal_value(r), report::Unit::kPps);
      is_regular = is_regular && r.is_regular;
    }
    if (!is_regular) text += " !";
    if (!text.empty()) return {text, is_regular ? Colour::kNone : Colour::kWarn, true};
    for (const std::string_view name :
         {std::string_view("paired_ratio"), std::string_view("max_cps"),
          std::string_view("connections_per_s"), std::string_view("protected_ratio"),
          std::string_view("recovery_ms"), std::string_view("blocked_by_loss_ms"),
          std::string_view("first_packet_p50_us"), report::rate_figure(row)})
      if (const auto value = report::row_value(index_, row, name))
        return {report::quantity(value->y, report::value_info(name).unit),
                value->is_hollow ? Colour::kWarn : Colour::kNone, true};
    return {"", Colour::kNone, true};
  }

  TextCell value_cell(const Row& row, std::string_view name) {
    if (!report::has_one_load(row) && name != "latency_p99_us") return {"", Colour::kNone, true};
    const auto value = report::row_value(index_, row, name);
    if (!value) return {"", Colour::kNone, true};
    if (name == "loss_ratio")
      return {report::row_loss_text(index_, row), value->y > 0 ? Colour::kWarn : Colour::kNone,
              true};
    return {report::quantity(value->y, report::value_info(name).unit), Colour::kNone, true};
  }

  void table() {
    if (run_.rows.empty()) return line(say({"The run has no rows.", "В прогоне нет строк."}));
    TextTable table;
    table.head = {say({"row", "строка"}),           say({"result", "результат"}),
                  say({"loss", "потери"}),          say({"p99", "p99"}),
                  say({"pkt/CPU·s", "пак./CPU·с"}), say({"state", "состояние"})};
    for (const Row& row : run_.rows) {
      const Colour colour = row.state == RowState::kDone     ? Colour::kGood
                            : row.state == RowState::kFailed ? Colour::kBad
                                                             : Colour::kWarn;
      table.rows.push_back({{say(report::title_of(row))},
                            main_cell(row),
                            value_cell(row, "loss_ratio"),
                            value_cell(row, "latency_p99_us"),
                            value_cell(row, "packets_per_cpu_s"),
                            {say(report::state_title(row.state)), colour}});
    }
    out_.append(report::render_text_table(table, width_, options_.has_colour)).append("\n");
  }

  void honesty() {
    std::array<std::size_t, 4> stamps{};
    std::size_t warm_ups = 0;
    for (const TrialResult& t : run_.trials)
      ++(t.spec.is_warm_up ? warm_ups : stamps[static_cast<std::size_t>(t.stamp)]);
    std::string text = say(report::counted(run_.trials.size() - warm_ups, report::kTrials)) + ":";
    for (std::size_t i = 0; i < stamps.size(); ++i)
      if (stamps[i] != 0)
        text += fmt::format(" {} {}", stamps[i], say(report::stamp_title(static_cast<Stamp>(i))));
    line(text, stamps[0] + warm_ups == run_.trials.size() ? Colour::kNone : Colour::kWarn);
    if (run_.calibrations.empty())
      line(say({"Null path not calibrated: nobody knows what the tester itself can do.",
                "Прямой путь не откалиброван: неизвестно, на что способен сам тестер."}),
           Colour::kWarn);
    for (const Calibration& c : run_.calibrations)
      line(say({"null path ", "прямой путь "}) + say(report::word_title(c.when)) + ": " +
           report::quantity(c.ceiling_pps, report::Unit::kPps) + ", p50 " +
           report::quantity(c.latency_p50_ns, report::Unit::kNanoseconds));
    if (!run_.environment.noise_grade.empty())
      line(say({"noise grade ", "класс шума "}) + printable(run_.environment.noise_grade) +
           " (A/A " + report::quantity(run_.environment.noise_ratio, report::Unit::kRatio) + ")");
  }

  void missing() {
    for (const Row& row : run_.rows)
      if (row.state != RowState::kDone && !row.state_reason.en.empty())
        line(say(report::state_title(row.state)) + ": " + say(report::title_of(row)) + ": " +
                 say(report::told(row.state_reason)),
             row.state == RowState::kFailed ? Colour::kBad : Colour::kWarn);
  }

  void paired() {
    for (const Row& row : run_.rows)
      for (const PairedOutcome& o : row.paired) {
        const Verdict verdict = report::verdict_of(o.verdict);
        line("[" + say(report::verdict_title(verdict)) + "] " + say(report::sides(index_, row)) +
                 ": " + say(o.sentence),
             verdict == Verdict::kWorse     ? Colour::kBad
             : verdict == Verdict::kUnclear ? Colour::kWarn
                                            : Colour::kGood);
      }
  }

  void findings() {
    for (const Finding& f : run_.findings) {
      const bool is_good = f.state == "reproduced" || f.state == "pass";
      line("[" + say(report::finding_title(f.state)) + "] " + say(f.claim), is_good ? Colour::kGood
                                                                            : f.state == "fail"
                                                                                ? Colour::kBad
                                                                                : Colour::kWarn);
      if (!f.evidence.en.empty()) line("    " + say(f.evidence));
    }
  }

  const report::RunIndex index_;
  const Run& run_;
  const TerminalOptions& options_;
  unsigned width_;
  std::string out_;
};

}  // namespace

TerminalOptions terminal_options(Language language) {
  TerminalOptions options;
  options.language = language;
  if (::isatty(STDOUT_FILENO) == 0) return options;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
    options.width = size.ws_col;
  const char* no_colour = std::getenv("NO_COLOR");
  options.has_colour = no_colour == nullptr || *no_colour == '\0';
  return options;
}

std::string render_summary(const Run& run, const TerminalOptions& options) {
  return Summary(run, options).make();
}

}  // namespace merlon::lab
