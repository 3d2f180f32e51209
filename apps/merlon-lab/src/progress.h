// SPDX-License-Identifier: Apache-2.0
#pragma once
// Live progress: on a terminal a status that is redrawn in place under the lines that stay,
// elsewhere plain lines. control-only; draws at most ten times per second.
#include <map>
#include <string>

#include "merlon/lab_report/report.h"
#include "merlon/lab_run/manager.h"

namespace merlon::lab {

class TerminalProgress final : public Observer {
 public:
  TerminalProgress(bool is_terminal, bool is_quiet, Language language);
  ~TerminalProgress() override;

  void started(const Run& run, double budget_s) override;
  void row(const Row& row, std::size_t number, std::size_t count) override;
  void row_done(const Row& row) override;
  void trial_started(const TrialSpec& spec) override;
  void trial_progress(const TrialSpec& spec, const Progress& progress) override;
  void trial_done(const TrialResult& result, bool is_from_journal) override;
  void decision(const std::string& row, const Decision& decision) override;
  void budget(double spent_s, double left_s) override;
  void note(const Text& note) override;

 private:
  struct Bounds {
    double lower = 0, upper = 0;
  };
  void line(const std::string& text);  // one that stays
  void draw();
  void erase();
  [[nodiscard]] const std::string& in(const Text& text) const;
  [[nodiscard]] std::string bounds_text() const;

  bool is_terminal_, is_quiet_;
  Language language_;
  unsigned drawn_lines_ = 0;
  double last_draw_ = 0, begun_ = 0, budget_s_ = 0, left_s_ = 0;
  std::string where_, live_, last_decision_;
  std::vector<Goal> goals_;
  std::map<std::string, Bounds> bounds_;
  Progress last_progress_;
  double live_rate_ = 0;
};

}  // namespace merlon::lab
