// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a reader reads besides figures, in both languages: names of devices and traffic, states and
// stamps, counted nouns, and the sentences that a run keeps in English only. control-only.
#include <cstdint>
#include <string>
#include <string_view>

#include "merlon/lab_model/run.h"
#include "merlon/lab_report/compare.h"

namespace merlon::lab::report {

// One word for both languages: names, units, what a stranger's file says.
Text same(std::string_view text);
Text joined(const Text& left, const Text& right);
// The Russian text, or the English one where there is none.
const std::string& russian(const Text& text);
const std::string& in_language(const Text& text, Language language);

// A noun as numbers ask for it: "1 trial", "2 trials"; «1 испытание», «2 испытания»,
// «5 испытаний».
struct Noun {
  const char *one, *many;
  const char *ru_one, *ru_few, *ru_many;
};
inline constexpr Noun kTrials{"trial", "trials", "испытание", "испытания", "испытаний"};
inline constexpr Noun kRows{"row", "rows", "строка", "строки", "строк"};
inline constexpr Noun kRules{"rule", "rules", "правило", "правила", "правил"};
inline constexpr Noun kFlows{"flow", "flows", "поток", "потока", "потоков"};
inline constexpr Noun kRuns{"run", "runs", "прогон", "прогона", "прогонов"};

// The noun alone, as `n` of it are called.
Text noun(std::uint64_t n, const Noun& noun);
// With its number, in groups of three digits.
Text counted(std::uint64_t n, const Noun& noun);

// A row's title, its id where it has none; the run's title, its plan where it has none.
Text title_of(const Row& row);
Text title_of(const Run& run);
// "nftables linear", "Merlon wire".
Text driver_mode(const DeviceSpec& device);
// "nftables linear, 1,000 rules @guest".
Text device_label(const DeviceSpec& device);
// "64 B udp, 64 flows".
Text traffic_label(const TrafficSpec& traffic);
// A word of a row's set-up or of the machine as the laboratory writes it ("namespace", "tester",
// "noise grade"); others stay as they are.
Text word_title(std::string_view word);

std::string_view stamp_name(Stamp stamp) noexcept;  // "clean", "tester-limited", ...
Text stamp_title(Stamp stamp);
std::string_view state_name(RowState state) noexcept;  // "done", "skipped", ...
Text state_title(RowState state);
Text verdict_title(Verdict verdict);
// Of a paired row: "better", "worse", "same"; all else is unclear.
Verdict verdict_of(std::string_view word) noexcept;
Text finding_title(std::string_view state);

// A stamp's reason or a search's end, which a run keeps in English: the laboratory's own are told
// in Russian too, with their figures; what it does not know stays as it is.
Text sentence(std::string_view english);
// The text, or sentence() of it where it says the same in both languages.
Text told(const Text& text);

}  // namespace merlon::lab::report
