// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "merlon/lab_model/json.h"

namespace merlon::lab {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string si(double value) {
  if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{:.0f} ", value);
}

std::string clock(double seconds) {
  const auto s = static_cast<int>(std::max(0.0, seconds));
  return fmt::format("{}:{:02d}", s / 60, s % 60);
}

unsigned width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 100;
}

// Cut to `columns` characters; UTF-8 is not broken.
std::string fitted(const std::string& text, unsigned columns) {
  unsigned seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U && ++seen > columns)
      return text.substr(0, i);
  return text;
}

}  // namespace

TerminalProgress::TerminalProgress(bool is_terminal, bool is_quiet, Language language)
    : is_terminal_(is_terminal && !is_quiet),
      is_quiet_(is_quiet),
      language_(language),
      begun_(seconds_now()) {}

TerminalProgress::~TerminalProgress() { erase(); }

const std::string& TerminalProgress::in(const Text& text) const {
  return language_ == Language::kRussian && !text.ru.empty() ? text.ru : text.en;
}

void TerminalProgress::erase() {
  for (; drawn_lines_ > 0; --drawn_lines_) std::fputs("\033[A\033[2K", stderr);
  std::fflush(stderr);
}

void TerminalProgress::line(const std::string& text) {
  if (is_quiet_) return;
  erase();
  fmt::print(stderr, "{}\n", text);
  draw();
}

std::string TerminalProgress::bounds_text() const {
  std::string out;
  for (const auto& [goal, bounds] : bounds_)
    out += fmt::format("  {} {}..{}pps", goal, bounds.lower > 0 ? si(bounds.lower) : "?",
                       bounds.upper > 0 ? si(bounds.upper) : "? ");
  return out;
}

void TerminalProgress::draw() {
  if (!is_terminal_ || where_.empty()) return;
  erase();
  const unsigned columns = width();
  const bool is_russian = language_ == Language::kRussian;
  const double elapsed = seconds_now() - begun_;
  const std::string time = is_russian
                               ? fmt::format("прошло {}, бюджет {}, осталось около {}",
                                             clock(elapsed), clock(budget_s_), clock(left_s_))
                               : fmt::format("elapsed {}, budget {}, about {} left", clock(elapsed),
                                             clock(budget_s_), clock(left_s_));
  for (const std::string& text : {where_ + bounds_text(), live_, time, last_decision_}) {
    if (text.empty()) continue;
    fmt::print(stderr, "{}\n", fitted("  " + text, columns - 1));
    ++drawn_lines_;
  }
  std::fflush(stderr);
  last_draw_ = seconds_now();
}

void TerminalProgress::started(const Run& run, double budget_s) {
  budget_s_ = left_s_ = budget_s;
  line(fmt::format("{} ({}), {}", in(run.title), run.plan, run.id));
}

void TerminalProgress::row(const Row& row, std::size_t number, std::size_t count) {
  where_ = fmt::format("[{}/{}] {}", number, count, row.id);
  if (!row.title.en.empty()) where_ += ": " + in(row.title);
  goals_ = row.goals;
  bounds_.clear();
  last_decision_.clear();
  live_.clear();
  if (!is_terminal_ && !is_quiet_) fmt::print(stderr, "{}\n", where_);
  draw();
}

void TerminalProgress::row_done(const Row& row) {
  std::string text;
  const auto kpi = [&](const char* name, const char* label, const char* unit, double scale = 1) {
    const auto found = row.kpis.find(name);
    if (found != row.kpis.end() && found->second > 0)
      text += fmt::format("  {} {}{}", label, si(found->second * scale), unit);
  };
  if (row.state == RowState::kDone) {
    for (const GoalResult& result : row.results)
      text += fmt::format("  {} {}pps{}", result.goal.name, si(result.conditional_pps),
                          result.is_regular ? "" : " (irregular)");
    kpi("received_pps", "rx", "pps");
    if (const auto loss = row.kpis.find("loss_ratio"); loss != row.kpis.end())
      text += fmt::format("  loss {:.3g} %", loss->second * 100);
    if (const auto p99 = row.kpis.find("latency_p99_us"); p99 != row.kpis.end())
      text += p99->second < 1000 ? fmt::format("  p99 {:.0f} us", p99->second)
                                 : fmt::format("  p99 {:.1f} ms", p99->second / 1e3);
    kpi("whole_pps", "whole up to", "pps");
    kpi("max_cps", "", "connections/s");
    kpi("connections_per_s", "", "connections/s");
    kpi("blocked_by_loss_ms", "blocked", "ms");
  } else {
    text = "  " + in(row.state_reason);
  }
  line(fmt::format("{:<26} {:<11}{}", row.id, word(row.state), text));
}

void TerminalProgress::trial_started(const TrialSpec& spec) {
  live_ = fmt::format("{}: {}", spec.id,
                      spec.rate_pps > 0 ? si(spec.rate_pps) + "pps" : std::string("max"));
  last_progress_ = {};
  live_rate_ = 0;
  if (is_terminal_ && seconds_now() - last_draw_ > 0.1) draw();
}

void TerminalProgress::trial_progress(const TrialSpec& spec, const Progress& progress) {
  const double span = progress.elapsed_s - last_progress_.elapsed_s;
  if (span > 0.01)
    live_rate_ = static_cast<double>(progress.offered - last_progress_.offered) / span;
  last_progress_ = progress;
  if (!is_terminal_ || seconds_now() - last_draw_ < 0.1) return;
  const double lost = progress.offered > progress.received
                          ? 100.0 * static_cast<double>(progress.offered - progress.received) /
                                static_cast<double>(progress.offered)
                          : 0;
  live_ = fmt::format("{}: {}  {:.1f}/{:.1f} s  {}pps  {} {:.2g} %", spec.id,
                      spec.rate_pps > 0 ? si(spec.rate_pps) + "pps" : std::string("max"),
                      progress.elapsed_s, spec.duration_s, si(live_rate_),
                      language_ == Language::kRussian ? "потери" : "lost", lost);
  draw();
}

void TerminalProgress::trial_done(const TrialResult& result, bool is_from_journal) {
  if (!result.spec.is_warm_up && result.stamp <= Stamp::kTesterLimited)
    for (const Goal& goal : goals_) {
      Bounds& bounds = bounds_[goal.name];
      const double load = result.spec.rate_pps;
      if (result.loss_ratio <= goal.loss_ratio) {
        bounds.lower = std::max(bounds.lower, load);
      } else if (bounds.upper == 0 || load < bounds.upper) {
        bounds.upper = load;
      }
    }
  if (is_quiet_ || is_from_journal || is_terminal_) return;
  fmt::print(stderr, "  {} {} rx {}pps loss {:.3g} %\n", result.spec.id, word(result.stamp),
             si(result.received_pps), result.loss_ratio * 100);
}

void TerminalProgress::decision(const std::string& row, const Decision& decision) {
  last_decision_ = in(decision.why);
  if (!is_terminal_ && !is_quiet_) fmt::print(stderr, "  {}: {}\n", row, last_decision_);
  draw();
}

void TerminalProgress::budget(double /*spent_s*/, double left_s) { left_s_ = left_s; }

void TerminalProgress::note(const Text& note) { line(in(note)); }

}  // namespace merlon::lab
