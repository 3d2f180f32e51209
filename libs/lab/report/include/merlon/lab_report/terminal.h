// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run in plain text: verdict table, what is missing and why, findings. control-only.
#include <string>

#include "merlon/lab_report/report.h"

namespace merlon::lab {

struct TerminalOptions {
  Language language = Language::kEnglish;
  unsigned width = 100;     // columns; 40 at least
  bool has_colour = false;  // ANSI colours; only where a person reads
};

// Colours and width of standard output: none and 100 where it is no terminal (or NO_COLOR is set).
TerminalOptions terminal_options(Language language);

std::string render_summary(const Run& run, const TerminalOptions& options = {});

}  // namespace merlon::lab
