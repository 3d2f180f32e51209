// SPDX-License-Identifier: Apache-2.0
// Every error of the loader with its exact text: config_errors.txt holds the cases.
// MERLON_UPDATE_GOLDEN=1 writes the answers of today into it, to be read before they are kept.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "merlon/control/config_load.h"
#include "merlon/control/config_print.h"

namespace merlon::control {
namespace {

const std::string kCases = std::string(MERLON_SOURCE_DIR) + "/libs/control/tests/config_errors.txt";

struct Case {
  std::string name, input, expected;
};

// "=== name", the text, "---", what is printed. \t, \r, \xNN and \e (an empty file) in the text
// stand for bytes that an editor would spoil; "+++ name" begins a further file.
std::vector<Case> read_cases() {
  std::vector<Case> cases;
  std::ifstream in(kCases);
  std::string line;
  bool is_expected = false;
  while (std::getline(in, line)) {
    if (line.starts_with("=== ")) {
      cases.push_back({line.substr(4), "", ""});
      is_expected = false;
    } else if (line == "---") {
      is_expected = true;
    } else if (!cases.empty()) {
      (is_expected ? cases.back().expected : cases.back().input) += line + "\n";
    }
  }
  return cases;
}

std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 >= text.size()) {
      out += text[i];
    } else if (text[i + 1] == 't' || text[i + 1] == 'r') {
      out += text[++i] == 't' ? '\t' : '\r';
    } else if (text[i + 1] == 'x') {
      out += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

Bundle to_bundle(const std::string& input) {
  Bundle bundle;
  std::string name = "main.yaml", text;
  std::istringstream in(input);
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("+++ ")) {
      bundle.files.push_back({name, unescape(text)});
      name = line.substr(4);
      text.clear();
    } else {
      text += line + "\n";
    }
  }
  bundle.files.push_back({name, unescape(text)});
  return bundle;
}

std::string answer(const Case& c) {
  const LoadResult result = load_bundle(to_bundle(c.input));
  EXPECT_EQ(result.config.has_value(), result.errors.empty()) << c.name;
  return format_findings(result.errors, result.warnings, result.bundle);
}

TEST(ConfigErrors, PrintWhatTheCasesExpect) {
  const std::vector<Case> cases = read_cases();
  ASSERT_GE(cases.size(), 60U);
  for (const Case& c : cases) EXPECT_EQ(answer(c), c.expected) << "case: " << c.name;
  if (std::getenv("MERLON_UPDATE_GOLDEN") == nullptr) return;
  std::ofstream out(kCases);
  for (const Case& c : cases) out << "=== " << c.name << "\n" << c.input << "---\n" << answer(c);
}

TEST(ConfigErrors, JsonHasTheSameFields) {
  const LoadResult result = load_bundle(Bundle::of("version: 1\nworkers: {cuont: 2}\n", "m.yaml"));
  EXPECT_EQ(
      findings_to_json(result.errors, result.warnings),
      R"([{"severity":"error","code":"unknown_key","message":"unknown key \"cuont\" in \"workers\"","file":"m.yaml",)"
      R"("line":2,"column":11,"end_column":16,"hint":"did you mean \"count\"?","path":"workers.cuont"}])");
}

TEST(ConfigErrors, CountsInWords) {
  EXPECT_EQ(count_findings(0, 0), "0 errors");
  EXPECT_EQ(count_findings(1, 0), "1 error");
  EXPECT_EQ(count_findings(2, 1), "2 errors, 1 warning");
  EXPECT_EQ(count_findings(0, 2), "2 warnings");
}

TEST(ConfigErrors, LongLinesAreShownAroundThePlace) {
  const std::string text = "version: 1\nname: " + std::string(300, 'x') + "\n";
  const LoadResult result = load_bundle(Bundle::of(text, "m.yaml"));
  std::istringstream in(format_findings(result.errors, result.warnings, result.bundle));
  for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 260U);
}

TEST(ConfigErrors, ColourMarksTheSeverityOnly) {
  const LoadResult result = load_bundle(Bundle::of("version: 2\n", "m.yaml"));
  PrintOptions options;
  options.use_colour = true;
  options.outcome = "";
  EXPECT_EQ(format_findings(result.errors, result.warnings, result.bundle, options),
            "m.yaml:1:10: \x1b[31merror:\x1b[0m 2 is out of range (1 only)\n     1 | version: 2\n  "
            "     |          ^\n1 error\n");
}

}  // namespace
}  // namespace merlon::control
