// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of a run: one HTML file that needs nothing else. Styles, drawings (SVG) and the little
// script are inside it, a content policy forbids everything from outside, and both languages are in
// it with a switch. Without a script it still shows every figure; with one, points and bars open
// their trials. control-only. Cost: about 2 KB and 20 us per trial of the run.
#include <cstdint>
#include <string>
#include <string_view>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab {

enum class Language : std::uint8_t { kEnglish, kRussian };

// "en" and "ru"; kInvalidValue for other names.
base::Result<Language> parse_language(std::string_view name);

struct ReportOptions {
  Language language = Language::kEnglish;  // shown first; the reader may switch
};

// The report's text. Works on any run: empty, interrupted, with rows whose trials are missing. All
// names and texts of the run are taken as data, never as markup.
std::string render_report(const Run& run, const ReportOptions& options = {});

// Writes the report beside `path` first and then moves it there, so that a reader never meets half
// a file. kIo with the system's reason.
base::Result<void> write_report(const Run& run, const std::string& path,
                                const ReportOptions& options = {});

}  // namespace merlon::lab
