// SPDX-License-Identifier: Apache-2.0
// lab_report_sample FOLDER: the sample run's report in both languages, and a comparison.
#include <cstdio>
#include <string>

#include "merlon/lab_report/compare.h"
#include "merlon/lab_report/report.h"
#include "sample_run.h"

int main(int argc, char** argv) {
  using namespace merlon::lab;
  if (argc != 2) {
    std::fputs("usage: lab_report_sample FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  const Run run = sample_run();
  for (const auto& [name, language] : {std::pair{"/report-en.html", Language::kEnglish},
                                       std::pair{"/report-ru.html", Language::kRussian}}) {
    const auto written = write_report(run, folder + name, {language});
    if (!written) {
      std::fprintf(stderr, "%s\n", written.error().to_string().c_str());
      return 1;
    }
  }
  const auto comparison = compare({run, sample_run(2, 0.6)});
  if (!comparison) return 1;
  return write_comparison(*comparison, folder + "/compare.html") ? 0 : 1;
}
