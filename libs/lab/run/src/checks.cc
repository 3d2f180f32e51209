// SPDX-License-Identifier: Apache-2.0
#include "checks.h"

#include <fmt/format.h>

#include <cmath>

#include "https.h"

namespace merlon::lab {

const std::vector<Check>& check_table() {
  static const std::vector<Check> all = [] {
    std::vector<Check> list;
    for (auto part :
         {quick_checks(), ab_checks(), vswitch_checks(), firewall_checks(), https_checks()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return all;
}

const Check* find_check(const std::string& name) {
  for (const Check& check : check_table())
    if (check.name == name) return &check;
  return nullptr;
}

namespace {

constexpr const char* kNotAvailable = "not_available";

Finding ask(const Check& check, const Run& run) {
  Finding finding;
  finding.id = check.name;
  finding.claim = check.claim;
  check.judge(run, finding);
  return finding;
}

Text state_word(const std::string& state) {
  if (state == "pass") return {"kept", "соблюдено"};
  if (state == "fail") return {"broken", "нарушено"};
  if (state == "reproduced") return {state, "воспроизведено"};
  return {state, "расходится"};
}

}  // namespace

// What a check would tell is asked twice: of all rows, and of those that other work on the cores
// did not disturb. The second answer counts where there is one.
Finding judge(const Check& check, const Run& run) {
  Finding all = ask(check, run);
  if (all.state == kNotAvailable || !has_disturbed_trials(run)) return all;
  Finding quiet = ask(check, undisturbed(run));
  if (quiet.state != kNotAvailable) {
    if (quiet.evidence.en == all.evidence.en) return quiet;
    quiet.evidence.en += ". Left out: what other work on the cores disturbed";
    quiet.evidence.ru += ". Не учтено то, чему мешала чужая работа на ядрах";
    return quiet;
  }
  const Text word = state_word(all.state);
  all.state = "disturbed";
  all.evidence.en +=
      fmt::format(". Told only by trials beside other work on the cores; as they are: {}", word.en);
  all.evidence.ru += fmt::format(
      ". Об этом говорят только испытания рядом с чужой работой на ядрах; если принять их как "
      "есть: {}",
      word.ru);
  return all;
}

std::vector<const Row*> rows_of(const Run& run, const std::string& start) {
  std::vector<const Row*> out;
  for (const Row& row : run.rows)
    if (row.id.starts_with(start) && row.state == RowState::kDone) out.push_back(&row);
  return out;
}

std::optional<double> kpi_of(const Row& row, const std::string& name) {
  const auto found = row.kpis.find(name);
  return found == row.kpis.end() || !std::isfinite(found->second) ? std::nullopt
                                                                  : std::optional(found->second);
}

std::optional<double> kpi_of(const Run& run, const std::string& id, const std::string& name) {
  for (const Row& row : run.rows)
    if (row.id == id && row.state == RowState::kDone) return kpi_of(row, name);
  return std::nullopt;
}

std::string si(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
  if (std::abs(value) >= 1e3) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{:.3g}", value);
}

void not_available(const Run& run, Finding& finding, const std::string& start) {
  finding.state = "not_available";
  for (const Row& row : run.rows) {
    if (!row.id.starts_with(start)) continue;
    if (row.state == RowState::kDone && has_disturbed_trials(run, row.id)) {
      finding.evidence = {
          fmt::format("row {} was measured, but beside other work on the cores: not told", row.id),
          fmt::format("строка {} измерена, но рядом с чужой работой на ядрах: величины нет",
                      row.id)};
      continue;
    }
    if (row.state == RowState::kDone) {
      // Measured, and yet without the figure: a difference that came out as nothing or less.
      finding.evidence = {
          fmt::format("row {} was measured, but the figure is lost in this machine's noise",
                      row.id),
          fmt::format("строка {} измерена, но величина теряется в шуме этой машины", row.id)};
      continue;
    }
    finding.evidence = {
        fmt::format("row {}: {}", row.id,
                    row.state_reason.en.empty() ? "not run" : row.state_reason.en),
        fmt::format("строка {}: {}", row.id,
                    row.state_reason.ru.empty() ? "не выполнялась" : row.state_reason.ru)};
    return;
  }
  if (!finding.evidence.en.empty()) return;
  finding.evidence = {"the rows that it needs are not part of this run",
                      "нужных строк в этом запуске нет"};
}

}  // namespace merlon::lab
